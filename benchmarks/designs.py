"""Size and power with covariates, strata, weights and units, and CUPED on means: docs/designs.md.

Run ``make designs``: 1,000 trials per cell, some three minutes of processor time.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.design.outcome import compare_designed
from dkmd.inference.test.options import DesignArguments, check_options
from dkmd.inference.test.two_sample import row_tails

TRIALS = 1_000

Family = Callable[[Array], Array]

FAMILIES: dict[str, Family] = {
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


class Trial(NamedTuple):
    """Two samples with what belongs to their values."""

    x: Array
    y: Array
    design: DesignArguments
    paired: bool = False

    def pvalue(self, estimand: str = "shift") -> float:
        """Of the test of this design; 1 if there is none."""
        weigh = "units" if self.paired else None
        options = check_options(
            None, None, "exact", "two-sided", None, "propagate", weigh, estimand
        )
        try:
            found = compare_designed(self.x, self.y, self.design, options).pvalue
        except ColumnError:  # one weight outweighs the others: too few values for a column
            return 1.0
        return 1.0 if math.isnan(found) else found


Draw = Callable[[np.random.Generator, Family, int, int], Trial]


def sides(rows: npt.NDArray[Any], n: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The rows of x and those of y."""
    return rows[:n], rows[n:]


def correlated(rng: np.random.Generator, size: int, columns: int) -> tuple[Array, Array]:
    """Normal scores of an outcome, and of covariates that explain RHO² of it together."""
    known = rng.normal(size=(size, columns))
    outcome = RHO * known.sum(axis=1) / np.sqrt(columns)
    return outcome + np.sqrt(1.0 - RHO**2) * rng.normal(size=size), known


def covariates(columns: int, missing: bool = False) -> Draw:
    """Covariates of the outcome's own family, perhaps with a third of them missing."""

    def draw(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
        outcome, scores = correlated(rng, n + m, columns)
        known = family(scores)
        if missing:
            known = np.where(rng.random(known.shape) < 1.0 / 3.0, math.nan, known)
        design = DesignArguments(covariate=sides(known, n), randomized=True)
        return Trial(*sides(family(outcome), n), design)

    return draw


def strata(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """Five strata of unequal size that explain part of the outcome."""
    outcome, known = correlated(rng, n + m, 1)
    level = np.searchsorted([-1.0, -0.3, 0.5, 1.5], known[:, 0])
    design = DesignArguments(strata=sides(level, n), randomized=True)
    return Trial(*sides(family(outcome), n), design)


def weights(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """Lognormal weights that know nothing about the values."""
    values, given = family(rng.normal(size=n + m)), rng.lognormal(size=n + m)
    return Trial(*sides(values, n), DesignArguments(weights=sides(given, n)))


def informative(power: float) -> Draw:
    """Weights that are a power of the value."""

    def draw(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
        values = family(rng.normal(size=n + m))
        return Trial(*sides(values, n), DesignArguments(weights=sides(values**power, n)))

    return draw


def weighted_covariate(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """Lognormal weights and a covariate."""
    trial = covariates(1)(rng, family, n, m)
    given = rng.lognormal(size=n + m)
    return trial._replace(design=trial.design._replace(weights=sides(given, n)))


def grouped(weighted: bool = False, known: bool = False, other: int = 5) -> Draw:
    """Groups of 5 values in x and ``other`` in y; a covariate and the weights belong to a group."""

    def draw(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
        level, before = correlated(rng, n + m, 1)
        labels = np.repeat(np.arange(n + m), np.repeat([5, other], [n, m]))
        values = family(np.sqrt(0.5) * (level[labels] + rng.normal(size=labels.size)))
        cut = 5 * n
        design = DesignArguments(groups=sides(labels, cut))
        if known:
            covariate = family(before[:, 0])[labels]
            design = design._replace(covariate=sides(covariate, cut), randomized=True)
        if weighted:
            design = design._replace(weights=sides(rng.lognormal(size=n + m)[labels], cut))
        return Trial(*sides(values, cut), design)

    return draw


def pairs(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """Units on both sides with a covariate of each measurement."""
    units = max(n, m)
    level = rng.normal(size=units)
    values, known = [], []
    for _ in range(2):
        noise, before = correlated(rng, units, 1)
        values.append(family(np.sqrt(0.5) * (level + noise)))
        known.append(family(before[:, 0]))
    labels = np.arange(units)
    design = DesignArguments((labels, labels), (known[0], known[1]), randomized=True)
    return Trial(values[0], values[1], design, True)


def paired_strata(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """Units on both sides; the stratum of each measurement explains part of it."""
    trial = pairs(rng, family, n, m)
    known = trial.design.covariate
    edges = np.quantile(np.concatenate(known), [0.2, 0.5, 0.8])
    levels = tuple(np.searchsorted(edges, side) for side in known)
    return trial._replace(design=trial.design._replace(covariate=None, strata=levels))


def one_known(
    change: Family | None = None,
    spread: float = 1.0,
    slopes: tuple[float, float] = (RHO, RHO),
) -> Draw:
    """One covariate, changed; the spread of y; and how strongly x and y depend on it."""

    def draw(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
        before = rng.normal(size=n + m)
        slope = np.repeat(slopes, [n, m])
        score = slope * before + np.sqrt(1.0 - slope**2) * rng.normal(size=n + m)
        score[n:] *= spread
        known = family(before) if change is None else change(before)
        design = DesignArguments(covariate=sides(known, n), randomized=True)
        return Trial(*sides(family(score), n), design)

    return draw


def few_groups(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """n and m values in groups of five with a covariate of the group."""
    return grouped(known=True)(rng, family, n // 5, m // 5)


class Row(NamedTuple):
    """A design, the sizes at which it is tried, and the families for which it has a meaning."""

    draw: Draw
    sizes: tuple[tuple[int, int], ...] = SIZES[1:2]
    families: tuple[str, ...] = tuple(FAMILIES)


POSITIVE = ("lognormal", "exponential")

DESIGNS: dict[str, Row] = {
    "1 covariate": Row(covariates(1), SIZES),
    "3 covariates": Row(covariates(3), SIZES),
    "strata": Row(strata, SIZES),
    "1 covariate, a third missing": Row(covariates(1, missing=True)),
    "weights": Row(weights, SIZES),
    "weight = value": Row(informative(1.0), ((15, 150), *SIZES[1:]), POSITIVE),
    "weight = 1/value": Row(informative(-1.0), ((15, 150), *SIZES[1:]), POSITIVE),
    "weights, 1 covariate": Row(weighted_covariate),
    "groups of 5": Row(grouped(), ((8, 8), (15, 15))),
    "groups of 5 and of 30": Row(grouped(other=30), ((8, 8), (15, 15))),
    "groups of 5, 1 covariate": Row(grouped(known=True)),
    "groups of 5, weights": Row(grouped(weighted=True)),
    "pairs, 1 covariate": Row(pairs),
    "pairs, strata": Row(paired_strata),
}


def _mostly_zero(z: Array) -> Array:
    return np.where(z > 1.645, np.exp(z), 0.0)


def _yes_no(z: Array) -> Array:
    return (z > 0.5).astype(np.float64)


def _cauchy(z: Array) -> Array:
    return np.asarray(np.tan(np.pi * (special.ndtr(z) - 0.5)))


BOTH = ("normal", "exponential")

SCEPTIC: dict[str, Row] = {
    "covariate with 95% zeros": Row(one_known(_mostly_zero), ((30, 30), (10, 100)), BOTH),
    "Cauchy covariate": Row(one_known(_cauchy), ((30, 30),), BOTH),
    "covariate of 0 and 1": Row(one_known(_yes_no), ((30, 30), (10, 100)), BOTH),
    "1 covariate": Row(one_known(), ((5, 500),), BOTH),
    "1 covariate, spreads 1:5": Row(one_known(spread=5.0), ((20, 60), (60, 20)), BOTH[:1]),
    "slopes 0.8 and 0": Row(one_known(slopes=(0.8, 0.0)), ((30, 30),), BOTH),
    "slopes 0.8 and −0.8": Row(one_known(slopes=(0.8, -0.8)), ((30, 30), (20, 60)), BOTH),
    "groups of 5, 1 covariate, values": Row(few_groups, ((40, 40),), BOTH),
}
"""Tries to break the size."""


def rejected(pvalues: Array, level: float) -> float:
    """The share of p-values below a level, in percent."""
    return 100.0 * float(np.mean(pvalues < level))


def size_table(trials: int, designs: dict[str, Row], families: tuple[str, ...]) -> None:
    """Rejections at 5% (and 1%) if nothing differs."""
    print(f"| design | sizes | {' | '.join(families)} |")
    print("|---" * (2 + len(families)) + "|")
    for name, row in designs.items():
        for n, m in row.sizes:
            cells = []
            for family in families:
                if family not in row.families:
                    cells.append("")
                    continue
                rng = np.random.default_rng([n, m, len(name), *family.encode()])
                drawn = (row.draw(rng, FAMILIES[family], n, m) for _ in range(trials))
                found = np.array([trial.pvalue() for trial in drawn])
                cells.append(f"{rejected(found, 0.05):.1f} ({rejected(found, 0.01):.1f})")
            print(f"| {name} | {n}:{m} | {' | '.join(cells)} |", flush=True)


def low_levels(trials: int) -> None:
    """Rejections at 1% and 0.1% with weights that leave few effective values."""
    print("| design | sizes | effective | lognormal | exponential |")
    print("|---|---|---|---|---|")
    rows = (("weights", 20, 20), ("weights", 20, 200), *(
        (name, n, m)
        for name in ("weight = value", "weight = 1/value")
        for n, m in ((15, 150), (30, 30))
    ))  # fmt: skip
    for name, n, m in rows:
        sizes, cells = [], []
        for family in POSITIVE:
            rng = np.random.default_rng([n, m, *family.encode()])
            found = np.empty(trials)
            for i in range(trials):
                trial = DESIGNS[name].draw(rng, FAMILIES[family], n, m)
                sizes.append([w.sum() ** 2 / (w @ w) for w in trial.design.weights])
                found[i] = trial.pvalue()
            cells.append(f"{rejected(found, 0.01):.2f} ({rejected(found, 0.001):.2f})")
        of_x, of_y = np.median(sizes, axis=0)
        print(f"| {name} | {n}:{m} | {of_x:.0f}:{of_y:.0f} | {' | '.join(cells)} |", flush=True)


def cuped(x: Array, y: Array, before: tuple[Array, Array]) -> float:
    """The p-value of CUPED on means: Welch's t of x − θ·(covariate − its mean)."""
    both = (x, before[0]), (y, before[1])
    covariance = sum(np.cov(v, c)[0, 1] / v.size for v, c in both)
    variance = sum(np.var(c, ddof=1) / c.size for _, c in both)
    left = [v - covariance / variance * c for v, c in both]
    return float(stats.ttest_ind(left[0], left[1], equal_var=False).pvalue)


SHIFTS = {"normal": 0.2, "lognormal": 0.25, "t2": 0.3}
"""Shifts of x, for which power is measured at 150:150."""


def power_table(trials: int) -> None:
    """Power with one covariate, without it, and of CUPED on means."""
    names = ("dkmd", "dkmd, adjusted", "dkmd, mean, adjusted", "CUPED on means", "Welch")
    print(f"| data | shift | {' | '.join(names)} |")
    print("|---" * (2 + len(names)) + "|")
    for name, shift in SHIFTS.items():
        rng = np.random.default_rng(7)
        drawn = [covariates(1)(rng, FAMILIES[name], 150, 150) for _ in range(trials)]
        drawn = [trial._replace(x=trial.x + shift) for trial in drawn]
        x, y = np.stack([trial.x for trial in drawn]), np.stack([trial.y for trial in drawn])
        known = [tuple(side[:, 0] for side in trial.design.covariate) for trial in drawn]
        found = (
            row_tails(x, y).pvalue("two-sided"),
            np.array([trial.pvalue() for trial in drawn]),
            np.array([trial.pvalue("mean") for trial in drawn]),
            np.array([cuped(t.x, t.y, (g[0], g[1])) for t, g in zip(drawn, known, strict=True)]),
            stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue,
        )
        shown = [f"{rejected(np.asarray(column), 0.05):.1f}" for column in found]
        print(f"| {name} | {shift} | {' | '.join(shown)} |", flush=True)


def main() -> None:
    """Print the tables of docs/designs.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--designs", nargs="*", default=[*DESIGNS], metavar="NAME")
    parser.add_argument("--sceptic", action="store_true", help="tries to break the size")
    parser.add_argument("--low", action="store_true", help="weights at 1%% and 0.1%%")
    asked = parser.parse_args()
    print(f"{asked.trials:,} trials per cell; the standard error of 5% is "
          f"{100 * np.sqrt(0.05 * 0.95 / asked.trials):.2f} points\n")  # fmt: skip
    if asked.low:
        low_levels(asked.trials)
    elif asked.sceptic:
        size_table(asked.trials, SCEPTIC, BOTH)
    else:
        size_table(asked.trials, {name: DESIGNS[name] for name in asked.designs}, tuple(FAMILIES))
        print()
        power_table(asked.trials)


if __name__ == "__main__":
    main()
