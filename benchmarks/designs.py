"""Size and power with covariates, strata and weights, and of CUPED on means: docs/designs.md.

Run ``make designs``: 4,000 trials per cell. It takes about a quarter of an hour.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from dkmd.base.arrays import Array
from dkmd.inference.covariates import Known, Named
from dkmd.inference.designs import Given, Labels, compare_designed
from dkmd.inference.options import check_options
from dkmd.inference.weights import Weights

TRIALS = 4_000

FAMILIES: dict[str, Callable[[Array], Array]] = {
    "normal": lambda z: z,
    "t2": lambda z: np.asarray(stats.t.ppf(special.ndtr(z), 2)),
    "lognormal": np.exp,
    "exponential": lambda z: np.asarray(-special.log_ndtr(-z)),
    "counts": lambda z: np.asarray(stats.poisson.ppf(special.ndtr(z), 1.0)),
}
"""Outcomes and covariates of a family, from normal scores."""

SIZES = ((10, 100), (30, 30), (150, 150))

RHO = 0.8
"""The correlation of the normal scores of outcome and covariate."""

PLAIN, PAIRED = (
    check_options(None, None, "exact", "two-sided", None, "propagate", weigh)
    for weigh in (None, "units")
)


class Trial(NamedTuple):
    """Two samples with what is known about their values."""

    x: Array
    y: Array
    given: Given = Given()
    groups: Labels | None = None
    paired: bool = False

    def pvalue(self) -> float:
        """Of the test of this design."""
        options = PAIRED if self.paired else PLAIN
        given = self.given._replace(checked=False)
        return compare_designed(self.x, self.y, self.groups, options, given).pvalue


Draw = Callable[[np.random.Generator, Callable[[Array], Array], int, int], Trial]


def correlated(rng: np.random.Generator, size: int, columns: int) -> tuple[Array, Array]:
    """Normal scores of an outcome, and of covariates that explain RHO² of it together."""
    known = rng.normal(size=(size, columns))
    outcome = RHO * known.sum(axis=1) / np.sqrt(columns)
    return outcome + np.sqrt(1.0 - RHO**2) * rng.normal(size=size), known


def covariates(columns: int) -> Draw:
    """A design with covariates of the outcome's own family."""

    def draw(rng: np.random.Generator, family: Callable[[Array], Array], n: int, m: int) -> Trial:
        outcome, known = correlated(rng, n + m, columns)
        values, known = family(outcome), family(known)
        named = tuple(Named(f"c{j}", known[:n, j], known[n:, j]) for j in range(columns))
        return Trial(values[:n], values[n:], Given(Known(named)))

    return draw


def strata(rng: np.random.Generator, family: Callable[[Array], Array], n: int, m: int) -> Trial:
    """Five strata of unequal size that explain part of the outcome."""
    outcome, known = correlated(rng, n + m, 1)
    level = np.searchsorted([-1.0, -0.3, 0.5, 1.5], known[:, 0])
    values = family(outcome)
    return Trial(values[:n], values[n:], Given(Known((), (Named("s", level[:n], level[n:]),))))


def missing(rng: np.random.Generator, family: Callable[[Array], Array], n: int, m: int) -> Trial:
    """One covariate of which a third is missing."""
    trial = covariates(1)(rng, family, n, m)
    (one,) = trial.given.known.covariates if trial.given.known else ()
    sides = [np.where(rng.random(side.size) < 1.0 / 3.0, np.nan, side) for side in (one.x, one.y)]
    return trial._replace(given=Given(Known((Named("c", *sides),))))


def weights(rng: np.random.Generator, family: Callable[[Array], Array], n: int, m: int) -> Trial:
    """Lognormal weights that know nothing about the values."""
    values, given = family(rng.normal(size=n + m)), rng.lognormal(size=n + m)
    return Trial(values[:n], values[n:], Given(None, Weights(given[:n], given[n:])))


def weighted_covariate(
    rng: np.random.Generator, family: Callable[[Array], Array], n: int, m: int
) -> Trial:
    """Lognormal weights and a covariate."""
    trial = covariates(1)(rng, family, n, m)
    given = rng.lognormal(size=n + m)
    return trial._replace(given=Given(trial.given.known, Weights(given[:n], given[n:])))


def grouped(weighted: bool, known: bool) -> Draw:
    """Groups of five values; the covariate is that of the group, and so are the weights."""

    def draw(rng: np.random.Generator, family: Callable[[Array], Array], n: int, m: int) -> Trial:
        units = np.arange(n + m)
        level, before = correlated(rng, n + m, 1)
        labels = np.repeat(units, 5)
        values = family(np.sqrt(0.5) * (level[labels] + rng.normal(size=labels.size)))
        covariate = family(before[:, 0])[labels]
        cut = 5 * n
        named = (Named("c", covariate[:cut], covariate[cut:]),) if known else ()
        given = Given(Known(named) if known else None)
        if weighted:
            w = rng.lognormal(size=n + m)[labels]
            given = given._replace(weights=Weights(w[:cut], w[cut:]))
        return Trial(values[:cut], values[cut:], given, (labels[:cut], labels[cut:]))

    return draw


def pairs(rng: np.random.Generator, family: Callable[[Array], Array], n: int, m: int) -> Trial:
    """n units on both sides with a covariate of each measurement."""
    units = max(n, m)
    level = rng.normal(size=units)
    sides, known = [], []
    for _ in range(2):
        noise, before = correlated(rng, units, 1)
        sides.append(family(np.sqrt(0.5) * (level + noise)))
        known.append(family(before[:, 0]))
    labels: Labels = (np.arange(units), np.arange(units))
    return Trial(sides[0], sides[1], Given(Known((Named("c", *known),))), labels, True)


DESIGNS: dict[str, Draw] = {
    "1 covariate": covariates(1),
    "3 covariates": covariates(3),
    "strata": strata,
    "1 covariate, a third missing": missing,
    "weights": weights,
    "weights, 1 covariate": weighted_covariate,
    "groups of 5, 1 covariate": grouped(weighted=False, known=True),
    "groups of 5, weights": grouped(weighted=True, known=False),
    "pairs, 1 covariate": pairs,
}


def rejected(pvalues: Array, level: float) -> float:
    """The share of p-values below a level."""
    return float(np.mean(pvalues < level))


MAIN = ("1 covariate", "3 covariates", "strata", "weights")
"""Designs that are tried at all sizes; the others at 30:30."""


def size_table(trials: int, designs: list[str]) -> None:
    """Rejections at 5% (and 1%) if nothing differs."""
    print(f"| design | sizes | {' | '.join(FAMILIES)} |")
    print("|---" * (2 + len(FAMILIES)) + "|")
    for name in designs:
        for n, m in SIZES if name in MAIN else SIZES[1:2]:
            cells = []
            for family in FAMILIES.values():
                rng = np.random.default_rng([n, m, len(name)])
                found = np.array([DESIGNS[name](rng, family, n, m).pvalue() for _ in range(trials)])
                cells.append(
                    f"{100 * rejected(found, 0.05):.1f} ({100 * rejected(found, 0.01):.1f})"
                )
            print(f"| {name} | {n}:{m} | {' | '.join(cells)} |", flush=True)


def cuped(x: Array, y: Array, before: tuple[Array, Array]) -> float:
    """The p-value of CUPED on means: Welch's t of x − θ·(covariate − its mean)."""
    sides = (x, before[0]), (y, before[1])
    covariance = sum(np.cov(v, c)[0, 1] / v.size for v, c in sides)
    variance = sum(np.var(c, ddof=1) / c.size for _, c in sides)
    left = [v - covariance / variance * c for v, c in sides]
    return float(stats.ttest_ind(left[0], left[1], equal_var=False).pvalue)


SHIFTS = {"normal": 0.2, "lognormal": 0.25, "t2": 0.3}
"""Shifts of x, for which power is measured at 150:150."""


def power_table(trials: int) -> None:
    """Power with one covariate, without it, and of CUPED on means."""
    print("| data | shift | dkmd | dkmd, adjusted | CUPED on means | Welch |")
    print("|---|---|---|---|---|---|")
    for name, shift in SHIFTS.items():
        rng = np.random.default_rng(7)
        found: list[list[float]] = []
        for _ in range(trials):
            trial = covariates(1)(rng, FAMILIES[name], 150, 150)
            trial = trial._replace(x=trial.x + shift)
            known = trial.given.known
            assert known is not None
            (one,) = known.covariates
            found.append([
                trial._replace(given=Given()).pvalue(), trial.pvalue(),
                cuped(trial.x, trial.y, (one.x, one.y)),
                float(stats.ttest_ind(trial.x, trial.y, equal_var=False).pvalue),
            ])  # fmt: skip
        shown = [f"{100 * rejected(column, 0.05):.1f}" for column in np.array(found).T]
        print(f"| {name} | {shift} | {' | '.join(shown)} |", flush=True)


def main() -> None:
    """Print the tables of docs/designs.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS))
    parser.add_argument("--no-power", action="store_true")
    asked = parser.parse_args()
    print(f"{asked.trials:,} trials per cell; the standard error of 5% is "
          f"{100 * np.sqrt(0.05 * 0.95 / asked.trials):.2f} points\n")  # fmt: skip
    size_table(asked.trials, asked.designs)
    if not asked.no_power:
        print()
        power_table(asked.trials)


Index = npt.NDArray[np.int64]

if __name__ == "__main__":
    main()
