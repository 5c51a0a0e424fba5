"""Is the test of spreads calibrated, and how does its power compare with Brown–Forsythe's?

``python benchmarks/spread.py`` prints two tables of docs/findings.md. Size: both samples come from
one distribution, and x is moved by five of its spreads, so only the centres differ. Power: x is
stretched about its own centre by a factor. Brown–Forsythe is Levene's test about the medians, as
``scipy.stats.levene(center="median")`` has it. The exit code is 1 if a false-alarm rate of dkmd is
above 6.5% by more than three standard errors.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from dkmd.inference.kinds.spread import compare_spreads
from dkmd.inference.test.sides import side_of_sorted

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]
SEED, ALPHA, ALLOWED = 2028, 0.05, 0.065

FAMILIES: dict[str, Draw] = {
    "normal": lambda r, s: r.normal(size=s),
    "t2 (heavy tails)": lambda r, s: r.standard_t(2, size=s),
    "exponential (skewed)": lambda r, s: r.exponential(size=s),
    "lognormal (very skewed)": lambda r, s: r.lognormal(size=s),
    "lognormal(2) (latencies)": lambda r, s: r.lognormal(0.0, 2.0, size=s),
    "normal, 5% far away": lambda r, s: r.normal(size=s) + 1000.0 * (r.random(s) < 0.05),
    "normal, 10% far away": lambda r, s: r.normal(size=s) + 1000.0 * (r.random(s) < 0.1),
    "normal, 15% far away": lambda r, s: r.normal(size=s) + 1000.0 * (r.random(s) < 0.15),
    "two kinds of latencies": lambda r, s: np.where(
        r.random(s) < 0.15, r.lognormal(5.0, 0.3, size=s), r.lognormal(1.0, 0.3, size=s)
    ),
    "Poisson(6) (counts)": lambda r, s: r.poisson(6.0, size=s).astype(np.float64),
    "Poisson(2) (counts)": lambda r, s: r.poisson(2.0, size=s).astype(np.float64),
}
SIZES = (
    (8, 8),
    (8, 80),
    (10, 10),
    (15, 15),
    (10, 100),
    (100, 10),
    (30, 30),
    (30, 300),
    (300, 30),
    (100, 100),
    (1000, 500),
)
POWER = {"30:30": (30, 30, 2.0), "60:60": (60, 60, 1.8), "10:100": (10, 100, 2.5),
         "100:10": (100, 10, 2.5), "500:500": (500, 500, 1.2)}  # fmt: skip


def ours(x: Array, y: Array) -> Array:
    """dkmd's two-sided p-value of each row; 1 where it has no answer."""
    found = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        of_x, of_y = (side_of_sorted(np.sort(z[i]), float(y[i, 0])) for z in (x, y))
        p = compare_spreads(of_x, of_y).tails.pvalue("two-sided")
        found[i] = 1.0 if math.isnan(p) else p
    return found


def brown_forsythe(x: Array, y: Array) -> Array:
    """The p-value of each row: the F test of absolute distances from the medians."""
    a, b = (np.abs(z - np.median(z, axis=1, keepdims=True)) for z in (x, y))
    n, m = x.shape[1], y.shape[1]
    apart = a.mean(axis=1) - b.mean(axis=1)
    between = apart * apart * n * m / (n + m)
    within = (a.var(axis=1) * n + b.var(axis=1) * m) / (n + m - 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(fdtrc(1.0, n + m - 2.0, np.where(within > 0.0, between / within, 0.0)))


def rates(
    family: str, n: int, m: int, factor: float, moved: float, trials: int
) -> tuple[float, float]:
    """How often dkmd and Brown–Forsythe find a change of the spread."""
    draw = FAMILIES[family]
    name = repr((family, n, m, factor)).encode()
    rng = np.random.default_rng([SEED, zlib.crc32(name)])
    hits = np.zeros(2)
    for start in range(0, trials, 1000):
        rows = min(1000, trials - start)
        x, y = factor * draw(rng, (rows, n)) + moved, draw(rng, (rows, m))
        hits += [(test(x, y) < ALPHA).sum() for test in (ours, brown_forsythe)]
    return float(hits[0] / trials), float(hits[1] / trials)


def _line(name: str, found: Iterator[tuple[float, float]]) -> str:
    cells = (f"{100 * own:.1f} / {100 * theirs:.1f}" for own, theirs in found)
    return f"| {name} | {' | '.join(cells)} |"


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4000)
    trials = parser.parse_args().trials
    limit = ALLOWED + 3.0 * math.sqrt(ALLOWED * (1.0 - ALLOWED) / trials)
    outside = 0
    print("False alarms in percent at 5%, dkmd / Brown–Forsythe, centres apart:\n")
    print(f"| data | {' | '.join(f'{n}:{m}' for n, m in SIZES)} |")
    print(f"|---|{'---|' * len(SIZES)}")
    for family in FAMILIES:
        found = [rates(family, n, m, 1.0, 5.0, trials) for n, m in SIZES]
        outside += sum(own > limit for own, _ in found)
        print(_line(family, iter(found)), flush=True)
    print("\nPower in percent, dkmd / Brown–Forsythe:\n")
    print(f"| data | {' | '.join(f'{k}, × {v[2]:g}' for k, v in POWER.items())} |")
    print(f"|---|{'---|' * len(POWER)}")
    for family in FAMILIES:
        print(_line(family, (rates(family, *how, 0.0, trials) for how in POWER.values())))
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
