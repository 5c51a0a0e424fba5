"""Table 3: what the two widths do (section 5.4 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dkmd.paper import printed
from dkmd.paper.checks import Check, agrees_with_paper, agrees_with_population
from dkmd.paper.report import Heading, PaperTable
from dkmd.paper.trials import SEED, MeanSd, Runner, serial, simulate
from dkmd.statistic.exact import exact
from dkmd.statistic.population import population
from dkmd.statistic.riemann import riemann
from dkmd.statistic.witness import Witness

N = 2000
SHIFT = 0.5


@dataclass(frozen=True)
class Table3Row:
    """A cell of the paper's grid and what we measure for it."""

    sigma: float
    tau: float
    printed: MeanSd
    riemann: MeanSd
    exact: MeanSd
    population: float

    @property
    def name(self) -> str:
        """The cell in symbols."""
        return f"σ = {self.sigma:g}, τ = {self.tau:g}"

    @property
    def share(self) -> float:
        """How much of the population value the Riemann estimator finds."""
        return self.riemann.mean / self.population


def table3(trials: int = 500, seed: int = SEED, run: Runner = serial) -> list[Table3Row]:
    """P = N(0, 1), Q = N(0.5, 1) for five widths of the kernel times five of the weight."""
    from scipy.stats import norm

    cells = list(printed.TABLE_3)
    drawn = simulate("table3", _trial, cells, trials, seed, run)
    return [
        Table3Row(
            sigma,
            tau,
            printed.TABLE_3[sigma, tau],
            riemann=MeanSd.of(of_cell[:, 0]),
            exact=MeanSd.of(of_cell[:, 1]),
            population=population(norm(), norm(SHIFT), Witness(sigma, tau)),
        )
        for (sigma, tau), of_cell in zip(cells, drawn, strict=True)
    ]


def _trial(widths: tuple[float, float], rng: np.random.Generator) -> tuple[float, float]:
    x, y = rng.normal(size=N), rng.normal(SHIFT, 1.0, size=N)
    psi = Witness(*widths)
    return riemann(x, y, psi), exact(x, y, psi)


def likely_trials(rows: Sequence[Table3Row]) -> float:
    """The number of trials in the paper, estimated from the scatter of its standard deviations.

    A standard deviation over T trials has a relative error of 1/√(2T). The estimate is infinite if
    our own error explains all of the scatter.
    """
    ratios = np.log([row.printed.sd / row.riemann.sd for row in rows])
    theirs = float(np.mean(ratios**2)) - 1.0 / (2.0 * rows[0].riemann.trials)
    return 1.0 / (2.0 * theirs) if theirs > 0.0 else math.inf


def table(rows: Sequence[Table3Row]) -> PaperTable:
    """The grid as a list, so that each cell has room for four numbers."""
    columns = [
        Heading("σ", "g"),
        Heading("τ", "g"),
        Heading("paper"),
        Heading("riemann"),
        Heading("exact"),
        Heading("population"),
        Heading("riemann / population", ".0%"),
    ]
    values = [
        (row.sigma, row.tau, row.printed, row.riemann, row.exact, row.population, row.share)
        for row in rows
    ]
    note = f"Mean ± standard deviation; ours over {rows[0].exact.trials} trials a cell."
    return PaperTable("table3", "Table 3: the two widths", columns, values, note)


def checks(rows: Sequence[Table3Row]) -> list[Check]:
    """Every cell agrees with the paper, and the exact estimator with the population value."""
    return [
        check
        for row in rows
        for check in (
            agrees_with_paper(f"Table 3, {row.name}", row.printed, row.riemann),
            agrees_with_population(f"Table 3, {row.name}", row.exact, row.population),
        )
    ]
