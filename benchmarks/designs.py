"""Size and power with covariates, strata and weights, and of CUPED on means: docs/designs.md.

Run ``make designs``: 4,000 trials per cell. It takes about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.adjusted import adjusted_at
from dkmd.inference.covariates import Known, Named
from dkmd.inference.cross import Cross, Model
from dkmd.inference.designs import Given, Labels, compare_designed
from dkmd.inference.direct import atoms_of, origin_of, side_of
from dkmd.inference.frame import REACH
from dkmd.inference.options import check_options
from dkmd.inference.pair import influence_weights
from dkmd.inference.pooled_shape import Shape, shape_of
from dkmd.inference.scale import ADAPTIVE, unit_form, width_for
from dkmd.inference.sides import ACCURATE, Form, Side, atom_means, center_of, means_of
from dkmd.inference.tails import guarded, relabelled_skewness
from dkmd.inference.two_sample import row_tails
from dkmd.inference.weights import Weights

TRIALS = 4_000

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


Draw = Callable[[np.random.Generator, Family, int, int], Trial]


def correlated(rng: np.random.Generator, size: int, columns: int) -> tuple[Array, Array]:
    """Normal scores of an outcome, and of covariates that explain RHO² of it together."""
    known = rng.normal(size=(size, columns))
    outcome = RHO * known.sum(axis=1) / np.sqrt(columns)
    return outcome + np.sqrt(1.0 - RHO**2) * rng.normal(size=size), known


def covariates(columns: int) -> Draw:
    """A design with covariates of the outcome's own family."""

    def draw(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
        outcome, known = correlated(rng, n + m, columns)
        values, known = family(outcome), family(known)
        named = tuple(Named(f"c{j}", known[:n, j], known[n:, j]) for j in range(columns))
        return Trial(values[:n], values[n:], Given(Known(named)))

    return draw


def weights(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """Lognormal weights that know nothing about the values."""
    values, given = family(rng.normal(size=n + m)), rng.lognormal(size=n + m)
    return Trial(values[:n], values[n:], Given(None, Weights(given[:n], given[n:])))


def weighted_covariate(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """Lognormal weights and a covariate."""
    trial = covariates(1)(rng, family, n, m)
    given = rng.lognormal(size=n + m)
    return trial._replace(given=Given(trial.given.known, Weights(given[:n], given[n:])))


def grouped(weighted: bool, known: bool) -> Draw:
    """Groups of five values; the covariate is that of the group, and so are the weights."""

    def draw(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
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


def pairs(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
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


def paired_strata(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """n units on both sides; the stratum of each measurement explains part of it."""
    trial = pairs(rng, family, n, m)
    assert trial.given.known is not None
    (covariate,) = trial.given.known.covariates
    edges = np.quantile(np.concatenate([covariate.x, covariate.y]), [0.2, 0.5, 0.8])
    levels = Named("s", *(np.searchsorted(edges, side) for side in (covariate.x, covariate.y)))
    return trial._replace(given=Given(Known((), (levels,))))


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
        values = family(score)
        return Trial(values[:n], values[n:], Given(Known((Named("c", known[:n], known[n:]),))))

    return draw


def few_groups(rng: np.random.Generator, family: Family, n: int, m: int) -> Trial:
    """n and m values in groups of five with a covariate of the group."""
    return grouped(weighted=False, known=True)(rng, family, n // 5, m // 5)


@compiled
def _adjusted_trials(
    xs: Array, ys: Array, known: Array, numeric: int, unit: Form, out: Array
) -> None:
    """The adjusted test of many trials: the package's own loops, without Python between them.

    ``known`` is (trials, values of x then y, columns). The first columns are covariates, NaN where
    they are missing; the others are zeros and ones.
    """
    n, m = xs.shape[1], ys.shape[1]
    columns = known.shape[2]
    for trial in range(xs.shape[0]):
        values = np.concatenate((xs[trial], ys[trial]))
        x, y = np.sort(xs[trial]), np.sort(ys[trial])
        origin = origin_of(x, y)
        atoms = atoms_of(x, origin), atoms_of(y, origin)
        sides = side_of(atoms[0], float(n)), side_of(atoms[1], float(m))
        shape = Shape(*shape_of(atoms[0], atoms[1], 0.0, False))
        width = width_for(sides[0], sides[1], shape, ADAPTIVE, math.nan, unit)
        if not width > 0.0:
            continue
        form = Form(width, unit.per_unit / width, unit.limit, unit.jet)
        g = _bounded_columns(known[trial], numeric)
        cross = (
            _cross(sides[0], values[:n] - origin, g[:n]),
            _cross(sides[1], values[n:] - origin, g[n:]),
        )
        apart = cross[0].mean - cross[1].mean
        within = cross[0].gram + cross[1].gram
        pooled = within + n * m / (n + m) * np.outer(apart, apart)
        rank = float(np.linalg.matrix_rank(within, 1e-9))
        inverse = np.linalg.pinv(within, 1e-10), np.linalg.pinv(pooled, 1e-10)
        model = Model(inverse[0], inverse[1], apart, rank, np.empty(0))  # type: ignore[arg-type]
        clusters = (1.0, 1.0, n - 1.0, m - 1.0, 1.0, math.nan, float(n), float(m), math.nan)
        separation = shape.separation, shape.allowance
        center = center_of(sides[0], sides[1], 0.0, shape.median, form, ACCURATE)
        if math.isinf(center) or math.isnan(center):
            continue
        # what is left of e, for its skewness
        slopes = means_of(sides[0], center, form)[2], means_of(sides[1], center, form)[2]
        weights = influence_weights(float(n), float(m), slopes[0], slopes[1])
        e = np.empty(n + m)
        for i in range(n + m):
            weight = weights[0] if i < n else weights[1]
            e[i] = weight * _psi(values[i] - origin - center, form)
        products = np.zeros(columns)
        for j in range(columns):
            for i in range(n + m):
                mean = cross[0].mean[j] if i < n else cross[1].mean[j]
                products[j] += e[i] * (g[i, j] - mean)
        left = e - g @ (inverse[0] @ products)
        left -= left.mean()
        second, third = (left**2).mean(), (left**3).mean()
        skewness = relabelled_skewness(third / second**1.5, float(n), float(m))
        clusters = (
            1.0, 1.0, n - 1.0, m - 1.0, 1.0, skewness, float(n), float(m), math.nan,
        )  # fmt: skip
        found = adjusted_at(sides, cross, model, 0.0, center, math.nan, separation, form, clusters)
        out[trial, 0], out[trial, 1], out[trial, 2] = found[0] / found[1], found[2], found[4]
        out[trial, 3], out[trial, 4] = found[5], n + m - rank


@compiled
def _psi(away: float, form: Form) -> float:
    """ψ in lengths; ±inf is data."""
    if math.isinf(away):
        return math.copysign(form.limit, away)
    return atom_means(away, 0.0, form)[0]


@compiled
def _bounded_columns(known: Array, numeric: int) -> Array:
    """The columns g of one trial."""
    g = known.copy()
    for j in range(numeric):
        column = known[:, j]
        there = np.sort(column[~np.isnan(column)])
        origin = origin_of(there, there)
        shape = Shape(*shape_of(atoms_of(there, origin), atoms_of(there[:0], origin), 0.0, True))
        for i in range(column.size):
            t = (column[i] - origin - shape.median) / (REACH * shape.spread)
            t = min(max(t, -1.0), 1.0)
            g[i, j] = 0.0 if math.isnan(column[i]) else t * (1.5 - 0.5 * t * t)
    return g


@compiled
def _cross(side: Side, values: Array, g: Array) -> Cross:
    """``Cross.of_atoms`` for weights of 1."""
    columns = g.shape[1]
    sums, ends = np.zeros((side.offset.size, columns)), np.zeros((2, columns))
    total, gram = np.zeros(columns), np.zeros((columns, columns))
    for i in range(values.size):
        at = np.searchsorted(side.offset, values[i])
        for j in range(columns):
            total[j] += g[i, j]
            if not math.isinf(values[i]):
                sums[at, j] += g[i, j]
            else:
                ends[int(values[i] > 0.0), j] += g[i, j]
            for k in range(columns):
                gram[j, k] += g[i, j] * g[i, k]
    mean = total / side.size
    gram -= side.size * np.outer(mean, mean)
    nothing = np.zeros_like(sums)
    return Cross(sums, nothing, nothing, ends, mean, gram)


class Batch(NamedTuple):
    """Many trials of one design without weights and groups."""

    x: Array  # (trials, n)
    y: Array
    known: Array  # (trials, n + m, columns)
    numeric: int

    def pvalues(self) -> Array:
        """Of all trials; 1 where nothing can be compared."""
        out = np.full((self.x.shape[0], 5), math.nan)
        _adjusted_trials(self.x, self.y, self.known, self.numeric, unit_form(), out)
        fine = ~np.isnan(out[:, 0])
        found = np.ones(fine.size)
        found[fine] = guarded(*out[fine].T).pvalue("two-sided")
        return found

    def trial(self, i: int) -> Trial:
        """One of them, for the package's own way."""
        n = self.x.shape[1]
        covariates = tuple(
            Named(f"c{j}", self.known[i, :n, j], self.known[i, n:, j]) for j in range(self.numeric)
        )
        # dummies are the levels of one factor; the column of a missing covariate comes by itself
        dummies = self.known[i, :, self.numeric :]
        strata: tuple[Named, ...] = ()
        if dummies.shape[1] and not np.isnan(self.known[i]).any():
            levels = (dummies * np.arange(1, dummies.shape[1] + 1)).sum(axis=1)
            strata = (Named("s", levels[:n], levels[n:]),)
        return Trial(self.x[i], self.y[i], Given(Known(covariates, strata)))


Many = Callable[[np.random.Generator, Family, int, int, int], Batch]


def many_covariates(columns: int, missing: bool = False) -> Many:
    """Covariates of the outcome's own family, perhaps with a third of them missing."""

    def draw(rng: np.random.Generator, family: Family, n: int, m: int, trials: int) -> Batch:
        outcome, known = correlated(rng, trials * (n + m), columns)
        values = family(outcome).reshape(trials, n + m)
        covariates = family(known).reshape(trials, n + m, columns)
        if missing:
            gone = rng.random(covariates.shape) < 1.0 / 3.0
            covariates = np.concatenate([np.where(gone, math.nan, covariates), gone], axis=2)
        return Batch(*_sides(values, n), covariates, columns)

    return draw


def many_strata(rng: np.random.Generator, family: Family, n: int, m: int, trials: int) -> Batch:
    """Five strata of unequal size that explain part of the outcome."""
    outcome, known = correlated(rng, trials * (n + m), 1)
    level = np.searchsorted([-1.0, -0.3, 0.5, 1.5], known[:, 0]).reshape(trials, n + m, 1)
    dummies = (level == np.array([0, 1, 3, 4])).astype(np.float64)
    return Batch(*_sides(family(outcome).reshape(trials, n + m), n), dummies, 0)


def _sides(values: Array, n: int) -> tuple[Array, Array]:
    return np.ascontiguousarray(values[:, :n]), np.ascontiguousarray(values[:, n:])


BATCHES: dict[str, Many] = {
    "1 covariate": many_covariates(1),
    "3 covariates": many_covariates(3),
    "strata": many_strata,
    "1 covariate, a third missing": many_covariates(1, missing=True),
}


def require_same(batch: Batch, pvalues: Array) -> None:
    """Stop if the loops here and the package disagree on the first trials."""
    own = [batch.trial(i).pvalue() for i in range(5)]
    if not np.allclose(own, pvalues[:5], rtol=1e-6):
        raise AssertionError(f"{own} and {pvalues[:5]} should be the same")


DESIGNS: dict[str, Draw] = {
    "weights": weights,
    "weights, 1 covariate": weighted_covariate,
    "groups of 5, 1 covariate": grouped(weighted=False, known=True),
    "groups of 5, weights": grouped(weighted=True, known=False),
    "pairs, 1 covariate": pairs,
    "pairs, strata": paired_strata,
}


def _mostly_zero(z: Array) -> Array:
    return np.where(z > 1.645, np.exp(z), 0.0)


def _yes_no(z: Array) -> Array:
    return (z > 0.5).astype(np.float64)


def _cauchy(z: Array) -> Array:
    return np.asarray(np.tan(np.pi * (special.ndtr(z) - 0.5)))


BOTH = ("normal", "exponential")

SCEPTIC: tuple[tuple[str, Draw, int, int, tuple[str, ...]], ...] = (
    ("covariate with 95% zeros", one_known(_mostly_zero), 30, 30, BOTH),
    ("covariate with 95% zeros", one_known(_mostly_zero), 10, 100, BOTH),
    ("Cauchy covariate", one_known(_cauchy), 30, 30, BOTH),
    ("covariate of 0 and 1", one_known(_yes_no), 30, 30, BOTH),
    ("covariate of 0 and 1", one_known(_yes_no), 10, 100, BOTH),
    ("1 covariate", one_known(), 5, 500, BOTH),
    ("1 covariate, spreads 1:5", one_known(spread=5.0), 20, 60, BOTH[:1]),
    ("1 covariate, spreads 1:5", one_known(spread=5.0), 60, 20, BOTH[:1]),
    ("slopes 0.8 and 0", one_known(slopes=(0.8, 0.0)), 30, 30, BOTH),
    ("slopes 0.8 and −0.8", one_known(slopes=(0.8, -0.8)), 30, 30, BOTH),
    ("slopes 0.8 and −0.8", one_known(slopes=(0.8, -0.8)), 20, 60, BOTH),
    ("8 and 8 groups of 5, 1 covariate", few_groups, 40, 40, BOTH),
)
"""Tries to break the size: names, designs, sizes of both sides, and families without a shift."""


def rejected(pvalues: Array, level: float) -> float:
    """The share of p-values below a level."""
    return float(np.mean(pvalues < level))


MAIN = ("1 covariate", "3 covariates", "strata", "weights")
"""Designs that are tried at all sizes; the others at 30:30."""


def pvalues_of(
    name: str, rng: np.random.Generator, family: Family, n: int, m: int, trials: int
) -> Array:
    """The p-values of a design if nothing differs."""
    if name not in BATCHES:
        return np.array([DESIGNS[name](rng, family, n, m).pvalue() for _ in range(trials)])
    batch = BATCHES[name](rng, family, n, m, trials)
    found = batch.pvalues()
    require_same(batch, found)
    return found


def size_table(trials: int, designs: list[str]) -> None:
    """Rejections at 5% (and 1%) if nothing differs."""
    print(f"| design | sizes | {' | '.join(FAMILIES)} |")
    print("|---" * (2 + len(FAMILIES)) + "|")
    for name in designs:
        for n, m in SIZES if name in MAIN else SIZES[1:2]:
            cells = []
            for family in FAMILIES.values():
                rng = np.random.default_rng([n, m, len(name)])
                found = pvalues_of(name, rng, family, n, m, trials)
                cells.append(
                    f"{100 * rejected(found, 0.05):.1f} ({100 * rejected(found, 0.01):.1f})"
                )
            print(f"| {name} | {n}:{m} | {' | '.join(cells)} |", flush=True)


def sceptic_table(trials: int) -> None:
    """Rejections at 5% (and 1%) where a sceptic would look."""
    print("| try | sizes | normal | exponential |")
    print("|---|---|---|---|")
    for name, draw, n, m, families in SCEPTIC:
        cells = ["", ""]
        for at, family in enumerate(families):
            rng = np.random.default_rng([n, m, 3])
            found = [draw(rng, FAMILIES[family], n, m).pvalue() for _ in range(trials)]
            shares = (100 * rejected(np.array(found), level) for level in (0.05, 0.01))
            cells[at] = "{:.1f} ({:.1f})".format(*shares)
        print(f"| {name} | {n}:{m} | {' | '.join(cells)} |", flush=True)


def cuped(x: Array, y: Array, before: tuple[Array, Array]) -> float:
    """The p-value of CUPED on means: Welch's t of x − θ·(covariate − its mean)."""
    sides = (x, before[0]), (y, before[1])
    covariance = sum(np.cov(v, c)[0, 1] / v.size for v, c in sides)
    variance = sum(np.var(c, ddof=1) / c.size for _, c in sides)
    left = [v - covariance / variance * c for v, c in sides]
    parts = [np.var(side, ddof=1) / side.size for side in left]
    df = sum(parts) ** 2 / sum(p**2 / (side.size - 1) for p, side in zip(parts, left, strict=True))
    t = (left[0].mean() - left[1].mean()) / math.sqrt(sum(parts))
    return float(2.0 * special.stdtr(df, -abs(t)))


SHIFTS = {"normal": 0.2, "lognormal": 0.25, "t2": 0.3}
"""Shifts of x, for which power is measured at 150:150."""


def power_table(trials: int) -> None:
    """Power with one covariate, without it, and of CUPED on means."""
    print("| data | shift | dkmd | dkmd, adjusted | CUPED on means | Welch |")
    print("|---|---|---|---|---|---|")
    for name, shift in SHIFTS.items():
        batch = many_covariates(1)(np.random.default_rng(7), FAMILIES[name], 150, 150, trials)
        batch = batch._replace(x=batch.x + shift)
        raw = row_tails(batch.x, batch.y).pvalue("two-sided")
        adjusted = batch.pvalues()
        require_same(batch, adjusted)
        means = [
            cuped(x, y, (g[:150, 0], g[150:, 0]))
            for x, y, g in zip(batch.x, batch.y, batch.known, strict=True)
        ]
        welch = stats.ttest_ind(batch.x, batch.y, axis=1, equal_var=False).pvalue
        found = (raw, adjusted, np.array(means), welch)
        shown = [f"{100 * rejected(column, 0.05):.1f}" for column in found]
        print(f"| {name} | {shift} | {' | '.join(shown)} |", flush=True)


def main() -> None:
    """Print the tables of docs/designs.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--designs", nargs="*", default=[*BATCHES, *DESIGNS])
    parser.add_argument("--no-power", action="store_true")
    parser.add_argument("--sceptic", action="store_true")
    asked = parser.parse_args()
    print(f"{asked.trials:,} trials per cell; the standard error of 5% is "
          f"{100 * np.sqrt(0.05 * 0.95 / asked.trials):.2f} points\n")  # fmt: skip
    if asked.sceptic:
        sceptic_table(asked.trials)
        return
    size_table(asked.trials, asked.designs)
    if not asked.no_power:
        print()
        power_table(asked.trials)


Index = npt.NDArray[np.int64]

if __name__ == "__main__":
    main()
