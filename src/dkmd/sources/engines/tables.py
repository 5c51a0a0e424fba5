"""Tables of an engine, whose data stay there: DuckDB, PostgreSQL, Spark, whatever Ibis speaks to.

A comparison takes two queries: a random sample of some thousand rows, to fit a grid to, and one
aggregate per bin (``aggregate``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import (
    TOO_FAR_APART,
    ColumnError,
    ColumnTypeError,
    EngineError,
)
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.sources.column_data import Data, Streamed
from dkmd.sources.engines.aggregate import (
    GROUP,
    SAMPLE,
    VALUE,
)
from dkmd.sources.engines.backends import ENOUGH, Engine, IbisEngine
from dkmd.sources.engines.column_types import (
    in_seconds,
    is_plain,
    kind_of_type,
    level_literal,
    level_text,
)
from dkmd.sources.engines.fetched import Columns, by_sample, doubles, is_null
from dkmd.sources.engines.scan import Scan
from dkmd.sources.kinds import DURATION, NUMBER, TEXT, TIME, no_such_column, points_in_time
from dkmd.sources.number_words import level_order

FIT_ROWS = 1 << 15
"""Rows of the sample that grids are fitted to."""

FIT_VALUES = 1 << 22
"""Values of such a sample of many columns."""

FEW, MANY = 256, 16
"""With fewer rows of a level in a sample of all, or more other levels, some levels are chosen."""

SHOWN = 20
"""Levels that an error shows."""


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
        return {str(name): kind_of_type(kind) for name, kind in self._table.schema().items()}

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
        levels = {str(value) for value in found[SAMPLE] if not is_null(value)}
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
            text = level_text(kind, level)
            # "1" and "01" are one level, which goes by one name
            if text is None or (text in texts.values() and level not in texts):
                raise self._no_such_level(by, level)
            texts[level] = text

        def everything(table: Any) -> Any:
            return self._long(table, column, groups, self._level(table, by))

        def at_levels(table: Any) -> Any:
            long = everything(table)
            wanted = [level_literal(kind, text) for text in texts.values()]
            return long.filter(long[SAMPLE].isin(wanted))

        view = everything
        found = by_sample(self._engine.sample(source, view, FIT_ROWS))
        seen = sum(rows[VALUE].size for rows in found.values())
        ours = [found[text][VALUE].size if text in found else 0 for text in texts.values()]
        # reading all levels is quicker than choosing some, unless these are few or others many
        few = 2 * sum(ours) < seen or min(ours) < FEW
        if seen >= ENOUGH and (few or len(found) > 2 * len(texts) + MANY):
            view = at_levels
            found = by_sample(self._engine.sample(source, view, FIT_ROWS))
        previews = {level: _preview(found.get(text)) for level, text in texts.items()}
        names = {text: level for level, text in texts.items()}
        scan = Scan(self._engine, [(view(source), names)], previews, groups)
        scan.absent = partial(self._no_such_level, by)
        return scan.samples()

    def _no_such_level(self, by: str, level: str) -> ValueError:
        """The error for a level that is not there, which shows some that are."""
        table = self._of(by)
        key = self._level(table, by).name(SAMPLE)
        some = table.select(key).distinct().filter(lambda t: t[SAMPLE].notnull())
        found = self._engine.run(some.order_by(SAMPLE).limit(SHOWN))
        there = [str(value) for value in found[SAMPLE] if not is_null(value)]
        shown = ", ".join(map(repr, sorted(there, key=level_order)))
        return ValueError(f"column {by!r} has no level {level!r}: it has {shown or 'none'}")

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
            values = doubles(some[f"c{i}"])
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
        kind = kind_of_type(column.type())
        if kind == TIME:
            raise points_in_time(where)
        if kind == DURATION:
            return in_seconds(column, self._engine.dialect, where)
        if kind == TEXT:
            raise ColumnTypeError(f"{where} holds text: cast it to a number in the engine")
        if kind != NUMBER:
            raise ColumnTypeError(f"{where} holds values that are no numbers")
        whole = column.cast("int32") if column.type().is_boolean() else column
        return whole.cast("float64")

    def _level(self, table: Any, by: str) -> Any:
        """A column whose values tell samples apart, as text unless its values are plain."""
        column = self._column(table, by)
        return column if is_plain(column.type()) else column.cast("string")


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


def _preview(rows: Columns | None) -> Array:
    return np.empty(0) if rows is None else doubles(rows[VALUE])
