"""What happens to engines while they are asked: the right answer or a clear error, nothing else."""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest

from dkmd import compare
from dkmd.comparison import Comparison
from dkmd.sources import engines
from dkmd.sources.engines import EngineError

SIZE = 200_000
OPTIONS: Any = {"column": "v", "by": "k", "reference": 0, "current": 1, "scale": 500.0}


def numbers(size: int) -> pd.DataFrame:
    """The same in NumPy and in SQL."""
    at = np.arange(size, dtype=np.int64)
    return pd.DataFrame({"v": (at * 7919 % 10_007 + 30 * (at % 2)).astype(float), "k": at % 2})


def remote(engine: Any) -> tuple[Any, pd.DataFrame]:
    """A table, for Spark one that takes it some seconds to go through."""
    if engine.name != "spark":
        frame = numbers(SIZE)
        return engine.load(frame, "disturbed"), frame
    size = 10 * SIZE
    rows = engine.session.range(0, size, 1, 16)
    slow = "aggregate(sequence(1, 200), 0D, (a, i) -> a + sin(i * id)) * 0D"
    rows.selectExpr(
        f"CAST(id * 7919 % 10007 + 30 * (id % 2) AS DOUBLE) + {slow} AS v", "id % 2 AS k"
    ).createOrReplaceTempView("disturbed")
    return engine.backend.table("disturbed"), numbers(size)


def answer_or_error(table: Any) -> Comparison | EngineError:
    """What comes of a comparison."""
    try:
        found: Comparison = compare(table, **OPTIONS)
    except EngineError as error:
        return error
    return found


def test_a_fault_between_the_queries_gives_no_wrong_number(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, frame = remote(engine)
    query = engines.Scan._query

    def disturbed(scan: engines.Scan, *arguments: Any) -> None:
        engine.disturb()
        query(scan, *arguments)

    monkeypatch.setattr(engines.Scan, "_query", disturbed)
    found = answer_or_error(table)
    if isinstance(found, EngineError):
        assert engine.name != "spark", "Spark works lost tasks out again"
        assert len(str(found).splitlines()) == 1
        assert "s3cret" not in str(found)
    else:
        assert found.statistic == pytest.approx(compare(frame, **OPTIONS).statistic, abs=1e-6)
        assert found.reference.size + found.current.size == len(frame)
    if engine.name == "spark":
        assert engine.killed
    if engine.name == "postgres":  # whoever connects again is served again
        engine.backend = ibis.connect(engine.server.url.replace("postgresql", "postgres"))
        monkeypatch.undo()
        again = compare(engine.backend.table("disturbed"), **OPTIONS)
        assert again.statistic == pytest.approx(compare(frame, **OPTIONS).statistic, abs=1e-6)
