"""The two parts of a column with a common value: the share of the others, and these values."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shell import here
from statsmodels.stats.multitest import multipletests

from dkmd import Grid, Summary, compare, dkmd_2samp, drift
from dkmd.answers.findings import Finding
from dkmd.answers.options import DEFAULT_TEST
from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.kinds.column_kind import TwoSamples
from dkmd.inference.kinds.parts import Rest, compare_rest, two_parts
from dkmd.inference.kinds.proportions import Counts, share_interval, share_tails
from dkmd.inference.test.margins import beyond_margin, verdict
from dkmd.inference.test.two_sample import row_tails

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


def _rest(x: Array, y: Array) -> Rest:
    found = compare_rest(np.asarray(x), np.asarray(y), DEFAULT_TEST)
    assert found is not None
    return found


def _lognormal(seed: int, n: int = 40, m: int = 40, factor: float = 1.6) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return factor * rng.lognormal(3.0, 0.8, n), rng.lognormal(3.0, 0.8, m)


def _finding(x: Array, y: Array, common: float = 0.0) -> Finding:
    """What an answer says about the values other than the common one; x is current."""
    current, reference = (np.append(side, np.full(2 * side.size, common)) for side in (x, y))
    found = compare(reference, current).finding("rest")
    assert found is not None
    return found


def test_positive_values_are_compared_on_logarithms() -> None:
    for seed in range(3):
        x, y = _lognormal(seed, 60, 90, 1.2)
        rest, on_logs = _rest(x, y), dkmd_2samp(np.log(x), np.log(y))
        assert rest.logs
        assert rest.pvalue == on_logs.pvalue
        assert rest.result.shift_interval(0.9) == on_logs.shift_interval(0.9)


@pytest.mark.parametrize("odd", [-20.0, -1e-9, -math.inf])
def test_one_value_that_is_not_positive_and_all_are_compared_as_they_are(odd: float) -> None:
    x, y = _lognormal(3)
    x = np.append(x, odd)
    rest = _rest(x, y)
    assert not rest.logs
    assert rest.pvalue == dkmd_2samp(x, y).pvalue
    with pytest.raises(ColumnError, match="percentages need positive data"):
        rest.result.on_logs()


def test_the_finding_has_the_factor_of_the_logarithms_and_its_own_interval() -> None:
    """A 95% interval is a 95% interval: that of the test of these values alone."""
    x, y = _lognormal(4, 30, 50)
    found, alone = _finding(x, y), dkmd_2samp(np.log(x), np.log(y))
    assert found.ratio is not None
    assert found.ratio == pytest.approx(math.exp(alone.shift))
    assert found.ratio_interval == pytest.approx(np.exp(alone.shift_interval(0.95)))
    # each sample shows its own median, whose ratio may differ a little from the factor
    medians = np.exp(np.median(np.log(y))), np.exp(np.median(np.log(x)))
    assert (found.reference, found.current) == pytest.approx(medians)
    # in data units: what the factor does to a value like the median of the reference
    assert found.estimate == pytest.approx(found.reference * (found.ratio - 1.0))
    assert found.interval == pytest.approx(
        found.reference * (np.asarray(found.ratio_interval) - 1.0)
    )


def test_without_logarithms_the_finding_has_a_shift_and_no_factor() -> None:
    x, y = _lognormal(5, 30, 50)
    x, y = -x, -y
    found, alone = _finding(x, y), dkmd_2samp(x, y)
    assert (found.ratio, found.ratio_interval) == (None, None)
    assert found.estimate == alone.shift
    assert found.interval == alone.shift_interval(0.95)
    assert (found.reference, found.current) == pytest.approx((np.median(y), np.median(x)))


@pytest.mark.parametrize("seed", range(6))
def test_the_p_value_and_both_intervals_agree(seed: int) -> None:
    """0 and a factor of 1 are inside exactly when the p-value of the test is at least 5%."""
    x, y = _lognormal(seed, 12, 30, 1.0 + 0.25 * seed)
    found, pvalue = _finding(x, y), _rest(x, y).pvalue
    assert found.ratio_interval is not None
    (low, high), ends = found.interval, found.ratio_interval
    assert (low <= 0.0 <= high) == (ends[0] <= 1.0 <= ends[1]) == (pvalue >= 0.05)


def test_swapping_turns_the_factor_over_and_units_do_not_matter() -> None:
    x, y = _lognormal(3)
    found, swapped, stretched = _finding(x, y), _finding(y, x), _finding(9.0 * x, 9.0 * y)
    assert found.ratio is not None
    assert swapped.pvalue == pytest.approx(found.pvalue)
    assert swapped.ratio == pytest.approx(1.0 / found.ratio)
    assert stretched.pvalue == pytest.approx(found.pvalue)
    assert stretched.ratio_interval == pytest.approx(found.ratio_interval, rel=1e-6)
    assert stretched.interval == pytest.approx([9.0 * end for end in found.interval], rel=1e-6)


@pytest.mark.parametrize("unit", [1e-120, 1e120])
def test_extreme_units_change_nothing(unit: float) -> None:
    """The square of a value is close to what a double can hold."""
    x, y = _lognormal(11)
    rest, other = _rest(x, y), _rest(unit * x, unit * y)
    assert other.pvalue == pytest.approx(rest.pvalue)
    assert other.result.shift_interval() == pytest.approx(rest.result.shift_interval(), rel=1e-5)


def test_bins_and_values_give_the_same_test() -> None:
    x, y = _lognormal(5, 900, 800, 1.1)
    for sign in (1.0, -1.0):
        a, b = sign * x, sign * y
        grid = Grid.fit(np.append(a, np.zeros(3000)), b)
        exact = _rest(a, b)
        binned = compare_rest(Summary.of(a, grid), Summary.of(b, grid), DEFAULT_TEST)
        assert binned is not None
        assert binned.logs == exact.logs == (sign > 0.0)
        assert binned.pvalue == pytest.approx(exact.pvalue, rel=3e-3)
        ends = exact.result.shift_interval(0.95)
        error = 2e-3 * (ends.high - ends.low)  # bins give the chosen scale to a few thousandths
        assert binned.result.shift == pytest.approx(exact.result.shift, abs=error)
        assert binned.result.shift_interval(0.95) == pytest.approx(ends, abs=error)
        if not exact.logs:
            with pytest.raises(ColumnError, match="percentages need positive data"):
                binned.result.on_logs()


def test_bins_next_to_zero_lose_a_few_percent_of_the_width_of_the_interval() -> None:
    """Gamma(0.3): a tenth of the values is below a thousandth of the mean, in a few wide bins."""
    rng = np.random.default_rng(1)
    x, y = rng.gamma(0.3, 10.0, 2000), rng.gamma(0.3, 10.0, 2000)
    grid = Grid.fit(np.append(x, np.zeros(3000)), y)
    exact = _rest(x, y).result.shift_interval(0.95)
    binned = compare_rest(Summary.of(x, grid), Summary.of(y, grid), DEFAULT_TEST)
    assert binned is not None
    width = exact.high - exact.low
    assert binned.result.shift_interval(0.95) == pytest.approx(exact, abs=0.1 * width)


def test_percent_margins_of_the_rest_agree_with_the_factor() -> None:
    x, y = _lognormal(7, 60, 80, 1.5)
    result, (low, _) = _rest(x, y).result, _rest(x, y).result.shift_interval(0.95)
    below, above = (f"{100.0 * (by * math.exp(low) - 1.0)}%" for by in (0.999, 1.001))
    assert beyond_margin(result, below) < 0.05 < beyond_margin(result, above)
    assert (verdict(result, below), verdict(result, above)) == ("higher", "inconclusive")
    assert verdict(result, "300%") == "equivalent"
    assert beyond_margin(result, "0%") == result.pvalue


def test_if_only_the_rest_has_an_impossible_scale_the_share_is_compared() -> None:
    tiny = -1e-150 * np.arange(1.0, 41.0)
    old = np.concatenate([np.full(80, 7.0), tiny[:20]])
    new = np.concatenate([np.full(60, 7.0), tiny])
    answer = compare(old, new, kind="zeros")
    assert answer.deciding == ("share",)
    assert answer.changed == ["share", "shift", "mean"]
    assert any(
        note.startswith("the values other than 7 were not compared: the scale")
        for note in answer.warnings
    )


def test_a_factor_is_found_as_often_as_in_the_data_themselves() -> None:
    """20 against 80 values, as with 60% zeros among 50 and 200: 37% are found either way."""
    rng = np.random.default_rng(8)
    x, y = 1.5 * rng.lognormal(3.0, 0.8, (500, 20)), rng.lognormal(3.0, 0.8, (500, 80))
    own = np.mean([_rest(a, b).pvalue < 0.025 for a, b in zip(x, y, strict=True)])
    # the difference has a standard error of 1.3 points, because both see the same samples
    assert own > np.mean(row_tails(x, y).pvalue("two-sided") < 0.025) - 0.03
    assert own > 0.33


def test_a_centre_at_infinity_is_an_infinite_factor_with_a_lower_end() -> None:
    x, y = _lognormal(12, 15, 30, 1.0)
    x, y = np.append(x, np.full(25, math.inf)), np.append(y, np.full(10, math.inf))
    found = _finding(x, y)
    assert found.ratio_interval is not None
    low, high = found.ratio_interval
    assert (found.ratio, high, found.interval.high) == (math.inf, math.inf, math.inf)
    assert (1.0 < low < math.inf) == (_rest(x, y).pvalue < 0.05)


def test_values_that_hardly_vary_keep_their_digits() -> None:
    """Timestamps beside zeros: in nanoseconds their logarithms are equal to the last digit."""
    rng = np.random.default_rng(13)
    x, y = rng.normal(0.4, 1.0, 60), rng.normal(0.0, 1.0, 60)
    near, far = _rest(x + 1e6, y + 1e6), _rest(1000.0 * x + 1.7e18, 1000.0 * y + 1.7e18)
    assert (near.logs, far.logs) == (True, False)
    assert 1e6 * math.expm1(near.result.shift) == pytest.approx(far.result.shift / 1000.0, rel=0.3)


def test_equal_values_and_mostly_infinite_ones_have_no_test() -> None:
    ones = np.ones(20)
    assert compare_rest(ones, ones, DEFAULT_TEST) is None
    assert compare_rest(np.full(20, math.inf), np.full(30, math.inf), DEFAULT_TEST) is None


RNG = np.random.default_rng(20)


def _yes(size: int, yes: int, no: float = 0.0, value: float = 1.0) -> Array:
    """So many values, of which so many are yes, in random order."""
    values = np.full(size, no)
    values[:yes] = value
    return RNG.permutation(values)


def _zeros(size: int, others: Array) -> Array:
    return RNG.permutation(np.concatenate([np.zeros(size - others.size), others]))


def _with_zeros(zeros: int, amounts: Array) -> Array:
    return np.concatenate([np.zeros(zeros), amounts[zeros:]])


AMOUNTS = np.random.default_rng(1).lognormal(3.0, 0.8, 400)


def test_mostly_zeros_say_which_part_moved_first() -> None:
    rng = np.random.default_rng(5)
    old = _zeros(4000, rng.lognormal(3.0, 0.8, 120))
    more = compare(old, _zeros(4000, rng.lognormal(3.0, 0.8, 220)))
    assert more.kind == "mostly one value"
    assert (more.verdict, more.changed[:1]) == ("higher", ["share"])
    assert "than in reference: more values differ from 0: 5.50%, before 3.00%" in more.headline()
    spend = compare(old, _zeros(4000, 2.0 * rng.lognormal(3.0, 0.8, 120)))
    assert (spend.verdict, spend.changed[:1]) == ("higher", ["rest"])
    assert "reference: the values other than 0 are higher: median" in spend.headline()
    rest = spend.finding("rest")
    assert rest is not None
    assert rest.ratio is not None
    assert rest.ratio_interval is not None
    assert 1.5 < rest.ratio_interval[0] < rest.ratio < rest.ratio_interval[1] < 4.0
    nothing = compare(old, _zeros(4000, rng.lognormal(3.0, 0.8, 118)))
    assert nothing.verdict == "inconclusive"
    assert nothing.changed == []
    assert "no clear change" in nothing.headline()


def test_parts_that_moved_apart_are_mixed_and_the_mean_is_said() -> None:
    rng = np.random.default_rng(6)
    old = _zeros(8000, rng.lognormal(3.0, 0.8, 500))
    new = _zeros(8000, 1.6 * rng.lognormal(3.0, 0.8, 400))
    answer = compare(old, new)
    assert answer.verdict == "mixed"
    assert "moved both ways (MIXED): the values other than 0 are higher" in answer.headline()
    assert "; but fewer values differ from 0: 5.00%, before 6.25%" in answer.headline()
    assert "The mean rose by " in answer.headline() or "The mean did not" in answer.headline()
    assert compare(new, old).verdict == "mixed"
    mirrored = compare(-old, -new)
    assert mirrored.verdict == "mixed"
    frames = [pd.DataFrame({"revenue": side, "t": AMOUNTS[:1].repeat(8000)}) for side in (old, new)]
    assert drift(*frames)["revenue"].verdict == "mixed"


def test_more_values_below_the_common_one_mean_lower() -> None:
    rng = np.random.default_rng(7)
    old, new = (100.0 - _zeros(3000, rng.lognormal(1.0, 0.5, k)) for k in (100, 220))
    answer = compare(old, new)
    assert (answer.verdict, answer.direction) == ("lower", "current is smaller")
    assert compare(new, old).verdict == "higher"


def test_two_parts_agree_in_memory_bins_and_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    old, new = (_zeros(3000, f * rng.lognormal(3.0, 0.8, k)) for f, k in ((1.0, 400), (1.4, 420)))
    exact = compare(old, new)
    grid = Grid.fit(old, new)
    binned = compare(Summary.of(old, grid), Summary.of(new, grid))
    for side, name in ((old, "a"), (new, "b")):
        pd.DataFrame({"v": side}).to_parquet(tmp_path / f"{name}.parquet")
    files = compare(tmp_path / "a.parquet", tmp_path / "b.parquet")
    # a file of few values gives the values; bins give the chosen scale, and how far the medians
    # may lie apart by chance, to a few thousandths
    for other, error in ((files, 1e-12), (binned, 3e-3)):
        assert (other.kind, other.verdict, other.changed) == (
            exact.kind, exact.verdict, exact.changed,
        )  # fmt: skip
        assert other.pvalue == pytest.approx(exact.pvalue, rel=error)
        for one, two in zip(exact.findings[:2], other.findings[:2], strict=True):
            assert two.estimate == pytest.approx(one.estimate, rel=0.15 * error)
            assert two.ratio == pytest.approx(one.ratio, rel=0.15 * error)


def test_time_outs_beside_equal_values_are_compared_by_their_share(tmp_path: Path) -> None:
    old = np.concatenate([np.zeros(60), np.full(5, math.inf)])
    new = np.concatenate([np.zeros(40), np.full(25, math.inf)])
    answer = compare(old, new)
    assert (answer.kind, answer.verdict, answer.changed) == (
        "mostly one value",
        "higher",
        ["share"],
    )
    assert "more values differ from 0: 38.5%, before 7.69%" in answer.headline()
    assert not answer.warnings
    assert not compare([True] * 30, [False] * 30).warnings
    answer.report(tmp_path / "page.html")
    assert "higher" in (tmp_path / "page.html").read_text()
    everything = compare(np.zeros(30), np.zeros(30))
    assert everything.kind == "constant"
    assert math.isnan(everything.pvalue)


def test_a_third_value_among_two_adds_one_test() -> None:
    """Then there is a rest that can be compared, so the p-value of the share counts twice."""
    old, new = _yes(400, 120), _yes(400, 158)
    alone = compare(old, new).pvalue
    places = [np.flatnonzero(side == 1.0) for side in (old, new)]
    for k in range(40):
        side, ones = ((old, places[0]), (new, places[1]))[k % 2]
        side[ones[k // 2]] = 2.0
        now = compare(old, new)
        assert now.kind == "mostly one value"
        assert now.changed[:1] == ["share"]
        assert now.pvalue == pytest.approx(2.0 * alone)


@pytest.mark.parametrize("zeros", [0.35, 0.6, 0.9])
def test_both_parts_are_tested_as_they_are_alone_and_adjusted_by_holm(zeros: float) -> None:
    """Intervals at 95% are those of each part alone, however common the common value is."""
    rng = np.random.default_rng(24)
    old, new = (
        np.where(rng.random(600) < share, 0.0, rng.lognormal(3.0, 0.8, 600))
        for share in (zeros, zeros - 0.05)
    )
    answer = compare(old, new)
    share, rest = answer.finding("share"), answer.finding("rest")
    assert share is not None
    assert rest is not None
    counts = Counts(int((new != 0.0).sum()), 600, int((old != 0.0).sum()), 600)
    assert share.interval == pytest.approx(share_interval(counts, 0.95))
    on_logs = dkmd_2samp(np.log(new[new > 0.0]), np.log(old[old > 0.0]))
    assert rest.ratio_interval == pytest.approx(np.exp(on_logs.shift_interval(0.95)))
    alone = [float(share_tails(counts).pvalue("two-sided")), float(on_logs.pvalue)]
    adjusted = multipletests(alone, method="holm")[1]
    assert [share.pvalue, rest.pvalue] == pytest.approx(adjusted)
    if "share" in answer.deciding:
        assert answer.pvalue == pytest.approx(min(adjusted))
        assert "(Holm over two parts), n = 600 and 600." in answer.headline()


def test_a_part_that_would_be_clear_alone_is_not_clear_as_one_of_two() -> None:
    """p = 0.04 for the share and nothing in the rest: 0 is outside of the interval of the share."""
    amounts = np.random.default_rng(25).lognormal(3.0, 0.8, 60)
    answer = compare(_zeros(400, amounts[:40]), _zeros(400, amounts))
    share = answer.finding("share")
    assert share is not None
    assert share.interval[0] > 0.0
    assert 0.05 < share.pvalue < 0.1
    assert answer.verdict == "inconclusive"
    assert not {"share", "rest"} & set(answer.changed)
    assert answer.pvalue_beyond == answer.pvalue == share.pvalue


def test_where_the_kind_changes_everything_that_was_found_stays_found() -> None:
    rng = np.random.default_rng(13)
    for zeros in (198, 199, 200, 201, 202):
        old = np.concatenate([np.zeros(zeros), rng.normal(10.0, 1.0, 400 - zeros)])
        new = np.concatenate([np.zeros(140), rng.normal(13.0, 1.0, 260)])
        answer = compare(old, new)
        assert answer.kind == ("mostly one value" if zeros >= 200 else "amount")
        assert {"share", "rest", "shift"} <= set(answer.changed)
        assert answer.verdict == "higher"


@pytest.mark.parametrize("seed", range(6))
def test_single_zeros_at_half_change_what_is_said_first_and_not_what_is_found(seed: int) -> None:
    """49, 50 and 51 zeros of 100. A p-value near alpha may cross it, so these are left out."""
    rng = np.random.default_rng(100 + seed)
    old, new = rng.gamma(4.0, 10.0, 100), 1.5 * rng.gamma(4.0, 10.0, 100)
    answers = [compare(_with_zeros(k, old), _with_zeros(k, new)) for k in (48, 49, 50, 51, 52)]
    assert [each.kind for each in answers] == ["amount"] * 2 + ["mostly one value"] * 3
    rest = [each.tests["rest"] for each in answers]
    assert all(max(a, b) < 6.0 * min(a, b) for a, b in itertools.pairwise(rest))
    if max(rest) < 0.05 or min(rest) >= 0.05:
        clear = max(rest) < 0.05
        assert all(("rest" in each.changed) == clear for each in answers)
        assert all(("the values other than 0 are higher" in each.headline().lower()) == clear
                   for each in answers)  # fmt: skip


def test_a_part_is_said_before_a_centre_that_is_not_clear() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        old, new = rng.gamma(4.0, 10.0, 100), 1.5 * rng.gamma(4.0, 10.0, 100)
        answer = compare(_with_zeros(49, old), _with_zeros(49, new))
        if answer.verdict == "inconclusive" and "rest" in answer.changed:
            break
    assert answer.headline().startswith("value: the values other than 0 are higher: median ")
    assert (
        ". All values together did not clearly move (INCONCLUSIVE): typically +"
        in answer.headline()
    )
    assert answer.headline().count("other than 0 are higher") == 1


def test_failing_on_a_shift_fails_on_a_part(tmp_path: Path) -> None:
    rng = np.random.default_rng(21)
    old, new = rng.gamma(4.0, 10.0, 400), rng.gamma(4.0, 10.0, 400)
    sides = _with_zeros(160, old), _with_zeros(160, 1.25 * new)
    for name, values in zip("ab", sides, strict=True):
        pd.DataFrame({"v": values}).to_csv(tmp_path / f"{name}.csv", index=False)
    answer = drift(*(pd.DataFrame({"v": values}) for values in sides))["v"]
    assert "shift" not in answer.changed
    assert "rest" in answer.changed
    files = [str(tmp_path / f"{name}.csv") for name in "ab"]
    here("drift", *files, "--fail-on", "shift", code=1)
    here("drift", *files, "--fail-on", "shift", "--margin", "2sd", code=0)


def test_a_few_values_other_than_zero_are_compared() -> None:
    """Four against forty: with fewer than two on a side only the share is compared."""
    rng = np.random.default_rng(22)
    old, few = _zeros(100, rng.gamma(9.0, 5.0, 40)), rng.gamma(9.0, 25.0, 4)
    assert compare(old, _zeros(10, few)).changed[:1] == ["rest"]
    for k in (2, 3):
        part = compare(old, _zeros(10, few[:k]), kind="zeros").finding("rest")
        assert part is not None
        assert part.pvalue > compare(old, _zeros(10, few)).tests["rest"]
    assert compare(old, _zeros(10, few[:1]), kind="zeros").finding("rest") is None


TRIALS = 600


def _pairs(
    n: int, m: int, zeros: float, few: bool, factor: float, seed: int
) -> list[tuple[Array, Array]]:
    """Pairs of samples with zeros; the rest is gamma or, if ``few``, 1, 2 or 3."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(TRIALS):
        sides = []
        for size in (n, m):
            rest = rng.integers(1, 4, size) if few else rng.gamma(4.0, 10.0, size)
            sides.append(np.where(rng.random(size) < zeros, 0.0, rest))
        pairs.append((factor * sides[0], sides[1]))
    return pairs


def _two_part_pvalues(pairs: list[tuple[Array, Array]]) -> Array:
    found = []
    for x, y in pairs:
        samples = TwoSamples(x, y)
        common = samples.common_value
        parts = None if common is None else two_parts(samples, common, DEFAULT_TEST)
        found.append(1.0 if parts is None else parts.pvalue)
    return np.array(found)


@pytest.mark.parametrize(("n", "m", "few"), [(100, 100, False), (10, 100, False), (10, 100, True)])
def test_two_parts_raise_few_false_alarms(n: int, m: int, few: bool) -> None:
    alarms = int((_two_part_pvalues(_pairs(n, m, 0.6, few, 1.0, 31)) < 0.05).sum())
    # at most 6.5% are promised; more than this has a probability of 0.1% at 5%
    assert alarms <= stats.binom.ppf(0.999, TRIALS, 0.05)


def test_a_factor_on_the_rest_is_found_better_than_by_welch_and_mann_whitney() -> None:
    pairs = _pairs(100, 100, 0.6, False, 1.5, 32)
    own = float((_two_part_pvalues(pairs) < 0.05).mean())
    x, y = (np.array(side) for side in zip(*pairs, strict=True))
    welch = float((stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue < 0.05).mean())
    ranks = float((stats.mannwhitneyu(x, y, axis=1).pvalue < 0.05).mean())
    assert own > 0.8 > welch > ranks
