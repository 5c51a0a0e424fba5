"""Answers about yes/no data: two shares, their difference and their margin, in every design."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportions_ztest

from dkmd import Comparison, Witness, compare, dkmd_2samp
from dkmd.base.arrays import Array

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


RNG = np.random.default_rng(20)


def _yes(size: int, yes: int, no: float = 0.0, value: float = 1.0) -> Array:
    """So many values, of which so many are yes, in random order."""
    values = np.full(size, no)
    values[:yes] = value
    return RNG.permutation(values)


AMOUNTS = np.random.default_rng(1).lognormal(3.0, 0.8, 400)


def test_yes_no_data_are_answered_in_percentage_points() -> None:
    old, new = _yes(5000, 210), _yes(5000, 262)
    answer = compare(old, new)
    assert answer.kind == "yes/no"
    assert answer.changed == ["share"]
    assert answer.headline().startswith(
        "value is HIGHER in current than in reference: 5.24%, before 4.20%: +1.04 percentage "
        "points (95% interval +0.209 to +1.88), × 1.25. p = 0.014"
    )
    assert answer.shift == pytest.approx(0.0104)
    assert answer.relative_shift == pytest.approx(262 / 210 - 1.0)
    assert answer.scale == pytest.approx(np.std(np.append(old, new)))
    assert [row[0] for row in answer.rows()] == ["values", "kind", "share of 1"]
    assert not answer.percentiles
    assert not answer.warnings
    boschloo = stats.boschloo_exact([[12, 4], [8, 16]], n=128).pvalue
    few = compare(_yes(20, 4), _yes(20, 12))
    assert few.pvalue == pytest.approx(stats.boschloo_exact([[12, 4], [8, 16]]).pvalue, rel=2e-3)
    assert boschloo == pytest.approx(few.pvalue, rel=2e-3)


def test_yes_no_values_other_than_0_and_1_keep_their_units() -> None:
    answer = compare(_yes(400, 100, 10.0, 30.0), _yes(400, 160, 10.0, 30.0))
    assert answer.shift == pytest.approx(20.0 * 0.15)
    assert "40.0% of the values are 30, before 25.0%: +15 percentage" in answer.headline().replace(
        "+15.0", "+15"
    )
    assert "mean" in [row[0] for row in answer.rows()]


def test_peers_of_yes_no_data_are_tests_of_shares() -> None:
    old, new = _yes(200, 40), _yes(100, 33)
    said = {each.name: each for each in compare(old, new).peers().rows}
    fisher = stats.fisher_exact([[33, 67], [40, 160]])
    assert said["Fisher's exact, odds ratio"].pvalue == pytest.approx(fisher.pvalue)
    z, p = proportions_ztest([33, 40], [100, 200])
    assert said["two proportions, z"].value == pytest.approx(z)
    assert said["two proportions, z"].pvalue == pytest.approx(p)
    assert "dkmd (share)" in said
    assert "Fisher" not in str(compare(AMOUNTS, AMOUNTS + 1.0).peers())


def test_yes_no_with_groups_is_the_mean_by_groups() -> None:
    rng = np.random.default_rng(3)
    sides = []
    for share in (0.45, 0.58):
        groups = rng.integers(0, 60, 2000)
        each = np.clip(share + 0.1 * rng.normal(size=60), 0.01, 0.99)
        sides.append(((rng.random(2000) < each[groups]).astype(float), groups))
    (old, of_old), (new, of_new) = sides
    answer = compare(old, new, groups=(of_old, of_new))
    assert answer.shift == pytest.approx(new.mean() - old.mean())
    variance = 0.0
    for values, groups in sides:
        sums = np.bincount(groups, values - values.mean(), 60)
        variance += (sums**2).sum() / values.size**2 * 60 / 59
    half = (answer.shift_interval.high - answer.shift_interval.low) / 2.0
    assert half == pytest.approx(stats.t.ppf(0.975, answer.df) * math.sqrt(variance), rel=0.01)
    assert half > 1.2 * np.diff(compare(old, new).shift_interval)[0] / 2.0
    assert compare(old, new, groups=(of_old, of_new), margin="5pp").verdict == "higher"
    assert compare(old, new, groups=(of_old, of_new), margin="30pp").verdict == "equivalent"


def test_the_power_of_an_answer_is_that_of_an_exact_test() -> None:
    """The probabilities of all tables are added up, so there is no simulation error."""
    n, m = 10, 30
    own, fisher = np.ones((n + 1, m + 1)), np.ones((n + 1, m + 1))
    for i in range(n + 1):
        for j in range(m + 1):
            answer = compare(_yes(m, j), _yes(n, i))
            own[i, j] = 1.0 if math.isnan(answer.pvalue) else answer.pvalue
            fisher[i, j] = stats.fisher_exact([[i, n - i], [j, m - j]]).pvalue
    for before, after in ((0.1, 0.5), (0.3, 0.8), (0.5, 0.1), (0.05, 0.4)):
        of_x, of_y = (
            stats.binom.pmf(range(n + 1), n, after),
            stats.binom.pmf(range(m + 1), m, before),
        )
        power, other = (float(of_x @ (p < 0.05) @ of_y) for p in (own, fisher))
        assert power > other - 0.03
    for share in np.linspace(0.02, 0.98, 49):
        of_x, of_y = (
            stats.binom.pmf(range(n + 1), n, share),
            stats.binom.pmf(range(m + 1), m, share),
        )
        assert float(of_x @ (own < 0.05) @ of_y) < 0.051


def _rare(design: str) -> Comparison:
    """0 of 24 against 12 of 240: Fisher's exact test has p = 0.6."""
    rng = np.random.default_rng(1)

    def side(yes: int, rows: int, first: int) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "bought": (np.arange(rows) % (rows // yes) == 0).astype(int) if yes else 0,
                "visits": rng.normal(size=rows),
                "weight": rng.uniform(0.5, 1.5, rows),
                "user": first + np.arange(rows) // 3,
            }
        )

    how: dict[str, dict[str, Any]] = {
        "covariate": {"covariate": "visits", "randomized": True},
        "weights": {"weights": "weight"},
        "groups": {"groups": "user"},
    }
    answer = compare(
        side(12, 240, 0), side(0, 24, 1000), column="bought", margin="6pp", **how[design]
    )
    assert isinstance(answer, Comparison)
    return answer


@pytest.mark.parametrize("design", ["covariate", "weights", "groups"])
def test_few_rows_without_a_yes_prove_nothing_in_any_design(design: str) -> None:
    """They show no variance, so a test of the means alone says p < 0.001."""
    answer = _rare(design)
    assert answer.kind == "yes/no"
    assert answer.pvalue > 0.1
    assert answer.shift_interval.low < 0.0 <= answer.shift_interval.high
    assert answer.verdict == "inconclusive"
    assert answer.pvalue_beyond > 0.1


def test_with_many_of_both_values_groups_decide_by_their_means() -> None:
    """16% against 10%, each user's rows alike: single rows would be surer than users are."""
    before = pd.DataFrame({"v": np.repeat(np.arange(400) % 10 == 0, 3).astype(int)})
    after = pd.DataFrame({"v": np.repeat(np.arange(400) % 6 == 0, 3).astype(int)})
    before["user"], after["user"] = np.arange(1200) // 3, 1000 + np.arange(1200) // 3
    grouped = compare(before, after, column="v", groups="user")
    alone = compare(before, after, column="v")
    users = dkmd_2samp(
        after["v"][::3], before["v"][::3], witness=Witness(1.0, 1.0, weight="linear")
    )
    assert grouped.pvalue == pytest.approx(float(users.pvalue), rel=0.01)
    assert grouped.pvalue > 100.0 * alone.pvalue
