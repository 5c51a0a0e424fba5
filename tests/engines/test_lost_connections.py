"""A connection or a file that is lost in the middle of a drift is an error."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from shell import here

from dkmd import drift
from dkmd.base.errors import EngineError
from dkmd.sources.engines.backends import IbisEngine


def _frame() -> pd.DataFrame:
    values = np.random.default_rng(4).normal(size=(300, 3))
    return pd.DataFrame(values, columns=["a", "b", "c"])


def test_a_lost_connection_exits_with_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer a given number of queries, then fail as if the server had been stopped."""
    database = tmp_path / "x.duckdb"
    with duckdb.connect(database) as connection:
        frame = _frame()
        connection.register("frame", frame)
        connection.sql("CREATE TABLE t AS SELECT exp(a) AS a, exp(b) AS b, 1 AS c FROM frame")
    asked = IbisEngine._asked
    queries: list[int] = []
    answered = [math.inf]

    def counted(self: IbisEngine, ask: Any) -> Any:
        queries.append(1)
        if len(queries) > answered[0]:
            raise EngineError("server closed the connection unexpectedly")
        return asked(self, ask)

    monkeypatch.setattr(IbisEngine, "_asked", counted)
    words = ("drift", "--connect", f"duckdb://{database}", "--table", "t", "--table", "t")
    document = json.loads(here(*words, "--json").stdout)
    assert sorted(each["key"] for each in document["comparisons"]) == ["a", "b"]
    assert [*document["skipped"]] == ["c"]  # a constant
    for answered[0] in range(len(queries)):
        queries.clear()
        message = here(*words, code=2).stderr
        assert message == "dkmd: server closed the connection unexpectedly\n"


def test_a_large_file_that_goes_away_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dkmd.sources.files.table.LARGE", 100)
    path = tmp_path / "large.parquet"
    _frame().to_parquet(path)

    def remove(_column: str, done: int, _total: int) -> None:
        if done == 1:
            path.unlink()

    with pytest.raises((ValueError, OSError), match=r"large\.parquet"):
        drift(path, path, advance=remove)
