"""Categories and missing values of repeated measurements: rows of one group are not independent."""

from __future__ import annotations

import itertools
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
from dkmd.inference.categories import compare_shares
from dkmd.inference.grouped_categories import compare_grouped_shares, grouped_category_pvalue
from dkmd.inference.proportions import Counts, share_interval, share_tails
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


def _naive_statistic(x: Array, y: Array) -> float:
    """The statistic by leaving out one group after another."""
    both = x.sum(axis=0) + y.sum(axis=0)
    shares = both / both.sum()
    weights = 1.0 / (shares + 2.0 / min(x.sum(), y.sum()))
    spread = 0.0
    for side in (x, y):
        left = [np.delete(side, g, axis=0) for g in range(len(side))]
        means = np.array([part.sum(axis=0) / part.sum() for part in left])
        whole = side.sum(axis=0) / side.sum()
        spread += (len(side) - 1) / len(side) * float(((means - whole) ** 2 @ weights).sum())
    alone = float((weights * shares * (1.0 - shares)).sum()) * (1.0 / x.sum() + 1.0 / y.sum())
    apart = x.sum(axis=0) / x.sum() - y.sum(axis=0) / y.sum()
    return float(apart**2 @ weights) / float(max(spread, alone))


def _naive_pvalue(x: Array, y: Array) -> float:
    """All relabellings of whole groups, one by one, with the weights of the data."""
    every = np.concatenate([x, y])
    observed = _naive_statistic(x, y)
    hits = total = 0
    for chosen in itertools.combinations(range(len(every)), len(x)):
        rest = [g for g in range(len(every)) if g not in chosen]
        hits += _naive_statistic(every[list(chosen)], every[rest]) >= observed * (1.0 - 1e-9)
        total += 1
    return hits / total


@pytest.mark.parametrize("seed", range(3))
def test_the_pvalue_is_that_of_all_relabellings_of_whole_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (5.0 + rng.integers(0, 3, (k, 3)) for k in (4, 5))
    x[:, 0] += 2.0
    # groups of one size: the weights are the same in every relabelling
    x, y = (
        np.column_stack([side[:, :2], 24.0 - side[:, :2].sum(axis=1)]).astype(np.float64)
        for side in (x, y)
    )
    found = grouped_category_pvalue(x, y)
    exact = _naive_pvalue(x, y)
    assert found == pytest.approx(exact, abs=4.0 * math.sqrt(exact / 4_000.0) + 1e-3)


def test_groups_of_one_row_are_independent_rows() -> None:
    rng = np.random.default_rng(4)
    x, y = (np.eye(3)[rng.choice(3, 300, p=p)] for p in ((0.4, 0.4, 0.2), (0.5, 0.35, 0.15)))
    table = np.array([x.sum(axis=0), y.sum(axis=0)])
    alone = stats.chi2_contingency(table, correction=False).pvalue
    assert grouped_category_pvalue(x, y) == pytest.approx(alone, rel=0.1)
    changes = compare_grouped_shares(["a", "b", "c"], x, y)
    alike = compare_shares(["a", "b", "c"], table[0], table[1])
    for one, other in zip(changes, alike, strict=True):
        assert one.counts == other.counts
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=2e-3)


def test_copies_of_rows_within_groups_prove_nothing() -> None:
    rng = np.random.default_rng(5)
    x, y = _counts(rng, 10, (0.5, 0.3, 0.2)), _counts(rng, 12, (0.3, 0.3, 0.4))
    once, twice = grouped_category_pvalue(x, y), grouped_category_pvalue(10.0 * x, 10.0 * y)
    assert twice == pytest.approx(once, rel=0.3)
    widths = [
        [change.high - change.low for change in compare_grouped_shares(list("abc"), *sides)]
        for sides in ((x, y), (10.0 * x, 10.0 * y))
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.05)


@pytest.mark.parametrize(("groups", "seed"), [((8, 8), 1), ((8, 30), 2), ((250, 250), 3)])
def test_equal_shares_are_called_different_in_about_5_percent(
    groups: tuple[int, int], seed: int
) -> None:
    rng, trials = np.random.default_rng(seed), 300
    hits = 0
    for _ in range(trials):
        x, y = (_counts(rng, k, (0.4, 0.3, 0.2, 0.1)) for k in groups)
        hits += grouped_category_pvalue(x, y, relabellings=99) <= 0.05
    assert hits / trials < 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / trials)
    assert hits > 0


def test_few_groups_and_single_groups() -> None:
    rng = np.random.default_rng(6)
    x = _counts(rng, 5, (0.5, 0.5))
    assert math.isnan(grouped_category_pvalue(x[:1], x))
    assert math.isnan(grouped_category_pvalue(np.vstack([x[:1], 0.0 * x[:1]]), x))
    assert grouped_category_pvalue(x[:, :1], x[:, :1]) == 1.0
    one = OLD.assign(host="only")
    answer = compare(one, NEW, column="country", groups="host")
    assert answer.verdict == "not tested"
    assert math.isnan(answer.pvalue)
    assert "has a single group on a side" in answer.headline()
    few = NEW[NEW.host.isin(["b0", "b1", "b2", "b3"])]
    assert any("only 12 and 4 groups" in note for note in compare(
        OLD, few, column="country", groups="host").warnings)  # fmt: skip


def test_a_far_pvalue_does_not_end_at_the_number_of_relabellings() -> None:
    rng = np.random.default_rng(7)
    x, y = _counts(rng, 40, (0.8, 0.1, 0.1), 50.0), _counts(rng, 40, (0.1, 0.1, 0.8), 50.0)
    assert grouped_category_pvalue(x, y, relabellings=999) < 1e-8


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
    assert of_levels.findings == answer.findings


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


def test_groups_of_two_levels_that_hardly_differ_are_not_surer_than_single_rows() -> None:
    """36 of 60 against 30 of 60, every group alike: a relabelling of groups alone has 2/924."""
    assert grouped_category_pvalue([[6, 4]] * 6, [[5, 5]] * 6) > 0.2


def test_of_two_levels_the_larger_pvalue_of_relabellings_and_of_the_f_law_counts() -> None:
    """8 large groups against 40 small ones: relabelling alone rejects about 10% at 5%."""
    rng = np.random.default_rng(3)
    rejected, trials = 0, 400
    for _ in range(trials):
        share = rng.beta(1.0, 1.0)
        sides = []
        for sizes in (1 + rng.lognormal(2.3, 1.0, 8).astype(int), 1 + rng.poisson(2.0, 40)):
            own = rng.beta(4.0 * share + 1e-6, 4.0 * (1.0 - share) + 1e-6, sizes.size)
            yes = rng.binomial(sizes, own)
            sides.append(np.column_stack([yes, sizes - yes]))
        x, y = sides
        rejected += grouped_category_pvalue(x, y, relabellings=199) <= 0.05
    assert rejected <= 35  # 8.8%: 6.5% and 2 standard errors
