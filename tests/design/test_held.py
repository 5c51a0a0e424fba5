"""Rows in memory: counts, missing values, weights of 0 and labels say what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest

from dkmd import Grid
from dkmd.base.errors import ColumnError
from dkmd.inference.design.columns import NEEDS_RANDOMIZED
from dkmd.inference.design.compare import compare_stored
from dkmd.inference.design.outcome import compare_designed, held_sides
from dkmd.inference.test.options import DesignArguments, check_options
from dkmd.inference.test.pair import Studentized
from dkmd.inference.test.result import ExactOutcome


def answer(
    x: Any, y: Any, weigh: str | None = None, grid: Grid | None = None, **design: Any
) -> Studentized:
    options = check_options(None, None, "exact", "two-sided", None, "omit", weigh)
    if grid is None:
        found = compare_designed(x, y, DesignArguments(**design), options)
    else:
        sides = held_sides(x, y, DesignArguments(**design), weigh)
        found = compare_stored(*sides, options, grid=grid)
    assert isinstance(found, ExactOutcome)
    return found.test


def same(one: Studentized, other: Studentized, accuracy: float = 1e-9) -> None:
    assert abs(other.statistic - one.statistic) < accuracy * one.standard_error
    assert other.standard_error == pytest.approx(one.standard_error, rel=accuracy)
    assert other.df == pytest.approx(one.df, rel=accuracy)
    assert other.pvalue("two-sided") == pytest.approx(one.pvalue("two-sided"), rel=1e-6)


def samples(seed: int, n: int = 60, m: int = 50) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(0.3, 1.0, n), 1), np.round(rng.normal(size=m), 1)


def design(name: str, rng: np.random.Generator, n: int, m: int) -> dict[str, Any]:
    sizes = n, m
    found: dict[str, Any] = {}
    if "groups" in name:
        found["groups"] = [rng.integers(0, 12, size) for size in sizes]
    if "weights" in name:
        found["weights"] = [rng.lognormal(size=size) for size in sizes]
    if "covariate" in name:
        found["covariate"] = [rng.normal(size=size) for size in sizes]
        found["strata"] = [rng.integers(0, 3, size) for size in sizes]
        found["randomized"] = True
    return found


DESIGNS = ["groups", "weights", "covariate", "groups weights covariate"]


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("grid", [None, Grid(0.0, 1e-3)])
def test_counts_are_repeated_rows(name: str, grid: Grid | None) -> None:
    rng = np.random.default_rng(1)
    x, y = samples(1)
    given = design(name, rng, x.size, y.size)
    counts = rng.integers(0, 4, x.size), rng.integers(0, 4, y.size)
    rows = [np.repeat(np.arange(c.size), c) for c in counts]
    repeated: dict[str, Any] = {
        key: value if key == "randomized" else [v[r] for v, r in zip(value, rows, strict=True)]
        for key, value in given.items()
    }
    whole = answer(x[rows[0]], y[rows[1]], grid=grid, **repeated)
    same(whole, answer(x, y, grid=grid, counts=counts, **given))


@pytest.mark.parametrize("name", DESIGNS)
def test_many_values_are_compared_by_bins_with_the_same_answer(name: str) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.05, 1.0, 1000), rng.lognormal(0.0, 0.5, 1040) - 1.1
    given = design(name, rng, x.size, y.size)
    direct, binned = answer(x, y, **given), answer(x, y, grid=Grid.fit(x, y), **given)
    # the width comes from medians, which bins know to a hundredth of a scale
    assert abs(binned.statistic - direct.statistic) < 1e-3 * direct.standard_error
    assert binned.standard_error == pytest.approx(direct.standard_error, rel=1e-3)
    assert binned.df == pytest.approx(direct.df, rel=1e-3)
    assert binned.pvalue("two-sided") == pytest.approx(direct.pvalue("two-sided"), rel=5e-3)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_missing_value_or_a_weight_of_0_leaves_a_row_out(name: str) -> None:
    rng = np.random.default_rng(3)
    x, y = samples(3)
    given = design(name, rng, x.size, y.size)
    holes = x.copy()
    holes[[3, 7]] = np.nan
    if "weights" in name:
        given["weights"][1][:5] = 0.0
    kept_x, kept_y = ~np.isnan(holes), np.ones(y.size, dtype=bool)
    if "weights" in name:
        kept_y[:5] = False
    rest: dict[str, Any] = {
        key: value if key == "randomized" else [value[0][kept_x], value[1][kept_y]]
        for key, value in given.items()
    }
    found, expected = answer(holes, y, **given), answer(x[kept_x], y[kept_y], **rest)
    if "covariate" not in name:  # rows without a value say where the covariate lies, too
        same(expected, found)
    assert found.df == pytest.approx(expected.df, rel=0.05)


def test_infinite_values_are_data_in_every_design() -> None:
    rng = np.random.default_rng(4)
    x, y = samples(4)
    x[:4], y[:2] = np.inf, -np.inf
    for name in DESIGNS:
        given = design(name, rng, x.size, y.size)
        same(answer(x, y, **given), answer(x, y, grid=Grid(0.0, 1e-3), **given))


@pytest.mark.parametrize("weigh", [None, "units", "values"])
def test_values_that_are_all_infinite_have_scores(weigh: str | None) -> None:
    """Shared units may have no finite value although others do."""
    rng = np.random.default_rng(12)
    x = np.concatenate([np.full(6, np.inf), rng.normal(size=6)])
    y = np.concatenate([np.repeat([np.inf, -np.inf], 3), rng.normal(size=6)])
    units = np.arange(6)
    labels = np.concatenate([units, 10 + units]), np.concatenate([units, 20 + units])
    found = answer(x, y, weigh, groups=labels)
    assert found.statistic > 0.0
    assert found.pvalue("less") > 0.5
    no_numbers = answer(x[:6], y[:6], weigh, groups=(units // 2, units // 2))
    assert no_numbers.statistic > 0.0


def labels_of(kind: str, codes: npt.NDArray[np.int64]) -> Any:
    """The same units under labels of another type."""
    words = [f"user {code}" for code in codes]
    kinds: dict[str, Any] = {
        "integers": codes,
        "far integers": codes * 10**15,
        "text": np.array(words),
        "objects": np.array(words, dtype=object),
        "categories": pd.Series(words, dtype="category"),
        "arrow": pa.array(words),
        "chunks": pa.chunked_array([words[:9], words[9:]]),
        "dates": np.datetime64("2026-01-01") + codes.astype("timedelta64[D]"),
    }
    return kinds[kind]


KINDS = (
    "integers", "far integers", "text", "objects", "categories", "arrow", "chunks", "dates"
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weigh", [None, "units", "values"])
def test_labels_of_any_type_are_the_same_units(kind: str, weigh: str | None) -> None:
    rng = np.random.default_rng(5)
    x, y = samples(5)
    codes = rng.integers(3, 15, x.size), rng.integers(5, 18, y.size)
    plain = answer(x, y, weigh, groups=codes)
    same(plain, answer(x, y, weigh, groups=[labels_of(kind, side) for side in codes]))


def test_groups_of_one_are_independent_values() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.lognormal(0.4, 1.0, 20), rng.lognormal(size=130)
    found = answer(x, y, groups=(np.arange(20), np.arange(130)))
    options = check_options(None, None, "exact", "two-sided", None, "omit")
    plain = compare_designed(x, y, DesignArguments(), options)
    assert isinstance(plain, ExactOutcome)
    test = plain.test
    same(test, found)
    assert found.guards[0].z == pytest.approx(test.guards[0].z, rel=1e-9)
    assert found.guards[0].smooth == pytest.approx(test.guards[0].smooth, rel=1e-9)


def test_a_missing_covariate_is_a_stratum() -> None:
    rng = np.random.default_rng(7)
    x, y = rng.normal(0.2, 1.0, 80), rng.normal(size=90)
    sides = [v + rng.normal(size=v.size) for v in (x, y)]
    for side in sides:
        side[::7] = np.nan
    filled = [np.nan_to_num(side, nan=float(np.nanmedian(np.concatenate(sides)))) for side in sides]
    missing = [np.isnan(side) for side in sides]
    with_strata = answer(x, y, covariate=filled, strata=missing, randomized=True)
    found = answer(x, y, covariate=sides, randomized=True)
    assert found.df == pytest.approx(with_strata.df, rel=0.02)
    assert found.standard_error == pytest.approx(with_strata.standard_error, rel=0.02)


def test_constant_and_collinear_columns_cost_no_degrees_of_freedom() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(0.2, 1.0, 80), rng.normal(size=90)
    one = [v + rng.normal(size=v.size) for v in (x, y)]
    twice = [np.column_stack([side, 2.0 * side + 1.0, np.ones(side.size)]) for side in one]
    same(
        answer(x, y, covariate=one, randomized=True),
        answer(x, y, covariate=twice, randomized=True),
        1e-7,
    )


def test_swapping_the_sides_flips_the_sign() -> None:
    rng = np.random.default_rng(9)
    x, y = samples(9)
    for name in DESIGNS:
        given = design(name, rng, x.size, y.size)
        turned = {k: v if k == "randomized" else v[::-1] for k, v in given.items()}
        one, other = answer(x, y, **given), answer(y, x, **turned)
        assert other.statistic == pytest.approx(-one.statistic, rel=1e-9)
        assert other.pvalue("two-sided") == pytest.approx(one.pvalue("two-sided"), rel=1e-7)


def test_what_cannot_be_answered_is_an_error() -> None:
    x, y = samples(10)
    with pytest.raises(ValueError, match="randomized=True"):
        answer(x, y, covariate=(x + 1.0, y))
    assert "chance" in NEEDS_RANDOMIZED
    with pytest.raises(ColumnError, match="outcome itself"):
        answer(x, y, covariate=(x, y), randomized=True)
    with pytest.raises(ColumnError, match="single unit"):
        answer(x, y, groups=(np.zeros(x.size), np.arange(y.size)))
    with pytest.raises(ColumnError, match="no unit is in both"):
        answer(x, y, "units", groups=(np.arange(x.size), 1000 + np.arange(y.size)))
    with pytest.raises(ValueError, match="missing"):
        answer(x, y, groups=(np.where(np.arange(x.size) < 2, np.nan, 1.0), np.arange(y.size)))
    with pytest.raises(ValueError, match="weights or pairs"):
        answer(x, y, "units", groups=(x, y), weights=(np.ones(x.size), np.ones(y.size)))
    with pytest.raises(ValueError, match="negative"):
        answer(x, y, weights=(-np.ones(x.size), np.ones(y.size)))
    few = np.arange(x.size) % 3, np.arange(y.size) % 3
    many = np.arange(x.size) % 9, np.arange(y.size) % 9
    with pytest.raises(ColumnError, match="too many for so few"):
        answer(x, y, groups=few, strata=many, randomized=True)


@pytest.mark.parametrize("weigh", [None, "units", "values"])
@pytest.mark.parametrize("grid", [None, Grid(0.0, 1e-3)])
def test_samples_that_lie_far_apart_differ_for_sure(weigh: str | None, grid: Grid | None) -> None:
    rng = np.random.default_rng(11)
    units = np.repeat(np.arange(20), 5)
    level = rng.normal(size=20)[units]
    for shift in (2.0, 20.0, 200.0):
        x = level + rng.normal(0.0, 0.3, 100) + shift
        y = level + rng.normal(0.0, 0.3, 100)
        found = answer(x, y, weigh, grid, groups=(units, units))
        assert found.pvalue("two-sided") < 1e-5
        assert found.pvalue("less") > 0.99
