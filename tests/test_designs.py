"""Covariates, strata, weights and counts: definitions, properties, sizes and every door."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from shell import here

from dkmd import Grid, Summary, Witness, compare, dkmd_2samp, drift, verdict
from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.design.columns import REACH
from dkmd.inference.test.result import DkmdResult

pytestmark = pytest.mark.slow  # plain Python would need minutes

WIDE = Witness(1.3, 1.3)
N, M = 70, 45


def data(seed: int = 1, n: int = N, m: int = M) -> tuple[Array, Array, Array, Array]:
    """Outcomes of x and y, and a covariate of each that explains most of them."""
    rng = np.random.default_rng(seed)
    before = rng.normal(size=n + m)
    after = 0.8 * before + 0.6 * rng.normal(size=n + m)
    return after[:n] + 0.2, after[n:], before[:n], before[n:]


X, Y, CX, CY = data()


def adjusted(x: Array, y: Array, **how: Any) -> DkmdResult:
    return dkmd_2samp(x, y, randomized=True, **how)


def bounded(*sides: Array) -> tuple[Array, ...]:
    """g of a covariate, written out."""
    pooled = np.concatenate(sides)
    median = np.nanmedian(pooled)
    reach = REACH * 1.4826 * np.nanmedian(np.abs(pooled - median))
    cut = [np.clip((side - median) / reach, -1.0, 1.0) for side in sides]
    return tuple(np.nan_to_num(1.5 * t - 0.5 * t**3) for t in cut)


Columns = tuple[Array, Array]


def agree(result: DkmdResult, x: Array, y: Array, g: Columns, psi: Witness = WIDE) -> None:
    """Whether a result is that of the definition; at its shift, D_adj is 0."""
    expected = naive.adjusted(x, y, g, psi, psi.derivative)
    assert numbers(result)[:3] == pytest.approx(expected, rel=1e-6)
    at_shift, error, _ = naive.adjusted(x - result.shift, y, g, psi, psi.derivative)
    assert abs(at_shift) < 1e-6 * error


def numbers(result: DkmdResult) -> tuple[float, float, float, float]:
    return result.statistic, result.standard_error, result.df, result.shift


def test_the_raw_numbers_are_those_of_the_plain_test() -> None:
    for n, m in ((N, M), (1500, 800)):
        x, y, cx, cy = data(2, n, m)
        result, plain = adjusted(x, y, covariate=(cx, cy)), dkmd_2samp(x, y)
        assert result.adjustment is not None
        raw = result.adjustment.raw
        found, expected = (
            (r.statistic, r.pvalue, r.shift, *r.shift_interval(0.9)) for r in (raw, plain)
        )
        assert found == pytest.approx(expected, rel=1e-3)  # the ends of few values and of bins
        # ρ = 0.8 leaves 36% of the variance
        assert 2.0 < result.adjustment.worth < 3.6


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(st.integers(0, 10_000), st.floats(-0.6, 0.6), st.sampled_from(["plain", "groups", "pairs"]))
def test_0_is_inside_exactly_when_p_says_so(seed: int, moved: float, design: str) -> None:
    x, y, cx, cy = data(seed, 24, 24)
    x = np.round(x + moved, 1)
    how: dict[str, Any] = {"covariate": (cx, cy)}
    if design == "groups":
        how["groups"] = np.arange(24) // 2, np.arange(24) // 3
    if design == "pairs":
        how["paired"] = True
    result = adjusted(x, y, **how)
    for level in (0.8, 0.95):
        low, high = result.shift_interval(level)
        assert (low <= 0.0 <= high) == (result.pvalue >= 1.0 - level)
        assert low <= result.shift <= high


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(st.integers(0, 10_000))
def test_swapping_the_samples_flips_the_sign(seed: int) -> None:
    x, y, cx, cy = data(seed, 20, 31)
    level = np.random.default_rng(seed).integers(0, 3, 51)
    one = adjusted(x, y, covariate=(cx, cy), strata=(level[:20], level[20:]))
    two = adjusted(y, x, covariate=(cy, cx), strata=(level[20:], level[:20]))
    assert two.statistic == pytest.approx(-one.statistic, rel=1e-9, abs=1e-12)
    assert two.pvalue == pytest.approx(one.pvalue, rel=1e-7)
    assert two.shift == pytest.approx(-one.shift, rel=1e-6, abs=1e-7)


def test_other_units_and_orders_change_nothing() -> None:
    one = adjusted(X, Y, covariate=(CX, CY))
    order = np.random.default_rng(1).permutation(N)
    two = adjusted(1e6 + 3 * X[order], 1e6 + 3 * Y, covariate=(5 - 1e3 * CX[order], 5 - 1e3 * CY))
    assert two.pvalue == pytest.approx(one.pvalue, rel=1e-6)
    assert two.shift == pytest.approx(3 * one.shift, rel=1e-6)


def test_strata_of_one_level_change_nothing() -> None:
    plain = dkmd_2samp(X, Y)
    result = adjusted(X, Y, strata=(["a"] * N, ["a"] * M))
    assert numbers(result) == pytest.approx(numbers(plain), rel=1e-9)
    assert result.adjustment is None
    more = adjusted(X, Y, covariate=(CX, CY), strata=(["a"] * N, ["a"] * M))
    assert numbers(more) == numbers(adjusted(X, Y, covariate=(CX, CY)))


def test_a_covariate_of_noise_changes_nothing_beyond_its_degree_of_freedom() -> None:
    rng = np.random.default_rng(8)
    ratios, df = [], []
    for seed in range(200):
        x, y, _, _ = data(seed, 40, 30)
        noise = rng.normal(size=40), rng.normal(size=30)
        result, plain = adjusted(x, y, covariate=noise, scale=1.0), dkmd_2samp(x, y, scale=1.0)
        ratios.append(result.standard_error / plain.standard_error)
        df.append(plain.df - result.df)
    # the standard error grows by √(1 + 1/N) on average, and df falls by 1
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.01)
    assert np.mean(df) == pytest.approx(1.0, abs=0.3)


def test_a_covariate_twice_is_a_covariate_once() -> None:
    once = adjusted(X, Y, covariate=(CX, CY))
    twice = adjusted(X, Y, covariate=(np.column_stack([CX, CX]), np.column_stack([CY, CY])))
    assert numbers(twice) == pytest.approx(numbers(once), rel=1e-8)
    assert twice.adjustment is not None
    assert twice.adjustment.columns == 1


def test_missing_covariates_are_a_stratum_and_drop_no_rows() -> None:
    cx, cy = CX.copy(), CY.copy()
    cx[:9], cy[:4] = math.nan, math.nan
    result = adjusted(X, Y, scale=1.3, covariate=(cx, cy))
    assert result.adjustment is not None
    assert result.adjustment.columns == 2
    as_none = [[None if math.isnan(v) else v for v in c] for c in (cx, cy)]
    assert numbers(adjusted(X, Y, scale=1.3, covariate=as_none)) == numbers(result)


def test_infinite_covariates_are_data() -> None:
    cx, cy = CX.copy(), CY.copy()
    cx[0], cy[:2] = math.inf, -math.inf
    infinite, plain = (adjusted(X, Y, covariate=c).adjustment for c in ((cx, cy), (CX, CY)))
    assert infinite is not None
    assert plain is not None
    assert 1.3 < infinite.worth < plain.worth  # three values of 115 say less
    mostly = [np.where(c > -0.3, math.inf, 1.0) for c in (CX, CY)]  # more than half
    yes = [np.isinf(c) for c in mostly]
    assert numbers(adjusted(X, Y, covariate=mostly)) == pytest.approx(
        numbers(adjusted(X, Y, strata=yes)), rel=1e-8
    )


def test_missing_strata_are_a_level_and_rare_levels_are_one() -> None:
    labels = np.array(["a", "b", None], dtype=object)[np.arange(N + M) % 3]
    words = np.where(labels == None, "none", labels)  # noqa: E711
    assert numbers(adjusted(X, Y, strata=(labels[:N], labels[N:]))) == numbers(
        adjusted(X, Y, strata=(words[:N], words[N:]))
    )
    rare = np.arange(N + M) % 2
    names = np.where(np.arange(N + M) < 6, 10 + np.arange(N + M), rare)  # six levels of one value
    with pytest.warns(RuntimeWarning, match="6 levels of strata with few values are taken as one"):
        result = adjusted(X, Y, strata=(names[:N], names[N:]))
    assert result.adjustment is not None
    assert result.adjustment.columns == 2


def test_a_covariate_needs_randomized_arms() -> None:
    for how in ({"covariate": (CX, CY)}, {"strata": (CX > 0, CY > 0)}):
        with pytest.raises(ValueError, match=r"randomized=True.*before and after"):
            dkmd_2samp(X, Y, **how)
        with pytest.raises(ValueError, match="randomized=True"):
            compare(Y, X, **how)


def test_odd_covariates_are_told() -> None:
    with pytest.raises(ColumnError, match="the outcome itself"):
        adjusted(X, Y, covariate=(X, Y))
    with pytest.warns(RuntimeWarning, match="one value only and explains nothing"):
        result = adjusted(X, Y, covariate=(np.ones(N), np.ones(M)))
    assert result.pvalue == pytest.approx(dkmd_2samp(X, Y).pvalue, rel=1e-9)
    with pytest.warns(RuntimeWarning, match=r"differs between the sides .* chance hardly explains"):
        adjusted(X, Y, covariate=(CX + 2.0, CY))
    with pytest.warns(RuntimeWarning, match="strata differs between the sides"):
        adjusted(X, Y, strata=(np.arange(N) % 9 > 0, np.arange(M) % 9 == 0))
    with pytest.raises(ColumnError, match="too many for so few values"):
        adjusted(X[:6], Y[:6], covariate=np.random.default_rng(1).normal(size=(2, 6, 10)))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"covariate": CX}, "must be a pair"),
        ({"covariate": (CX, CY[1:])}, "needs as many rows"),
        ({"covariate": (CX, CY), "estimator": "riemann"}, "need estimator='exact'"),
        ({"covariate": (CX, CY), "method": stats.PermutationMethod()}, "resampling method"),
        ({"covariate": (["a"] * N, ["b"] * M)}, "real numbers"),
        ({"weights": (CX, CY)}, "negative"),
        ({"weights": (np.full(N, math.nan), np.ones(M))}, "missing"),
        ({"weights": (np.ones(N), np.full(M, math.inf))}, "infinite"),
        ({"weights": (np.ones(N), np.ones(3))}, "values need as many"),
        ({"weights": (np.ones(N), np.ones(M)), "paired": True}, "weights or pairs"),
        ({"counts": (np.ones(N), np.full(M, 0.5))}, "a whole number of rows"),
        ({"counts": (-np.ones(N), np.ones(M))}, "a whole number of rows"),
    ],
)
def test_what_cannot_be_done_is_said(how: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        adjusted(X, Y, **how)


def test_summaries_and_tables_of_rows_have_no_designs() -> None:
    grid = Grid.fit(X, Y)
    binned: list[Any] = [Summary.of(X, grid), Summary.of(Y, grid)]
    with pytest.raises(ValueError, match="single values"):
        adjusted(*binned, weights=(1, 1))
    with pytest.raises(ValueError, match="one-dimensional"):
        adjusted(X.reshape(2, -1), Y.reshape(3, -1), weights=(np.ones(N), np.ones(M)))


WX, WY = np.random.default_rng(9).lognormal(size=N), np.random.default_rng(10).lognormal(size=M)


def test_a_weight_of_2_equals_a_row_twice_in_the_estimate() -> None:
    weights = 1 + (np.arange(N) % 3 == 0), 1 + (np.arange(M) % 4 == 0)
    result = dkmd_2samp(X, Y, scale=1.3, weights=weights)
    twice = dkmd_2samp(np.repeat(X, weights[0]), np.repeat(Y, weights[1]), scale=1.3)
    assert result.shift == pytest.approx(twice.shift, rel=1e-9)
    assert result.standard_error > twice.standard_error  # but not in its error


def test_only_ratios_of_weights_matter() -> None:
    one = dkmd_2samp(X, Y, weights=(WX, WY))
    two = dkmd_2samp(X, Y, weights=(1e-200 * WX, 7e200 * WY))
    assert numbers(two) == pytest.approx(numbers(one), rel=1e-9)
    equal = dkmd_2samp(X, Y, weights=(np.full(N, 3), np.full(M, 0.1)))
    assert numbers(equal) == pytest.approx(numbers(dkmd_2samp(X, Y)), rel=1e-9)


def test_a_weight_of_0_leaves_a_value_out() -> None:
    wx = np.where(np.arange(N) < 5, 0.0, WX)
    one = dkmd_2samp(X, Y, weights=(wx, WY))
    two = dkmd_2samp(X[5:], Y, weights=(WX[5:], WY))
    assert numbers(one) == pytest.approx(numbers(two), rel=1e-9)
    assert one.pvalue == pytest.approx(two.pvalue, rel=1e-9)
    with pytest.warns(RuntimeWarning, match="at least two values"):
        assert math.isnan(dkmd_2samp(X, Y, weights=(np.zeros(N), WY)).pvalue)


def test_an_answer_counts_only_rows_with_a_weight() -> None:
    """Equal weights beside zeros: sizes, mean and percentiles are those of the other rows."""
    wx, wy = np.arange(N) % 2, np.arange(M) % 3 > 0
    answer = compare(Y, X, weights=(wy, wx))
    kept = compare(Y[wy], X[wx > 0])
    assert (answer.reference.size, answer.current.size) == (kept.reference.size, kept.current.size)
    assert answer.mean == pytest.approx(kept.mean, rel=1e-9)
    assert answer.percentiles == kept.percentiles
    assert (answer.shift, answer.pvalue) == pytest.approx((kept.shift, kept.pvalue), rel=1e-9)


@given(st.integers(0, 10_000), st.floats(-0.8, 0.8))
def test_0_is_inside_a_weighted_interval_exactly_when_p_says_so(seed: int, moved: float) -> None:
    x, y, _, _ = data(seed, 15, 22)
    rng = np.random.default_rng(seed)
    result = dkmd_2samp(x + moved, y, weights=(rng.exponential(size=15), rng.lognormal(size=22)))
    low, high = result.shift_interval(0.9)
    assert (low <= 0.0 <= high) == (result.pvalue >= 0.1)


@pytest.mark.parametrize("more", ["nothing", "groups", "covariate", "weights", "all"])
def test_counts_are_repeated_rows(more: str) -> None:
    counts = np.arange(N) % 4, np.arange(M) % 3
    every: dict[str, Any] = {
        "groups": (np.arange(N) // 3, np.arange(M) // 3),
        "covariate": (CX, CY),
        "weights": (WX, WY),
    }
    how = every if more == "all" else {key: every[key] for key in every if key == more}
    repeated = {
        k: [np.repeat(a, c) for a, c in zip(v, counts, strict=True)] for k, v in how.items()
    }
    one = adjusted(X, Y, counts=counts, **how)
    two = adjusted(np.repeat(X, counts[0]), np.repeat(Y, counts[1]), **repeated)
    assert numbers(one) == pytest.approx(numbers(two), rel=1e-9)
    assert one.pvalue == pytest.approx(two.pvalue, rel=1e-9)


def test_counts_of_1_change_nothing() -> None:
    ones = np.ones(N, dtype=bool), np.ones(M)
    plain = numbers(dkmd_2samp(X, Y))
    assert numbers(dkmd_2samp(X, Y, counts=ones)) == pytest.approx(plain, rel=1e-9)


def test_pairs_that_share_their_covariate_gain_nothing() -> None:
    rng = np.random.default_rng(6)
    unit = rng.normal(size=30)
    x, y = unit + 0.3 + 0.1 * rng.normal(size=30), unit + 0.1 * rng.normal(size=30)
    labels = np.arange(30)
    plain = dkmd_2samp(x, y, groups=(labels, labels), paired=True)
    with pytest.warns(RuntimeWarning, match="pairing has already removed"):
        result = adjusted(x, y, groups=(labels, labels), paired=True, covariate=(unit, unit))
    assert result.statistic == pytest.approx(plain.statistic, rel=1e-9)
    with pytest.warns(RuntimeWarning, match="pairing has already removed"):  # x[i], y[i]: a pair
        without = adjusted(x, y, paired=True, covariate=(unit, unit))
    assert numbers(without) == numbers(result)


def trial(seed: int, n: int, m: int, shift: float = 0.0) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    before = rng.normal(size=n + m)
    after = np.exp(0.8 * before + 0.6 * rng.normal(size=n + m))
    return after[:n] + shift, after[n:], np.exp(before[:n]), np.exp(before[n:])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_size_holds_and_the_power_grows() -> None:
    """600 seeded trials: 5% ± 4 binomial standard errors. benchmarks/designs.py has more."""
    sizes, raw, power = [], [], []
    for seed in range(600):
        x, y, cx, cy = trial(seed, 12, 40)
        sizes.append(adjusted(x, y, covariate=(cx, cy)).pvalue)
    for seed in range(100):
        x, y, cx, cy = trial(seed, 60, 60, 0.35)
        power.append(adjusted(x, y, covariate=(cx, cy)).pvalue)
        raw.append(dkmd_2samp(x, y).pvalue)
    assert np.mean(np.array(sizes) < 0.05) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 600)
    assert np.mean(np.array(power) < 0.05) > np.mean(np.array(raw) < 0.05) + 0.15


def table(seed: int = 2, n: int = 300) -> pd.DataFrame:
    """An experiment with two arms."""
    rng = np.random.default_rng(seed)
    before = rng.lognormal(3.0, 1.0, 2 * n)
    revenue = before**0.8 * rng.lognormal(0.5, 0.5, 2 * n)
    revenue[n:] *= 1.1
    return pd.DataFrame(
        {
            "arm": np.repeat(["A", "B"], n),
            "revenue": revenue,
            "before": np.where(rng.random(2 * n) < 0.1, math.nan, before),
            "country": rng.choice(["DE", "FR", "US"], 2 * n),
            "user": [f"u{i // 2}" for i in range(2 * n)],
            "bought": revenue > 30.0,
            "rate": rng.choice([1.0, 10.0], 2 * n),
            "times": rng.integers(0, 3, 2 * n),
        }
    )


FRAME = table()
REFERENCE, CURRENT = FRAME[FRAME.arm == "A"], FRAME[FRAME.arm == "B"]
DESIGN: dict[str, Any] = {"covariate": ["before"], "strata": "country", "randomized": True}


def test_frames_arrays_and_levels_agree() -> None:
    by_name = compare(REFERENCE, CURRENT, column="revenue", **DESIGN)
    arrays = compare(
        REFERENCE.revenue.to_numpy(), CURRENT.revenue.to_numpy(),
        covariate={"before": (REFERENCE.before, CURRENT.before)},
        strata={"country": (REFERENCE.country, CURRENT.country)}, randomized=True,
    )  # fmt: skip
    levels = compare(FRAME, column="revenue", by="arm", reference="A", current="B", **DESIGN)
    test = adjusted(
        CURRENT.revenue.to_numpy(), REFERENCE.revenue.to_numpy(),
        covariate=(CURRENT.before.to_numpy(), REFERENCE.before.to_numpy()),
        strata=(CURRENT.country.to_numpy(), REFERENCE.country.to_numpy()),
    )  # fmt: skip
    for answer in (by_name, arrays, levels):
        assert (answer.shift, answer.pvalue) == pytest.approx((test.shift, test.pvalue), rel=1e-9)
    assert verdict(test) == by_name.verdict


@pytest.mark.parametrize("ending", ["csv", "parquet", "ndjson", "arrow"])
def test_files_agree_with_frames(ending: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"experiment.{ending}")
    if ending == "csv":
        FRAME.to_csv(path, index=False)
    elif ending == "parquet":
        FRAME.to_parquet(path)
    elif ending == "arrow":
        FRAME.to_feather(path)
    else:
        FRAME.to_json(path, orient="records", lines=True, double_precision=15)
    asked: dict[str, Any] = {"column": "revenue", "by": "arm", "reference": "A", "current": "B"}
    for how in (DESIGN, {"weights": "rate"}, {"counts": "times"}, {"groups": "user", **DESIGN}):
        ours, frame = compare(path, **asked, **how), compare(FRAME, **asked, **how)
        scale = frame.scale
        assert abs(ours.shift - frame.shift) < 1e-9 * scale
        assert ours.shift_interval == pytest.approx(frame.shift_interval, abs=1e-7 * scale)
        assert ours.pvalue == pytest.approx(frame.pvalue, rel=1e-6)


def test_the_answer_says_what_it_is_adjusted_for() -> None:
    answer = compare(REFERENCE, CURRENT, column="revenue", **DESIGN)
    assert answer.adjustment is not None
    assert answer.adjustment.names == ("before", "country")
    worth = f"{answer.adjustment.worth:.2g}"
    assert f"adjusted for before and country, as good as {worth} × the data" in answer.headline()
    plain = compare(REFERENCE, CURRENT, column="revenue")
    assert answer.adjustment.shift == pytest.approx(plain.shift, rel=1e-9)
    assert tuple(answer.adjustment.shift_interval) == pytest.approx(
        tuple(plain.shift_interval), rel=1e-3
    )
    rows = {row[0]: row for row in answer.rows()}
    assert rows["median"] == {row[0]: row for row in plain.rows()}["median"]
    assert rows["adjusted"][3].startswith(f"{answer.display.amount(answer.shift)} (")
    told = json.loads(answer.to_json())
    assert told["adjustment"]["worth"] == pytest.approx(answer.adjustment.worth)
    ends = told["adjustment"]["shift_interval"]
    assert ends == pytest.approx(list(plain.shift_interval), rel=1e-3)
    assert told["effective_sizes"] is None
    noise = np.random.default_rng(1).normal(size=600)
    nothing = compare(REFERENCE, CURRENT, column="revenue", covariate=(noise[:300], noise[300:]),
                      randomized=True)  # fmt: skip
    assert "which gained nothing" in nothing.headline()


def test_yes_no_data_are_adjusted_by_their_shares() -> None:
    answer = compare(REFERENCE, CURRENT, column="bought", **DESIGN)
    plain = compare(REFERENCE, CURRENT, column="bought")
    assert answer.adjustment is not None
    assert answer.adjustment.shift == pytest.approx(plain.shift)
    low, high = answer.shift_interval
    assert high - low < plain.shift_interval.high - plain.shift_interval.low
    assert ("not adjusted", "", "") == {row[0]: row for row in answer.rows()}["not adjusted"][:3]
    weighted = compare(REFERENCE, CURRENT, column="bought", weights="rate")
    shares = [np.average(side.bought, weights=side.rate) for side in (REFERENCE, CURRENT)]
    assert weighted.shift == pytest.approx(shares[1] - shares[0], rel=1e-9)


def test_weighted_answers_have_weighted_facts() -> None:
    answer = compare(REFERENCE, CURRENT, column="revenue", weights="rate")
    means = [np.average(side.revenue, weights=side.rate) for side in (REFERENCE, CURRENT)]
    assert answer.mean is not None
    assert (answer.mean.reference, answer.mean.current) == pytest.approx(means, rel=1e-6)
    ordered = REFERENCE.sort_values("revenue")
    half = np.searchsorted(np.cumsum(ordered.rate), 0.5 * ordered.rate.sum())
    assert answer.reference.quantiles[0.5] == ordered.revenue.iloc[half]
    assert answer.effective_sizes is not None
    assert "(effective " in answer.headline()
    assert {row[0] for row in answer.rows()} >= {"effective size", "mean", "50%"}
    assert json.loads(answer.to_json())["effective_sizes"] == list(answer.effective_sizes)


def test_counts_in_answers_are_repeated_rows() -> None:
    answer = compare(REFERENCE, CURRENT, column="revenue", counts="times")
    repeated = [side.revenue.repeat(side.times).to_numpy() for side in (REFERENCE, CURRENT)]
    plain = compare(*repeated)
    assert (answer.shift, answer.pvalue) == (plain.shift, plain.pvalue)
    assert answer.current.quantiles == plain.current.quantiles
    assert answer.percentiles == plain.percentiles
    assert not any("neighbouring" in note for note in answer.warnings)  # copies are no neighbours


def test_a_drift_adjusts_every_column_and_skips_those_it_uses() -> None:
    found = drift(REFERENCE, CURRENT, ["revenue", "bought", "before", "country"], **DESIGN)
    assert found["revenue"].shift == compare(REFERENCE, CURRENT, column="revenue", **DESIGN).shift
    assert found.skipped == {"before": "it is a covariate", "country": "it holds strata"}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"weights": "nothing"}, "no column 'nothing'"),
        ({"weights": "before"}, "before, row .* is missing"),
        ({"counts": "revenue"}, "is not a whole number of rows"),
        ({"covariate": "country", "randomized": True}, "country"),
        ({"column": "country", "weights": "rate"}, "categories, which are not tested with"),
    ],
)
def test_bad_columns_are_named(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(REFERENCE, CURRENT, **{"column": "revenue", **how})


def test_rows_that_are_not_in_memory_are_refused_in_words() -> None:
    rows = duckdb.connect().sql("SELECT range::DOUBLE AS revenue, -range AS before FROM range(50)")
    arrays = np.arange(50.0)[::-1], np.arange(50.0)[::-1]
    with pytest.raises(ColumnError, match=r"need the rows of .* in memory"):
        compare(rows, rows, column="revenue", covariate=arrays, randomized=True)


def test_the_page_shows_the_adjusted_shift_beside_the_raw_one(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    compare(REFERENCE, CURRENT, column="revenue", **DESIGN).report(path)
    text = path.read_text()
    for words in ("adjusted for", "× the data", "shift, not adjusted", ">adjusted<"):
        assert words in text, words


def test_the_command_takes_covariates_weights_and_counts(tmp_path: Path) -> None:
    path = str(tmp_path / "experiment.csv")
    FRAME.to_csv(path, index=False)
    arms = ("-c", "revenue", "--by", "arm", "--reference", "A", "--current", "B", "--json")
    told = here(
        "compare", path, *arms, "--covariate", "before", "--strata", "country", "--randomized"
    )
    asked: dict[str, Any] = {"column": "revenue", "by": "arm", "reference": "A", "current": "B"}
    answer = compare(path, **asked, **DESIGN)
    assert json.loads(told.stdout)["adjustment"]["names"] == ["before", "country"]
    assert json.loads(told.stdout)["shift"] == answer.shift
    assert answer.call is not None
    command = answer.call.command()
    assert command is not None
    assert command.endswith("--covariate before --strata country --randomized")
    without = here("compare", path, *arms, "--covariate", "before", code=2)
    assert "--randomized" in without.stderr or "randomized=True" in without.stderr
    weighted = json.loads(here("compare", path, *arms, "--weight-column", "rate").stdout)
    assert weighted["effective_sizes"] == list(
        compare(path, **asked, weights="rate").effective_sizes or ()
    )
    counted = json.loads(here("compare", path, *arms, "--count-column", "times").stdout)
    assert counted["current"]["size"] == int(CURRENT.times.sum())


def test_many_values_need_only_their_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, cx, cy = data(7, 2000, 700)
    one = adjusted(x, y, covariate=(cx, cy))
    monkeypatch.setattr("dkmd.inference.design.compare.ENOUGH", 0)
    two = adjusted(x, y, covariate=(cx, cy))
    assert numbers(two) == pytest.approx(numbers(one), rel=1e-12)
    assert two.pvalue == pytest.approx(one.pvalue, rel=1e-3)  # only the skewness is another


@pytest.mark.parametrize("weigh", ["units", "values"])
def test_what_is_the_same_for_a_unit_on_both_sides_adjusts_nothing(weigh: str) -> None:
    """Rounding errors of such a covariate must not become a slope."""
    rng = np.random.default_rng(14)
    units = np.arange(20)
    level = 3.0 * np.sin(units)
    samples, groups = [], []
    for each in (3, 4):
        groups.append(np.repeat(units, each))
        samples.append(level[groups[-1]] + rng.normal(size=20 * each))
    how: Any = {"groups": tuple(groups), "paired": True, "weigh": weigh}
    raw = dkmd_2samp(*samples, **how)
    known = tuple(level[group] ** 2 for group in groups)
    with pytest.warns(RuntimeWarning, match="pairing has already removed"):
        found = dkmd_2samp(*samples, **how, covariate=known, randomized=True)
    assert found.shift == pytest.approx(raw.shift, abs=1e-9)
    assert found.pvalue == pytest.approx(raw.pvalue, rel=1e-9)
    assert found.df == pytest.approx(raw.df)
