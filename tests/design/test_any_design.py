"""Any design is a score, summed by unit: one path equals brute force, in memory and from bins."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from design_oracle import Array, Expected, Rows, designed, effective
from hypothesis import assume, given
from hypothesis import strategies as st

from dkmd import Grid, dkmd_2samp
from dkmd.base.errors import ColumnError
from dkmd.inference.design.compare import compare_stored
from dkmd.inference.design.outcome import compare_designed, held_sides
from dkmd.inference.test.options import DesignArguments, Options, check_options
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.result import ExactOutcome, Outcome

pytestmark = pytest.mark.slow  # plain Python would need minutes


def options(weigh: str | None = None) -> Options:
    return check_options(None, None, "exact", "two-sided", None, "omit", weigh)


@dataclass(frozen=True)
class Case:
    """Two samples with a design. Every pair is that of x and of y."""

    values: list[Array]
    units: list[Any] | None = None
    weights: list[Array] | None = None
    covariates: list[Array] | None = None
    strata: list[Any] | None = None
    weigh: str | None = None

    def arguments(self) -> dict[str, Any]:
        return {
            "groups": self.units,
            "weights": self.weights,
            "covariate": self.covariates,
            "strata": self.strata,
            "randomized": True,
        }

    def columns(self) -> list[Array]:
        """The columns g by their definition: docs/designs.md."""
        parts: list[list[Array]] = [[], []]
        if self.covariates is not None:
            both = np.concatenate(self.covariates)
            center = np.median(both)
            reach = 4.0 * 1.4826 * np.median(np.abs(both - center))
            for part, values in zip(parts, self.covariates, strict=True):
                t = np.clip((values - center) / reach, -1.0, 1.0)
                part.append(1.5 * t - 0.5 * t**3)
        if self.strata is not None:
            for part, levels in zip(parts, self.strata, strict=True):
                part += [(levels == level).astype(np.float64) for level in range(3)]
        return [
            np.column_stack([np.zeros(values.size), *part])
            for part, values in zip(parts, self.values, strict=True)
        ]

    def oracle(self, width: float) -> Expected:
        sides, columns = [], self.columns()
        for i, values in enumerate(self.values):
            units = np.arange(values.size) if self.units is None else self.units[i]
            if self.weigh is None:  # equal labels are different units
                units = units + 1000 * i
            weights = np.ones(values.size) if self.weights is None else self.weights[i]
            sides.append(Rows(values, weights, units, columns[i]))
        if self.weigh == "units":
            sides = [_each_the_same(side, other) for side, other in (sides, sides[::-1])]
        sizes = effective(sides[0].weights), effective(sides[1].weights)
        if self.weigh == "units":
            sizes = 1.0, 1.0
        return designed(sides[0], sides[1], width, sizes)


def random_case(
    seed: int, groups: bool, weights: bool, covariate: bool, strata: bool, weigh: str | None
) -> Case:
    """A random design on a lattice, so that every bin holds ties and bins lose nothing."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(12, 40, 2).tolist()
    values = [np.round(4.0 * rng.standard_t(3, n)) / 4.0 for n in sizes]
    units = None
    if groups or weigh is not None:
        units = [rng.integers(5 * i, 9 + 5 * i, n) for i, n in enumerate(sizes)]
    return Case(
        values,
        units,
        [rng.lognormal(0.0, 0.8, n) for n in sizes] if weights else None,
        [v + rng.normal(size=v.size) for v in values] if covariate else None,
        [rng.integers(0, 3, n) for n in sizes] if strata else None,
        weigh,
    )


def _each_the_same(side: Rows, other: Rows) -> Rows:
    """The rows of shared units, each of which weighs 1."""
    kept = np.isin(side.units, other.units)
    rows = Rows(*(part[kept] for part in side))
    return rows._replace(weights=np.array([1.0 / (rows.units == u).sum() for u in rows.units]))


def agrees(found: Outcome | None, case: Case) -> None:
    assert isinstance(found, ExactOutcome)
    assert isinstance(found.tester, Pair)
    expected, test = case.oracle(found.width), found.test
    bound = found.tester.bound
    assert test.statistic / bound == pytest.approx(expected.statistic, abs=1e-9)
    assert test.standard_error / bound == pytest.approx(expected.error, rel=1e-9)
    assert test.df == pytest.approx(expected.df, rel=1e-9)
    assert (found.adjustment.columns if found.adjustment else 0) == expected.rank
    if case.weigh is None:
        z = test.statistic / bound / expected.relabelled
        assert test.guards[0].z == pytest.approx(z, rel=1e-8, abs=1e-9)


@given(
    seed=st.integers(0, 2**32 - 1),
    groups=st.booleans(),
    weights=st.booleans(),
    covariate=st.booleans(),
    strata=st.booleans(),
    weigh=st.sampled_from([None, None, "units", "values"]),
)
def test_any_design_is_the_slow_oracle(
    seed: int, groups: bool, weights: bool, covariate: bool, strata: bool, weigh: str | None
) -> None:
    assume(groups or weights or covariate or strata or weigh)
    case = random_case(seed, groups, weights and weigh is None, covariate, strata, weigh)
    x, y = case.values
    design = DesignArguments(**case.arguments())
    chosen = options(weigh)
    try:
        direct = compare_designed(x, y, design, chosen)
    except ColumnError:  # too few units for so many columns, or only one of them is shared
        direct = None
    assume(isinstance(direct, ExactOutcome))
    agrees(direct, case)
    grid = Grid(0.0, 0.01)
    agrees(compare_stored(*held_sides(x, y, design, weigh), chosen, grid=grid), case)


@pytest.mark.parametrize("weigh", [None, "units", "values"])
@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_the_door_has_the_numbers_of_the_slow_oracle(
    weigh: str | None, groups: bool, weights: bool
) -> None:
    if weigh is not None and (weights or not groups):
        return
    rng = np.random.default_rng(20)
    n, m = 400, 300
    labels = [rng.integers(0, 40, n), rng.integers(10, 50, m)]
    level = rng.normal(size=50)
    values = [
        rng.normal(size=n) + level[labels[0]] + 0.2,
        rng.standard_t(2, size=m) + level[labels[1]],
    ]
    case = Case(
        values,
        labels if groups else None,
        [rng.lognormal(0.0, 0.5, n), rng.lognormal(0.0, 0.8, m)] if weights else None,
        weigh=weigh,
    )
    expected, how = case.oracle(1.5), case.arguments()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # units on one side only
        found = dkmd_2samp(
            *values, scale=1.5, paired=weigh is not None, weigh=weigh or "units", **how
        )
    assert found.statistic / 3.0 == pytest.approx(expected.statistic, rel=1e-9)
    assert found.standard_error / 3.0 == pytest.approx(expected.error, rel=1e-9)
    assert found.df == pytest.approx(expected.df, rel=1e-9)
