"""False alarms of categories and missing values with groups.

``python benchmarks/grouped_findings.py`` prints two tables of docs/findings.md.
Rows of one group share its own shares of the levels (a Dirichlet law with a correlation within
groups), and both sides come from one law. The first table is about the p-value of a column of
categories, the second about the share of missing values. Every cell has dkmd's false alarms at 5%
and at 1%, and at 5% those of a test that does not know the groups: Pearson's X² or Boschloo's test.
The exit code is 1 if a rate of dkmd is above 6.5% or 1.6% by more than three standard errors.
"""

from __future__ import annotations

import argparse
import math
import sys
import zlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2_contingency

from dkmd.answers.grouped import Missing, grouped_missing_finding
from dkmd.inference.kinds.proportions import Counts, share_tails
from dkmd.inference.kinds.unit_shares import compare_share, pvalue_of_levels, unit_counts

Array = npt.NDArray[np.float64]
Sizes = Callable[[np.random.Generator, int], npt.NDArray[np.int64]]
SEED, ALPHA = 2030, 0.05
ALLOWED = {0.05: 0.065, 0.01: 0.016}


def _equal(rng: np.random.Generator, groups: int) -> npt.NDArray[np.int64]:
    return np.full(groups, 20)


def _unequal(rng: np.random.Generator, groups: int) -> npt.NDArray[np.int64]:
    return 1 + np.minimum(rng.lognormal(math.log(10.0), 1.0, groups), 500.0).astype(np.int64)


def _small(rng: np.random.Generator, groups: int) -> npt.NDArray[np.int64]:
    return 1 + rng.poisson(2.0, groups)


DESIGNS: dict[str, tuple[int, int, Sizes, Sizes]] = {
    "5 and 5 groups of 20": (5, 5, _equal, _equal),
    "8 and 8 groups of 20": (8, 8, _equal, _equal),
    "20 and 20 groups of 20": (20, 20, _equal, _equal),
    "5 and 50 groups of 20": (5, 50, _equal, _equal),
    "8 and 8 groups of 1 to 500": (8, 8, _unequal, _unequal),
    "20 and 20 groups of 1 to 500": (20, 20, _unequal, _unequal),
    "5 and 50 groups of 1 to 500": (5, 50, _unequal, _unequal),
    "30 and 30 groups of about 3": (30, 30, _small, _small),
    "40 groups of 1 to 500, 8 of about 3": (40, 8, _unequal, _small),
    "8 groups of 1 to 500, 40 of about 3": (8, 40, _unequal, _small),
    "250 and 250 groups of about 3": (250, 250, _small, _small),
}
CORRELATIONS = (0.0, 0.2)


def _drawn(
    rng: np.random.Generator, sizes: npt.NDArray[np.int64], shares: Array, correlation: float
) -> Array:
    """Counts (groups, levels)."""
    own = np.tile(shares, (sizes.size, 1))
    if correlation:
        own = rng.dirichlet((1.0 - correlation) / correlation * shares, sizes.size)
        own = np.nan_to_num(own, nan=1.0 / shares.size)
    return rng.multinomial(sizes, own / own.sum(axis=1, keepdims=True)).astype(np.float64)


def _pair(
    rng: np.random.Generator, design: str, shares: Array, correlation: float
) -> tuple[Array, Array]:
    n, m, of_x, of_y = DESIGNS[design]
    x = _drawn(rng, of_x(rng, n), shares, correlation)
    return x, _drawn(rng, of_y(rng, m), shares, correlation)


def categories(design: str, levels: float, correlation: float, trials: int) -> tuple[float, ...]:
    """False alarms of dkmd, and of X², which does not know the groups."""
    name = repr((design, levels, correlation)).encode()
    rng = np.random.default_rng([SEED, zlib.crc32(name)])
    hits = np.zeros(3)
    for _ in range(trials):
        shares = np.maximum(rng.dirichlet(np.ones(int(levels))), 1e-6)
        x, y = _pair(rng, design, shares / shares.sum(), correlation)
        sides = unit_counts(x), unit_counts(y)
        found = compare_share(*sides).pvalue if levels == 2 else pvalue_of_levels(*sides)
        alone = _pearson(x.sum(axis=0), y.sum(axis=0))
        hits += [*(found <= alpha for alpha in ALLOWED), alone <= ALPHA]
    return tuple(hits / trials)


def _pearson(x: Array, y: Array) -> float:
    """Pearson's X² of the levels that occur, by the χ² law."""
    kept = x + y > 0.0
    table = np.array([x[kept], y[kept]])
    return 1.0 if kept.sum() < 2 else float(chi2_contingency(table, correction=False).pvalue)


def _missing(counts: Array) -> Missing:
    groups = np.repeat(np.arange(len(counts)), counts.sum(axis=1).astype(np.int64))
    rows = np.concatenate([np.repeat([1.0, 0.0], each.astype(np.int64)) for each in counts])
    return Missing(rows, groups)


def missing(design: str, share: float, correlation: float, trials: int) -> tuple[float, ...]:
    """False alarms of dkmd, and of the exact test that does not know the groups."""
    name = repr((design, share, correlation)).encode()
    rng = np.random.default_rng([SEED, zlib.crc32(name)])
    hits = np.zeros(3)
    for _ in range(trials):
        x, y = _pair(rng, design, np.array([share, 1.0 - share]), correlation)
        found = grouped_missing_finding(_missing(y), _missing(x), None, 1.0 - ALPHA)
        yes = [int(side[:, 0].sum()) for side in (x, y)]
        counts = Counts(yes[0], int(x.sum()), yes[1], int(y.sum()))
        alone = share_tails(counts).pvalue("two-sided")
        ours = [found is not None and found.pvalue <= alpha for alpha in ALLOWED]
        hits += [*ours, alone <= ALPHA]
    return tuple(hits / trials)


def _print(name: str, cells: list[tuple[float, ...]]) -> None:
    told = (" / ".join(f"{100 * rate:.1f}" for rate in cell) for cell in cells)
    print(f"| {name} | {' | '.join(told)} |", flush=True)


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials
    limits = [most + 3.0 * math.sqrt(most * (1.0 - most) / trials) for most in ALLOWED.values()]
    outside = 0
    tables = (("levels", (2, 5, 30), categories), ("missing", (0.02, 0.3), missing))
    for words, values, study in tables:
        head = [f"{value:.0%}" if value < 1 else f"{value} {words}" for value in values]
        columns = [f"{each}, correlation {c:g}" for each in head for c in CORRELATIONS]
        print(f"\n| groups | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
        for design in DESIGNS:
            cells = [study(design, v, c, trials) for v in values for c in CORRELATIONS]
            outside += sum(cell[0] > limits[0] or cell[1] > limits[1] for cell in cells)
            _print(design, cells)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
