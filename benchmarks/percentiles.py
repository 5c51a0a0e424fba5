"""Do the intervals of percentiles cover? ``python benchmarks/percentiles.py`` prints three tables.

Each cell has two coverages in percent at 95% confidence: of the percentile of one sample, and of
the difference of percentiles of two samples, the second one stretched by 1.5. A dash stands for a
percentile that so few values cannot support. The tables are in docs/findings.md.

1. From values. Only the order statistics that the intervals use are drawn, by their exact law
   (sums of gamma variables), so samples of 100,000 values cost no more than samples of 100.
2. From bins: whole samples are drawn and summed up per bin.
3. With groups: values of one group share a random part. The group bootstrap stands beside.

The exit code is 1 if a coverage of dkmd is below 93.5% by more than three standard errors.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from dkmd import Grid, Summary
from dkmd.answers.findings import percentile_changes
from dkmd.inference.kinds.percentiles import (
    LEVELS,
    compare_percentiles,
    interval_levels,
    size_of_groups,
    values_needed,
)

Array = npt.NDArray[np.float64]
Cell = tuple[float, float] | None
SEED, LEAST, FACTOR = 2029, 0.935, 1.5
POISSON = stats.poisson.cdf(np.arange(60), 3.0)
NORMAL: Callable[[Array], Array] = special.ndtri


def _zeros(u: Array) -> Array:
    rest = np.clip((u - 0.6) / 0.4, 1e-300, 1.0 - 1e-16)
    return np.where(u <= 0.6, 0.0, np.exp(NORMAL(rest)))


FAMILIES: dict[str, Callable[[Array], Array]] = {
    "normal": NORMAL,
    "lognormal": lambda u: np.exp(NORMAL(u)),
    "t2": lambda u: (2.0 * u - 1.0) / np.sqrt(2.0 * u * (1.0 - u)),
    "Poisson(3)": lambda u: np.searchsorted(POISSON, u).astype(np.float64),
    "60% zeros, lognormal": _zeros,
}
SIZES = (100, 1000, 10_000, 100_000)


def _rng(*cell: object) -> np.random.Generator:
    return np.random.default_rng([SEED, zlib.crc32(repr(cell).encode())])


def _at_positions(
    rng: np.random.Generator,
    inverse: Callable[[Array], Array],
    n: int,
    positions: list[float],
    trials: int,
) -> list[Array]:
    """Values between order statistics at 0-based positions of samples of n values."""
    ranks = sorted({min(int(p) + i, n - 1) for p in positions for i in (0, 1)})
    steps = np.diff([0, *(rank + 1 for rank in ranks), n + 1]).astype(np.float64)
    passed = np.cumsum(rng.standard_gamma(steps, size=(trials, steps.size)), axis=1)
    drawn = inverse(passed[:, :-1] / passed[:, -1:])
    column = {rank: drawn[:, i] for i, rank in enumerate(ranks)}

    def between(position: float) -> Array:
        low, high = column[int(position)], column[min(int(position) + 1, n - 1)]
        return np.asarray(low + (position - int(position)) * (high - low))

    return [between(p) for p in positions]


def from_values(family: str, n: int, level: float, trials: int) -> Cell:
    """Both coverages from the order statistics that the intervals use."""
    low, high = interval_levels(n, level)
    if low is None or high is None:
        return None
    rng, inverse = _rng(family, n, level), FAMILIES[family]
    positions = [share * (n - 1) for share in (level, low, high)]
    drawn = [_at_positions(rng, inverse, n, positions, trials) for _ in "xy"]
    x, below_x, above_x = drawn[0]
    y, below_y, above_y = (FACTOR * part for part in drawn[1])
    _agree([float(part[0]) for part in (x, below_x, above_x, y, below_y, above_y)], n, level)
    true = float(inverse(np.array([level]))[0])
    away = (1.0 - FACTOR) * true
    down = np.hypot(x - np.minimum(below_x, x), np.maximum(above_y, y) - y)
    up = np.hypot(np.maximum(above_x, x) - x, y - np.minimum(below_y, y))
    slack = 1e-9 * max(1.0, abs(true))  # rounding, where all of these are equal
    one = (np.minimum(below_x, x) <= true + slack) & (np.maximum(above_x, x) >= true - slack)
    two = (x - y - down <= away + slack) & (x - y + up >= away - slack)
    return float(one.mean()), float(two.mean())


def _agree(numbers: list[float], n: int, level: float) -> None:
    """Check that ``compare_percentiles`` gives the interval that the table is about."""
    known = dict(zip((level, *interval_levels(n, level)), range(3), strict=True))
    found = compare_percentiles(
        (lambda share: numbers[known[share]], n),
        (lambda share: numbers[3 + known[share]], n),
        level,
    )
    x, below, above = numbers[:3]
    assert (found.x.low, found.x.high) == (min(below, x), max(above, x))
    reach = math.hypot(x - found.x.low, found.y.high - found.y.value)
    assert math.isclose(found.low, found.difference - reach, abs_tol=1e-12)


def from_bins(family: str, n: int, trials: int) -> list[Cell]:
    """Both coverages of every level from samples that are summed up per bin."""
    rng, inverse = _rng("bins", family, n), FAMILIES[family]
    true = inverse(np.array(LEVELS))
    hits = np.zeros((len(LEVELS), 2))
    for _ in range(trials):
        x, y = inverse(rng.random(n)), FACTOR * inverse(rng.random(n))
        grid = Grid.fit(x, y)
        sides = [(Summary.of(z, grid), None) for z in (y, x)]
        for i, found in enumerate(percentile_changes(sides[0], sides[1], 0.95)):
            slack = 1e-9 * max(1.0, abs(true[i]))
            away = (1.0 - FACTOR) * true[i]
            hits[i] += [
                found.x.low - slack <= true[i] <= found.x.high + slack,
                found.low - slack <= away <= found.high + slack,
            ]
    return [
        (float(one), float(two)) if values_needed(level) <= n else None
        for level, (one, two) in zip(LEVELS, hits / trials, strict=True)
    ]


GROUPS = ((8, 20, 0.3), (20, 20, 0.3), (50, 10, 0.3), (50, 10, 0.0), (200, 10, 0.5))
GROUP_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
MANY_GROUPS = 200
"""So many groups take long, so they have fewer trials."""


def with_groups(
    groups: int, size: int, shared: float, trials: int
) -> tuple[list[Cell], list[Cell]]:
    """Both coverages of normal values in groups: dkmd's, and the group bootstrap's."""
    rng = _rng("groups", groups, size, shared)
    true = NORMAL(np.array(GROUP_LEVELS))
    hits = np.zeros((2, len(GROUP_LEVELS), 2))
    reached = np.zeros(len(GROUP_LEVELS))
    for _ in range(trials):
        sides, resampled = [], []
        for factor in (1.0, FACTOR):
            values, codes = _in_groups(rng, groups, size, shared)
            ordered = np.sort(factor * values)

            def quantile(level: float, ordered: Array = ordered) -> float:
                return float(
                    np.interp(level * (ordered.size - 1), np.arange(ordered.size), ordered)
                )

            worth = size_of_groups(factor * values, codes, quantile, 0.95)
            sides.append((quantile, worth))
            resampled.append(_bootstrap(rng, factor * values, codes, groups))
        for i, level in enumerate(GROUP_LEVELS):
            x, y = ((quantile, worth(level)) for quantile, worth in sides)
            found = compare_percentiles(x, y, level)
            away = (1.0 - FACTOR) * true[i]
            if found.in_reach:
                reached[i] += 1
                hits[0, i] += [
                    found.x.low <= true[i] <= found.x.high,
                    found.low <= away <= found.high,
                ]
            one = np.quantile(resampled[0][i], [0.025, 0.975])
            two = np.quantile(resampled[0][i] - resampled[1][i], [0.025, 0.975])
            hits[1, i] += [one[0] <= true[i] <= one[1], two[0] <= away <= two[1]]
    ours = [
        (float(one), float(two)) if often > trials / 2 else None
        for (one, two), often in zip(
            hits[0] / np.maximum(reached, 1.0)[:, None], reached, strict=True
        )
    ]
    return ours, [(float(one), float(two)) for one, two in hits[1] / trials]


def _in_groups(
    rng: np.random.Generator, groups: int, size: int, shared: float
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Standard normal values in groups of about ``size``; ``shared`` is their correlation."""
    codes = np.repeat(np.arange(groups), 1 + rng.poisson(size - 1.0, groups))
    own = rng.normal(size=codes.size)
    return math.sqrt(shared) * rng.normal(size=groups)[codes] + math.sqrt(1 - shared) * own, codes


def _bootstrap(
    rng: np.random.Generator, values: Array, codes: npt.NDArray[np.int64], groups: int
) -> list[Array]:
    """Percentiles of 400 resamples of whole groups."""
    order = np.argsort(values)
    times = rng.multinomial(groups, np.full(groups, 1.0 / groups), size=400)
    passed = np.cumsum(times[:, codes[order]], axis=1)
    reached = [(passed < level * passed[:, -1:]).sum(axis=1) for level in GROUP_LEVELS]
    return [values[order][at] for at in reached]


def _cells(found: Iterable[Cell]) -> str:
    return " | ".join("–" if c is None else f"{100 * c[0]:.1f} / {100 * c[1]:.1f}" for c in found)


def _head(first: str, levels: Iterable[float]) -> str:
    names = [f"{100 * level:g}%" for level in levels]
    return f"| {first} | {' | '.join(names)} |\n|---|{'---|' * len(names)}"


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--trials",
        type=int,
        default=10_000,
        help="per cell of the first table; the others have half as many, 200 groups a fifth",
    )
    trials = parser.parse_args().trials
    outside = 0

    def judged(found: list[Cell], drawn: int) -> list[Cell]:
        nonlocal outside
        least = LEAST - 3.0 * math.sqrt(LEAST * (1.0 - LEAST) / drawn)
        outside += sum(cell is not None and min(cell) < least for cell in found)
        return found

    print(f"From values, {trials:,} trials per cell:\n\n{_head('data, n', LEVELS)}")
    for family in FAMILIES:
        for n in SIZES:
            found = judged([from_values(family, n, level, trials) for level in LEVELS], trials)
            print(f"| {family}, {n:,} | {_cells(found)} |", flush=True)
    drawn = trials // 2
    print(f"\nFrom bins, {drawn:,} trials per cell:\n\n{_head('data, n', LEVELS)}")
    for family in FAMILIES:
        for n in SIZES:
            found = judged(from_bins(family, n, drawn), drawn)
            print(f"| {family}, {n:,} | {_cells(found)} |", flush=True)
    fewer = trials // 5
    told = f"{drawn:,} trials per cell, {fewer:,} with {MANY_GROUPS} groups"
    print(f"\nWith groups, {told}:\n\n{_head('groups', GROUP_LEVELS)}")
    for groups, size, shared in GROUPS:
        drawn = trials // 2 if groups < MANY_GROUPS else fewer
        ours, theirs = with_groups(groups, size, shared, drawn)
        name = f"{groups} of {size}, correlation {shared:g}"
        print(f"| {name}: dkmd | {_cells(judged(ours, drawn))} |")
        print(f"| {name}: group bootstrap | {_cells(theirs)} |", flush=True)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
