"""Engines that run queries: an Ibis backend, or a relation of DuckDB with its own connection.

An engine runs an Ibis expression and draws a random sample of a table. Its errors become
``EngineError``.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dkmd.base.errors import (
    EngineError,
    needs_packages,
)
from dkmd.base.secrets import gist
from dkmd.sources.engines.fetched import Columns, from_arrow, from_duckdb

PAGES = 0.01
"""The share of a table's pages that is looked at first; they must hold ENOUGH rows."""

ENOUGH = 1 << 12

View = Callable[[Any], Any]
"""What is wanted of a table."""


class Engine(Protocol):
    """What runs expressions."""

    dialect: str

    def run(self, expression: Any) -> Columns:
        """What a query finds, by column."""

    def sample(self, table: Any, view: View, rows: int) -> Columns:
        """So many rows of a view of a table, chosen at random."""


class IbisEngine:
    """The backend of an Ibis table."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.dialect = str(backend.name)

    def run(self, expression: Any) -> Columns:
        """Through Arrow, which every backend gives."""
        if self.dialect == "postgres" and not _in_memory(expression):
            fetched: Columns = self._asked(lambda: self._fetched(expression))
            return fetched
        found = self._asked(lambda: self.backend.to_pyarrow(expression))
        return {name: from_arrow(found.column(name)) for name in found.column_names}

    def _fetched(self, expression: Any) -> Columns:
        """The same without a cursor in the server: PostgreSQL has no parallel plans for one."""
        with closing(self.backend.raw_sql(self.backend.compile(expression))) as cursor:
            names = [column.name for column in cursor.description]
            rows = cursor.fetchall()
        columns = np.empty((len(names), len(rows)), dtype=object)
        for at, row in enumerate(rows):
            columns[:, at] = row
        return dict(zip(names, columns, strict=True))

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """What the engine answers; each has errors of its own, and they become one kind."""
        try:
            with warnings.catch_warnings():  # Ibis uses what DuckDB and pandas will not have
                warnings.simplefilter("ignore", DeprecationWarning)
                warnings.simplefilter("ignore", FutureWarning)
                return ask()
        except ImportError as error:
            raise needs_packages(self.dialect, error, f"ibis-framework[{self.dialect}]") from error
        except Exception as error:
            raise EngineError(f"{self.dialect}: {gist(error)}") from error

    def batches(self, expression: Any, rows: int) -> Iterator[Columns]:
        """What a query finds, so many rows at a time."""
        batches = self._asked(lambda: self.backend.to_pyarrow_batches(expression, chunk_size=rows))
        while True:
            batch = self._asked(lambda: next(batches, None))
            if batch is None:
                return
            yield {name: batch.column(name).to_numpy(False) for name in batch.schema.names}

    def sample(self, table: Any, view: View, rows: int) -> Columns:
        """DuckDB has a reservoir, and can look at some pages only, as PostgreSQL; else by order."""
        import ibis

        if self.dialect == "duckdb" and not _in_memory(table):
            share = 2.0 * rows / max(1, self._rows_kept(table))
            if share < PAGES:
                pages = table.sample(share, method="block", seed=1)
                found = self._from_reservoir(view(pages), rows)
                if next(iter(found.values())).size >= ENOUGH:
                    return found
            return self._from_reservoir(view(table), rows)
        if self.dialect == "postgres" and _is_stored(table):
            pages = view(table.sample(PAGES, method="block"))
            with suppress(EngineError):  # a view has no pages
                found = self.run(pages.order_by(ibis.random()).limit(rows))
                if next(iter(found.values())).size >= ENOUGH:
                    return found
        return self.run(view(table).order_by(ibis.random()).limit(rows))

    def _from_reservoir(self, view: Any, rows: int) -> Columns:
        """DuckDB's sample of a view."""
        import ibis

        query = reservoir(ibis.to_sql(view, dialect="duckdb"), rows)
        return from_duckdb(self._asked(lambda: self.backend.raw_sql(query).fetchnumpy()))

    def _rows_kept(self, table: Any) -> int:
        """How many rows a table has that DuckDB keeps, by its catalogue; 0 for all else."""
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
    """A relation of DuckDB, which brings its own connection."""

    dialect = "duckdb"

    def __init__(self, relation: Any, part: Any = None) -> None:
        self._relation = relation
        self._part = part
        """Some rows of it from all over, which are quicker to read than a sample is to draw."""
        self._view = unused_name()

    @cached_property
    def table(self) -> Any:
        """The relation as a table without a backend."""
        import ibis
        from ibis.backends.sql.datatypes import DuckDBType

        names, types = self._relation.columns, self._relation.types
        schema = {
            str(name): DuckDBType.from_string(str(kind))
            for name, kind in zip(names, types, strict=True)
        }
        return ibis.table(schema, name=self._view)

    def run(self, expression: Any) -> Columns:
        """As SQL, on the relation's own connection."""
        import ibis

        return self._fetch(ibis.to_sql(expression, dialect="duckdb"))

    def sample(self, table: Any, view: View, rows: int) -> Columns:
        """The part that is known, or DuckDB's reservoir where that has too few rows."""
        import ibis

        sql = ibis.to_sql(view(table), dialect="duckdb")
        if self._part is not None:
            found = self._fetch(sql, self._part)
            if next(iter(found.values())).size >= ENOUGH:
                return found
        return self._fetch(reservoir(sql, rows))

    def _fetch(self, sql: str, relation: Any = None) -> Columns:
        """What a query finds; its view of the relation is gone from the connection afterwards."""
        import duckdb

        source = self._relation if relation is None else relation
        try:
            found = source.query(self._view, sql).fetchnumpy()
        except duckdb.Error as error:
            raise EngineError(gist(error)) from None
        except RuntimeError as error:
            if "interrupted" in str(error):  # DuckDB's word for Ctrl-C
                raise KeyboardInterrupt from None
            raise
        finally:
            with suppress(duckdb.Error, RuntimeError):  # a connection that was lost
                source.query(self._view, f'DROP VIEW "{self._view}"')
        return from_duckdb(found)


def unused_name() -> str:
    """For a view in somebody else's connection."""
    return f"dkmd_{uuid.uuid4().hex}"


def reservoir(sql: str, rows: int) -> str:
    """DuckDB's sample of a query: the same rows every time."""
    return f"SELECT * FROM ({sql}) USING SAMPLE reservoir({rows:d} ROWS) REPEATABLE (1)"


def _is_stored(table: Any) -> bool:
    """Whether this is a table that the engine keeps, and not an expression."""
    from ibis.expr import operations

    return isinstance(table.op(), operations.DatabaseTable)


def _in_memory(table: Any) -> bool:
    """Whether data of this process take part, which the engine has to be given first."""
    from ibis.expr import operations

    return bool(table.op().find(operations.InMemoryTable))
