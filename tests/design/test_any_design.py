"""Any design is a score, summed by unit: one path equals brute force, in memory and from bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from design_oracle import Array, Expected, Rows, designed, effective
from hypothesis import assume, given
from hypothesis import strategies as st

from dkmd import Grid, Witness
from dkmd.base.errors import ColumnError
from dkmd.inference.design.compare import (
    Designed,
    check_design,
    designed_pair,
    held_sides,
    stored_pair,
)
from dkmd.inference.test.options import Options, check_options
from dkmd.inference.test.pair import Pair, Studentized

pytestmark = pytest.mark.slow  # plain Python would need minutes


def options(weigh: str | None = None, witness: Witness | None = None) -> Options:
    return check_options(witness, None, "exact", "two-sided", None, "omit", weigh)


class Case:
    """A random design on a lattice, so that every bin holds ties and bins lose nothing."""

    def __init__(
        self, seed: int, groups: bool, weights: bool, covariate: bool, strata: bool,
        weigh: str | None,
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(seed)
        self.sizes = tuple(rng.integers(12, 40, 2).tolist())
        self.values = [np.round(4.0 * rng.standard_t(3, n)) / 4.0 for n in self.sizes]
        self.units = None
        if groups or weigh is not None:
            self.units = [rng.integers(5 * i, 9 + 5 * i, n) for i, n in enumerate(self.sizes)]
        self.weights = [rng.lognormal(0.0, 0.8, n) for n in self.sizes] if weights else None
        self.covariates = [v + rng.normal(size=v.size) for v in self.values] if covariate else None
        self.strata = [rng.integers(0, 3, n) for n in self.sizes] if strata else None
        self.weigh = weigh

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
            np.column_stack([np.zeros(n), *part]) for part, n in zip(parts, self.sizes, strict=True)
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


def _each_the_same(side: Rows, other: Rows) -> Rows:
    """The rows of shared units, each of which weighs 1."""
    kept = np.isin(side.units, other.units)
    rows = Rows(*(part[kept] for part in side))
    return rows._replace(weights=np.array([1.0 / (rows.units == u).sum() for u in rows.units]))


def agrees(found: Designed, case: Case) -> None:
    pair = found.pair
    assert isinstance(pair, Pair)
    expected, test = case.oracle(pair.width), pair.test()
    bound = pair.bound
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
    case = Case(seed, groups, weights and weigh is None, covariate, strata, weigh)
    x, y = case.values
    design = check_design((x.size, y.size), **case.arguments())
    chosen = options(weigh)
    try:
        direct = designed_pair(x, y, design, chosen)
    except ColumnError:  # too few units for so many columns, or only one of them is shared
        direct = Designed(None)
    assume(direct.pair is not None)
    agrees(direct, case)
    grid = Grid(0.0, 0.01)
    agrees(stored_pair(*held_sides(x, y, design, chosen), chosen, grid=grid), case)


VERSION_0_2 = {
    "plain": (0.4923262146697961, 0.11688067546596187, 563.0683340343693),
    "weights": (0.39870640376745614, 0.16228562874265362, 251.62704853943617),
    "groups": (0.4923262146697961, 0.2574813231319677, 70.12718173395933),
    "groups and weights": (0.39870640376745614, 0.28872074415682614, 61.20620759772915),
    "units": (0.30494349058614123, 0.12609753222356498, 29.000000000000007),
    "values": (0.4923262146697961, 0.17840018445120728, 32.71470963848611),
}
"""Statistic, standard error and degrees of freedom at one ψ, as version 0.2 had them from bins."""


@pytest.mark.parametrize("name", VERSION_0_2)
def test_a_fixed_score_has_the_errors_of_version_0_2(name: str) -> None:
    rng = np.random.default_rng(20)
    n, m = 400, 300
    groups = rng.integers(0, 40, n), rng.integers(10, 50, m)
    level = rng.normal(size=50)
    x = rng.normal(size=n) + level[groups[0]] + 0.2
    y = rng.standard_t(2, size=m) + level[groups[1]]
    weights = rng.lognormal(0.0, 0.5, n), rng.lognormal(0.0, 0.8, m)
    design = check_design(
        (n, m),
        groups=None if name in ("plain", "weights") else groups,
        weights=weights if "weights" in name else None,
    )
    chosen = options(name if name in ("units", "values") else None, Witness(1.5, 1.5, center=0.1))
    pair = designed_pair(x, y, design, chosen).pair
    assert pair is not None
    test: Studentized = pair.test()
    statistic, error, df = VERSION_0_2[name]
    assert test.statistic == pytest.approx(statistic, rel=2e-9)
    assert test.standard_error == pytest.approx(error, rel=2e-9)
    # by values, the shares of x and y in a unit's variance come from units, not from single values
    assert test.df == pytest.approx(df, rel=1e-3 if name == "values" else 2e-9)
