"""The samples that grids are fitted to, in DuckDB: always the same rows, from a few pages."""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import pytest

from dkmd import compare
from dkmd.sources.engines import backends
from dkmd.sources.engines.backends import IbisEngine
from dkmd.sources.engines.tables import FIT_ROWS

ROWS = 8_000_000
"""So many rows that a small share of the pages holds enough of them."""


@pytest.fixture(scope="module")
def backend() -> Any:
    """A table of 8 million rows, a view of it, and a small table."""
    backend = ibis.duckdb.connect()
    sql = f"SELECT CAST(range AS DOUBLE) AS v, range % 2 AS k FROM range({ROWS})"
    backend.raw_sql(f"CREATE TABLE large AS {sql}")
    backend.raw_sql("CREATE VIEW seen AS SELECT * FROM large")
    backend.raw_sql("CREATE TABLE small AS SELECT * FROM large LIMIT 100000")
    return backend


@pytest.mark.parametrize("name", ["large", "seen", "small"])
def test_a_sample_is_repeatable_whatever_the_threads(backend: Any, name: str) -> None:
    def sample() -> Any:
        engine = IbisEngine(backend)
        return engine.sample(backend.table(name), lambda t: t.select("v"), FIT_ROWS)["v"]

    first = sample()
    assert first.size == FIT_ROWS
    assert np.unique(first).size == FIT_ROWS
    for threads in (1, 4, 2):
        backend.raw_sql(f"SET threads = {threads}")
        assert sample().tolist() == first.tolist()


def test_a_sample_of_a_large_table_reads_some_pages_all_over_it(
    backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    inner = backends.reservoir

    def noted(sql: str, rows: int) -> str:
        asked.append(sql)
        return inner(sql, rows)

    monkeypatch.setattr(backends, "reservoir", noted)
    engine = IbisEngine(backend)
    some = engine.sample(backend.table("large"), lambda t: t.select("v"), FIT_ROWS)["v"]
    assert len(asked) == 1
    assert "TABLESAMPLE system" in asked[0]
    # 40 pages of 2,048 rows: the chance that a tenth of the table has none is 0.9^32
    assert np.histogram(some, bins=10, range=(0, ROWS))[0].min() > 0


def test_pages_that_show_too_little_are_not_enough(backend: Any) -> None:
    """A level whose rows are all in one place of a large table."""
    table = backend.sql(
        f"SELECT v, CASE WHEN v < {ROWS // 1000} THEN 'a' ELSE 'b' END AS k FROM large"
    )
    backend.create_table("placed", table, overwrite=True)
    found = compare(backend.table("placed"), column="v", by="k", reference="a", current="b")
    assert (found.reference.size, found.current.size) == (ROWS // 1000, ROWS - ROWS // 1000)
    assert found.verdict == "higher"
