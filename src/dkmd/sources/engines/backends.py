"""Engines that run queries: an Ibis backend, or a relation of DuckDB with its own connection.

An engine runs an Ibis expression and draws a random sample of a table. Its errors become
``EngineError``.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from dkmd.base.errors import (
    EngineError,
    needs_packages,
)
from dkmd.base.quiet import ignore_deprecations_in
from dkmd.base.secrets import gist
from dkmd.sources.engines.duckdb_errors import duckdb_errors
from dkmd.sources.engines.fetched import Columns, from_arrow, from_duckdb
from dkmd.sources.sql_text import quoted_name

PAGES = 0.01
"""The share of a table's pages that is sampled first."""

ENOUGH = 1 << 12
"""Rows that a cheap sample needs; with fewer rows the whole table is sampled."""

View = Callable[[Any], Any]
"""Turns a table into the table that is wanted: chosen columns and rows."""

IBIS = re.compile(r"(ibis|pyspark)\.")
"""Modules that call deprecated functions of DuckDB and pandas."""

T = TypeVar("T")


class Engine(Protocol):
    """Runs Ibis expressions."""

    dialect: str

    def run(self, expression: Any) -> Columns:
        """The result of a query, by column."""

    def sample(self, table: Any, view: View, rows: int) -> Columns:
        """Some rows of a view of a table, chosen at random."""


class IbisEngine:
    """An Ibis backend: DuckDB, PostgreSQL, Spark and others."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.dialect = str(backend.name)

    def run(self, expression: Any) -> Columns:
        """The result through Arrow, which every backend supports."""
        if self.dialect == "postgres" and not _in_memory(expression):
            return self._asked(lambda: self._fetched(expression))
        found = self._asked(lambda: self.backend.to_pyarrow(expression))
        return {name: from_arrow(found.column(name)) for name in found.column_names}

    def _fetched(self, expression: Any) -> Columns:
        """The result without a server-side cursor, for which PostgreSQL has no parallel plans.

        The query has a transaction of its own, which is read-only on connections of ``connect``.
        ``stream`` makes the server reject a second statement, which could end the transaction.
        """
        names = expression.as_table().columns
        with self.backend.begin() as cursor:
            rows = list(cursor.stream(self.backend.compile(expression)))
        columns = np.empty((len(names), len(rows)), dtype=object)
        for at, row in enumerate(rows):
            columns[:, at] = row
        return dict(zip(names, columns, strict=True))

    def _asked(self, ask: Callable[[], T]) -> T:
        """The engine's answer. Every engine has its own errors; all become EngineError."""
        try:
            ignore_deprecations_in(IBIS)
            return ask()
        except ImportError as error:
            raise needs_packages(self.dialect, error, f"ibis-framework[{self.dialect}]") from error
        except Exception as error:
            raise EngineError(f"{self.dialect}: {gist(error)}") from error

    def sample(self, table: Any, view: View, rows: int) -> Columns:
        """A random sample: of some pages where that is enough, else of the whole table.

        DuckDB and PostgreSQL can sample pages. DuckDB has a reservoir; other engines sort by random
        numbers.
        """
        import ibis

        if self.dialect == "duckdb" and not _in_memory(table):
            share = 2.0 * rows / max(1, self._rows_kept(table))
            if share < PAGES:
                pages = table.sample(share, method="block", seed=1)
                found = self._from_reservoir(view(pages), rows)
                if _is_enough(found):
                    return found
            return self._from_reservoir(view(table), rows)
        if self.dialect == "postgres" and _is_stored(table):
            pages = view(table.sample(PAGES, method="block"))
            with suppress(EngineError):  # views have no pages
                found = self.run(pages.order_by(ibis.random()).limit(rows))
                if _is_enough(found):
                    return found
        return self.run(view(table).order_by(ibis.random()).limit(rows))

    def _from_reservoir(self, view: Any, rows: int) -> Columns:
        """DuckDB's reservoir sample of a view."""
        import ibis

        query = reservoir(ibis.to_sql(view, dialect="duckdb"), rows)
        return from_duckdb(self._asked(lambda: self.backend.raw_sql(query).fetchnumpy()))

    def _rows_kept(self, table: Any) -> int:
        """The number of rows of a stored table, by DuckDB's catalogue; 0 for other tables."""
        if not _is_stored(table):
            return 0
        from sqlglot import exp

        operation = table.op()
        known = {"table_name": operation.name}
        place = operation.namespace
        known |= {"schema_name": place.database} if place.database else {}
        known |= {"database_name": place.catalog} if place.catalog else {}
        query = exp.select(exp.func("min", exp.column("estimated_size"))).from_("duckdb_tables()")
        for name, value in known.items():
            query = query.where(exp.column(name).eq(value))
        sql = query.sql(dialect="duckdb")
        found = self._asked(lambda: self.backend.raw_sql(sql).fetchone())
        return int(found[0] or 0)


class RelationEngine:
    """A relation of DuckDB, with its own connection.

    Parameters
    ----------
    relation : DuckDBPyRelation
        The relation to query.
    part : DuckDBPyRelation, optional
        Some rows from all over the relation, if reading them is quicker than drawing a sample.
    """

    dialect = "duckdb"

    def __init__(self, relation: Any, part: Any = None) -> None:
        self._relation = relation
        self._part = part
        self._view = unused_name()

    @cached_property
    def table(self) -> Any:
        """The relation as an Ibis table without a backend."""
        import ibis
        from ibis.backends.sql.datatypes import DuckDBType

        names, types = self._relation.columns, self._relation.types
        schema = {
            str(name): DuckDBType.from_string(str(kind))
            for name, kind in zip(names, types, strict=True)
        }
        return ibis.table(schema, name=self._view)

    def run(self, expression: Any) -> Columns:
        """The result of the expression's SQL, on the relation's connection."""
        import ibis

        return self._fetch(ibis.to_sql(expression, dialect="duckdb"))

    def sample(self, table: Any, view: View, rows: int) -> Columns:
        """The known part, or a reservoir sample if the part has too few rows."""
        import ibis

        sql = ibis.to_sql(view(table), dialect="duckdb")
        if self._part is not None:
            found = self._fetch(sql, self._part)
            if _is_enough(found):
                return found
        return self._fetch(reservoir(sql, rows))

    def _fetch(self, sql: str, relation: Any = None) -> Columns:
        """The result of a query; its view is removed from the connection afterwards."""
        import duckdb

        source = self._relation if relation is None else relation
        try:
            with duckdb_errors(EngineError):
                return from_duckdb(source.query(self._view, sql).fetchnumpy())
        finally:
            with suppress(duckdb.Error, RuntimeError):  # the connection may be lost
                source.query(self._view, f"DROP VIEW {quoted_name(self._view)}")


def _is_enough(found: Columns) -> bool:
    """Whether a sample has enough rows to fit a grid."""
    return next(iter(found.values())).size >= ENOUGH


def unused_name() -> str:
    """A name for a view in the user's connection."""
    return f"dkmd_{uuid.uuid4().hex}"


def reservoir(sql: str, rows: int) -> str:
    """SQL of DuckDB's reservoir sample of a query: the same rows every time."""
    return f"SELECT * FROM ({sql}) USING SAMPLE reservoir({rows:d} ROWS) REPEATABLE (1)"


def _is_stored(table: Any) -> bool:
    """Whether this is a stored table of the engine, and not an expression."""
    from ibis.expr import operations

    return isinstance(table.op(), operations.DatabaseTable)


def _in_memory(table: Any) -> bool:
    """Whether an expression uses data of this process, which Ibis must hand to the engine."""
    from ibis.expr import operations

    return bool(table.op().find(operations.InMemoryTable))
