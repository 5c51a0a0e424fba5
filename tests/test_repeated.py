"""Repeated measurements: sums over groups agree with the jackknife and with relabelling."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dkmd import dkmd_2samp
from dkmd.inference.groups import Clusters, GroupSums, check_groups, group_codes, note_on_few

PSI_X = np.array([0.3, 1.2, -0.5, 0.9, 1.4, 1.3, -0.2, 0.8, 0.1])
CODES_X = np.array([0, 0, 1, 2, 2, 2, 2, 3, 3])
PSI_Y = np.array([-0.6, -0.9, 0.4, -0.3, 0.5])
CODES_Y = np.array([0, 0, 1, 2, 2])


def _sums() -> tuple[GroupSums, GroupSums]:
    return GroupSums.of_values(PSI_X, CODES_X), GroupSums.of_values(PSI_Y, CODES_Y)


def test_the_variance_of_a_mean_is_the_jackknifes_over_groups() -> None:
    for psi, codes, sums in zip((PSI_X, PSI_Y), (CODES_X, CODES_Y), _sums(), strict=True):
        groups = codes.max() + 1
        without = np.array([psi[codes != g].mean() for g in range(groups)])
        jackknife = (groups - 1) / groups * np.sum((without - psi.mean()) ** 2)
        assert sums.variance() == pytest.approx(jackknife)
        assert sums.inflation() == pytest.approx(jackknife / (psi.var(ddof=1) / psi.size))
        share = np.bincount(codes) / psi.size
        assert sums.df == pytest.approx(1.0 / np.sum(share**2) - 1.0)
        assert sums.mean == pytest.approx(psi.mean())
        assert sums.around(0.7) == pytest.approx(np.sum((psi - 0.7) ** 2))
        totals = np.bincount(codes, psi - 0.7)
        assert sums.moments_about(0.7) == pytest.approx((np.sum(totals**2), np.sum(totals**3)))


def test_a_pivot_moves_nothing() -> None:
    """Engines sum ψ − pivot, which preserves digits."""
    plain = _sums()[0]
    moved = GroupSums.of_values(PSI_X - 0.4, CODES_X)._replace(pivot=0.4)
    assert moved.mean == pytest.approx(plain.mean)
    assert moved.around(0.7) == pytest.approx(plain.around(0.7))
    assert moved.moments_about(0.7) == pytest.approx(plain.moments_about(0.7))
    assert moved.inflation() == pytest.approx(plain.inflation())


def test_relabelling_exchanges_whole_groups() -> None:
    """Variance and skewness of (1/n + 1/m)·Σu over all choices of 4 of 7 groups as x."""
    x, y = _sums()
    clusters = Clusters.of(x, y)
    pooled = np.concatenate([PSI_X, PSI_Y])
    centred = pooled - pooled.mean()
    u = np.concatenate([np.bincount(CODES_X, centred[:9]), np.bincount(CODES_Y, centred[9:])])
    every = np.array([u[list(c)].sum() * (1 / 9 + 1 / 5) for c in combinations(range(7), 4)])
    single = pooled.var(ddof=1) * (1 / 9 + 1 / 5)
    assert clusters.relabelling == pytest.approx(np.mean(every**2) / single)
    assert clusters.skewness == pytest.approx(stats.skew(every))
    assert clusters.units == (4.0, 3.0)
    assert (clusters.df_x, clusters.df_y) == (x.df, y.df)
    assert (clusters.inflation_x, clusters.inflation_y) == (x.inflation(), y.inflation())
    assert clusters.numbers() == tuple(clusters)


def test_every_value_by_itself_has_no_factors() -> None:
    none = Clusters.none(9.0, 5.0)
    assert none[:5] == (1.0, 1.0, 8.0, 4.0, 1.0)
    assert math.isnan(none.skewness)
    assert none.units == (9.0, 5.0)
    x = GroupSums.of_values(PSI_X, np.arange(9))
    y = GroupSums.of_values(PSI_Y, np.arange(5))
    assert Clusters.of(x, y)[:5] == pytest.approx(none[:5])


def test_one_group_has_no_variance_and_equal_values_no_inflation() -> None:
    single = GroupSums.of_values(PSI_X, np.zeros(9, dtype=np.int64))
    assert math.isnan(single.inflation())
    ties = GroupSums.of_values(np.full(6, 0.7), np.array([0, 0, 1, 1, 2, 2]))
    assert ties.inflation() == 1.0
    other = GroupSums.of_values(np.full(4, 0.7), np.array([0, 0, 1, 1]))
    assert Clusters.of(ties, other)[4:6] == (1.0, 0.0)
    two = GroupSums.of_values(np.array([0.1, 0.5]), np.array([0, 0]))
    assert Clusters.of(two, two)[4:6] == (1.0, 0.0)


@pytest.mark.parametrize(("x", "y", "told"), [(8, 8, False), (7, 9, True), (9, 7, True)])
def test_fewer_than_eight_groups_on_either_side_are_told(x: int, y: int, told: bool) -> None:
    sums = [GroupSums.of_values(np.arange(g, dtype=float), np.arange(g)) for g in (x, y)]
    note = note_on_few(sums[0], sums[1])
    assert note.startswith(f"only {x} and {y} groups: with fewer than 8") == told
    assert bool(note) == told


def test_labels_of_any_type_are_numbered_and_must_fit() -> None:
    assert group_codes(["b", "a", "b"], 3, "x").tolist() == [1, 0, 1]
    for labels, size in ((["a", "b"], 3), ([["a"], ["b"]], 2)):
        with pytest.raises(ValueError, match=f"x has {size} values and needs as many labels"):
            group_codes(labels, size, "x")
    assert check_groups([1, 2]) == (1, 2)
    wrong: list[Any] = ["ab", [1], [1, 2, 3], 5]
    for groups in wrong:
        with pytest.raises(ValueError, match="a pair"):
            check_groups(groups)


def test_groups_change_the_error_by_their_inflation_on_each_side() -> None:
    """Var D = Σ weight²·V·inflation/n: groups on one side change only the part of that side."""
    rng = np.random.default_rng(3)
    level = np.repeat(rng.normal(size=12), 5)
    x, y = level + rng.normal(0.0, 0.5, 60), rng.normal(0.5, 1.0, 40)
    alone = np.arange(60), np.arange(40)
    of_x = np.repeat(np.arange(12), 5)
    none = dkmd_2samp(x, y, scale=1.0, groups=alone)
    left = dkmd_2samp(x, y, scale=1.0, groups=(of_x, alone[1]))
    right = dkmd_2samp(y, x, scale=1.0, groups=(alone[1], of_x))
    assert left.standard_error == pytest.approx(right.standard_error, rel=1e-9)
    assert left.pvalue == pytest.approx(right.pvalue, rel=1e-9)
    assert left.standard_error > 1.5 * none.standard_error
    clusters = left.outcome().pair.clusters
    assert clusters.inflation_x > 3.0
    assert clusters.inflation_y == pytest.approx(1.0)
    assert (clusters.df_x, clusters.df_y) == pytest.approx((11.0, 39.0))
