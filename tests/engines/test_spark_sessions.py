"""A user's Spark session keeps its settings and views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dkmd import compare, drift

pytestmark = pytest.mark.parametrize("engine", ["spark"], indirect=True)

OPTIONS: Any = {"column": "v", "by": "k", "reference": 0, "current": 1}


@pytest.fixture
def frame(rng: np.random.Generator) -> pd.DataFrame:
    """Two levels."""
    return pd.DataFrame({"v": rng.exponential(size=4_000), "k": np.arange(4_000) % 2})


@pytest.fixture
def berlin(engine: Any) -> Iterator[Any]:
    """A session in another time zone, with a setting of the user."""
    session = engine.session
    settings = {
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    }
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    yield session
    assert {name: session.conf.get(name) for name in settings} == settings
    for name, value in before.items():
        session.conf.set(name, value)


def _views(session: Any) -> list[str]:
    return sorted(table.name for table in session.catalog.listTables() if table.isTemporary)


def test_a_session_of_spark_stays_as_it_was(berlin: Any, frame: pd.DataFrame) -> None:
    spark = berlin.createDataFrame(frame)
    before = _views(berlin)
    kept = [compare(spark, **OPTIONS), drift(spark, spark)]
    assert _views(berlin) == before
    assert len(kept) == 2


def test_points_in_time_are_levels_as_the_session_writes_them(berlin: Any) -> None:
    """Hours of the day in Berlin: 12:00 there is not 12:00 in UTC."""
    table = berlin.sql(
        "SELECT id % 100 + 10 * (id % 3) AS v, "
        "timestamp_seconds(1767265200 + 3600 * (id % 3)) AS hour, "
        "parse_json('{}') AS variant, make_ym_interval(1, 2) AS months, "
        "make_dt_interval(0, 0, 0, 1.5) AS wait FROM range(3000)"
    )
    written = table.selectExpr("CAST(hour AS STRING)").distinct().collect()
    hours = sorted(str(row[0]) for row in written)
    assert hours[0] == "2026-01-01 12:00:00"
    options: Any = {"column": "v", "by": "hour", "reference": hours[0], "scale": 10.0}
    # id % 3 is 0 at 12:00 and 1 at 13:00
    assert compare(table, **options, current=hours[1]).shift == pytest.approx(10.0, abs=2.0)
    assert compare(table, **options, current=hours[2]).shift == pytest.approx(20.0, abs=2.0)
    with pytest.raises(ValueError, match="no level '2026-01-01 11:00:00'"):
        compare(table, **options, current="2026-01-01 11:00:00")
    with pytest.raises(ValueError, match="has no column 'variant'"):
        compare(table, **(options | {"column": "variant"}), current=hours[1])
    assert compare(table, **(options | {"column": "wait"}), current=hours[1]).current.size == 1_000
