"""Spark: the engine of a session, and DataFrames as tables that Ibis can read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dkmd.base.secrets import gist
from dkmd.sources.engines.backends import IbisEngine, unused_name

SET_BY_IBIS = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")


class SparkEngine(IbisEngine):
    """The session of DataFrames, which are views of it only while a query is made."""

    def __init__(self, backend: Any, session: Any) -> None:
        super().__init__(backend)
        self._session = session
        self._frames: dict[str, Any] = {}

    def table(self, frame: Any) -> Any:
        """A DataFrame as a table."""
        name = unused_name()
        self._frames[name] = frame
        return self._asked(lambda: self.backend.table(name))

    def _asked(self, ask: Callable[[], Any]) -> Any:
        def with_views() -> Any:
            try:
                for name, frame in self._frames.items():
                    frame.createOrReplaceTempView(name)
                return ask()
            finally:
                for name in self._frames:
                    with suppress(Exception):  # a session that was lost has no views either
                        self._session.catalog.dropTempView(name)

        return super()._asked(with_views)


def spark_engine(session: Any) -> SparkEngine:
    """A session for Ibis, which sets its time zone to UTC and more: that is taken back.

    Points in time that are levels are then written as the session's other queries write them.
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
    """The columns of a DataFrame that Ibis knows the type of; durations as seconds."""
    from ibis.backends.pyspark.datatypes import PySparkType

    frame = _with_seconds(frame)
    known = []
    for field in frame.schema.fields:
        with suppress(Exception):  # of several kinds
            PySparkType.to_ibis(field.dataType)
            known.append(_spark_column(field.name))
    return frame.select(*known) if len(known) < len(frame.schema.fields) else frame


def _spark_column(name: str) -> Any:
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def _with_seconds(frame: Any) -> Any:
    """Durations as seconds: Ibis knows no columns of Spark's intervals."""
    from pyspark.sql import functions
    from pyspark.sql.types import DayTimeIntervalType

    start = functions.timestamp_micros(functions.lit(0))
    for field in frame.schema.fields:
        if isinstance(field.dataType, DayTimeIntervalType):
            seconds = functions.unix_micros(start + _spark_column(field.name)) / functions.lit(1e6)
            frame = frame.withColumn(field.name, seconds)
    return frame
