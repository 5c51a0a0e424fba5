"""Consistency: how fast the estimators approach the population value (remark of section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dkmd.paper.checks import DEVIATIONS, Check
from dkmd.paper.report import Heading, PaperTable
from dkmd.paper.trials import SEED, MeanSd, Runner, serial, simulate
from dkmd.statistic.exact import exact
from dkmd.statistic.population import population
from dkmd.statistic.riemann import riemann
from dkmd.statistic.witness import Witness

SHIFT = 0.5
WITNESSES = (Witness(sigma=1.0, tau=1.0), Witness(sigma=4.0, tau=1.0))
TRIALS_BY_SIZE = {10**7: 12, 10**6: 40, 10**5: 120, 10**4: 400, 10**3: 1000, 10**2: 2000}
"""Trials by n, the largest n first, so that no core waits for a long trial at the end."""


@dataclass(frozen=True)
class ConsistencyRow:
    """One kernel width at one sample size."""

    sigma: float
    n: int
    riemann: MeanSd
    exact: MeanSd
    population: float

    @property
    def riemann_bias(self) -> float:
        """Mean minus population value."""
        return self.riemann.mean - self.population

    @property
    def exact_bias(self) -> float:
        """Mean minus population value, which is chance alone."""
        return self.exact.mean - self.population


def consistency(
    trials: dict[int, int] | None = None, seed: int = SEED, run: Runner = serial
) -> list[ConsistencyRow]:
    """P = N(0, 1), Q = N(0.5, 1), σ ∈ {1, 4}, τ = 1, n = m from 1e2 to 1e7 (``trials`` by n)."""
    from scipy.stats import norm

    counts = TRIALS_BY_SIZE if trials is None else trials
    drawn = simulate("consistency", _trial, list(counts), list(counts.values()), seed, run, batch=4)
    values = [population(norm(), norm(SHIFT), psi) for psi in WITNESSES]
    rows = [
        ConsistencyRow(
            psi.sigma, n, MeanSd.of(of_n[:, 2 * i]), MeanSd.of(of_n[:, 2 * i + 1]), values[i]
        )
        for i, psi in enumerate(WITNESSES)
        for n, of_n in zip(counts, drawn, strict=True)
    ]
    return sorted(rows, key=lambda row: (row.sigma, row.n))


def _trial(n: int, rng: np.random.Generator) -> list[float]:
    """Both estimators for every width, on one pair of samples."""
    x, y = rng.normal(size=n), rng.normal(SHIFT, 1.0, size=n)
    return [estimator(x, y, psi) for psi in WITNESSES for estimator in (riemann, exact)]


def table(rows: Sequence[ConsistencyRow]) -> PaperTable:
    """Bias and spread by size."""
    columns = [
        Heading("σ", "g"),
        Heading("n = m"),
        Heading("trials"),
        Heading("riemann, bias", ".5f"),
        Heading("riemann, sd", ".5f"),
        Heading("riemann, bias / population", ".1%"),
        Heading("exact, bias", ".5f"),
        Heading("exact, sd", ".5f"),
    ]
    values = [
        (
            row.sigma,
            row.n,
            row.exact.trials,
            row.riemann_bias,
            row.riemann.sd,
            row.riemann_bias / abs(row.population),
            row.exact_bias,
            row.exact.sd,
        )
        for row in rows
    ]
    shown = ", ".join(
        f"{value:.4f} (σ = {sigma:g})".replace("-", "−")
        for sigma, value in sorted({(row.sigma, row.population) for row in rows})
    )
    return PaperTable(
        "consistency",
        "Consistency: bias and spread by sample size",
        columns,
        values,
        f"Bias: mean minus population value, {shown}.",
    )


def checks(rows: Sequence[ConsistencyRow]) -> list[Check]:
    """The exact estimator against the population value, at every size.

    Its variance is c/n with one c for all sizes, so the trials of all sizes estimate c together.
    Twelve trials alone would give a poor standard error.
    """
    kept = []
    for sigma in sorted({row.sigma for row in rows}):
        own = [row for row in rows if row.sigma == sigma]
        freedom = sum(row.exact.trials - 1 for row in own)
        c = sum((row.exact.trials - 1) * row.n * row.exact.sd**2 for row in own) / freedom
        kept += [
            Check(
                f"Consistency, σ = {sigma:g}, n = {row.n:,}: exact − population",
                row.exact_bias,
                DEVIATIONS * math.sqrt(c / row.n / row.exact.trials),
            )
            for row in own
        ]
    return kept
