"""Drift in an engine: columns share queries, and only an unreadable column is skipped."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ibis.expr import operations

from dkmd import compare, drift
from dkmd.answers.comparison import CategoryComparison
from dkmd.answers.one_column import compare_samples
from dkmd.answers.options import CompareOptions
from dkmd.sources.column_data import LabelledColumn, StreamedColumn
from dkmd.sources.engines import backends
from dkmd.sources.engines.connections import open_engine_table
from dkmd.sources.pairs import common_grid

COLUMNS = 40


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The columns of each query, except for samples."""
    made: list[str] = []
    inner = backends.IbisEngine.run

    def counted(engine: Any, expression: Any) -> Any:
        if "count" in expression.columns:
            made.append("bins")
        elif isinstance(expression.op(), operations.Aggregate):
            made.append("minima")
        return inner(engine, expression)

    monkeypatch.setattr(backends.IbisEngine, "run", counted)
    return made


def _tables(engine: Any, kind: str) -> list[Any]:
    rng = np.random.default_rng(4)
    draw = rng.exponential if kind == "exponential" else lambda size: rng.lognormal(0, 2, size)
    old = pd.DataFrame({f"v{i}": draw(size=2_000) for i in range(COLUMNS)})
    frames = {"wide_old": old, "wide_new": old * 1.1}
    return [engine.load(frame, name) for name, frame in frames.items()] + list(frames.values())


@pytest.mark.parametrize("kind", ["exponential", "lognormal"])
def test_columns_share_queries(engine: Any, kind: str, queries: list[str]) -> None:
    """40 columns need two queries per table: bins also give signs and logarithms."""
    old, new, *frames = _tables(engine, kind)
    expected = drift(*frames, scale=1.0)
    read = [open_engine_table(table, "t").read_columns(list(expected)) for table in (old, new)]
    sides = [side for table in read for side in table.values() if isinstance(side, StreamedColumn)]
    scans = list({id(side.scan): side.scan for side in sides}.values())
    assert len(scans) == 2
    grids = {name: common_grid(read[0][name], read[1][name]) for name in expected}
    for scan in scans:
        assert scan is not None
        scan.plan(grids)
    for name, there in expected.items():
        pair = [
            LabelledColumn(table[name], name, label)
            for table, label in zip(read, "ab", strict=True)
        ]
        found = compare_samples(
            pair[0],
            pair[1],
            CompareOptions.of(scale=1.0),
        )
        assert found.shift == pytest.approx(there.shift, abs=1e-8)
        assert found.relative_shift == pytest.approx(there.relative_shift, rel=1e-6)
    assert queries == ["bins"] * 4


def test_smallest_values_are_asked_for_once(engine: Any, queries: list[str]) -> None:
    old, new, *_ = _tables(engine, "lognormal")
    found = drift(old, new)
    assert len(found) == COLUMNS
    assert queries.count("minima") <= 2


def test_a_column_that_no_grid_fits_is_skipped(engine: Any) -> None:
    frame = pd.DataFrame(
        {"v": np.arange(300.0) / 4, "far": np.where(np.arange(300) % 2, 1.7e308, -1.7e308)}
    )
    table = engine.load(frame, "far_apart")
    found = drift(table, table)
    assert list(found) == ["v"]
    assert "too far apart" in found.skipped["far"]
    assert list(drift(table, table, columns=["v", "far"]).skipped) == ["far"]


def test_text_is_counted_by_the_engine(engine: Any) -> None:
    rng = np.random.default_rng(4)
    frames = [
        pd.DataFrame(
            {
                "t": pd.Series(
                    rng.choice(np.array(["a", "b'\"", "ü", None]), 300, p=[0.5, p, 0.4 - p, 0.1]),
                    dtype=object,
                ),
                "u": rng.choice(["1", "2"], 300),
                "v": rng.normal(size=300),
            }
        )
        for p in (0.1, 0.3)
    ]
    before, after = (engine.load(f, n) for f, n in zip(frames, ("t_old", "t_new"), strict=True))
    found, expected = drift(before, after), drift(*frames)
    for found_one, name in ((found["t"], "t"), (compare(before, after, column="t"), "t")):
        assert isinstance(found_one, CategoryComparison)
        own = expected[name]
        assert isinstance(own, CategoryComparison)
        assert found_one.levels == own.levels
        assert found_one.pvalue == own.pvalue
        assert found_one.reference.nan == own.reference.nan
        assert found_one.current.nan == own.current.nan
    assert isinstance(found["u"], CategoryComparison)  # an engine does not read text as numbers
    answer = compare(before, column="t", by="u", reference="1", current="2")
    assert isinstance(answer, CategoryComparison)
    arms = [frames[0][frames[0].u == u].t.reset_index(drop=True) for u in ("1", "2")]
    own = compare(*arms)
    assert isinstance(own, CategoryComparison)
    assert answer.levels == own.levels


CANNOT_BE_CAST = {
    "postgres": {
        "paid": "CAST(v AS numeric)::money",
        "tag": "5::oid",
        "big": "CASE WHEN v < 50 THEN '1e400'::numeric ELSE v::numeric END",
        "late": "CASE WHEN v = 1999.75 THEN '1e400'::numeric ELSE v::numeric END",
    },
    "duckdb": {
        "word": "CASE WHEN v = 1999.75 THEN CAST('x' || v AS INTEGER) ELSE (4 * v)::INTEGER / 4 END"
    },
    "spark": {"word": "CASE WHEN v = 1999.75 THEN raise_error('x') ELSE v END"},
}
"""Columns that look numeric but cannot be read; some fail only in rows outside the sample."""


def test_a_column_that_an_engine_cannot_read_is_skipped(engine: Any) -> None:
    engine.load(pd.DataFrame({"v": np.arange(8_000.0) / 4}), "mixed")
    odd = CANNOT_BE_CAST[engine.name]
    sql = ", ".join(f"{text} AS {name}" for name, text in odd.items())
    table = engine.backend.sql(f"SELECT v, {sql}, v + 1 AS w FROM mixed")
    found = drift(table, table)
    assert sorted(found) == ["v", "w"]
    assert set(found.skipped) == set(odd)
    assert not math.isnan(found["w"].pvalue)
