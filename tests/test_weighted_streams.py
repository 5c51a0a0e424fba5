"""Weights and counts of rows that are summed up where they are: the numbers of rows in memory."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS

from dkmd import compare, dkmd_2samp, drift
from dkmd.answers.comparison import Comparison
from dkmd.base.errors import ColumnError
from dkmd.sources import beside

SCALE = 5.0


def visits(seed: int, size: int, slower: float) -> pd.DataFrame:
    """Skewed times, some missing or infinite, with weights and counts of which some are 0."""
    rng = np.random.default_rng(seed)
    ms = rng.gamma(2.0, 3.0, size) + slower
    ms[:3] = [np.inf, np.nan, np.nan]
    weight = rng.lognormal(0.0, 1.0, size)
    weight[[1, 7]] = 0.0
    copies = rng.integers(0, 5, size)
    return pd.DataFrame({"ms": ms, "weight": weight, "copies": copies, "arm": "b"})


OLD, NEW = visits(1, 2_500, 0.0), visits(2, 3_000, 0.2)

WEIGHTS: Any = {"weights": "weight"}
COUNTS: Any = {"counts": "copies"}
BESIDE = {"weights": WEIGHTS, "counts": COUNTS, "both": WEIGHTS | COUNTS}


def assert_same(found: Comparison, expected: Comparison) -> None:
    """Equal to 1e-9 of the scale; percentages and quantiles as closely as bins give them."""
    near = 1e-9 * SCALE
    assert found.statistic == pytest.approx(expected.statistic, abs=near)
    assert found.shift == pytest.approx(expected.shift, abs=near)
    # ends are searched on merged bins, which depend on the grid
    assert found.shift_interval == pytest.approx(expected.shift_interval, abs=1e-6 * SCALE)
    assert found.df == pytest.approx(expected.df, rel=1e-6)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-6)
    sizes = found.effective_sizes, expected.effective_sizes
    assert sizes[0] == sizes[1] or sizes[0] == pytest.approx(sizes[1], rel=1e-12)
    assert found.relative_shift == pytest.approx(expected.relative_shift, abs=1e-3)
    for ours, theirs in ((found.reference, expected.reference), (found.current, expected.current)):
        assert (ours.size, ours.nan, ours.plus_inf) == (theirs.size, theirs.nan, theirs.plus_inf)
        assert ours.quantiles[0.5] == pytest.approx(theirs.quantiles[0.5], abs=0.02 * SCALE)
    assert found.warnings == expected.warnings


def kept(frame: pd.DataFrame, where: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A frame in some place."""
    folder.mkdir()
    return {**KEEPERS, **CSV}[where](pa.Table.from_pandas(frame), folder, monkeypatch)


PLACES = ("large parquet", "large csv", "large arrow file", "engine", "relation")


@pytest.mark.parametrize(
    ("what", "where"),
    [
        *(("both", place) for place in PLACES),
        ("weights", "engine"),
        ("weights", "dask"),
        ("counts", "large csv"),
    ],
)
def test_answers_are_those_of_rows_in_memory(
    what: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how: Any = {"column": "ms", "scale": SCALE, **BESIDE[what]}
    expected = compare(OLD, NEW, **how)
    sides = [kept(f, where, tmp_path / n, monkeypatch) for f, n in ((OLD, "a"), (NEW, "b"))]
    assert_same(compare(*sides, **how), expected)


@pytest.mark.parametrize("what", ["both", "counts"])
def test_levels_of_one_table_and_a_side_in_memory(what: str) -> None:
    how: Any = {"column": "ms", "scale": SCALE, **BESIDE[what]}
    expected = compare(OLD, NEW, **how)
    home = ibis.duckdb.connect()
    table = home.create_table("t", pa.Table.from_pandas(NEW))
    assert_same(compare(OLD, table, **how), expected)
    both = pd.concat([OLD.assign(arm="a"), NEW], ignore_index=True)
    long = home.create_table("both", pa.Table.from_pandas(both))
    assert_same(compare(long, by="arm", reference="a", current="b", **how), expected)
    found = drift(table, table, columns=["ms"], **BESIDE[what])
    assert found["ms"].shift == pytest.approx(0.0, abs=1e-9)


def test_a_weight_of_2_is_a_row_twice_in_the_estimate_and_a_count_of_2_in_all() -> None:
    home = ibis.duckdb.connect()
    twice = [frame.assign(two=2) for frame in (OLD, NEW)]
    plain = compare(*(pd.concat([f, f], ignore_index=True) for f in twice), column="ms", scale=5.0)
    tables = [home.create_table(f"t{i}", pa.Table.from_pandas(f)) for i, f in enumerate(twice)]
    by_count = compare(*tables, column="ms", scale=5.0, counts="two")
    by_weight = compare(*tables, column="ms", scale=5.0, weights="two")
    for each in (by_count, by_weight):
        assert each.shift == pytest.approx(plain.shift, abs=1e-8)
    assert by_count.pvalue == pytest.approx(plain.pvalue, rel=1e-6)
    once = compare(*twice, column="ms", scale=5.0)
    assert by_weight.pvalue == pytest.approx(once.pvalue, rel=1e-6)


FAULTS = [
    ("weights", "weight", np.nan, "missing"),
    ("weights", "weight", None, "missing"),
    ("weights", "weight", -1.0, "negative"),
    ("weights", "weight", np.inf, "infinite"),
    ("counts", "copies", -1.0, "whole number"),
    ("counts", "copies", 1.5, "whole number"),
    ("counts", "copies", None, "whole number"),
    ("counts", "copies", np.inf, "whole number"),
]


@pytest.mark.parametrize(("what", "column", "bad", "word"), FAULTS)
def test_what_is_no_weight_or_count_is_an_error(
    what: str, column: str, bad: float | None, word: str
) -> None:
    how: Any = {what: column}
    numbers: list[float | None] = [*NEW[column].astype(float)]
    numbers[17] = bad
    table = pa.Table.from_pandas(NEW).drop_columns(column).append_column(column, pa.array(numbers))
    broken = ibis.duckdb.connect().create_table("t", table)
    lazy = dd.from_pandas(NEW.assign(**{column: numbers}), npartitions=2)
    for source in (broken, lazy) if what == "weights" else (broken,):
        with pytest.raises(ColumnError, match=word):
            compare(source, source, column="ms", **how)


def clicks(size: int = 2_000) -> pd.DataFrame:
    """Two arms of which hosts are on both sides, users on one, and a covariate explains a part."""
    rng = np.random.default_rng(3)
    host, arm = rng.integers(0, 60, size), rng.permutation(np.repeat(["a", "b"], size // 2))
    before = np.sin(host) + rng.normal(size=size)
    ms = np.exp(0.3 * np.sin(host) + 0.6 * before + 0.5 * rng.normal(size=size))
    ms[:2] = [np.nan, np.inf]
    weight, copies = rng.lognormal(size=size), rng.integers(0, 4, size)
    weight[7], copies[(arm == "b") & (host == 3)] = 0.0, 0  # this host is on one side only
    country = rng.choice(np.array(["DE", "FR", None], dtype=object), size)
    return pd.DataFrame(
        {
            "arm": arm,
            "ms": ms,
            "before": np.where(rng.random(size) < 0.1, np.nan, before),
            "country": country,
            "host": [f"h{h}" for h in host],
            "user": [f"{a}{h}" for a, h in zip(arm, host, strict=True)],
            "weight": weight,
            "copies": copies,
        }
    )


CLICKS = clicks()
KNOWN: Any = {"covariate": "before", "strata": "country", "randomized": True}
GROUPS: Any = {"groups": "user"}
TOGETHER: dict[str, Any] = {
    "weights, groups": WEIGHTS | GROUPS,
    "counts, groups": COUNTS | GROUPS,
    "counts, units": COUNTS | {"pair_by": "host"},
    "counts, values of units": COUNTS | {"pair_by": "host", "weigh": "values"},
    "weights, covariates": WEIGHTS | KNOWN,
    "counts, covariates": COUNTS | KNOWN,
    "both, covariates, groups": WEIGHTS | COUNTS | KNOWN | GROUPS,
    "counts, covariates, units": COUNTS | KNOWN | {"pair_by": "host"},
}
ARMS: Any = {"column": "ms", "by": "arm", "reference": "a", "current": "b", "scale": 1.0}


@cache
def in_memory(design: str) -> Comparison:
    """The answer of rows in memory."""
    found: Comparison = compare(CLICKS, **ARMS, **TOGETHER[design])
    return found


MIXED = ("both, covariates, groups", "counts, covariates, units")
"""Designs that need every kind of sums."""


@pytest.mark.parametrize(
    ("design", "where"),
    [
        *((design, "engine") for design in TOGETHER),
        *((design, where) for design in MIXED for where in PLACES if where != "engine"),
    ],
)
def test_weights_and_counts_go_with_groups_units_and_covariates(
    design: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = in_memory(design)
    found = compare(kept(CLICKS, where, tmp_path / "t", monkeypatch), **ARMS, **TOGETHER[design])
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.shift == pytest.approx(expected.shift, abs=1e-9)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-6)
    assert found.df == pytest.approx(expected.df, rel=1e-6)
    assert found.shift_interval == pytest.approx(expected.shift_interval, abs=1e-5)
    assert found.relative_shift == pytest.approx(expected.relative_shift, abs=1e-5)
    assert found.warnings == expected.warnings
    if expected.effective_sizes is not None:
        assert found.effective_sizes == pytest.approx(expected.effective_sizes, rel=1e-12)
    if expected.adjustment is not None:
        assert found.adjustment is not None
        assert found.adjustment.worth == pytest.approx(expected.adjustment.worth, rel=1e-6)
    if expected.pairing is not None:
        assert found.pairing is not None
        assert found.pairing[:4] == expected.pairing[:4]


def test_a_side_in_memory_goes_with_weights_and_groups_elsewhere() -> None:
    old, new = (CLICKS[CLICKS.arm == arm] for arm in "ab")
    table = ibis.duckdb.connect().create_table("t", pa.Table.from_pandas(new))
    how: Any = {"column": "ms", "scale": 1.0}
    for design in MIXED:
        found = compare(old, table, **how, **TOGETHER[design])
        assert found.shift == pytest.approx(in_memory(design).shift, abs=1e-9)
        assert found.pvalue == pytest.approx(in_memory(design).pvalue, rel=1e-6)


def test_columns_of_a_drift_have_weights_of_their_own() -> None:
    old, new = (CLICKS[CLICKS.arm == arm].drop(columns="arm") for arm in "ab")
    home = ibis.duckdb.connect()
    tables = [
        home.create_table(
            name, pa.Table.from_pandas(side.assign(less=side.ms.where(side.ms > 1.0)))
        )
        for name, side in (("old", old), ("new", new))
    ]
    how: Any = {"columns": ["ms", "less"], "scale": 1.0, **WEIGHTS, **KNOWN, **GROUPS}
    found = drift(*tables, **how)
    expected = drift(*(table.to_pandas() for table in tables), **how)
    for name in ("ms", "less"):
        assert found[name].shift == pytest.approx(expected[name].shift, abs=1e-9)
        assert found[name].pvalue == pytest.approx(expected[name].pvalue, rel=1e-6)


def test_what_cannot_be_summed_up_is_said() -> None:
    home = ibis.duckdb.connect()
    table = home.create_table("t", pa.Table.from_pandas(NEW))
    with pytest.raises(ValueError, match="give weights or pairs, not both"):
        compare(table, table, column="ms", weights="weight", pair_by="arm")
    array = da.from_array(NEW.ms.to_numpy()[3:])
    with pytest.raises(ColumnError, match="use a dataframe"):
        compare(array, array, weights=(NEW.weight[3:], NEW.weight[3:]))
    with pytest.raises(ValueError, match="no column 'wight'"):
        compare(table, table, column="ms", weights="wight")
    with pytest.raises(ValueError, match="no column 'wight'"):
        compare(table, table, column="ms", weights="wight", groups="arm")
    broken = home.create_table("broken", pa.Table.from_pandas(NEW.assign(weight=-1.0)))
    with pytest.raises(ColumnError, match="3,000 rows have a negative weight"):
        compare(broken, broken, column="ms", weights="weight", groups="arm")


@pytest.mark.parametrize("weighted", [False, True])
def test_large_counts_are_not_repeated(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of repeated rows, and 1e11 rows without any memory for them."""
    old, new = OLD[3:], NEW[3:]
    x, y = new.ms.to_numpy(), old.ms.to_numpy()
    weights = (new.weight, old.weight) if weighted else None
    how: Any = {"counts": (new.copies, old.copies), "weights": weights, "scale": SCALE}
    frames: Any = {"column": "ms", "scale": SCALE, **(BESIDE["both"] if weighted else COUNTS)}
    rng = np.random.default_rng(1)  # equal rows in a row would be told
    rows = [
        rng.permutation(np.repeat(np.arange(side.copies.size), side.copies)) for side in (new, old)
    ]
    again = (
        None
        if weights is None
        else tuple(w.to_numpy()[r] for w, r in zip(weights, rows, strict=True))
    )
    repeated = dkmd_2samp(x[rows[0]], y[rows[1]], weights=again, scale=SCALE)
    answer = compare(old, new, **frames)
    monkeypatch.setattr(beside, "LARGE", 10)
    summed = dkmd_2samp(x, y, **how)
    assert summed.shift == pytest.approx(repeated.shift, abs=1e-9 * SCALE)
    assert summed.pvalue == pytest.approx(repeated.pvalue, rel=1e-6)
    assert summed.on_logs().shift == pytest.approx(repeated.on_logs().shift, rel=1e-3)
    assert_same(compare(old, new, **frames), answer)
    many = dkmd_2samp(x, y, **(how | {"counts": (new.copies * 10**8, old.copies * 10**8)}))
    assert many.shift == pytest.approx(repeated.shift, abs=1e-8)
    assert many.pvalue < 1e-100
