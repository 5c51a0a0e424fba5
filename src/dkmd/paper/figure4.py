"""Figure 4: Q slides past P (section 5.3 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dkmd.paper.checks import Check, agrees_with_population
from dkmd.paper.report import Heading, PaperTable
from dkmd.paper.trials import SEED, MeanSd, Runner, serial, simulate
from dkmd.statistic.exact import exact
from dkmd.statistic.population import population
from dkmd.statistic.riemann import riemann
from dkmd.statistic.witness import Witness

N = 1000
"""The size of section 5.1; section 5.3 states no size."""

PSI = Witness(sigma=1.0, tau=1.0)
SHIFTS = tuple(i / 10 for i in range(-20, 21))


@dataclass(frozen=True)
class Figure4Row:
    """Both estimators and the population value at one position of Q."""

    shift: float
    riemann: MeanSd
    exact: MeanSd
    population: float


def figure4(trials: int = 200, seed: int = SEED, run: Runner = serial) -> list[Figure4Row]:
    """P = N(0, 1), Q = N(μ, 1) for μ from −2 to 2."""
    from scipy.stats import norm

    drawn = simulate("figure4", _trial, SHIFTS, trials, seed, run)
    return [
        Figure4Row(
            shift,
            riemann=MeanSd.of(of_cell[:, 0]),
            exact=MeanSd.of(of_cell[:, 1]),
            population=population(norm(), norm(shift), PSI),
        )
        for shift, of_cell in zip(SHIFTS, drawn, strict=True)
    ]


def _trial(shift: float, rng: np.random.Generator) -> tuple[float, float]:
    x, y = rng.normal(size=N), rng.normal(shift, 1.0, size=N)
    return riemann(x, y, PSI), exact(x, y, PSI)


def table(rows: Sequence[Figure4Row]) -> PaperTable:
    """The points of the curve."""
    columns = [Heading("μ", "g"), Heading("riemann"), Heading("exact"), Heading("population")]
    values = [(row.shift, row.riemann, row.exact, row.population) for row in rows]
    note = f"Mean ± standard deviation over {rows[0].exact.trials} trials, n = m = {N:,}."
    return PaperTable("figure4", "Figure 4: the points of the curve", columns, values, note)


def checks(rows: Sequence[Figure4Row]) -> list[Check]:
    """The exact estimator agrees with the population value, whose curve falls at every step."""
    kept = [
        agrees_with_population(f"Figure 4, μ = {row.shift:g}", row.exact, row.population)
        for row in rows
    ]
    steps = np.diff([row.population for row in rows])
    rises = float(np.count_nonzero(steps >= 0.0))
    return [*kept, Check("Figure 4: steps at which the population value does not fall", rises, 0.0)]
