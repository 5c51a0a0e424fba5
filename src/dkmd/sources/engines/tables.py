"""Tables that live in an engine: DuckDB, PostgreSQL, Spark, anything that Ibis speaks to.

Two queries make a comparison: a random sample of some thousand rows, to fit a grid to, and one
aggregate per bin (``bins``). Nothing else of the data leaves the engine.
"""

from __future__ import annotations

import inspect
import math
import re
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import (
    TOO_FAR_APART,
    ColumnError,
    ColumnTypeError,
    EngineError,
    needs_packages,
)
from dkmd.base.secrets import gist
from dkmd.binned.grid import Grid
from dkmd.binned.logarithms import logs_near_zero, near_edge
from dkmd.binned.summary import Summary
from dkmd.inference.groups import GroupSums
from dkmd.inference.sides import Side, side_sums
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    DEEPEST,
    GROUP,
    ONE_PASS,
    SAMPLE,
    VALUE,
    Columns,
    Coordinates,
    group_moments,
    hides_sign,
    is_missing,
    logarithms,
    near_zero_of,
    per_bin,
    per_bin_of_columns,
    summary_of,
)
from dkmd.sources.memory.columns import (
    DURATION,
    NUMBER,
    OTHER,
    SHOWN,
    TEXT,
    TIME,
    level_order,
    no_such_column,
    no_such_level,
    parse_number,
    points_in_time,
)
from dkmd.sources.samples import Data, Streamed
from dkmd.statistic.witness import Witness

FIT_ROWS = 1 << 15
"""Rows of the sample that grids are fitted to."""

FIT_VALUES = 1 << 22
"""Values of such a sample of many columns."""

BATCH = 32
"""Columns whose aggregates share one query."""

MINIMA = 1_000
"""Columns whose smallest values share one; PostgreSQL returns 1,664 columns at most."""

PAGES = 0.01
"""The share of a table's pages that is looked at first; they must hold ENOUGH rows."""

ENOUGH = 1 << 12

FEW, MANY = 256, 16
"""With fewer rows of a level in a sample of all, or more other levels, some levels are chosen."""

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
        return {name: _array(found.column(name)) for name in found.column_names}

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
        return _columns(self._asked(lambda: self.backend.raw_sql(query).fetchnumpy()))

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
        return _columns(found)


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


def unused_name() -> str:
    """For a view in somebody else's connection."""
    return f"dkmd_{uuid.uuid4().hex}"


def reservoir(sql: str, rows: int) -> str:
    """DuckDB's sample of a query: the same rows every time."""
    return f"SELECT * FROM ({sql}) USING SAMPLE reservoir({rows:d} ROWS) REPEATABLE (1)"


def _array(column: Any) -> Any:
    """A column of Arrow: numbers as doubles with NaN for NULL, else Python's objects."""
    import pyarrow as pa

    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return np.array(
            [math.nan if v is None else float(v) for v in column.to_pylist()], dtype=np.float64
        )
    items = np.empty(len(column), dtype=object)
    items[:] = column.to_pylist()
    return items


def _columns(found: Mapping[str, Any]) -> Columns:
    """What DuckDB found, as ``_array`` has it."""
    return {name: _plain(np.ma.asarray(column)) for name, column in found.items()}


def _plain(column: Any) -> Any:
    """A column of DuckDB, masked where it is NULL."""
    if column.dtype.kind == "f":
        return np.asarray(np.ma.filled(column.astype(np.float64), math.nan))
    items = np.empty(column.size, dtype=object)
    items[:] = column.tolist()
    return items


class EngineTable:
    """A table of an engine: see ``Table``.

    Parameters
    ----------
    table : ibis.Table
        What to read from.
    name : str
        What errors call it.
    engine : Engine, optional
        What runs its queries; the table's own backend by default.
    rows : callable, optional
        Given names of columns, these of some rows only; all rows by default.
    """

    def __init__(
        self,
        table: Any,
        name: str,
        engine: Engine | None = None,
        rows: Callable[[Sequence[str]], Any] | None = None,
    ) -> None:
        self._table = table
        self.name = name
        self._engine = engine or IbisEngine(table.get_backend())
        self._rows = rows

    def filtered(self, where: Any) -> EngineTable:
        """The rows for which an expression holds."""
        return EngineTable(self._of(*self._table.columns).filter(where), self.name, self._engine)

    def _of(self, *columns: str | None) -> Any:
        """The table, or these columns of some of its rows."""
        names = list(dict.fromkeys(name for name in columns if name is not None))
        for name in names:
            self._column(self._table, name)
        return self._table if self._rows is None else self._rows(names)

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return {str(name): _kind(kind) for name, kind in self._table.schema().items()}

    def missing_at(self, column: str, where: tuple[str, object] | None = None) -> str:
        """Rows of an engine have no order."""
        return ""

    def require_readable(self) -> None:
        """An EngineError if nothing of it can be read any more, as where the connection is lost."""
        self._engine.run(self._table.limit(1).aggregate(rows=lambda some: some.count()))

    def values(self, column: str) -> Any:
        """A column as a table of its own, of doubles."""
        table = self._of(column)
        return table.select(**{VALUE: self._number(table, column)})

    def is_floating(self, column: str) -> bool:
        """Whether a column holds doubles; whole numbers and decimals have ties."""
        return bool(self._column(self._table, column).type().is_floating())

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""
        table = self._of(by)
        level = self._level(table, by)
        found = self._engine.run(table.select(level.name(SAMPLE)).distinct())
        levels = {str(value) for value in found[SAMPLE] if not _is_null(value)}
        return sorted(levels, key=level_order)

    def read(
        self, column: str, groups: str | None = None, where: tuple[str, object] | None = None
    ) -> Data:
        """A column, to be summed up in the engine."""
        if where is not None:
            return self.read_levels(column, where[0], [str(where[1])], groups)[str(where[1])]
        return self.read_columns([column], groups)[column]

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, Data]:
        """A column at some levels of another one: one sample and one aggregate for all of them."""
        source = self._of(column, by, groups)
        kind = self._level(source, by).type()
        texts: dict[str, str] = {}
        for level in levels:
            text = self._decimal_text(source, by, level) or _level_text(kind, level)
            # "1" and "01" are one level, which goes by one name
            if text is None or (text in texts.values() and level not in texts):
                raise self._no_such_level(by, level)
            texts[level] = text

        def everything(table: Any) -> Any:
            return self._long(table, column, groups, self._level(table, by))

        def at_levels(table: Any) -> Any:
            long = everything(table)
            wanted = [_literal(kind, text) for text in texts.values()]
            return long.filter(long[SAMPLE].isin(wanted))

        view = everything
        found = _by_sample(self._engine.sample(source, view, FIT_ROWS))
        seen = sum(rows[VALUE].size for rows in found.values())
        ours = [found[text][VALUE].size if text in found else 0 for text in texts.values()]
        # reading all levels is quicker than choosing some, unless these are few or others many
        few = 2 * sum(ours) < seen or min(ours) < FEW
        if seen >= ENOUGH and (few or len(found) > 2 * len(texts) + MANY):
            view = at_levels
            found = _by_sample(self._engine.sample(source, view, FIT_ROWS))
        previews = {level: _preview(found.get(text)) for level, text in texts.items()}
        names = {text: level for level, text in texts.items()}
        scan = Scan(self._engine, [(view(source), names)], previews, groups)
        scan.absent = partial(self._no_such_level, by)
        return scan.samples()

    def _decimal_text(self, table: Any, by: str, level: str) -> str | None:
        """How the engine writes the one decimal that a level is equal to; decimals go as text."""
        column = self._column(table, by)
        number = parse_number(level)
        if not column.type().is_decimal() or number is None or math.isnan(number):
            return None
        equal = table.filter(column.cast("float64") == number)
        found = self._engine.run(
            equal.select(self._level(equal, by).name(SAMPLE)).distinct().limit(2)
        )
        return str(found[SAMPLE][0]) if len(found[SAMPLE]) == 1 else None

    def _no_such_level(self, by: str, level: str) -> ValueError:
        """The error for a level that is not there, which shows the nearest in order."""
        import ibis

        table = self._of(by)
        key = self._level(table, by).name(SAMPLE)
        some = table.select(key).distinct().filter(lambda t: t[SAMPLE].notnull())
        value = _level_value(key.type(), level)
        below, above = some, None
        if value is not None:
            asked = _literal(key.type(), level)
            below, above = some.filter(some[SAMPLE] < asked), some.filter(some[SAMPLE] >= asked)
        found = list(self._engine.run(below.order_by(ibis.desc(SAMPLE)).limit(SHOWN + 1))[SAMPLE])
        if above is not None:
            found += list(self._engine.run(above.order_by(SAMPLE).limit(SHOWN + 1))[SAMPLE])
        return no_such_level(by, level, [str(each) for each in found if not _is_null(each)])

    def read_columns(self, columns: Sequence[str], groups: str | None = None) -> Mapping[str, Data]:
        """Several columns: one sample of all, and their aggregates in batches.

        One that cannot be read does not keep the others: it says why when it is used.
        """
        found = self._some_of_columns(columns)
        previews = {name: some for name, some in found.items() if not isinstance(some, Exception)}
        source = self._of(*columns, groups)
        tables = [
            (self._long(source, name, groups, f"c{i}"), {f"c{i}": name})
            for i, name in enumerate(previews)
        ]
        read: dict[str, Data] = {}
        if previews:
            wide = self._wide(source, [*previews])
            read = Scan(self._engine, tables, previews, groups, wide).samples()
        broken = {
            name: _unreadable(error)
            for name, error in found.items()
            if isinstance(error, Exception)
        }
        return {name: read[name] if name in read else broken[name] for name in columns}

    def _some_of_columns(self, columns: Sequence[str]) -> dict[str, Array | Exception]:
        """Some values of each column, or why there are none."""
        found: dict[str, Array | Exception] = {}
        for name in columns:
            try:
                self._number(self._table, name)
            except ColumnTypeError as error:
                found[name] = error
        readable = [name for name in columns if name not in found]
        try:
            found |= self._sampled(readable)
        except EngineError as error:
            if len(readable) == 1:
                raise
            for name in readable:
                try:
                    found |= self._sampled([name])
                except EngineError as of_one:
                    found[name] = of_one
            if all(isinstance(found[name], Exception) for name in readable):
                raise error  # not about a column
        return found

    def _sampled(self, columns: Sequence[str]) -> dict[str, Array | Exception]:
        """One sample of several columns; of one that no grid fits, the reason."""
        if not columns:
            return {}
        rows = max(1 << 10, min(FIT_ROWS, FIT_VALUES // len(columns)))
        some = self._engine.sample(self._of(*columns), lambda t: self._wide(t, columns), rows)
        found: dict[str, Array | Exception] = {}
        for i, name in enumerate(columns):
            values = _doubles(some[f"c{i}"])
            unfit = _no_grid(values)
            found[name] = values if unfit is None else unfit
        return found

    def _wide(self, table: Any, columns: Sequence[str]) -> Any:
        """Columns as doubles, called c0, c1 and so on."""
        return table.select(
            **{f"c{i}": self._number(table, name) for i, name in enumerate(columns)}
        )

    def _long(self, table: Any, column: str, groups: str | None, sample: Any) -> Any:
        """A column as a long table, with the sample that each value belongs to."""
        import ibis

        key = ibis.literal(sample) if isinstance(sample, str) else sample
        chosen = {SAMPLE: key, VALUE: self._number(table, column)}
        if groups is not None:
            chosen[GROUP] = self._column(table, groups)
        return table.select(**chosen)

    def _column(self, table: Any, name: str) -> Any:
        if name not in table.columns:
            raise no_such_column(self.name, name, table.columns)
        return table[name]

    def _number(self, table: Any, name: str) -> Any:
        """A column as a double."""
        column = self._column(table, name)
        where = f"{self.name}, column {name!r}"
        kind = _kind(column.type())
        if kind == TIME:
            raise points_in_time(where)
        if kind == DURATION:
            return _seconds(column, self._engine.dialect, where)
        if kind == TEXT:
            raise ColumnTypeError(f"{where} holds text: cast it to a number in the engine")
        if kind != NUMBER:
            raise ColumnTypeError(f"{where} holds values that are no numbers")
        whole = column.cast("int32") if column.type().is_boolean() else column
        return whole.cast("float64")

    def _level(self, table: Any, by: str) -> Any:
        """A column whose values tell samples apart, as text unless its values are plain."""
        column = self._column(table, by)
        return column if _is_plain(column.type()) else column.cast("string")


class Wanted(NamedTuple):
    """What is asked of a sample: its bins on a grid, or its logarithms' below an edge."""

    grid: Grid
    logs: float | None


class Scan:
    """Samples that are read together: each long table is one aggregate, in as few queries.

    Parameters
    ----------
    engine : Engine
        What runs the queries.
    tables : list of (table, samples)
        Long tables, and what the values of their column ``sample`` are called.
    previews : mapping
        Some values of each sample.
    groups : str or None
        The column of groups, which the long tables then have.
    wide : table, optional
        The values of all long tables as columns, each called like its one sample.
    """

    def __init__(
        self,
        engine: Engine,
        tables: Sequence[tuple[Any, Mapping[str, str]]],
        previews: Mapping[str, Array],
        groups: str | None,
        wide: Any = None,
    ) -> None:
        self._engine = engine
        self._wide = wide
        self._tables = tables
        self._previews = previews
        self._groups = groups
        self._home = {name: i for i, (_, names) in enumerate(tables) for name in names.values()}
        self._planned: dict[str, Grid] = {}
        self._found: dict[tuple[str, Grid, float | None], Summary | EngineError] = {}
        self._near: dict[tuple[str, Grid], Summary] = {}
        """The values near 0 of what was found on a grid, in bins that tell their logarithms."""
        self._lowests: dict[str, float] = {}
        self._by_group: dict[tuple[str, Witness, bool], GroupSums] = {}
        self.absent: Callable[[str], ValueError] | None = None
        """What is wrong where a sample has no row at all; None where that is no error."""

    def samples(self) -> dict[str, Data]:
        """Each sample as data to compare; nothing is summed up yet."""
        together = len(self._tables) == 1 and len(self._previews) > 2
        grid = Grid.fit(*self._previews.values()).rounded() if together else None
        return {name: self._sample(name, grid) for name in self._previews}

    def _sample(self, name: str, grid: Grid | None) -> Streamed:
        def summarize(grid: Grid, logs: float | None) -> Summary:
            return self.summary(name, grid, logs)

        def grouped(witness: Witness, logs: bool) -> GroupSums:
            return self.grouped(name, witness, logs)

        return Streamed(
            self._previews[name],
            summarize,
            grid,
            grouped if self._groups is not None else None,
            self,
        )

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Say beforehand on which grids samples will be asked for: then they share queries."""
        self._planned.update(grids)

    def summary(self, name: str, grid: Grid, logs: float | None) -> Summary:
        """Sums per bin of a sample, or of the logarithms of its values below an edge.

        Samples that share a query with it are kept.
        """
        near = None if logs is None else self._logs_near_zero(name, grid, logs)
        return self._read(name, grid, logs) if near is None else near

    def _read(self, name: str, grid: Grid, logs: float | None) -> Summary:
        if (name, grid, logs) not in self._found:
            self._ask(self._batch(name, Wanted(grid, logs)))
        found = self._found[name, grid, logs]
        if isinstance(found, EngineError):
            raise found
        return found

    def _batch(self, name: str, wanted: Wanted) -> dict[int, Wanted]:
        """The tables whose aggregates are found in one query with this one."""
        batch = {self._home[name]: wanted}
        if wanted.logs is not None or self._planned.get(name) != wanted.grid:
            return batch
        for other, grid in self._planned.items():
            if len(batch) >= BATCH:
                break
            if other not in self._home or self._home[other] in batch:
                continue
            if (other, grid, None) not in self._found:
                batch[self._home[other]] = Wanted(grid, None)
        return batch

    def _logs_near_zero(self, name: str, grid: Grid, below: float) -> Summary | None:
        """The logarithms below an edge by the bins near 0; None where these do not reach it.

        Only values nearer to 0 than such bins are read again.
        """
        for (known, of_grid), near in self._near.items():
            whole = self._found[known, of_grid, None]
            if known != name or not isinstance(whole, Summary) or below > near.grid.unit:
                continue
            offset, _, counts = whole.moments()
            expected = counts[of_grid.center + offset < below].sum()
            logs = logs_near_zero(near, grid, below)
            if logs.size < expected:
                logs.merge(self._read(name, grid, near.grid.unit * DEEPEST))
            if logs.size == expected:
                return logs
        return None

    def _ask(self, batch: Mapping[int, Wanted]) -> None:
        """One query for all; each alone if that fails, so that one does not keep the others."""
        try:
            self._query(batch)
        except EngineError:
            if len(batch) == 1:
                raise
            for at, wanted in batch.items():
                try:
                    self._query({at: wanted})
                except EngineError as error:
                    for name in self._tables[at][1].values():
                        self._found[name, wanted.grid, wanted.logs] = error

    def _query(self, batch: Mapping[int, Wanted]) -> None:
        import ibis

        dialect = self._engine.dialect
        near = {at: self._near_edge(at, wanted) for at, wanted in batch.items()}
        if self._wide is not None and len(batch) > 1 and dialect in ONE_PASS:
            grids = {f"c{at}": Coordinates.of(wanted.grid) for at, wanted in batch.items()}
            edges = {f"c{at}": edge for at, edge in near.items()}
            query = per_bin_of_columns(self._wide, grids, dialect, edges)
        else:
            parts = []
            for at, (grid, logs) in batch.items():
                table = self._tables[at][0]
                table = table if logs is None else logarithms(table, logs)
                parts.append(per_bin(table, Coordinates.of(grid), dialect, near=near[at]))
            query = ibis.union(*parts) if len(parts) > 1 else parts[0]
        rows = _by_sample(self._engine.run(query))
        for at, wanted in batch.items():
            for text, name in self._tables[at][1].items():
                if text not in rows and wanted.logs is None and self.absent is not None:
                    raise self.absent(name)
                self._keep(name, wanted, rows.get(text, NO_ROWS), near[at])

    def _near_edge(self, at: int, wanted: Wanted) -> float | None:
        """Below which edge the values of a table are binned by their logarithm, if at all.

        Only positive values have percentages, and a sample that shows others settles that.
        """
        seen = (self._smallest_seen(name) for name in self._tables[at][1].values())
        return near_edge(wanted.grid) if wanted.logs is None and min(seen) > 0.0 else None

    def _keep(self, name: str, wanted: Wanted, rows: Columns, near: float | None) -> None:
        """What a query found of one sample."""
        summary = summary_of(rows, wanted.grid)
        if wanted.logs is None and hides_sign(summary):
            smallest = self._smallest(name)
            exact = smallest > 0.0 or summary.minimum > smallest
            summary.minimum = smallest if exact else summary.minimum
        if near is not None:
            near_zero = near_zero_of(rows, near)
            summary.merge(near_zero.on(wanted.grid))
            self._near[name, wanted.grid] = near_zero
        self._found[name, wanted.grid, wanted.logs] = summary

    def _smallest(self, name: str) -> float:
        """A value that tells whether all are positive, where the bins leave that open."""
        known = self._smallest_seen(name)
        return known if known <= 0.0 else self._lowest(name)

    def _smallest_seen(self, name: str) -> float:
        seen = self._previews[name]
        seen = seen[np.isfinite(seen)]
        return float(seen.min()) if seen.size else math.inf

    def grouped(self, name: str, witness: Witness, logs: bool) -> GroupSums:
        """The sums over a sample's groups."""
        if (name, witness, logs) not in self._by_group:
            self._query_groups(self._home[name], witness, logs)
        return self._by_group[name, witness, logs]

    def _query_groups(self, at: int, witness: Witness, logs: bool) -> None:
        table, names = self._tables[at]
        kind = table[SAMPLE].type()
        pivots = {text: self._mean_psi(name, witness, logs) for text, name in names.items()}
        parts = [
            (_literal(kind, text), pivots[text], float(self._size(name)))
            for text, name in names.items()
        ]
        table = logarithms(table) if logs else table
        rows = _by_sample(self._engine.run(group_moments(table, witness, parts)))
        for text, name in names.items():
            if text not in rows:
                raise ValueError(f"{name} has no rows to compare")
            sums = {key: float(column[0]) for key, column in rows[text].items() if key != SAMPLE}
            if sums["n"] != self._size(name):
                raise EngineError("the data changed between two queries: ask again")
            if sums["unlabelled"]:
                raise ValueError(f"column {self._groups!r}: some group labels are missing")
            self._by_group[name, witness, logs] = _group_sums(sums, pivots[text])

    def _mean_psi(self, name: str, witness: Witness, logs: bool) -> float:
        """The mean of ψ by the bins: sums of what is left are small and lose no digits."""
        whole = math.inf if logs else None
        for (known, grid, edge), summary in self._found.items():
            if known == name and edge == whole and isinstance(summary, Summary) and summary.size:
                sums = side_sums(Side.of(summary), witness, witness.center - grid.center)
                return sums.mean / witness.length
        return 0.0

    def _size(self, name: str) -> int:
        """How many values the bins of a sample hold."""
        return next(
            summary.size
            for (known, _, edge), summary in self._found.items()
            if known == name and edge is None and isinstance(summary, Summary)
        )

    def _lowest(self, name: str) -> float:
        """The smallest value of a sample: a query that is made only where bins do not tell."""
        if name not in self._lowests:
            others = [n for n in self._planned if n in self._home and self._smallest_seen(n) > 0.0]
            asked = list(dict.fromkeys([name, *others]))[:MINIMA]
            try:
                self._lowests.update(self._query_lowest(asked))
            except EngineError:
                if len(asked) == 1:
                    raise
                self._lowests.update(self._query_lowest([name]))
        return self._lowests[name]

    def _query_lowest(self, names: Sequence[str]) -> dict[str, float]:
        """The smallest values of columns, or of all levels of one table."""
        if self._wide is not None:
            columns = {name: self._wide[f"c{self._home[name]}"] for name in names}
            minima = {
                column.get_name(): column.min(where=~is_missing(column))
                for column in columns.values()
            }
            found = self._engine.run(self._wide.aggregate(**minima))
            return {name: _or_inf(found[column.get_name()][0]) for name, column in columns.items()}
        table, texts = self._tables[0]
        table = table.filter(~is_missing(table[VALUE]))
        query = table.group_by(SAMPLE).aggregate(lowest=table[VALUE].min())
        rows = _by_sample(self._engine.run(query))
        return {
            name: _or_inf(rows[text]["lowest"][0]) if text in rows else math.inf
            for text, name in texts.items()
        }


def _or_inf(value: Any) -> float:
    """A minimum; of nothing it is infinite."""
    return math.inf if _is_null(value) else float(value)


def _unreadable(error: Exception) -> Streamed:
    """A side of a comparison that only says what is wrong with it."""

    def refuse(grid: Grid, logs: float | None) -> Summary:
        raise error

    return Streamed(np.empty(0), refuse)


def _no_grid(values: Array) -> ColumnError | None:
    """Why no grid fits some values: they lie too far apart for doubles."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            Grid.fit(values).rounded()
    except (ValueError, OverflowError):
        return ColumnError(TOO_FAR_APART)
    return None


NO_ROWS: Columns = {
    name: np.empty(0) for name in (BELOW, BIN, "count", "sum", "squares")
}  # fmt: skip


def _group_sums(row: Mapping[str, float], pivot: float) -> GroupSums:
    """The sums of ``group_moments`` for one sample."""
    return GroupSums(
        groups=int(row["groups"]),
        size=row["n"],
        psi=row["s"],
        squares=row["q"],
        sizes=row["nn"],
        left_out=(row["ss_rest"], row["sn_rest"], row["nn_rest"]),
        sums=(row["ss"], row["sn"], row["sss"]),
        mixed=(row["ssn"], row["snn"], row["nnn"]),
        pivot=pivot,
    )


def _is_stored(table: Any) -> bool:
    """Whether this is a table that the engine keeps, and not an expression."""
    from ibis.expr import operations

    return isinstance(table.op(), operations.DatabaseTable)


def _in_memory(table: Any) -> bool:
    """Whether data of this process take part, which the engine has to be given first."""
    from ibis.expr import operations

    return bool(table.op().find(operations.InMemoryTable))


def _by_sample(found: Columns) -> dict[str, Columns]:
    """Rows by the sample they belong to; those of none are left out."""
    at: dict[Any, list[int]] = {}
    for row, key in enumerate(found[SAMPLE].tolist()):
        at.setdefault(key, []).append(row)
    known = {str(key): rows for key, rows in at.items() if not _is_null(key)}
    return {key: {n: c[rows] for n, c in found.items()} for key, rows in known.items()}


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _preview(rows: Columns | None) -> Array:
    return np.empty(0) if rows is None else _doubles(rows[VALUE])


def _doubles(column: Any) -> Array:
    if column.dtype.kind == "f":
        return np.asarray(column, dtype=np.float64)
    return np.asarray([math.nan if v is None else float(v) for v in column], dtype=np.float64)


def _kind(dtype: Any) -> str:
    """What a column of this Ibis type holds."""
    if dtype.is_numeric() or dtype.is_boolean():
        return NUMBER
    if dtype.is_interval():
        return DURATION
    if dtype.is_temporal():
        return TIME
    return TEXT if dtype.is_string() else OTHER


def _is_plain(kind: Any) -> bool:
    """Types whose values are compared as they are."""
    return bool(kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_floating())


def _level_text(kind: Any, level: str) -> str | None:
    """How the engine's value for a level looks in Python; None where it cannot be one."""
    value = _level_value(kind, level)
    return None if value is None else str(value)


def _level_value(kind: Any, level: str) -> Any:
    """A level as a value of its column's type; None where that has no such value."""
    if kind.is_string():
        return level
    word = level.strip()
    number = parse_number(word)
    if kind.is_boolean():
        return None if number not in (0.0, 1.0) else number == 1.0
    if kind.is_integer():  # exactly: doubles do not tell 2^53 from 2^53 + 1
        whole = int(word) if re.fullmatch(r"[+-]?[0-9]{1,20}", word) else _whole(number)
        return whole if whole is not None and kind.bounds[0] <= whole <= kind.bounds[1] else None
    return None if number is None or math.isnan(number) else number


def _whole(number: float | None) -> int | None:
    """A double as the one whole number that it stands for; None where it stands for none."""
    if number is None or not number.is_integer() or abs(number) > 2.0**53:
        return None
    return int(number)


def _literal(kind: Any, text: str) -> Any:
    """A level as a literal of its column's type."""
    import ibis

    return ibis.literal(_level_value(kind, text), kind)


def _seconds(column: Any, dialect: str, where: str) -> Any:
    """A duration in seconds, by the engine's own function."""
    import ibis

    kind = column.type()
    if dialect == "duckdb":
        return _builtin("epoch", kind)(column)
    if dialect == "postgres":
        return _builtin("date_part", "string", kind)("epoch", column)
    if dialect == "pyspark":
        start = ibis.literal("1970-01-01 00:00:00").cast("timestamp('UTC')")
        micros = _builtin("unix_micros", start.type())
        return (micros(start + column) - micros(start)) / 1e6  # in whatever time zone
    raise ColumnTypeError(f"{where} holds durations: turn them into seconds in the engine")


def _builtin(name: str, *kinds: Any) -> Any:
    """A function that the engine has."""
    import ibis

    def function(*arguments: Any) -> Any: ...

    names = [f"a{i}" for i in range(len(kinds))]
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    )
    return ibis.udf.scalar.builtin(name=name, signature=(tuple(kinds), "float64"))(function)
