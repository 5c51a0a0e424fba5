"""Engines that fail during a query: Spark still answers, the others report an error."""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest

from dkmd import compare
from dkmd.answers.comparison import Comparison
from dkmd.base.errors import EngineError
from dkmd.sources.engines import scan as scans

SIZE = 200_000
OPTIONS: Any = {"column": "v", "by": "k", "reference": 0, "current": 1, "scale": 500.0}


def numbers(size: int) -> pd.DataFrame:
    """The same in NumPy and in SQL."""
    at = np.arange(size, dtype=np.int64)
    return pd.DataFrame({"v": (at * 7919 % 10_007 + 30 * (at % 2)).astype(float), "k": at % 2})


def remote(engine: Any) -> tuple[Any, pd.DataFrame]:
    """A table. For Spark, it is large enough to take some seconds."""
    if engine.name != "spark":
        frame = numbers(SIZE)
        return engine.load(frame, "disturbed"), frame
    size = 2 * SIZE
    rows = engine.session.range(0, size, 1, 16)
    slow = "aggregate(sequence(1, 100), 0D, (a, i) -> a + sin(i * id)) * 0D"
    rows.selectExpr(
        f"CAST(id * 7919 % 10007 + 30 * (id % 2) AS DOUBLE) + {slow} AS v", "id % 2 AS k"
    ).createOrReplaceTempView("disturbed")
    return engine.backend.table("disturbed"), numbers(size)


LOST = {
    "duckdb": r"duckdb: .*Table with name disturbed does not exist",
    "postgres": r"postgres: .*(terminating connection|server closed the connection|connection)",
}
"""The messages of engines that do not compute a lost part again."""


def test_a_fault_between_the_queries_is_an_error_or_made_good(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dropped table or a lost server gives a one-line error. Spark replaces a lost executor."""
    table, frame = remote(engine)
    expected = compare(frame, **OPTIONS)
    query = scans.Scan._query
    disturbed: list[str] = []

    def after_a_fault(scan: scans.Scan, *arguments: Any) -> None:
        if not disturbed:
            disturbed.append(engine.name)
            engine.disturb()
        query(scan, *arguments)

    monkeypatch.setattr(scans.Scan, "_query", after_a_fault)
    if engine.name == "spark":
        assert_equal(compare(table, **OPTIONS), expected)
        assert engine.killed
    else:
        with pytest.raises(EngineError, match=LOST[engine.name]) as caught:
            compare(table, **OPTIONS)
        assert len(str(caught.value).splitlines()) == 1
        assert "s3cret" not in str(caught.value)
    assert disturbed == [engine.name]
    if engine.name == "postgres":  # a new connection works again
        engine.backend.disconnect()
        engine.backend = ibis.connect(engine.server.url.replace("postgresql", "postgres"))
        assert_equal(compare(engine.backend.table("disturbed"), **OPTIONS), expected)


def assert_equal(found: Comparison, expected: Comparison) -> None:
    """The same statistic, computed from all values."""
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-6)
    sizes = [(side.reference.size, side.current.size) for side in (found, expected)]
    assert sizes[0] == sizes[1]
