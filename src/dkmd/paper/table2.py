"""Table 2: heavy-tailed outliers (section 5.2), for each reading of which sample has them.

The paper replaces "k points" and does not say in which sample. A Cauchy variable has no mean and no
variance, so the mean ± sd of an affected statistic does not settle. The tables therefore also show
medians and shares of wrong signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.paper import printed
from dkmd.paper.checks import Check, agrees_with_paper, agrees_with_population
from dkmd.paper.report import Heading, PaperTable
from dkmd.paper.trials import SEED, MeanSd, Runner, serial, simulate
from dkmd.statistic.exact import exact
from dkmd.statistic.population import population
from dkmd.statistic.riemann import riemann
from dkmd.statistic.witness import Witness

N = 500
SHIFT = 0.3
CAUCHY_SCALE = 5.0
PSI = Witness(sigma=1.0, tau=1.0)

READINGS = {
    "of P": "k of the values drawn from P",
    "of Q": "k of the values drawn from Q",
    "of each": "k values of P and k values of Q",
    "of both": "k of all 2n values, whichever sample they fall in",
}
"""The possible readings of "randomly replace k points"."""

RUNS = 8
"""The trials are split into this many runs, to show how much their sd differ."""

SD_LIMIT = 0.07
"""The exact estimator's standard deviation under contamination stays below this."""


@dataclass(frozen=True)
class Statistic:
    """A statistic over all trials of a cell."""

    spread: MeanSd
    median: float
    wrong_sign: float
    """The share of trials that say P is larger."""
    sd_of_runs: tuple[float, float]
    """Smallest and largest standard deviation among ``RUNS`` equal parts of the trials."""


@dataclass(frozen=True)
class Table2Row:
    """A row of the paper's table under one reading, and what we measure for it."""

    reading: str
    printed: printed.PrintedTable2Row
    riemann: Statistic
    exact: Statistic
    mean_difference: Statistic
    """Mean of Q minus mean of P, the sign that the paper prints."""
    population: float

    @property
    def name(self) -> str:
        """The row in words."""
        return f"k = {self.printed.k} {self.reading}".strip()


def table2(trials: int = 4000, seed: int = SEED, run: Runner = serial) -> list[Table2Row]:
    """P = N(0, 1), Q = N(0.3, 1), k points replaced by Cauchy(0, 5): one row per reading and k."""
    clean, *contaminated = printed.TABLE_2
    cells = [("", clean), *((reading, row) for reading in READINGS for row in contaminated)]
    tasks = [(reading, row.k) for reading, row in cells]
    drawn = simulate("table2", _trial, tasks, trials, seed, run)
    return [
        Table2Row(
            reading,
            row,
            riemann=_statistic(of_cell[:, 0], wrong=of_cell[:, 0] > 0.0),
            exact=_statistic(of_cell[:, 1], wrong=of_cell[:, 1] > 0.0),
            mean_difference=_statistic(of_cell[:, 2], wrong=of_cell[:, 2] < 0.0),
            population=_population(reading, row.k),
        )
        for (reading, row), of_cell in zip(cells, drawn, strict=True)
    ]


def _trial(cell: tuple[str, int], rng: np.random.Generator) -> tuple[float, float, float]:
    reading, k = cell
    x, y = rng.normal(size=N), rng.normal(SHIFT, 1.0, size=N)
    in_x, in_y = _counts(reading, k, rng)
    # values within a sample are exchangeable, so replacing the first k is random enough
    x[:in_x] = CAUCHY_SCALE * rng.standard_cauchy(in_x)
    y[:in_y] = CAUCHY_SCALE * rng.standard_cauchy(in_y)
    return riemann(x, y, PSI), exact(x, y, PSI), float(y.mean() - x.mean())


def _counts(reading: str, k: int, rng: np.random.Generator) -> tuple[int, int]:
    """How many values of x and of y are replaced."""
    if reading == "of both":
        in_x = int(rng.hypergeometric(N, N, k))
        return in_x, k - in_x
    return (k if reading in ("of P", "of each") else 0, k if reading in ("of Q", "of each") else 0)


def _statistic(values: Array, wrong: npt.NDArray[np.bool_]) -> Statistic:
    sds = [float(part.std(ddof=1)) for part in np.array_split(values, RUNS)]
    return Statistic(
        MeanSd.of(values), float(np.median(values)), float(wrong.mean()), (min(sds), max(sds))
    )


def _population(reading: str, k: int) -> float:
    """DKMD of the two mixtures: exactly k of n replaced, or k/2 of n on average for "of both"."""
    from scipy.stats import cauchy, norm

    share = k / N if reading == "of each" else k / (2 * N) if reading == "of both" else 0.0
    share_p = k / N if reading == "of P" else share
    share_q = k / N if reading == "of Q" else share
    outliers = cauchy(0.0, CAUCHY_SCALE)

    def mixture_p(t: Array) -> Array:
        return np.asarray((1.0 - share_p) * norm.cdf(t) + share_p * outliers.cdf(t))

    def mixture_q(t: Array) -> Array:
        return np.asarray((1.0 - share_q) * norm.cdf(t, SHIFT) + share_q * outliers.cdf(t))

    return population(mixture_p, mixture_q, PSI)


FIRST_COLUMNS = (Heading("outliers"), Heading("k"))


def tables(rows: Sequence[Table2Row]) -> list[PaperTable]:
    """DKMD by both estimators, and the mean difference."""
    return [_dkmd_table(rows), _mean_table(rows)]


def _dkmd_table(rows: Sequence[Table2Row]) -> PaperTable:
    trials = rows[0].exact.spread.trials
    columns = [
        *FIRST_COLUMNS,
        Heading("paper"),
        Heading("riemann"),
        Heading("riemann, sd by run"),
        Heading("riemann, median"),
        Heading("riemann, wrong sign", ".2%"),
        Heading("exact"),
        Heading("exact, sd by run"),
        Heading("exact, wrong sign", ".2%"),
        Heading("population"),
    ]
    values = [
        (
            row.reading,
            row.printed.k,
            row.printed.dkmd,
            row.riemann.spread,
            _range(row.riemann),
            row.riemann.median,
            row.riemann.wrong_sign,
            row.exact.spread,
            _range(row.exact),
            row.exact.wrong_sign,
            row.population,
        )
        for row in rows
    ]
    note = (
        f"Mean ± standard deviation over {trials:,} trials; “sd by run” is the smallest "
        f"and the largest of {RUNS} runs of {trials // RUNS:,} of them. Wrong sign: says that P is "
        "larger."
    )
    return PaperTable("table2", "Table 2: outliers, DKMD", columns, values, note)


def _mean_table(rows: Sequence[Table2Row]) -> PaperTable:
    columns = [
        *FIRST_COLUMNS,
        Heading("paper"),
        Heading("ours"),
        Heading("sd by run"),
        Heading("median"),
        Heading("wrong sign", ".2%"),
    ]
    values = [
        (
            row.reading,
            row.printed.k,
            row.printed.mean_difference,
            row.mean_difference.spread,
            _range(row.mean_difference),
            row.mean_difference.median,
            row.mean_difference.wrong_sign,
        )
        for row in rows
    ]
    return PaperTable(
        "table2-mean-difference",
        "Table 2: outliers, mean difference",
        columns,
        values,
        "Mean of Q minus mean of P, the sign that the paper prints.",
    )


def _range(statistic: Statistic) -> str:
    low, high = statistic.sd_of_runs
    return f"{low:.4f} to {high:.4f}" if high < 0.1 else f"{low:.2f} to {high:.2f}"


def checks(rows: Sequence[Table2Row]) -> list[Check]:
    """The row without outliers agrees with the paper; the exact estimator holds in every row."""
    clean, *contaminated = rows
    kept = [
        agrees_with_paper("Table 2, k = 0, DKMD", clean.printed.dkmd, clean.riemann.spread),
        agrees_with_paper(
            "Table 2, k = 0, mean difference",
            clean.printed.mean_difference,
            clean.mean_difference.spread,
        ),
    ]
    kept += [
        agrees_with_population(f"Table 2, {row.name}", row.exact.spread, row.population)
        for row in rows
    ]
    return kept + [
        Check(f"Table 2, {row.name}: sd of exact", row.exact.spread.sd, SD_LIMIT)
        for row in contaminated
    ]
