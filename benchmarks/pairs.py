"""Size and power of ``dkmd_rel``, the paired t-test and Wilcoxon's: a table of docs/inference.md.

Run ``python benchmarks/pairs.py``: 4,000 trials per cell, about five minutes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy import stats

from dkmd import dkmd_rel
from dkmd.base.arrays import Array

TRIALS = 4_000
UNITS = 10.0
"""How much more units differ than the noise."""

Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

NOISE: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, shape: rng.normal(size=shape), 0.75),
    "t2": (lambda rng, shape: rng.standard_t(2, shape), 1.25),
    "Cauchy": (lambda rng, shape: rng.standard_cauchy(shape), 2.0),
    "exponential": (lambda rng, shape: rng.exponential(size=shape), 0.75),
    "Poisson(0.5)": (lambda rng, shape: rng.poisson(0.5, shape).astype(float), 0.5),
    "U-shaped": (lambda rng, shape: rng.beta(0.2, 0.2, shape), 0.3),
    "two values": (lambda rng, shape: rng.integers(0, 2, shape).astype(float), 0.25),
}
"""The noise of a measurement, and a shift that 30 pairs can find."""


def main() -> None:
    """Print one Markdown row per cell."""
    print("| noise | pairs | rejected at 5%, 1%, 0.1% | power | paired t | Wilcoxon |")
    print("|---|---|---|---|---|---|")
    for name, (draw, shift) in NOISE.items():
        for n in (5, 8, 15, 30, 100):
            rng = np.random.default_rng([n, *name.encode()])
            unit = UNITS * rng.normal(size=(TRIALS, n))
            if name in ("Poisson(0.5)", "two values"):
                unit = np.round(unit)
            x, y = unit + draw(rng, unit.shape), unit + draw(rng, unit.shape)
            warnings.simplefilter("ignore", RuntimeWarning)  # pairs without a difference, few pairs
            same = _rejected(dkmd_rel(x, y, axis=1, nan_policy="omit").pvalue)
            moved = x + shift * np.sqrt(30.0 / n)
            powers = (
                _rejected(test)[0]
                for test in (
                    dkmd_rel(moved, y, axis=1).pvalue,
                    stats.ttest_rel(moved, y, axis=1).pvalue,
                    stats.wilcoxon(moved, y, axis=1, method="asymptotic").pvalue,
                )
            )
            sizes = ", ".join(
                f"{100 * share:.{digits}f}%" for share, digits in zip(same, (1, 2, 2), strict=True)
            )
            print(f"| {name} | {n} | {sizes} | {' | '.join(f'{100 * p:.0f}%' for p in powers)} |")


def _rejected(pvalues: Array) -> tuple[float, float, float]:
    """The shares below 5%, 1% and 0.1%; a test without an answer rejects nothing."""
    known = np.where(np.isnan(pvalues), 1.0, pvalues)
    five, one, tenth = (float((known < level).mean()) for level in (0.05, 0.01, 0.001))
    return five, one, tenth


if __name__ == "__main__":
    main()
