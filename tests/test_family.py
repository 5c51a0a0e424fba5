"""The tests of one comparison are one family: the shift at alpha, and the others by Holm."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dkmd import Grid, Summary, compare, drift
from dkmd.answers.family import LEFT, corrected
from dkmd.answers.findings import Finding, MeanChange, mean_change
from dkmd.base.arrays import Array
from dkmd.inference.test.result import ConfidenceInterval

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


def _findings(**pvalues: float) -> tuple[Finding, ...]:
    ends = ConfidenceInterval(0.0, 0.0)
    return tuple(Finding(what, 0.0, 0.0, 0.0, ends, p) for what, p in pvalues.items())


def _adjusted(deciding: float, *decide: str, **pvalues: float) -> dict[str, float | None]:
    told, _ = corrected(deciding, _findings(**pvalues), decide)
    return {each.what: each.adjusted_pvalue for each in told}


def test_a_clear_shift_leaves_holms_p_values_to_the_others() -> None:
    found = _adjusted(0.001, mean=0.01, spread=0.03, missing=0.02)
    assert found == pytest.approx({"mean": 0.03, "missing": 0.04, "spread": 0.04})


def test_without_a_clear_shift_the_others_share_a_part_of_alpha() -> None:
    found = _adjusted(0.6, mean=0.01, spread=0.9)
    assert found == pytest.approx({"mean": 0.02 / LEFT, "spread": 0.9})
    assert _adjusted(0.04, mean=0.01, spread=0.9)["mean"] == pytest.approx(0.04)


def test_without_a_deciding_test_holm_has_all_of_alpha() -> None:
    assert _adjusted(math.nan, missing=0.03) == {"missing": 0.03}


@pytest.mark.parametrize("deciding", [0.001, math.nan])
def test_a_finding_without_a_p_value_is_no_test(deciding: float) -> None:
    found = _adjusted(deciding, mean=0.01, spread=math.nan, missing=0.03)
    assert found == pytest.approx({"mean": 0.02, "spread": math.nan, "missing": 0.03}, nan_ok=True)


def test_what_decides_keeps_its_own_p_value() -> None:
    found = _adjusted(0.01, "share", "rest", share=0.01, rest=0.2, mean=0.02)
    assert found == {"share": None, "rest": None, "mean": 0.02}


def test_share_and_rest_are_one_test() -> None:
    """They are corrected for each other already."""
    told, how = corrected(0.001, _findings(share=0.002, rest=0.02, mean=0.5))
    assert how == ("Holm", 2)
    assert [each.adjusted_pvalue for each in told] == pytest.approx([0.004, 0.04, 0.5])


def test_a_family_has_at_most_seven_percent_false_alarms_however_it_depends() -> None:
    """Uniform p-values of a shift and three others, from independent to nearly equal ones."""
    rng = np.random.default_rng(2031)
    trials = 4000
    for correlation in (0.0, 0.5, 0.9):
        covariance = np.full((4, 4), correlation) + (1.0 - correlation) * np.eye(4)
        z = rng.multivariate_normal(np.zeros(4), covariance, trials)
        alarms = 0
        for shift, mean, spread, missing in 2.0 * stats.norm.sf(np.abs(z)):
            found = _adjusted(shift, mean=mean, spread=spread, missing=missing)
            alarms += min(shift, *(p for p in found.values() if p is not None)) < 0.05
        assert alarms / trials <= 0.05 * (1.0 + LEFT) + 3.0 * math.sqrt(0.07 * 0.93 / trials)


def test_a_mean_that_only_the_upper_part_moves_is_said_and_in_changed() -> None:
    rng = np.random.default_rng(41)
    old, new = rng.normal(size=100), rng.normal(size=100)
    new[:10] += 6.0
    answer = compare(old, new)
    assert "mean" in answer.changed
    assert "shift" not in answer.changed
    words = answer.headline()
    assert "The mean rose by 0." in words
    assert "Findings beside the shift are corrected for 2 tests (Holm)." in words
    assert "mean +0." in str(drift(pd.DataFrame({"a": old}), pd.DataFrame({"a": new})))


def test_doubled_amounts_beside_zeros_are_told_by_parts_and_mean() -> None:
    rng = np.random.default_rng(42)
    zeros = rng.random((2, 400)) < 0.5
    old, new = (np.where(where, 0.0, rng.gamma(2.0, size=400)) for where in zeros)
    answer = compare(old, 2.0 * new)
    assert {"rest", "mean"} <= {*answer.changed}
    assert "the values other than 0 are higher" in answer.headline()
    assert "The mean rose by " in answer.headline()


def test_a_mean_that_is_clear_only_by_itself_is_not_said_to_have_moved() -> None:
    """p of the mean is 0.02 and nothing else moved."""
    rng = np.random.default_rng(43)
    for _ in range(2000):
        old, new = rng.standard_t(3, 100), rng.standard_t(3, 100)
        answer = compare(old, new)
        mean = answer.finding("mean")
        assert mean is not None
        if answer.pvalue > 0.2 and mean.pvalue < 0.05 and not mean.is_clear(0.05):
            break
    assert answer.changed == []
    words = answer.headline()
    assert "the mean" not in words
    assert "Nothing beside the shift is clear if corrected for 2 tests (Holm)." in words


def test_a_mean_that_moves_with_the_centre_adds_no_words() -> None:
    rng = np.random.default_rng(44)
    old = rng.normal(size=200)
    answer = compare(old, old + 1.0)
    assert answer.changed == ["shift", "mean"]
    assert "Holm" not in answer.headline()
    assert " mean " not in answer.headline()


def _mean(reference: Array, current: Array) -> MeanChange:
    found = mean_change((None, reference), (None, current), 0.95)
    assert found is not None
    return found


def test_the_mean_of_samples_of_one_size_has_welchs_p_value() -> None:
    rng = np.random.default_rng(45)
    old, new = rng.lognormal(size=60), rng.lognormal(size=60)
    expected = stats.ttest_ind(new, old, equal_var=False).pvalue
    assert _mean(old, new).pvalue == pytest.approx(expected, rel=1e-9)


def test_few_skewed_values_against_many_have_the_p_value_of_relabelling() -> None:
    """Welch's p-value is far too small: the few values hold none of the large ones."""
    rng = np.random.default_rng(46)
    old, new = rng.lognormal(0.0, 1.5, 200), rng.lognormal(0.0, 1.5, 20)
    new = np.minimum(new, 2.0)
    found = _mean(old, new)
    welch = stats.ttest_ind(new, old, equal_var=False).pvalue

    def difference(x: Array, y: Array, axis: int) -> Array:
        return np.asarray(np.mean(x, axis=axis) - np.mean(y, axis=axis))

    by_labels = stats.permutation_test(
        (new, old), difference, n_resamples=4999, vectorized=True, rng=1
    ).pvalue
    assert welch < 0.01
    assert by_labels == pytest.approx(found.pvalue, rel=0.3)
    assert found.low < 0.0 <= found.high
    back = _mean(new, old)
    assert (back.pvalue, back.low, back.high) == pytest.approx(
        (found.pvalue, -found.high, -found.low), rel=1e-9
    )
    grid = Grid.fit(old, new)
    binned = mean_change((Summary.of(old, grid), None), (Summary.of(new, grid), None), 0.95)
    assert binned == pytest.approx(found, rel=1e-3)


def test_means_of_huge_and_of_constant_values_have_no_strange_p_value() -> None:
    rng = np.random.default_rng(47)
    old, new = rng.normal(size=50), 3.0 + rng.normal(size=50)
    plain, huge = _mean(old, new), _mean(1e139 * old, 1e139 * new)
    assert plain.pvalue < 1e-6
    assert huge.pvalue == pytest.approx(plain.pvalue, rel=1e-9)
    assert math.isnan(_mean(np.ones(5), np.ones(6)).pvalue)
    assert math.isnan(_mean(np.full(5, 7.0), np.full(6, 9.0)).pvalue)
    apart = _mean(np.arange(5.0), np.full(6, 1e5))
    assert 0.0 <= apart.pvalue < 0.05
    assert apart.low < 1e5 - 2.0 < apart.high < 1e5 + 3.0
    outlier = _mean(np.arange(9.0), np.append(np.arange(8.0), 1e130))
    assert outlier.pvalue == pytest.approx(1.0 / 3.0, abs=0.05)  # Welch: t = 1


def test_the_p_value_of_the_mean_does_not_depend_on_the_unit_of_the_data() -> None:
    rng = np.random.default_rng(48)
    old, new = rng.lognormal(0.0, 1.2, 200), np.minimum(rng.lognormal(0.0, 1.2, 20), 1.5)
    found = _mean(old, new)
    for unit in (1e-3, 1e3, 1e9):
        scaled = _mean(unit * old, unit * new)
        assert scaled.pvalue == pytest.approx(found.pvalue, rel=1e-9)
        assert (scaled.low, scaled.high) == pytest.approx(
            (unit * found.low, unit * found.high), rel=1e-6
        )
