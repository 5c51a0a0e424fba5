"""How often p is below small levels if nothing differs: the far tails that many columns need.

    python benchmarks/studies/far_tails.py

Benjamini–Hochberg at 5% among 100 columns compares the smallest p-value with 0.05%, among 1,000
columns with 0.005%. The table shows the share of p-values below a level over that level, for
dkmd and for Brunner–Munzel's test, whose variance is that of h and g alone. 1 is exact.
"""

from __future__ import annotations

import argparse
import math
import os
from concurrent.futures import ProcessPoolExecutor

os.environ.setdefault("DKMD_NUM_THREADS", "1")  # processes share the cores

import numpy as np
from scipy import stats

from dkmd.inference.test.two_sample import row_tails

LEVELS = (0.01, 0.001, 0.0005, 0.0001)
SIZES = [(10, 10), (30, 30), (100, 100), (300, 300), (30, 100), (20, 200)]
FAMILIES = ("normal", "lognormal", "t2", "two peaks")
AT_ONCE = 10_000

Cell = tuple[str, int, int, int]


def draw(rng: np.random.Generator, family: str, shape: tuple[int, int]) -> np.ndarray:
    """Samples of a family, a row each."""
    if family == "normal":
        return rng.normal(size=shape)
    if family == "lognormal":
        return rng.lognormal(size=shape)
    if family == "t2":
        return rng.standard_t(2, size=shape)
    return rng.normal(size=shape) + np.where(rng.random(shape) < 0.4, 6.0, 0.0)


def shares(cell: Cell) -> str:
    """One row of the table."""
    family, n, m, trials = cell
    rng = np.random.default_rng([18, FAMILIES.index(family), n, m])
    counts = np.zeros((2, len(LEVELS)))
    for _ in range(trials // AT_ONCE):
        x, y = draw(rng, family, (AT_ONCE, n)), draw(rng, family, (AT_ONCE, m))
        both = row_tails(x, y).pvalue("two-sided"), stats.brunnermunzel(x, y, axis=1).pvalue
        for found, p in zip(counts, both, strict=True):
            found += [np.count_nonzero(p < level) for level in LEVELS]
    shown = []
    for own, peer, level in zip(*counts, LEVELS, strict=True):
        error = math.sqrt(max(own, 1.0)) / (level * trials)
        shown.append(f"{own / level / trials:.2f} ± {error:.2f} ({peer / level / trials:.1f})")
    return f"| {family} | {n}:{m} | " + " | ".join(shown) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400_000)
    trials = parser.parse_args().trials
    cells = [(family, n, m, trials) for family in FAMILIES for n, m in SIZES]
    print("| family | sizes | " + " | ".join(f"{100 * level:g}%" for level in LEVELS) + " |")
    print("|---|---|" + "---|" * len(LEVELS))
    with ProcessPoolExecutor() as pool:
        for row in pool.map(shares, cells):
            print(row, flush=True)


if __name__ == "__main__":
    main()
