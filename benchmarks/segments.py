"""The size and the power of the test whether segments differ: tables for docs/segments.md.

    python benchmarks/segments.py                 # both tables, some minutes
    python benchmarks/segments.py --trials 500    # quicker, and less exact
    python benchmarks/segments.py --family t2 --size 20

Size: all segments shift by the same amount, which is 0, and levels and spreads differ between
segments. Power: half of the segments shift by some standard errors, the other half do not. The
peer is the F test of the interaction of segment and side in a linear model of means.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from dkmd.inference.kinds.segments import SegmentShift, score_of_test, segments_differ
from dkmd.inference.test.one_test import compare_values
from dkmd.inference.test.options import check_options
from dkmd.inference.test.result import ExactOutcome

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

STARS = (0.05, 0.1, 0.2, 0.35, 0.3)
"""The shares of one to five stars."""

FAMILIES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t2": lambda rng, shape: rng.standard_t(2.0, size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "counts": lambda rng, shape: rng.poisson(3.0, size=shape).astype(np.float64),
    "ratings": lambda rng, shape: rng.choice(np.arange(1.0, 6.0), p=STARS, size=shape),
    "60% zeros": lambda rng, shape: rng.exponential(size=shape) * (rng.random(shape) < 0.4),
}
WHOLE = ("counts", "ratings")
"""Whole numbers: all segments have the same spread, and a shift adds 1 to some values."""

SIZES = (20, 100)
PLAIN = check_options(None, None, "exact", "two-sided", None, "omit")


class Cell(NamedTuple):
    """One design: how many segments there are, and the values of each side of a segment."""

    family: str
    segments: int
    size: int
    unequal: bool

    def sizes(self) -> list[tuple[int, int]]:
        """The values of x and y in each segment; unequal ones are 1:2 and 2:1 in turn."""
        if not self.unequal:
            return [(self.size, self.size)] * self.segments
        return [(self.size * (1 + s % 2), self.size * (2 - s % 2)) for s in range(self.segments)]


def drawn(cell: Cell, trials: int, shift: float, seed: int) -> list[tuple[Array, Array]]:
    """The values of every segment: rows are trials. Every second segment shifts by ``shift``."""
    rng = np.random.default_rng([seed, cell.segments, cell.size, cell.unequal])
    draw = FAMILIES[cell.family]
    found = []
    for s, (n, m) in enumerate(cell.sizes()):
        whole = cell.family in WHOLE
        level, spread = 10.0 * s, (1.0 if whole else 1.0 + s % 3)
        x, y = (draw(rng, (trials, k)) * spread + level for k in (n, m))
        moved = (rng.random(x.shape) < shift).astype(np.float64) if whole else shift
        found.append((x + moved * (s % 2), y))
    return found


def our_pvalues(segments: list[tuple[Array, Array]]) -> Array:
    """The p-values of Q, trial by trial."""
    found = []
    for i in range(segments[0][0].shape[0]):
        shifts = [shift_of(x[i], y[i]) for x, y in segments]
        found.append(segments_differ([each for each in shifts if each is not None]).pvalue)
    return np.array(found)


def shift_of(x: Array, y: Array) -> SegmentShift | None:
    """The shift of one segment; None if all values are equal."""
    outcome = compare_values(x, y, PLAIN)
    if not isinstance(outcome, ExactOutcome):
        return None
    return SegmentShift(outcome.shift, *outcome.shift_interval(0.95), score_of_test(outcome))


def f_pvalues(segments: list[tuple[Array, Array]]) -> Array:
    """The F test of the interaction in a linear model: segment × side, one variance for all."""
    differences, weights, within, freedom = [], [], 0.0, 0
    for x, y in segments:
        n, m = x.shape[1], y.shape[1]
        differences.append(x.mean(axis=1) - y.mean(axis=1))
        weights.append(1.0 / (1.0 / n + 1.0 / m))
        within = within + ((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        within = within + ((y - y.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        freedom += n + m - 2
    d, w = np.column_stack(differences), np.array(weights)
    between = ((d - (d @ w / w.sum())[:, None]) ** 2) @ w
    k = len(segments)
    return np.asarray(special.fdtrc(k - 1, freedom, between / (k - 1) / (within / freedom)))


def rejected(pvalues: Array) -> float:
    """The share of p-values below 5%, in percent."""
    return 100.0 * float((pvalues < 0.05).mean())


def sizes_table(trials: int, families: Sequence[str], sizes: Sequence[int]) -> None:
    """The size at the 5% level, for every cell."""
    error = 100.0 * math.sqrt(0.05 * 0.95 / trials)
    print(f"Size at the 5% level ({trials:,} trials, standard error {error:.1f} points)\n")
    print("| family | values a side | 2 segments | 5 | 20 | 2, unequal | 5, unequal |")
    print("|---|---|---|---|---|---|---|")
    worst = 0.0
    for size in sizes:
        for family in families:
            found = []
            for k, unequal in ((2, False), (5, False), (20, False), (2, True), (5, True)):
                segments = drawn(Cell(family, k, size, unequal), trials, 0.0, 1)
                found.append(rejected(our_pvalues(segments)))
            worst = max(worst, *found)
            print(f"| {family} | {size} | {' | '.join(f'{p:.1f}' for p in found)} |", flush=True)
    print(f"\nLargest: {worst:.1f}%\n")


SHIFTS = {"normal": 0.35, "t2": 0.6, "exponential": 0.3, "counts": 0.55, "ratings": 0.4}


def power_table(trials: int) -> None:
    """The power of Q and of the F test, where half of the segments shift."""
    error = 100.0 * math.sqrt(0.25 / trials)
    print(f"Power ({trials:,} trials, standard error at most {error:.1f} points)\n")
    print("| family | shift | segments | Q | F on means |")
    print("|---|---|---|---|---|")
    for family, shift in SHIFTS.items():
        for k in (2, 5):
            cell = Cell(family, k, 100, unequal=False)
            segments = drawn(cell, trials, shift, 2)
            ours, theirs = rejected(our_pvalues(segments)), rejected(f_pvalues(segments))
            print(f"| {family} | {shift} | {k} | {ours:.0f}% | {theirs:.0f}% |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2_000)
    parser.add_argument("--family", action="append", choices=[*FAMILIES])
    parser.add_argument("--size", action="append", type=int, choices=SIZES)
    asked = parser.parse_args()
    sizes_table(asked.trials, asked.family or [*FAMILIES], asked.size or SIZES)
    if not asked.family and not asked.size:
        power_table(asked.trials)


if __name__ == "__main__":
    main()
