"""The size and the power of the test whether segments differ: tables for docs/segments.md.

    python benchmarks/segments.py                  # both tables, some minutes
    python benchmarks/segments.py --trials 1000    # quicker, and less exact
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

from dkmd.inference.direct import compare_rows
from dkmd.inference.scale import unit_form
from dkmd.inference.segments import cochran, row_shifts

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

FAMILIES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t2": lambda rng, shape: rng.standard_t(2.0, size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "counts": lambda rng, shape: rng.poisson(3.0, size=shape).astype(np.float64),
}

SEGMENTS = (2, 5, 20)
SIZES = (20, 100, 500)


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
        level, spread = 10.0 * s, (1.0 if cell.family == "counts" else 1.0 + s % 3)
        x, y = (draw(rng, (trials, k)) * spread + level for k in (n, m))
        found.append((x + shift * (s % 2), y))
    return found


def our_pvalues(segments: list[tuple[Array, Array]]) -> Array:
    """The p-values of Q, with the common ψ that answers use."""
    widths = np.column_stack([compare_rows(x, y, None).width for x, y in segments])
    sizes = np.array([x.shape[1] + y.shape[1] for x, y in segments], dtype=np.float64)
    common = np.exp(np.log(widths) @ sizes / sizes.sum())
    found = [row_shifts(x, y, common, unit_form()) for x, y in segments]
    shift = np.column_stack([cx - cy for cx, _, cy, _, _ in found])
    variance = np.column_stack([vx + vy for _, vx, _, vy, _ in found])
    return cochran(shift, variance, np.column_stack([df for *_, df in found]))[2]


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


AT_ONCE = 500
"""Trials that are held in memory at once."""


def size_of(cell: Cell, trials: int) -> float:
    """The share of rejections without a difference, in percent."""
    parts = range(0, trials, AT_ONCE)
    return rejected(np.concatenate([our_pvalues(drawn(cell, AT_ONCE, 0.0, p)) for p in parts]))


def sizes_table(trials: int, families: Sequence[str], sizes: Sequence[int]) -> None:
    """The size at the 5% level, for every cell."""
    error = 100.0 * math.sqrt(0.05 * 0.95 / trials)
    print(f"Size at the 5% level ({trials:,} trials, standard error {error:.1f} points)\n")
    print(
        "| family | values a side | 2 segments | 5 | 20 | 2, unequal | 5, unequal | 20, unequal |"
    )
    print("|---|---|---|---|---|---|---|---|")
    worst = 0.0
    for size in sizes:
        for family in families:
            found = []
            for unequal in (False, True):
                for k in SEGMENTS:
                    large = k == 20 and size == 500 and unequal  # takes as long as all others
                    cell = Cell(family, k, size, unequal)
                    found.append(math.nan if large else size_of(cell, trials))
            worst = max(worst, *(p for p in found if not math.isnan(p)))
            cells = " | ".join("" if math.isnan(p) else f"{p:.1f}" for p in found)
            print(f"| {family} | {size} | {cells} |", flush=True)
    print(f"\nLargest: {worst:.1f}%\n")


SHIFTS = {"normal": 0.35, "t2": 0.6, "exponential": 0.3, "counts": 0.55}


def power_table(trials: int) -> None:
    """The power of Q and of the F test, where half of the segments shift."""
    error = 100.0 * math.sqrt(0.25 / trials)
    print(f"Power ({trials:,} trials, standard error at most {error:.1f} points)\n")
    print("| family | shift | segments | Q on ψ | F on means |")
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
    parser.add_argument("--trials", type=int, default=4_000)
    parser.add_argument("--family", action="append", choices=[*FAMILIES])
    parser.add_argument("--size", action="append", type=int, choices=SIZES)
    asked = parser.parse_args()
    sizes_table(asked.trials, asked.family or [*FAMILIES], asked.size or SIZES)
    if not asked.family and not asked.size:
        power_table(asked.trials)


if __name__ == "__main__":
    main()
