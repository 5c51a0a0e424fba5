"""Table 1: location shifts against scale changes (section 5.1 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dkmd.paper import printed
from dkmd.paper.checks import Check, agrees_with_paper, agrees_with_population
from dkmd.paper.report import Heading, PaperTable
from dkmd.paper.trials import SEED, MeanSd, Runner, serial, simulate
from dkmd.statistic.exact import exact
from dkmd.statistic.peers import mmd2
from dkmd.statistic.population import population
from dkmd.statistic.riemann import riemann
from dkmd.statistic.witness import Witness

N = 1000
PSI = Witness(sigma=1.0, tau=1.0)


@dataclass(frozen=True)
class Table1Row:
    """A row of the paper's table and what we measure for it."""

    printed: printed.PrintedTable1Row
    riemann: MeanSd
    exact: MeanSd
    mmd2: MeanSd
    population: float

    @property
    def name(self) -> str:
        """The name in the paper."""
        return f"{self.printed.kind} {self.printed.parameter:g}"


def table1(trials: int = 500, seed: int = SEED, run: Runner = serial) -> list[Table1Row]:
    """P = N(0, 1) against Q = N(μ, 1) or N(0, s²): DKMD by both estimators, and biased MMD²."""
    from scipy.stats import norm

    cells = [_mean_and_sd(row) for row in printed.TABLE_1]
    drawn = simulate("table1", _trial, cells, trials, seed, run)
    return [
        Table1Row(
            row,
            riemann=MeanSd.of(of_cell[:, 0]),
            exact=MeanSd.of(of_cell[:, 1]),
            mmd2=MeanSd.of(of_cell[:, 2]),
            population=population(norm(), norm(*q), PSI),
        )
        for row, q, of_cell in zip(printed.TABLE_1, cells, drawn, strict=True)
    ]


def _mean_and_sd(row: printed.PrintedTable1Row) -> tuple[float, float]:
    """Mean and standard deviation of Q."""
    return (row.parameter, 1.0) if row.kind == "Location" else (0.0, row.parameter)


def _trial(q: tuple[float, float], rng: np.random.Generator) -> tuple[float, float, float]:
    x, y = rng.normal(size=N), rng.normal(*q, size=N)
    return riemann(x, y, PSI), exact(x, y, PSI), mmd2(x, y, PSI.sigma)


def table(rows: Sequence[Table1Row]) -> PaperTable:
    """The paper's columns next to ours."""
    columns = [
        Heading("type"),
        Heading("parameter", "g"),
        Heading("DKMD, paper"),
        Heading("DKMD, riemann"),
        Heading("DKMD, exact"),
        Heading("DKMD, population"),
        Heading("MMD², paper"),
        Heading("MMD², ours"),
    ]
    values = [
        (
            r.printed.kind,
            r.printed.parameter,
            r.printed.dkmd,
            r.riemann,
            r.exact,
            r.population,
            r.printed.mmd2,
            r.mmd2,
        )
        for r in rows
    ]
    note = (
        f"Mean ± standard deviation; the paper over 500 trials, ours over {rows[0].exact.trials}."
    )
    return PaperTable("table1", "Table 1: location and scale", columns, values, note)


def checks(rows: Sequence[Table1Row]) -> list[Check]:
    """Every cell agrees with the paper, and the exact estimator with the population value."""
    return [
        check
        for row in rows
        for check in (
            agrees_with_paper(f"Table 1, {row.name}, DKMD", row.printed.dkmd, row.riemann),
            agrees_with_paper(f"Table 1, {row.name}, MMD²", row.printed.mmd2, row.mmd2),
            agrees_with_population(f"Table 1, {row.name}", row.exact, row.population),
        )
    ]
