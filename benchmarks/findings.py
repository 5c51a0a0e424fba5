"""How often does one comparison claim a change that is none, and does it tell a mean that moved?

``python benchmarks/findings.py`` prints four tables of docs/findings.md. The first has null
comparisons: how often ``changed`` is not empty, how often the deciding test alone is clear, and how
often some test would be if each were made at alpha. The second has data of which only the upper
part moves, the third the false alarms of the mean beside those of Welch's test, the fourth the same
with groups. The exit code is 1 if ``changed`` is not empty in more than 7% of null comparisons, or
the mean has more than 6.5% false alarms, by more than three standard errors.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
from scipy import stats

from dkmd import Comparison, compare
from dkmd.answers.family import LEFT
from dkmd.answers.findings import mean_change

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]
SEED, ALPHA = 2031, 0.05
ALLOWED, ALLOWED_OF_MEAN = ALPHA * (1.0 + LEFT), 0.065


def _zeros(share: float, draw: Draw) -> Draw:
    return lambda r, n: np.where(r.random(n) < share, 0.0, draw(r, n))


def _lognormal(r: np.random.Generator, n: int) -> Array:
    return r.lognormal(size=n)


FAMILIES: dict[str, Draw] = {
    "normal": lambda r, n: r.normal(size=n),
    "lognormal": _lognormal,
    "exponential": lambda r, n: r.exponential(size=n),
    "t3": lambda r, n: r.standard_t(3, n),
    "Poisson(3)": lambda r, n: r.poisson(3.0, n).astype(np.float64),
    "40% zeros, lognormal": _zeros(0.4, _lognormal),
    "normal, 5% missing": lambda r, n: np.where(r.random(n) < 0.05, math.nan, r.normal(size=n)),
    "normal, rounded to 0.5": lambda r, n: np.round(2.0 * r.normal(size=n)) / 2.0,
}
SIZES = ((100, 100), (30, 300))


def _generator(*key: object) -> np.random.Generator:
    return np.random.default_rng([SEED, zlib.crc32(repr(key).encode())])


def nulls(family: str, sizes: tuple[int, int], trials: int) -> tuple[float, float, float, float]:
    """Rates of: ``changed`` is not empty; the deciding test is clear; some test is; a crossing."""
    rng, draw = _generator("null", family, sizes), FAMILIES[family]
    found = np.zeros((trials, 4))
    for i in range(trials):
        current, reference = (draw(rng, n) for n in sizes)
        answer = compare(reference, current)
        some = any(p < ALPHA for p in answer.tests.values())
        found[i] = bool(answer.changed), answer.is_clear, some, answer.crossing is not None
    changed, decided, some_at_alpha, crossed = found.mean(axis=0)
    return changed, decided, some_at_alpha, crossed


Pair = Callable[[np.random.Generator, int], tuple[Array, Array]]


def _upper_part(draw: Draw) -> Pair:
    """A tenth of the current values + 6."""

    def pair(r: np.random.Generator, n: int) -> tuple[Array, Array]:
        return draw(r, n), draw(r, n) + 6.0 * (r.random(n) < 0.1)

    return pair


def _doubled(draw: Draw) -> Pair:
    return lambda r, n: (draw(r, n), 2.0 * draw(r, n))


MOVED: dict[str, Pair] = {
    "normal, 10% of the values + 6": _upper_part(FAMILIES["normal"]),
    "lognormal, 10% of the values + 6": _upper_part(_lognormal),
    "50% zeros, lognormal × 2": _doubled(_zeros(0.5, _lognormal)),
    "40% zeros, lognormal × 2": _doubled(_zeros(0.4, _lognormal)),
    "50% zeros, gamma(2) × 2": _doubled(_zeros(0.5, lambda r, n: r.gamma(2.0, size=n))),
}


def told(name: str, trials: int) -> Array:
    """Rates of: Welch at alpha; the shift, the parts and the mean in ``changed``; any of it."""
    rng = _generator("moved", name)
    found = np.array([_told(*MOVED[name](rng, 100)) for _ in range(trials)], dtype=np.float64)
    return np.asarray(found.mean(axis=0))


def _told(reference: Array, current: Array) -> list[bool]:
    answer: Comparison = compare(reference, current)
    changed = {*answer.changed}
    welch = stats.ttest_ind(current, reference, equal_var=False).pvalue < ALPHA
    parts = bool(changed & {"share", "rest"})
    return [welch, "shift" in changed, parts, "mean" in changed, bool(changed)]


MEANS: dict[str, Draw] = {
    "normal": FAMILIES["normal"],
    "exponential": FAMILIES["exponential"],
    "lognormal(1.5)": lambda r, n: r.lognormal(0.0, 1.5, n),
    "t3": FAMILIES["t3"],
    "Cauchy": lambda r, n: r.standard_cauchy(n),
    "normal, 1% + 1000": lambda r, n: r.normal(size=n) + 1000.0 * (r.random(n) < 0.01),
    "60% zeros, lognormal": _zeros(0.6, _lognormal),
}
SIZES_OF_MEANS = ((30, 30), (100, 100), (20, 200), (200, 20))


def means(family: str, sizes: tuple[int, int], trials: int) -> tuple[float, float]:
    """False alarms of the mean, and of Welch's test."""
    rng, draw = _generator("mean", family, sizes), MEANS[family]
    found = np.zeros((trials, 2))
    for i in range(trials):
        current, reference = (draw(rng, n) for n in sizes)
        change = mean_change((None, reference), (None, current), 1.0 - ALPHA)
        assert change is not None
        welch = stats.ttest_ind(current, reference, equal_var=False).pvalue
        found[i] = change.pvalue < ALPHA, welch < ALPHA
    ours, theirs = found.mean(axis=0)
    return ours, theirs


GROUPED: dict[str, Draw] = {
    "normal": FAMILIES["normal"],
    "exponential": FAMILIES["exponential"],
    "lognormal": _lognormal,
}
GROUPS = {"8 and 8": (8, 8), "30 and 30": (30, 30), "10 and 100": (10, 100)}


def grouped_means(family: str, design: str, trials: int) -> float:
    """False alarms of the mean with groups of 10 values that share half of their variance."""
    rng, draw = _generator("groups", family, design), GROUPED[family]
    alarms = 0
    for _ in range(trials):
        sizes = GROUPS[design]
        before, after = (_in_groups(rng, draw, groups) for groups in sizes)
        labels = [np.repeat(np.arange(groups), 10) for groups in sizes]
        change = mean_change((None, before), (None, after), 1.0 - ALPHA, (labels[0], labels[1]))
        assert change is not None
        alarms += change.pvalue < ALPHA
    return alarms / trials


def _in_groups(rng: np.random.Generator, draw: Draw, groups: int) -> Array:
    values = draw(rng, 10 * groups).reshape(groups, 10) + draw(rng, groups)[:, None]
    return np.asarray(values.ravel())


def _line(cells: Iterable[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _head(*cells: str) -> None:
    print()
    _line(cells)
    _line("---" for _ in cells)


def _percent(*rates: float) -> str:
    return " / ".join(f"{100.0 * rate:.1f}" for rate in rates)


def _above(rate: float, allowed: float, trials: int) -> bool:
    return rate > allowed + 3.0 * math.sqrt(allowed * (1.0 - allowed) / trials)


def main() -> int:
    """Print all tables; 1 if there are too many false alarms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    trials = parser.parse_args().trials
    bad, crossed = [], 0.0
    _head("data", *(f"{n}:{m}" for n, m in SIZES))
    for family in FAMILIES:
        rates = [nulls(family, sizes, trials) for sizes in SIZES]
        bad += [family for rate, *_ in rates if _above(rate, ALLOWED, trials)]
        crossed += sum(each[3] for each in rates) * trials
        _line([family, *(_percent(*each[:3]) for each in rates)])
    print(f"\nDistributions that cross: {crossed:.0f} of {len(FAMILIES) * len(SIZES) * trials:,}")
    _head("data, 100:100", "Welch", "shift", "parts", "mean", "anything")
    for name in MOVED:
        _line([name, *(_percent(rate) for rate in told(name, trials))])
    _head("data", *(f"{n}:{m}" for n, m in SIZES_OF_MEANS))
    for family in MEANS:
        pairs = [means(family, sizes, 4 * trials) for sizes in SIZES_OF_MEANS]
        bad += [family for rate, _ in pairs if _above(rate, ALLOWED_OF_MEAN, 4 * trials)]
        _line([family, *(_percent(*each) for each in pairs)])
    _head("groups of 10", *GROUPS)
    for family in GROUPED:
        _line([family, *(_percent(grouped_means(family, each, 4 * trials)) for each in GROUPS)])
    print(f"\nToo many false alarms: {', '.join(bad) or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
