"""Spark: the engine of a session, and DataFrames as tables that Ibis can read.

Ibis changes settings of the session and needs views; both are undone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dkmd.base.secrets import gist
from dkmd.sources.engines.backends import IbisEngine, T, unused_name
from dkmd.sources.sql_text import quoted_name

SET_BY_IBIS = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")
"""Settings of a session that Ibis changes."""


class SparkEngine(IbisEngine):
    """A session of Spark. Its DataFrames are temporary views only while a query runs."""

    def __init__(self, backend: Any, session: Any) -> None:
        super().__init__(backend)
        self._session = session
        self._frames: dict[str, Any] = {}

    def table(self, frame: Any) -> Any:
        """A DataFrame as a table."""
        name = unused_name()
        self._frames[name] = frame
        return self._asked(lambda: self.backend.table(name))

    def _asked(self, ask: Callable[[], T]) -> T:
        def with_views() -> T:
            try:
                for name, frame in self._frames.items():
                    frame.createOrReplaceTempView(name)
                return ask()
            finally:
                for name in self._frames:
                    with suppress(Exception):  # a lost session has no views
                        self._session.catalog.dropTempView(name)

        return super()._asked(with_views)


def spark_engine(session: Any) -> SparkEngine:
    """The engine of a session, with the settings that Ibis changes put back.

    Ibis sets the time zone to UTC. With the user's own time zone, levels that are points in time
    look as in the user's other queries.
    """
    before = {name: session.conf.get(name, None) for name in SET_BY_IBIS}
    try:
        import ibis

        return SparkEngine(ibis.pyspark.connect(session), session)
    except ImportError as error:
        raise ImportError(f"{gist(error)}: pip install 'dkmd[spark]'") from None
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            elif value != session.conf.get(name, None):
                session.conf.set(name, value)


def readable_columns(frame: Any) -> Any:
    """The columns of a DataFrame whose types Ibis knows; durations become seconds."""
    from ibis.backends.pyspark.datatypes import PySparkType

    frame = _with_seconds(frame)
    known = []
    for field in frame.schema.fields:
        with suppress(Exception):  # Ibis raises errors of several kinds
            PySparkType.to_ibis(field.dataType)
            known.append(_spark_column(field.name))
    return frame.select(*known) if len(known) < len(frame.schema.fields) else frame


def _spark_column(name: str) -> Any:
    from pyspark.sql import functions

    return functions.col(quoted_name(name, "`"))


def _with_seconds(frame: Any) -> Any:
    """A DataFrame with durations as seconds: Ibis cannot read Spark's intervals."""
    from pyspark.sql import functions
    from pyspark.sql.types import DayTimeIntervalType

    start = functions.timestamp_micros(functions.lit(0))
    for field in frame.schema.fields:
        if isinstance(field.dataType, DayTimeIntervalType):
            seconds = functions.unix_micros(start + _spark_column(field.name)) / functions.lit(1e6)
            frame = frame.withColumn(field.name, seconds)
    return frame
