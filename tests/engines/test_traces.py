"""Nothing is left behind in a user's connection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dkmd import compare, drift

OPTIONS: Any = {"column": "v", "by": "k", "reference": 0, "current": 1}


@pytest.fixture
def frame(rng: np.random.Generator) -> pd.DataFrame:
    """Two levels."""
    return pd.DataFrame({"v": rng.exponential(size=4_000), "k": np.arange(4_000) % 2})


def test_a_relation_leaves_no_view(frame: pd.DataFrame) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.register("frame", frame)
    relation = connection.sql("SELECT * FROM frame")
    views = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
    before = connection.execute(views).fetchall()
    answer = compare(relation, **OPTIONS)
    drift(relation, relation)
    with pytest.raises(ValueError, match="nothing"):
        compare(relation, **(OPTIONS | {"column": "nothing"}))
    broken = connection.sql("SELECT CAST(CAST(v AS VARCHAR) || 'x' AS INTEGER) AS v, k FROM frame")
    with pytest.raises(ValueError, match="Could not convert"):
        compare(broken, **OPTIONS)
    assert connection.execute(views).fetchall() == before
    assert answer.reference.size == 2_000
    connection.close()
