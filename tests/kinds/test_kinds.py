"""Kinds of columns: yes/no data, mostly one value, counts, ratings, identifiers, constants."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shell import here
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportions_ztest

from dkmd import Comparison, Grid, Summary, Witness, compare, dkmd_2samp, drift
from dkmd.answers.many_columns import UNTESTED
from dkmd.answers.options import DEFAULT_TEST
from dkmd.base.arrays import Array
from dkmd.base.documents import _checksum
from dkmd.inference.kinds.column_kind import TwoSamples, kind_of_pair, parse_kind
from dkmd.inference.kinds.parts import two_parts
from dkmd.inference.kinds.proportions import Counts, share_interval, share_tails
from dkmd.inference.test.margins import beyond_margin

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

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


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (AMOUNTS, "amount"),
        (np.round(AMOUNTS), "amount"),
        (-np.round(AMOUNTS / 10.0), "amount"),
        (_yes(50, 10), "yes/no"),
        (_yes(50, 10, 1.0, 2.0), "yes/no"),
        (_zeros(300, AMOUNTS[:150]), "mostly one value"),
        (100.0 - _zeros(300, AMOUNTS[:100]), "mostly one value"),
        (_zeros(310, AMOUNTS[:160]), "amount"),
        (np.random.default_rng(2).poisson(3.0, 200), "count"),
        (np.random.default_rng(2).poisson(30.0, 400), "amount"),  # as minutes would be
        (np.random.default_rng(2).geometric(0.02, 4000) - 1, "count"),
        (np.random.default_rng(3).integers(1, 6, 100), "rating"),
        (np.random.default_rng(3).integers(0, 11, 200), "count"),
        (np.arange(1000, 1400), "identifier"),
        (np.sort(AMOUNTS), "amount"),
        (np.full(30, 7.0), "constant"),
        (np.array([1.0, 2.0, 2.0, 2.0]), "amount"),
    ],
)
def test_the_values_tell_the_kind(values: Array, kind: str) -> None:
    numbers = np.asarray(values, dtype=np.float64)
    assert kind_of_pair(TwoSamples(numbers, numbers)) == kind
    grid = Grid.fit(numbers)
    binned = Summary.of(numbers, grid)
    # bins do not know which values are distinct
    expected = "amount" if kind == "identifier" else kind
    if not (kind == "count" and numbers.max() > 15.0):  # nor large counts one by one
        assert kind_of_pair(TwoSamples(binned, binned)) == expected


def test_the_name_of_a_column_does_not_tell_its_kind() -> None:
    shuffled, few = RNG.permutation(np.arange(3000.0))[:500], RNG.integers(0, 11, 500)
    for values, names, kind in (
        (shuffled, ("latency", "user_id", "orderId", "key"), "amount"),
        (few, ("visits", "rating", "score", "stars", "nps"), "count"),
        (np.arange(1000, 1500), ("latency", "user_id"), "identifier"),
    ):
        frame = pd.DataFrame(dict.fromkeys(names, values))
        assert {compare(frame, frame, column=name).kind for name in names} == {kind}
    frame = pd.DataFrame({"user_id": shuffled, "nps": few})
    asked = drift(frame, frame, kind={"user_id": "id", "nps": "rating"})
    assert asked.skipped == {"user_id": UNTESTED["identifier"]}
    assert asked["nps"].kind == "rating"


def test_a_third_value_on_the_current_side_is_no_yes_no() -> None:
    old, new = _yes(100, 30), np.append(_yes(99, 40), 2.0)
    assert kind_of_pair(TwoSamples(new, old)) == "mostly one value"
    assert kind_of_pair(TwoSamples(np.zeros(20), old)) == "yes/no"
    assert kind_of_pair(TwoSamples(old, np.zeros(20))) == "yes/no"
    both_constant = TwoSamples(np.full(20, 7.0), np.full(20, 5.0))
    assert kind_of_pair(both_constant) == "amount"  # a shift says more than shares


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


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [
        (None, "higher"),
        ("0.1sd", "higher"),
        ("5pp", "higher"),
        ("13pp", "inconclusive"),
        ("20pp", "equivalent"),
        (0.05, "higher"),
        (0.2, "equivalent"),
        ("10%", "higher"),
        ("50%", "equivalent"),
    ],
)
def test_margins_of_shares(margin: Any, verdict: str) -> None:
    old, new = _yes(2000, 900), _yes(2000, 1160)  # 45% and 58%
    answer = compare(old, new, margin=margin)
    assert answer.verdict == verdict
    assert (answer.pvalue_beyond < 0.05) == (verdict == "higher")
    mirrored = compare(new, old, margin=margin)
    assert mirrored.verdict == {"higher": "lower"}.get(verdict, verdict)
    grid = Grid.fit(old, new)
    binned = compare(Summary.of(old, grid), Summary.of(new, grid), margin=margin)
    assert (binned.verdict, binned.pvalue, binned.shift) == pytest.approx(
        (answer.verdict, answer.pvalue, answer.shift)
    )


def test_points_are_for_shares_only(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="percentage points is for shares"):
        compare(AMOUNTS, AMOUNTS + 1.0, margin="1pp")
    pd.DataFrame({"t": AMOUNTS}).to_csv(tmp_path / "a.csv", index=False)
    refused = here(
        "gate", str(tmp_path / "a.csv"), str(tmp_path / "a.csv"), "--margin", "1pp", code=2
    )
    assert "percentage points are for shares" in refused.stderr
    frames = [pd.DataFrame({"t": AMOUNTS, "yes": _yes(400, k)}) for k in (100, 200)]
    found = drift(frames[0], frames[1], margin="1pp")
    assert list(found) == ["yes"]
    assert "percentage points" in found.skipped["t"]


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


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [("5%", "higher"), ("300%", "equivalent"), ("5pp", "equivalent"), (50.0, "equivalent"),
     ("3sd", "equivalent"), (0.05, "higher")],
)  # fmt: skip
def test_margins_of_two_parts(margin: Any, verdict: str) -> None:
    rng = np.random.default_rng(8)
    old = _zeros(6000, rng.lognormal(3.0, 0.5, 600))
    new = _zeros(6000, 1.7 * rng.lognormal(3.0, 0.5, 610))
    answer = compare(old, new, margin=margin)
    assert answer.verdict == verdict
    assert (answer.pvalue_beyond < 0.05) == (verdict == "higher")
    if margin == 50.0:
        assert "the mean of value is EQUIVALENT up to 50" in answer.headline()


def test_the_mean_of_two_parts_is_beyond_a_margin_where_its_interval_is() -> None:
    """Student's t alone gave p = 0.0009 for a mean whose guarded interval reached the margin."""
    verdicts = []
    for seed, size, factor in ((65, 25, 3.0), (94, 25, 3.0), (1, 25, 9.0), (2, 300, 3.0)):
        rng = np.random.default_rng(seed)
        old = np.where(rng.random(300) < 0.6, 0.0, rng.lognormal(0.0, 1.5, 300))
        new = np.where(rng.random(size) < 0.6, 0.0, factor * rng.lognormal(0.0, 1.5, size))
        answer = compare(old, new, margin=0.2, kind="zeros")
        means = dkmd_2samp(new, old, estimand="mean")
        assert answer.pvalue_beyond == pytest.approx(beyond_margin(means, 0.2), rel=1e-12)
        assert (answer.pvalue_beyond < 0.05) == (answer.verdict == "higher")
        verdicts.append(answer.verdict)
    assert verdicts[:2] == ["inconclusive", "inconclusive"]
    assert "higher" in verdicts


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


def test_engines_give_the_kinds_of_memory() -> None:
    rng = np.random.default_rng(15)
    frames = [
        pd.DataFrame({
            "yes": rng.random(3000) < share,
            "spend": _zeros(3000, f * rng.lognormal(3.0, 0.8, 300)),
            "stars": rng.integers(1, 6, 3000), "latency": rng.lognormal(size=3000),
            "user_id": rng.permutation(np.arange(7000, 10_000)),
        })
        for share, f in ((0.2, 1.0), (0.25, 1.5))
    ]  # fmt: skip
    exact = drift(frames[0], frames[1])
    relations = [duckdb.connect().from_df(frame) for frame in frames]
    found = drift(relations[0], relations[1])
    assert list(found) == list(exact)
    assert found.skipped == exact.skipped == {"user_id": UNTESTED["identifier"]}
    for name in exact:
        one, other = exact[name], found[name]
        assert (other.kind, other.verdict, other.changed) == (one.kind, one.verdict, one.changed)
        assert other.tests == pytest.approx(one.tests, rel=0.01, abs=1e-9)


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


@pytest.mark.parametrize(("zeros", "parts"), [(119, False), (120, True), (199, True), (200, True)])
def test_a_value_is_common_from_30_percent_on(zeros: int, parts: bool) -> None:
    """Below, a column is an ordinary amount. The kind only decides what is said first."""
    rng = np.random.default_rng(12)
    amounts, other = rng.lognormal(3.0, 0.6, 400), 1.5 * rng.lognormal(3.0, 0.6, 400)
    answer = compare(_with_zeros(zeros, amounts), _with_zeros(zeros, other))
    assert answer.kind == ("mostly one value" if zeros >= 200 else "amount")
    assert ({"share", "rest"} <= answer.tests.keys()) == parts
    assert (answer.parts is not None) == parts
    assert "shift" in answer.tests
    assert answer.verdict == "higher"


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


def test_a_kind_can_be_chosen() -> None:
    old = _zeros(400, np.random.default_rng(1).lognormal(3.0, 0.5, 160))
    new = _zeros(400, np.random.default_rng(2).lognormal(3.5, 0.5, 160))
    assert compare(old, new).kind == "mostly one value"
    chosen = compare(old, new, kind="amount")
    assert chosen.kind == "amount"
    assert chosen.deciding == ("shift",)
    assert "rest" in chosen.changed  # still looked for
    assert "The values other than 0 are higher" in chosen.headline()
    some = compare(_zeros(400, AMOUNTS[:260]), _zeros(400, 2 * AMOUNTS[:260]), kind="zeros")
    assert some.deciding == ("share", "rest")
    with pytest.raises(ValueError, match="cannot be of kind 'yes/no': there are not exactly two"):
        compare(old, new, kind="yes/no")
    with pytest.raises(ValueError, match="kind must be one of amount, yes/no"):
        compare(old, new, kind="colour")
    assert parse_kind(" ZEROS ") == "mostly one value"


def test_drift_shows_kinds_and_skips_identifiers_and_constants(tmp_path: Path) -> None:
    rng = np.random.default_rng(14)

    def table(share: int, factor: float, start: int) -> pd.DataFrame:
        return pd.DataFrame({
            "order_id": np.arange(start, start + 500), "version": 3, "converted": _yes(500, share),
            "revenue": _zeros(500, factor * rng.lognormal(3.0, 0.5, 120)),
            "items": rng.poisson(3.0, 500), "latency": rng.normal(size=500),
        })  # fmt: skip

    old, new = table(60, 1.0, 0), table(120, 1.6, 500)
    found = drift(old, new)
    assert {name: found[name].kind for name in sorted(found)} == {
        "converted": "yes/no", "items": "count", "latency": "amount", "revenue": "mostly one value",
    }  # fmt: skip
    assert found.skipped == {
        "order_id": "it holds identifiers, which are not tested",
        "version": "all its values are equal",
    }
    assert set(found.shifted) == {"converted", "revenue"}
    assert found["converted"].tests.keys() == {"share"}
    assert found["revenue"].tests.keys() >= {"share", "rest", "shift"}
    family = [p for name in found for p in found[name].tests.values()]
    adjusted = stats.false_discovery_control(family)
    told = [f.adjusted_pvalue for name in found for f in found[name].findings]
    assert set(np.round([p for p in told if p is not None], 12)) <= set(np.round(adjusted, 12))
    assert "yes/no" in str(found)
    assert "share 12.0% → 24.0%" in str(found)
    asked = drift(old, new, ["order_id", "latency"])
    assert any("look like identifiers" in note for note in asked.notes())
    chosen = drift(old, new, kind={"latency": "id"})
    assert "latency" in chosen.skipped
    missing = new.assign(order_id=new.order_id.where(new.order_id % 2 == 0))
    answer = drift(old, missing)["order_id"]
    assert answer.changed == ["missing"]
    assert math.isnan(answer.pvalue)
    assert answer.headline().startswith("order_id holds identifiers, which are not tested.")
    for frame, name in ((old, "a.csv"), (new, "b.csv")):
        frame.to_csv(tmp_path / name, index=False)
    shown = here(
        "drift", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--kind", "revenue=amount",
        "--json", "--fail-on", "share", code=1,
    )  # fmt: skip
    kinds = {each["name"]: each["kind"] for each in json.loads(shown.stdout)["comparisons"]}
    assert kinds["revenue"] == "amount"
    refused = here(
        "drift", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--kind", "zeros", code=2
    )
    assert "--kind of a drift needs a column" in refused.stderr


def test_the_command_accepts_a_kind_and_the_page_shows_it(tmp_path: Path) -> None:
    old, new = tmp_path / "a.csv", tmp_path / "b.csv"
    pd.DataFrame({"v": _zeros(300, AMOUNTS[:100]), "w": _yes(300, 30)}).to_csv(old, index=False)
    pd.DataFrame({"v": _zeros(300, 3 * AMOUNTS[:90]), "w": _yes(300, 60)}).to_csv(new, index=False)
    page = tmp_path / "page.html"
    here("drift", str(old), str(new), "--report", str(page))
    text = page.read_text()
    assert "share 10.0% → 20.0%" in text
    assert "mostly one value" in text
    answer = here("compare", str(old), str(new), "-c", "v", "--kind", "amount", "--json").stdout
    assert json.loads(answer)["kind"] == "amount"
    here("compare", str(old), str(new), "-c", "w", "--margin", "1pp", "--report", str(page))
    assert "percentage points" in page.read_text()
    assert "share of 1" in page.read_text()


def test_a_summary_keeps_the_kind_and_older_files_are_read(tmp_path: Path) -> None:
    data, saved = tmp_path / "a.csv", tmp_path / "a.dkmd"
    pd.DataFrame({"v": _zeros(300, AMOUNTS[:180])}).to_csv(data, index=False)
    here("summarize", str(data), "-o", str(saved))
    assert Summary.load(saved).kind == "amount"
    here("summarize", str(data), "-o", str(saved), "--kind", "zeros")
    assert Summary.load(saved).kind == "mostly one value"
    assert compare(saved, data).kind == "mostly one value"
    import gzip

    document = json.loads(gzip.decompress(saved.read_bytes()))
    del document["kind"]
    document["checksum"] = _checksum(document)
    saved.write_bytes(gzip.compress(json.dumps(document).encode()))
    assert Summary.load(saved).kind == ""
    assert compare(saved, data).kind == "amount"


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
