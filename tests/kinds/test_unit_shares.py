"""Shares, categories and missing values by units: rows of one group are not independent."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

from dkmd import compare, drift
from dkmd.answers.comparison import CategoryComparison
from dkmd.base.errors import ColumnError
from dkmd.inference.kinds.categories import category_pvalue, compare_shares
from dkmd.inference.kinds.proportions import Counts, share_interval, share_tails
from dkmd.inference.kinds.unit_shares import (
    compare_levels,
    compare_share,
    pvalue_of_levels,
    unit_counts,
)
from dkmd.sources.grouped_levels import NOT_HELD

Array = npt.NDArray[np.float64]


def _counts(
    rng: np.random.Generator, groups: int, shares: tuple[float, ...], mixed: float = 5.0
) -> Array:
    """Counts (groups, levels): each group has its own shares and its own size."""
    own = rng.dirichlet(mixed * np.array(shares), groups)
    return rng.multinomial(1 + rng.poisson(10.0, groups), own).astype(np.float64)


def _frame(seed: int, shares: tuple[float, ...], host: str, missing: float = 0.0) -> pd.DataFrame:
    """Rows of 12 hosts: countries whose shares differ from host to host, and a number."""
    rng = np.random.default_rng(seed)
    counts = _counts(rng, 12, shares).astype(np.int64)
    names = np.array(["DE", "FR", "US"], dtype=object)
    country = np.concatenate([np.repeat(names, each) for each in counts])
    hosts = np.repeat([f"{host}{i}" for i in range(12)], counts.sum(axis=1))
    gone = rng.random(country.size) < missing
    values = np.where(gone, math.nan, rng.normal(size=country.size))
    return pd.DataFrame({"country": country, "v": values, "host": hosts})


OLD, NEW = _frame(1, (0.5, 0.3, 0.2), "a"), _frame(2, (0.1, 0.3, 0.6), "b")


def _pvalue(x: Any, y: Any, weigh: str | None = None) -> float:
    return pvalue_of_levels(unit_counts(x), unit_counts(y), weigh)


def _left_out(side: Array, root: Array) -> tuple[Array, float]:
    """The covariance of scaled shares by leaving out one group after another, and its df."""
    whole = side.sum(axis=0) / side.sum()
    parts = [np.delete(side, g, axis=0) for g in range(len(side))]
    moves = np.array([(part.sum(axis=0) / part.sum() - whole) * root for part in parts])
    sizes = side.sum(axis=1)
    return (len(side) - 1) / len(side) * moves.T @ moves, sizes.sum() ** 2 / (sizes**2).sum() - 1


def _naive_pvalue(x: Array, y: Array) -> float:
    """The F law of Rao and Scott, from covariances that know no jackknife formula."""
    both = x.sum(axis=0) + y.sum(axis=0)
    root = 1.0 / np.sqrt(both / both.sum() + 2.0 / min(x.sum(), y.sum()))
    apart = float((((x.sum(axis=0) / x.sum() - y.sum(axis=0) / y.sum()) * root) ** 2).sum())
    (of_x, df_x), (of_y, df_y) = _left_out(x, root), _left_out(y, root)
    one_law = (df_x * (df_x + 1) * of_x + df_y * (df_y + 1) * of_y) / (df_x + df_y)
    one_law = one_law * (1 / (df_x + 1) + 1 / (df_y + 1))
    found = [category_pvalue(x.sum(axis=0), y.sum(axis=0))]
    found += [2.0 / math.comb(len(x) + len(y), len(x))]
    for parts in ([(of_x, df_x), (of_y, df_y)], [(one_law, df_x + df_y)]):
        whole = np.sum([part for part, _ in parts], axis=0)
        squared = float(np.trace(whole @ whole))
        for part, df in parts:
            true = np.trace(part @ part) - np.trace(part) ** 2 / df
            squared += df**2 / ((df + 2) * (df - 1)) * max(0.0, true) - np.trace(part @ part)
        trace = float(np.trace(whole))
        vary = min(max(trace**2 / squared, 1.0), both.size - 1.0)
        df = trace**2 / sum(np.trace(part) ** 2 / df for part, df in parts)
        found.append(stats.f.sf(apart / trace, vary, vary * df))
    return float(max(found))


@pytest.mark.parametrize("seed", range(5))
def test_the_pvalue_is_that_of_leaving_out_one_group_after_another(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = _counts(rng, 6, (0.5, 0.3, 0.2)), _counts(rng, 9, (0.3, 0.4, 0.3))
    assert _pvalue(x, y) == pytest.approx(_naive_pvalue(x, y), rel=1e-9)


def test_groups_of_one_row_are_independent_rows() -> None:
    rng = np.random.default_rng(4)
    x, y = (np.eye(3)[rng.choice(3, 300, p=p)] for p in ((0.4, 0.4, 0.2), (0.5, 0.35, 0.15)))
    table = np.array([x.sum(axis=0), y.sum(axis=0)])
    alone = stats.chi2_contingency(table, correction=False).pvalue
    assert _pvalue(x, y) == pytest.approx(alone, rel=0.1)
    changes = compare_levels(["a", "b", "c"], unit_counts(x), unit_counts(y)).levels
    alike = compare_shares(["a", "b", "c"], table[0], table[1])
    for one, other in zip(changes, alike, strict=True):
        assert one.counts == other.counts
        assert one.shares == pytest.approx(other.shares)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=3e-3)


def test_copies_of_rows_within_groups_prove_nothing() -> None:
    rng = np.random.default_rng(5)
    x, y = _counts(rng, 10, (0.5, 0.3, 0.2)), _counts(rng, 12, (0.3, 0.3, 0.4))
    # not exactly: rare levels weigh a little more with more rows
    assert _pvalue(10.0 * x, 10.0 * y) == pytest.approx(_pvalue(x, y), rel=0.1)
    widths = [
        [
            one.high - one.low
            for one in compare_levels(
                list("abc"), unit_counts(times * x), unit_counts(times * y)
            ).levels
        ]
        for times in (1.0, 10.0)
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.05)


@pytest.mark.parametrize(
    ("groups", "shares"),
    [
        ((5, 5), (0.4, 0.3, 0.2, 0.1)),
        ((8, 8), (0.4, 0.3, 0.2, 0.1)),
        ((8, 8), (0.9, 0.04, 0.03, 0.03)),
        ((5, 50), (0.4, 0.3, 0.2, 0.1)),
        ((250, 250), (0.4, 0.3, 0.2, 0.1)),
    ],
)
def test_equal_shares_are_called_different_in_about_5_percent(
    groups: tuple[int, int], shares: tuple[float, ...]
) -> None:
    rng, trials = np.random.default_rng(1), 300
    hits = 0
    for _ in range(trials):
        x, y = (_counts(rng, k, shares) for k in groups)
        hits += _pvalue(x, y) <= 0.05
    assert hits / trials < 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / trials)
    assert hits > 0


def test_few_groups_and_single_groups() -> None:
    rng = np.random.default_rng(6)
    x = _counts(rng, 5, (0.5, 0.5))
    for single in (x[:1], np.vstack([x[:1], 0.0 * x[:1]])):
        with pytest.raises(ColumnError, match="one unit shows no variance"):
            _pvalue(single, x)
    assert _pvalue(x[:, :1], x[:, :1]) == 1.0
    one = OLD.assign(host="only")
    answer = compare(one, NEW, column="country", groups="host")
    assert answer.verdict == "not tested"
    assert math.isnan(answer.pvalue)
    assert "has a single group on a side" in answer.headline()
    # a group without a known level is none
    gap = NEW.assign(country=NEW.country.where(NEW.host == "b0"))
    assert compare(OLD, gap, column="country", groups="host").verdict == "not tested"
    few = NEW[NEW.host.isin(["b0", "b1", "b2", "b3"])]
    assert any("only 12 and 4 groups" in note for note in compare(
        OLD, few, column="country", groups="host").warnings)  # fmt: skip


def test_a_far_pvalue_is_small() -> None:
    rng = np.random.default_rng(7)
    x, y = _counts(rng, 40, (0.8, 0.1, 0.1), 50.0), _counts(rng, 40, (0.1, 0.1, 0.8), 50.0)
    assert _pvalue(x, y) < 1e-8


def _same(one: Any, other: Any) -> None:
    assert isinstance(one, CategoryComparison)
    assert isinstance(other, CategoryComparison)
    assert (one.levels, one.pvalue, one.findings) == (other.levels, other.pvalue, other.findings)


def test_memory_files_and_levels_give_the_same_answer(tmp_path: Path) -> None:
    answer: Any = compare(OLD, NEW, column="country", groups="host")
    assert answer.verdict == "changed"
    assert answer.pvalue > compare(OLD, NEW, column="country").pvalue
    _same(answer, compare(OLD.country, NEW.country, groups=(OLD.host, NEW.host)))
    for kind in ("csv", "parquet"):
        paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
        for frame, path in zip((OLD, NEW), paths, strict=True):
            frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
        _same(answer, compare(*paths, column="country", groups="host"))
    found = drift(OLD, NEW, groups="host")
    _same(answer, compare(OLD, NEW, column="country", groups="host"))
    assert found["country"].levels == answer.levels
    long = pd.concat([OLD.assign(month="old"), NEW.assign(month="new")])
    asked: Any = {"by": "month", "reference": "old", "current": "new", "groups": "host"}
    _same(answer, compare(long, column="country", **asked))
    ratio = compare(OLD, NEW, column="country", groups="host", expect_ratio="1:1").sample_ratio
    assert ratio is not None
    assert (ratio.counted, ratio.reference, ratio.current) == ("groups", 12, 12)


def test_no_level_is_clear_unless_the_column_changed() -> None:
    hosts = np.repeat([f"h{i}" for i in range(16)], 30)
    rng = np.random.default_rng(10)
    names = rng.choice(list("abcdefghijkl"), hosts.size).astype(object)
    names[hosts == "h3"] = "rare"  # one host has a level of its own
    frame = pd.DataFrame({"c": names, "host": hosts})
    sides = frame[: 8 * 30], frame[8 * 30 :]
    answer: Any = compare(*sides, column="c", groups="host")
    assert answer.pvalue >= 0.05
    assert not any(level.is_clear for level in answer.levels)


def test_engines_say_that_rows_must_be_in_memory() -> None:
    tables = [duckdb.connect().from_df(frame) for frame in (OLD, NEW)]
    assert drift(tables[0], tables[1], groups="host").skipped["country"] == f"it {NOT_HELD}"
    with pytest.raises(TypeError, match="only if the rows are in memory"):
        compare(*tables, column="country", groups="host")


def test_labels_may_be_missing_and_must_be_as_many_as_values() -> None:
    gap = NEW.assign(host=NEW.host.where(NEW.index != 2))
    answer = compare(OLD, gap, column="country", groups="host")
    assert answer.warnings[0] == "current: 1 row has no label in column 'host' and was left out"
    whole = compare(OLD, gap.dropna(subset="host"), column="country", groups="host")
    assert answer.pvalue == whole.pvalue
    with pytest.raises(ValueError, match="needs as many labels"):
        compare(OLD.country, NEW.country, groups=(OLD.host, NEW.host[:5]))


def test_missing_values_of_groups_are_compared_by_groups() -> None:
    old, new = _frame(3, (0.5, 0.3, 0.2), "a", 0.19), _frame(4, (0.5, 0.3, 0.2), "b", 0.59)
    answer = compare(old, new, column="v", groups="host")
    assert answer.changed == ["missing"]
    finding = answer.finding("missing")
    assert finding is not None
    assert (finding.reference, finding.current) == pytest.approx(
        (old.v.isna().mean(), new.v.isna().mean())
    )
    # the shares of hosts, as a t-test of their means would have them
    shares = [frame.v.isna().groupby(frame.host).mean() for frame in (new, old)]
    assert math.log(finding.pvalue) == pytest.approx(
        math.log(stats.ttest_ind(*shares, equal_var=False).pvalue), rel=0.3
    )
    assert "More values are missing" in drift(old, new, groups="host").headline()
    levels = [frame.assign(c=frame.country.where(~frame.v.isna())) for frame in (old, new)]
    of_levels = compare(*levels, column="c", groups="host")
    (missing,) = of_levels.findings
    # numbers also have a mean, so their findings are corrected for one test more
    assert dataclasses.replace(missing, adjusted_pvalue=None) == dataclasses.replace(
        finding, adjusted_pvalue=None
    )


def test_a_few_rows_without_missing_values_prove_nothing() -> None:
    """One side has three rows a host. The test of single rows is a lower bound of the p-value."""
    rng = np.random.default_rng(8)
    many = pd.DataFrame({"v": rng.normal(size=4000), "host": np.arange(4000) // 100})
    many.loc[rng.random(4000) < 0.03, "v"] = math.nan
    few = pd.DataFrame({"v": rng.normal(size=24), "host": np.arange(24) // 3})
    finding = compare(many, few, column="v", groups="host").finding("missing")
    assert finding is not None
    counts = Counts(0, 24, int(many.v.isna().sum()), 4000)
    assert finding.pvalue == pytest.approx(share_tails(counts).pvalue("two-sided"))
    low, high = share_interval(counts)
    assert finding.interval.low <= low
    assert finding.interval.high >= high


def test_the_same_units_are_compared_in_pairs() -> None:
    rng = np.random.default_rng(9)
    hosts = np.repeat(np.arange(15), 20)
    own = rng.uniform(0.1, 0.6, 15)[hosts]
    sides = [
        pd.DataFrame({"v": np.where(rng.random(300) < own + more, math.nan, 1.0 * hosts),
                      "host": hosts})
        for more in (0.0, 0.1)
    ]  # fmt: skip
    paired = compare(*sides, column="v", pair_by="host").finding("missing")
    apart = compare(*sides, column="v", groups="host").finding("missing")
    assert paired is not None
    assert apart is not None
    assert paired.pvalue < apart.pvalue
    assert paired.estimate == pytest.approx(apart.estimate, abs=1e-9)


def test_groups_that_hardly_differ_are_not_surer_than_single_rows() -> None:
    """36 of 60 against 30 of 60, and every group alike: no group shows a variance."""
    x, y = unit_counts([[6, 4]] * 6), unit_counts([[5, 5]] * 6)
    counts = Counts(36, 60, 30, 60)
    found = compare_share(x, y)
    assert found.pvalue == pytest.approx(share_tails(counts).pvalue("two-sided"))
    low, high = share_interval(counts)
    assert low >= found.low >= 1.05 * low  # relabelling single rows says a little less
    assert high <= found.high <= 1.05 * high
    assert _pvalue([[6, 4, 1]] * 6, [[5, 5, 1]] * 6) == category_pvalue([36, 24, 6], [30, 30, 6])


def test_shares_that_are_the_same_everywhere_have_p_1() -> None:
    x = unit_counts([[6, 3, 2]] * 6)
    for weigh in (None, "units", "values"):
        assert pvalue_of_levels(x, x, weigh) == 1.0
        assert compare_share(x, x, weigh).pvalue == 1.0


def test_equal_shares_of_few_large_groups_and_many_small_ones() -> None:
    """8 groups of any size against 40 small ones: leaving out groups alone rejects 11% at 5%."""
    rng = np.random.default_rng(3)
    rejected, trials = np.zeros(2), 400
    for _ in range(trials):
        share = rng.beta(1.0, 1.0)
        sides = []
        for sizes in (1 + rng.lognormal(2.3, 1.0, 8).astype(int), 1 + rng.poisson(2.0, 40)):
            own = rng.beta(4.0 * share + 1e-6, 4.0 * (1.0 - share) + 1e-6, sizes.size)
            yes = rng.binomial(sizes, own)
            sides.append(unit_counts(np.column_stack([yes, sizes - yes])))
        x, y = sides
        rejected += [pvalue_of_levels(x, y) <= 0.05, compare_share(x, y).pvalue <= 0.05]
    assert rejected.max() <= 35  # 8.8%: 6.5% and 2 standard errors


def _same_units(rng: np.random.Generator, units: int, changed: float) -> tuple[Array, Array]:
    """Counts of the same units on both sides. Each unit has its own shares."""
    own = rng.dirichlet([2.0, 1.5, 1.0], units)
    moved = own * np.exp([-changed, 0.0, changed])
    moved /= moved.sum(axis=1, keepdims=True)
    sizes = 5 + rng.poisson(20.0, units)
    return tuple(rng.multinomial(sizes, p).astype(np.float64) for p in (moved, own))  # type: ignore[return-value]


@pytest.mark.parametrize("weigh", ["units", "values"])
@pytest.mark.parametrize("units", [6, 20])
def test_pairs_keep_their_size(units: int, weigh: str) -> None:
    rng, trials = np.random.default_rng(units), 400
    hits = np.zeros(2)
    for _ in range(trials):
        found = _pvalue(*_same_units(rng, units, 0.0), weigh)
        hits += [found <= 0.05, found <= 0.01]
    assert hits[0] / trials < 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / trials)
    assert hits[1] / trials < 0.01 + 3.0 * math.sqrt(0.01 * 0.99 / trials)


def test_pairs_of_units_are_surer_than_groups() -> None:
    rng = np.random.default_rng(12)
    clear = np.zeros(2)
    for _ in range(40):
        x, y = _same_units(rng, 12, 0.4)
        clear += [_pvalue(x, y, "units") <= 0.05, _pvalue(x, y) <= 0.05]
    assert clear[0] > clear[1] + 10


def test_categories_of_the_same_units_are_compared_in_pairs() -> None:
    x, y = _same_units(np.random.default_rng(13), 12, 0.8)
    frames = [
        pd.DataFrame({
            "c": np.concatenate([np.repeat(list("abc"), n) for n in side.astype(int)]),
            "host": np.repeat(np.arange(12), side.sum(axis=1).astype(int)),
        })
        for side in (y, x)
    ]  # fmt: skip
    answer: Any = compare(*frames, column="c", pair_by="host")
    assert answer.verdict == "changed"
    shares = {level.level: level.shares for level in answer.levels}
    means = [side / side.sum(axis=1, keepdims=True) for side in (x, y)]
    assert shares["a"] == pytest.approx([float(side[:, 0].mean()) for side in means])
    assert answer.pvalue == pytest.approx(_pvalue(x, y, "units"))
    by_values: Any = compare(*frames, column="c", pair_by="host", weigh="values")
    assert by_values.levels[0].shares == pytest.approx(by_values.levels[0].counts.shares)
    assert drift(*frames, pair_by="host")["c"].pvalue == answer.pvalue
    # a unit without a partner is left out and told
    alone = compare(frames[0], frames[1][frames[1].host != 3], column="c", pair_by="host")
    assert "1 unit has values on one side only and is left out" in alone.warnings


def test_two_levels_of_groups_have_the_pvalue_of_the_same_yes_and_no() -> None:
    """Words or numbers: one share has one test."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        host = np.repeat(np.arange(12), 15)
        sides = [
            (rng.random(host.size) < rng.uniform(0.2, 0.2 + more, 12)[host]).astype(int)
            for more in (0.3, 0.6)
        ]
        words, numbers = (
            compare(*(pd.DataFrame({"v": each, "host": host}) for each in pair), column="v",
                    groups="host")
            for pair in ([np.where(side, "paid", "free") for side in sides], sides)
        )  # fmt: skip
        assert words.pvalue == pytest.approx(numbers.pvalue, rel=1e-6)
