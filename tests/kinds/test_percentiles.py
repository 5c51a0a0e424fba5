"""Percentiles: which ones, how well their intervals cover, and what groups do to them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import percentiles as study
import pytest
from scipy.special import betainc
from shell import here

from dkmd import Grid, Summary, compare
from dkmd.bins.ranks import quantile_function
from dkmd.inference.kinds.percentiles import (
    LEVELS,
    Quantiles,
    compare_percentiles,
    parse_levels,
    percentile,
    size_of_groups,
    values_needed,
)

pytestmark = pytest.mark.slow


def test_percentiles_are_chosen_by_percent() -> None:
    assert parse_levels(None) == LEVELS
    assert parse_levels([99.9, "50", "5%", 50]) == (0.05, 0.5, 0.999)
    for bad in (0, 100, "p99", -1, math.nan):
        with pytest.raises(ValueError, match="a percentile is a number between 0 and 100"):
            parse_levels([bad])
    with pytest.raises(ValueError, match="at least one percentile"):
        parse_levels([])


def test_the_answer_shows_the_percentiles_asked_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    old, new = rng.exponential(size=5000), 1.5 * rng.exponential(size=4000)
    answer = compare(old, new, percentiles=[99.9, 33])
    assert [change.x.level for change in answer.percentiles] == [0.33, 0.999]
    assert [row[0] for row in answer.rows()][-2:] == ["33%", "99.9%"]
    whole = {change.x.level: change for change in compare(old, new).percentiles}
    assert answer.percentiles[1] == whole[0.999]
    np.savetxt(tmp_path / "old.txt", old)
    np.savetxt(tmp_path / "new.txt", new)
    words = ["compare", "old.txt", "new.txt", "--percentile", "99.9", "--percentile", "33%"]
    shown = here(*words, "--report", "page.html", cwd=tmp_path).stdout
    assert "\n99.9% " in shown
    assert "\n95% " not in shown
    page = (tmp_path / "page.html").read_text()
    assert "99.9%" in page
    assert "--percentile 99.9" in page
    told = json.loads(here(*words, "--json", cwd=tmp_path).stdout)
    assert [each["level"] for each in told["percentiles"]] == [0.33, 0.999]
    refused = here(*words[:3], "--percentile", "101", code=2, cwd=tmp_path).stderr
    assert "a percentile is a number between 0 and 100, such as 99.9, got '101'" in refused


@pytest.mark.parametrize("n", study.SIZES)
@pytest.mark.parametrize("family", study.FAMILIES)
def test_intervals_cover_for_every_kind_of_data(family: str, n: int) -> None:
    """4,000 trials per level: at least 93.5%, less three standard errors, or out of reach."""
    for level in LEVELS:
        cell = study.from_values(family, n, level, 4000)
        assert (cell is None) == (n < values_needed(level))
        if cell is not None:
            assert min(cell) >= 0.935 - 3.0 * math.sqrt(0.935 * 0.065 / 4000)


@pytest.mark.parametrize("family", study.FAMILIES)
def test_intervals_from_bins_cover(family: str) -> None:
    """300 trials of 2,000 values: at least 93.5%, less three standard errors."""
    for cell in study.from_bins(family, 2000, 300):
        assert cell is None or min(cell) >= 0.935 - 3.0 * math.sqrt(0.935 * 0.065 / 300)


@pytest.mark.parametrize(("groups", "size", "shared"), [(8, 20, 0.3), (50, 10, 0.3), (50, 10, 0.0)])
def test_intervals_of_groups_cover(groups: int, size: int, shared: float) -> None:
    """200 trials: at least 93.5%, less three standard errors; never below the bootstrap's."""
    ours, bootstrap = study.with_groups(groups, size, shared, 200)
    error = math.sqrt(0.935 * 0.065 / 200)
    for cell, other in zip(ours, bootstrap, strict=True):
        assert other is not None
        if cell is not None:
            assert min(cell) >= 0.935 - 3.0 * error
            assert min(cell) >= min(other) - 3.0 * error


def test_groups_of_one_value_change_nothing_and_copies_add_nothing() -> None:
    rng = np.random.default_rng(2)
    old, new = rng.normal(size=3000), rng.normal(size=2000)
    plain = compare(old, new)
    single = compare(old, new, groups=(np.arange(3000), np.arange(2000)))
    for one, other in zip(plain.percentiles[:6], single.percentiles[:6], strict=True):
        assert other.difference == one.difference
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.05)
    copies = compare(
        np.repeat(old, 4), np.repeat(new, 4),
        groups=(np.repeat(np.arange(3000), 4), np.repeat(np.arange(2000), 4)),
    )  # fmt: skip
    for one, other in zip(plain.percentiles[:6], copies.percentiles[:6], strict=True):
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.1)
    assert copies.percentiles[-1].needed >= 4 * values_needed(0.999)


def test_a_single_group_has_no_intervals() -> None:
    values = np.random.default_rng(3).normal(size=100)
    size = size_of_groups(values, np.zeros(100, dtype=np.int64), lambda _: 0.0, 0.95)
    assert math.isnan(size(0.5))


def test_missing_values_of_groups_are_left_out() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"v": rng.normal(size=900), "user": np.arange(900) // 9})
    holes = pd.concat([frame, frame.assign(v=math.nan)])
    other = frame.assign(v=rng.normal(size=900))
    plain = compare(frame, other, column="v", groups="user")
    assert compare(holes, other, column="v", groups="user").percentiles == plain.percentiles


def test_bins_and_values_give_the_same_chosen_percentile() -> None:
    rng = np.random.default_rng(5)
    old, new = rng.lognormal(size=20_000), 1.3 * rng.lognormal(size=20_000)
    grid = Grid.fit(old, new)
    exact = compare(old, new, percentiles=[99.5]).percentiles[0]
    binned = compare(Summary.of(old, grid), Summary.of(new, grid), percentiles=[99.5]).percentiles
    assert binned[0][2:5] == pytest.approx(exact[2:5], rel=0.01)


def test_quantiles_between_the_ranks_of_bins_are_those_of_the_values() -> None:
    rng = np.random.default_rng(6)
    few = Summary.of([1.0, 2.0, 4.0, 4.0, 4.0, 9.0, 20.0], Grid(4.0, 1.0))
    at = quantile_function(few)
    values = np.array([1.0, 2.0, 4.0, 4.0, 4.0, 9.0, 20.0])
    for level in (0.0, 0.1, 0.25, 0.5, 0.7, 0.93, 1.0):
        assert at(level) == pytest.approx(float(np.quantile(values, level)))
    many = rng.lognormal(size=100_000)
    grid = Grid.fit(many)
    at = quantile_function(Summary.of(many, grid))
    for level in (0.05, 0.5, 0.95, 0.999):
        exact = float(np.quantile(many, level))
        assert abs(at(level) - exact) < 0.1 * grid.width_at(exact)


def test_quantiles_of_bins_do_not_average_infinite_values() -> None:
    grid = Grid(0.0, 1.0)
    some = quantile_function(Summary.of([-math.inf, 1.0, 2.0, math.inf], grid))
    assert [some(k / 3) for k in range(4)] == [-math.inf, 1.0, 2.0, math.inf]
    assert some(0.1) == -math.inf
    assert some(0.9) == math.inf
    none = quantile_function(Summary.of([-math.inf, math.inf], grid))
    assert [none(0.0), none(1.0)] == [-math.inf, math.inf]


@pytest.mark.parametrize("size", [100, 1000])
@pytest.mark.parametrize("level", [0.05, 0.5, 0.9, 0.95, 0.99])
def test_percentile_intervals_cover(size: int, level: float) -> None:
    """Of 2,000 samples, at least 93.5% minus three standard errors cover: skewed data."""
    if size < values_needed(level):
        found = percentile(lambda q: q, size, level)
        assert math.isinf(found.high)
        return
    rng = np.random.default_rng(round(1000 * level) + size)
    true = -math.log1p(-level)
    one = two = 0
    for _ in range(2000):
        x, y = np.sort(rng.exponential(size=size)), np.sort(rng.exponential(size=2 * size))
        change = compare_percentiles((_quantiles(x), size), (_quantiles(y), 2 * size), level)
        one += change.x.low <= true <= change.x.high
        two += change.low <= 0.0 <= change.high
    least = 2000 * 0.935 - 3 * math.sqrt(2000 * 0.935 * 0.065)
    assert min(one, two) >= least


def _quantiles(values: np.ndarray) -> Quantiles:
    at = np.arange(values.size)
    return lambda level: float(np.interp(level * (values.size - 1), at, values))


@pytest.mark.parametrize(("size", "level"), [(60, 0.3), (1000, 0.5), (5000, 0.99)])
def test_ends_of_a_percentile_are_ranks_of_the_binomial_law(size: int, level: float) -> None:
    """P(at most r − 1 of n values lie below) is 2.5% and 97.5%, between whole ranks too."""
    found = percentile(lambda q: 1.0 + q * (size - 1), size, level)  # the rank itself
    for rank, chance in ((found.low, 0.025), (found.high, 0.975)):
        assert betainc(size - rank + 1.0, rank, 1.0 - level) == pytest.approx(chance, rel=1e-6)
    assert found.value == pytest.approx(1.0 + level * (size - 1))


@pytest.mark.parametrize(
    ("size", "low", "high"), [(5, False, False), (6, True, True)]
)  # 2⁻⁵ > 2.5% > 2⁻⁶
def test_a_median_of_five_values_has_no_interval(size: int, low: bool, high: bool) -> None:
    found = percentile(lambda q: q, size, 0.5)
    assert (math.isfinite(found.low), math.isfinite(found.high)) == (low, high)
    upper = percentile(lambda q: q, 20, 0.9)  # 0.9²⁰ > 2.5% > 0.1²⁰
    assert (math.isfinite(upper.low), math.isfinite(upper.high)) == (True, False)
