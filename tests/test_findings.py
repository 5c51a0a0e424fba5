"""What changed beside the centre: spread, missing values, mean and percentiles."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from outcomes import exact_outcome
from scipy import stats
from shell import here

from dkmd import Grid, Summary, compare, drift
from dkmd.answers.findings import missing_finding
from dkmd.base.arrays import Array

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


def test_a_spread_that_doubled_is_found_and_said() -> None:
    rng = np.random.default_rng(11)
    old, new = rng.normal(10.0, 1.0, 400), rng.normal(10.0, 2.0, 300)
    answer = compare(old, new)
    spread = answer.finding("spread")
    assert spread is not None
    assert spread.interval.low < 2.0 < spread.interval.high
    assert spread.current / spread.reference == pytest.approx(spread.estimate)
    assert answer.changed == ["spread"]
    assert "The spread changed: × " in answer.headline()
    mirrored = compare(new, old).finding("spread")
    assert mirrored is not None
    assert mirrored.estimate == pytest.approx(1.0 / spread.estimate, rel=1e-6)


def test_too_few_values_for_a_spread_are_told() -> None:
    assert "8 values" in str(compare(np.arange(7.0), np.arange(9.0)))


def test_missing_values_are_a_finding_of_their_own() -> None:
    rng = np.random.default_rng(2)
    old, new = rng.normal(size=100), rng.normal(size=300)
    old[:19], new[:177] = math.nan, math.nan
    answer = compare(old, new)
    missing = answer.finding("missing")
    assert missing is not None
    assert (missing.reference, missing.current) == pytest.approx((0.19, 0.59))
    table = [[177, 19], [123, 81]]
    assert missing.pvalue < stats.fisher_exact(table).pvalue
    assert "More values are missing: 59.0%, before 19.0%." in answer.headline()
    assert "Fewer values are missing" in compare(new, old).headline()
    assert compare(old[19:], new[177:]).finding("missing") is None


def test_missing_shares_are_found_with_the_power_of_an_exact_test() -> None:
    """30 rows per side, summed over all outcomes: false alarms, and the power for 19% → 59%."""
    n = 30
    found = np.zeros((n + 1, n + 1))
    fisher = np.zeros((n + 1, n + 1))
    for a in range(n + 1):
        for b in range(n + 1):
            change = missing_finding((a, b), (n, n), 0.95)
            found[a, b] = change is not None and change.pvalue < 0.05
            fisher[a, b] = stats.fisher_exact([[a, n - a], [b, n - b]]).pvalue < 0.05

    def rate(rejected: Array, before: float, after: float) -> float:
        counts = np.arange(n + 1)
        return float(
            stats.binom.pmf(counts, n, before) @ rejected @ stats.binom.pmf(counts, n, after)
        )

    assert max(rate(found, p, p) for p in np.linspace(0.01, 0.99, 99)) <= 0.05
    assert rate(found, 0.19, 0.59) == pytest.approx(0.901, abs=0.001)
    assert rate(fisher, 0.19, 0.59) == pytest.approx(0.855, abs=0.001)


def test_the_mean_has_welchs_interval_and_says_when_it_disagrees() -> None:
    rng = np.random.default_rng(3)
    old, new = rng.gamma(2.0, 10.0, 2000), rng.gamma(2.0, 10.0, 1500)
    new[:60] = 400.0
    answer = compare(old, new)
    welch = stats.ttest_ind(new, old, equal_var=False).confidence_interval(0.95)
    assert answer.mean is not None
    assert (answer.mean.low, answer.mean.high) == pytest.approx(tuple(welch), rel=1e-9)
    assert not answer.is_clear
    assert answer.headline().startswith("value: the mean rose by 1")
    assert ") because of 60 values above 300 (before 0); the typical" in answer.headline()
    fell = compare(-old, -new).headline()
    assert "the mean fell by 1" in fell
    assert "because of 60 values below −300 (before 0)" in fell
    back = compare(new, old).headline()
    assert "the mean fell by 1" in back
    assert "because of 0 values above 300 (before 60)" in back
    grid = Grid.fit(old, new)
    binned = compare(Summary.of(old, grid), Summary.of(new, grid)).headline()
    assert binned.split(" because of ")[0] == answer.headline().split(" because of ")[0]
    assert ") because of 60 values above 300 (before 0); the typical" in binned
    assert "the typical value did not clearly move" in answer.headline()
    assert compare(old, np.append(new, math.inf)).mean is None


def test_a_mean_that_hides_a_shift_is_said_last() -> None:
    rng = np.random.default_rng(4)
    old, new = 100 * rng.standard_cauchy(300), 100 * rng.standard_cauchy(300) + 150.0
    assert "The mean does not show this: " in compare(old, new).headline()


def test_percentiles_have_intervals_and_say_what_they_need() -> None:
    rng = np.random.default_rng(5)
    old, new = rng.exponential(size=500), rng.exponential(1.5, size=400)
    answer = compare(old, new)
    by_level = {change.x.level: change for change in answer.percentiles}
    assert list(by_level) == [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999]
    half = by_level[0.5]
    assert half.x.value == pytest.approx(np.quantile(new, 0.5), rel=0.02)
    assert half.x.low < half.x.value < half.x.high
    assert half.low < half.x.value - half.y.value < half.high
    assert not by_level[0.999].in_reach
    assert ("99.9%", "needs 3,688 values") in [(row[0], row[3]) for row in answer.rows()]


def test_bins_give_the_findings_of_values() -> None:
    rng = np.random.default_rng(6)
    old, new = rng.lognormal(size=1500), 1.2 * rng.lognormal(size=1800)
    old[:100] = math.nan
    grid = Grid.fit(old, new)
    exact, binned = compare(old, new), compare(Summary.of(old, grid), Summary.of(new, grid))
    for one, other in zip(exact.findings, binned.findings, strict=True):
        assert one.what == other.what
        assert other.estimate == pytest.approx(one.estimate, rel=1e-3)
        assert other.pvalue == pytest.approx(one.pvalue, rel=0.05)
    assert exact.mean is not None
    assert binned.mean == pytest.approx(exact.mean, rel=1e-9)
    pairs = zip(exact.percentiles[:6], binned.percentiles[:6], strict=True)
    for by_values, by_bins in pairs:
        assert by_bins.difference == pytest.approx(by_values.difference, rel=0.1, abs=0.05)


def test_all_findings_of_a_drift_share_one_false_discovery_rate() -> None:
    rng = np.random.default_rng(7)
    old = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    new = pd.DataFrame(rng.normal(size=(250, 6)), columns=list("abcdef"))
    new["b"] *= 2.0
    new.loc[:100, "c"] = math.nan
    new["d"] += 1.0
    found = drift(old, new)
    assert found.changed == ["d", "b", "c"] or set(found.changed) == {"b", "c", "d"}
    assert found.shifted == ["d"]
    assert [found[name].changed for name in "bcd"] == [["spread"], ["missing"], ["shift", "mean"]]
    shifts = {name: found[name].pvalue for name in found}
    others = [f.pvalue for name in found for f in found[name].findings]
    family = stats.false_discovery_control([*shifts.values(), *others])
    expected = dict(zip(shifts, family[: len(shifts)], strict=True))
    assert found.adjusted_pvalues == pytest.approx(expected)
    words = found.headline()
    assert "1 of 6 columns shifted" in words
    assert "The mean changed" not in words  # that of d is told by its shift
    assert "The spread changed: b." in words
    assert "More values are missing: c." in words
    assert "spread × " in str(found)
    assert "missing 0% → 40%" in str(found)


def test_false_discoveries_over_findings_stay_below_alpha() -> None:
    """60 drifts of 10 columns where nothing changed: at most 5% have a finding, plus 3 errors."""
    rng = np.random.default_rng(8)
    alarms = 0
    for _ in range(60):
        old, new = (pd.DataFrame(rng.exponential(size=(60, 10))) for _ in "ab")
        for frame in (old, new):
            frame[rng.random(frame.shape) < 0.1] = math.nan
        alarms += bool(drift(old, new).changed)
    assert alarms <= 60 * 0.05 + 3 * math.sqrt(60 * 0.05 * 0.95)


def test_findings_are_in_the_json() -> None:
    rng = np.random.default_rng(9)
    answer = compare(rng.normal(size=50), 3.0 * rng.normal(size=60)).to_dict()
    assert answer["changed"] == ["spread"]
    assert [each["what"] for each in answer["findings"]] == ["mean", "spread"]
    assert answer["correction"] == {"method": "Holm", "tests": 2}
    assert answer["percentiles"][-1]["needed"] == 3688
    mean = answer["mean"]  # the difference is that of offsets, which keep more digits
    assert mean["difference"] == pytest.approx(mean["current"] - mean["reference"], rel=1e-12)


def test_fail_on_sets_the_exit_code(tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    values = rng.normal(size=300)
    pd.DataFrame({"a": values, "b": values}).to_csv(old, index=False)
    pd.DataFrame({"a": 2.0 * values, "b": values + 1.0}).to_csv(new, index=False)
    here("drift", str(old), str(new), code=0)
    here("drift", str(old), str(new), "--fail-on", "missing", code=0)
    here("drift", str(old), str(new), "--fail-on", "missing,spread", code=1)
    here("drift", str(old), str(new), "--fail-on", "shift", code=1)
    here("drift", str(old), str(new), "--fail-on", "shift", "--margin", "3", code=0)
    refused = here("drift", str(old), str(new), "--fail-on", "shape", code=2).stderr
    assert (
        "--fail-on needs some of shift, share, rest, mean, spread, category, missing, got 'shape'"
        in refused
    )


def test_the_mean_of_repeated_measurements_is_that_of_groups() -> None:
    """With as many groups of one size on both sides, all is Welch's test of the groups' means."""
    rng = np.random.default_rng(12)
    old, new = rng.normal(size=(20, 10)), 1.0 + 3.0 * rng.normal(size=(20, 10))
    old += rng.normal(size=(20, 1))
    labels = [np.repeat(np.arange(20), 10)] * 2
    answer = compare(old.ravel(), new.ravel(), groups=(labels[0], labels[1]))
    means = new.mean(axis=1), old.mean(axis=1)
    welch = stats.ttest_ind(*means, equal_var=False).confidence_interval(0.95)
    assert answer.mean is not None
    assert (answer.mean.low, answer.mean.high) == pytest.approx(tuple(welch), rel=1e-9)
    assert [each.what for each in answer.findings] == ["mean"]
    expected = stats.ttest_ind(*means, equal_var=False).pvalue
    assert answer.findings[0].pvalue == pytest.approx(expected, rel=1e-9)
    infinite = compare(
        np.append(old, math.inf), new.ravel(), groups=(np.append(labels[0], 0), labels[1])
    )
    assert infinite.mean is None


def test_the_page_has_a_tag_for_each_finding(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    old = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    new = old.assign(a=2.0 * old["a"])
    drift(old, new).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.count('<b class="tag">') == 1
    assert '<b class="tag">spread × 2</b>' in text
    assert "The spread changed: a." in text


def test_a_slim_result_says_the_same() -> None:
    rng = np.random.default_rng(14)
    old, new = rng.lognormal(size=9000), 1.1 * rng.lognormal(size=8000)
    whole = compare(old, new).result
    slim = whole.slim()
    assert (slim.pvalue, slim.shift, slim.notes) == (whole.pvalue, whole.shift, whole.notes)
    assert slim.on_logs().shift == whole.on_logs().shift
    assert slim.shift_interval(0.9) == pytest.approx(whole.shift_interval(0.9), rel=1e-8)
    fewer, all_of_them = (exact_outcome(each).sides[0].offset.size for each in (slim, whole))
    assert fewer < 0.7 * all_of_them
