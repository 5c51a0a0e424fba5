"""Do planned sizes have the power that was asked for? ``python benchmarks/plans.py``.

Sizes are planned for a power of 80% at 5% from a pilot of 200,000 values, so that the pilot's own
error is small. Then 4,000 pairs of samples of these sizes are drawn from the distribution and
tested. The table is in docs/inference.md. The exit code is 1 if a power is off by more than 5
points, unless the data change otherwise than planned.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt

from dkmd import sample_size
from dkmd.answers.options import DEFAULT_TEST
from dkmd.inference.proportions import Counts, share_tails
from dkmd.inference.rest import compare_rest
from dkmd.inference.two_sample import row_tails

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
SEED, PILOT, WANTED, ALPHA, ALLOWED = 2027, 200_000, 0.8, 0.05, 0.05


@dataclass(frozen=True)
class Case:
    """A distribution, what it becomes, how a user would ask for that, and the test.

    ``as_planned`` is false where the data change otherwise than the plan takes them to.
    """

    name: str
    before: Draw
    after: Draw
    change: dict[str, float]
    test: Callable[[Array, Array], npt.NDArray[np.bool_]] = field(
        default=lambda x, y: np.asarray(row_tails(x, y).pvalue("two-sided") < ALPHA)
    )
    as_planned: bool = True


@cache
def _share_pvalue(counts: Counts) -> float:
    return float(share_tails(counts).pvalue("two-sided"))


def _shares(x: Array, y: Array) -> npt.NDArray[np.bool_]:
    """The exact test of shares, row by row."""
    yes = zip(x.sum(axis=1), y.sum(axis=1), strict=True)
    n, m = x.shape[1], y.shape[1]
    return np.array([_share_pvalue(Counts(int(a), n, int(b), m)) < ALPHA for a, b in yes])


def _two_parts(x: Array, y: Array) -> npt.NDArray[np.bool_]:
    """p = min(1, 2·min(p_share, p_rest)), row by row."""
    return np.array([_two_part_pvalue(a, b) < ALPHA for a, b in zip(x, y, strict=True)])


def _two_part_pvalue(x: Array, y: Array) -> float:
    rest_x, rest_y = x[x != 0.0], y[y != 0.0]
    p = _share_pvalue(Counts(rest_x.size, x.size, rest_y.size, y.size))
    if min(rest_x.size, rest_y.size) >= 2:
        p = min(p, compare_rest(rest_x, rest_y, 0.0, DEFAULT_TEST).pvalue)
    return min(1.0, 2.0 * p)


def _moved(name: str, draw: Draw, shift: float) -> Case:
    return Case(name, draw, lambda r, s: draw(r, s) + shift, {"shift": shift})


def _multiplied(name: str, draw: Draw, factor: float) -> Case:
    return Case(name, draw, lambda r, s: draw(r, s) * factor, {"factor": factor})


def _coin(share: float) -> Draw:
    return lambda r, s: (r.random(s) < share).astype(np.float64)


def _zeros(share: float) -> Draw:
    return lambda r, s: np.where(r.random(s) < share, 0.0, r.lognormal(3.0, 1.0, s))


def _poisson(mean: float) -> Draw:
    return lambda r, s: r.poisson(mean, s).astype(np.float64)


def _two_part(name: str, zeros: float, factor: float, share: float) -> Case:
    change = {"factor": factor} if factor != 1.0 else {}
    change |= {"share": share} if share else {}
    after = _zeros(zeros - share)
    return Case(name, _zeros(zeros), lambda r, s: after(r, s) * factor, change, _two_parts)


CASES = [
    _moved("normal", lambda r, s: r.normal(size=s), 0.4),
    _multiplied("normal about 10", lambda r, s: r.normal(10.0, 2.0, s), 1.1),
    _moved("lognormal", lambda r, s: r.lognormal(size=s), 0.5),
    _multiplied("lognormal", lambda r, s: r.lognormal(size=s), 1.5),
    _moved("exponential", lambda r, s: r.exponential(size=s), 0.3),
    _multiplied("exponential", lambda r, s: r.exponential(size=s), 1.4),
    _moved("Poisson(2)", _poisson(2.0), 1.0),
    _multiplied("Poisson(2)", _poisson(2.0), 1.3),
    Case(
        "Poisson(2), becomes Poisson(2.6)",
        _poisson(2.0),
        _poisson(2.6),
        {"factor": 1.3},
        as_planned=False,
    ),
    Case("Bernoulli 5%", _coin(0.05), _coin(0.08), {"shift": 0.03}, _shares),
    Case("Bernoulli 50%", _coin(0.5), _coin(0.6), {"shift": 0.1}, _shares),
    _two_part("60% zeros, lognormal", 0.6, 1.5, 0.0),
    _two_part("60% zeros, lognormal", 0.6, 1.0, 0.1),
    _two_part("97% zeros, lognormal", 0.97, 1.8, 0.0),
]


def power_of(case: Case, ratio: float, trials: int, pilot: int) -> tuple[int, int, float]:
    """The planned sizes, and the power that samples of these sizes have."""
    seed = zlib.crc32(repr((case.name, case.change, ratio)).encode())
    rng = np.random.default_rng([SEED, seed])
    n = sample_size(case.before(rng, (pilot,)), power=WANTED, ratio=ratio, **case.change)
    m = math.ceil(ratio * n)
    rows = max(1, 1_000_000 // (n + m))
    rejected = []
    for start in range(0, trials, rows):
        part = min(rows, trials - start)
        rejected.append(case.test(case.after(rng, (part, n)), case.before(rng, (part, m))))
    return n, m, float(np.mean(np.concatenate(rejected)))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--pilot", type=int, default=PILOT, help="values of each pilot")
    options = parser.parse_args()
    outside = 0
    print("| data | change | values | power |\n|---|---|---|---|")
    for case in CASES:
        for ratio in (1.0, 4.0):
            n, m, found = power_of(case, ratio, options.trials, options.pilot)
            off = abs(found - WANTED) > ALLOWED
            outside += off and case.as_planned
            change = ", ".join(f"{name} {value:g}" for name, value in case.change.items())
            shown = f"{100 * found:.1f}%{' (off)' if off else ''}"
            print(f"| {case.name} | {change} | {n:,} and {m:,} | {shown} |", flush=True)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
