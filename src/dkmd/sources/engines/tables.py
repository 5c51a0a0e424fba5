"""Tables of an engine: DuckDB, PostgreSQL, Spark and every other backend of Ibis.

A comparison needs two queries: a random sample of some thousand rows, to fit a grid to, and the
aggregate per bin. All other data stay in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dkmd.base.arrays import Array
from dkmd.base.errors import EngineError
from dkmd.sources.column_data import (
    ColumnData,
    StreamedColumn,
    Summarize,
    offset_near,
    unreadable,
)
from dkmd.sources.engines.aggregate import (
    COUNTS,
    GROUP,
    SAMPLE,
    VALUE,
    WEIGHTS,
    has_no_label,
)
from dkmd.sources.engines.backends import ENOUGH, Engine, IbisEngine
from dkmd.sources.engines.column_types import (
    as_number,
    is_plain,
    kind_of_type,
    level_literal,
    level_text,
    may_be_rounded,
)
from dkmd.sources.engines.fetched import by_sample, doubles, is_null
from dkmd.sources.engines.level_queries import (
    LEVEL,
    as_text,
    chosen_levels,
    decimal_text,
    key_of_texts,
    most_frequent,
    nearest_levels,
    one_below_the_other,
)
from dkmd.sources.engines.previews import no_grid, preview_of, some_of_columns
from dkmd.sources.engines.rounded import refuse_rounded, refusing_rounded
from dkmd.sources.engines.scan import COLUMNS_PER_QUERY, Scan
from dkmd.sources.engines.stored_rows import EngineRows
from dkmd.sources.keys import KEY, KeyPart
from dkmd.sources.kinds import (
    DATE,
    NUMBER,
    no_such_column,
    unlabelled,
)
from dkmd.sources.level_counts import NO_LEVELS, LevelCounts, Recount, from_rows, level_words
from dkmd.sources.number_words import level_order, no_such_level
from dkmd.sources.table import AtLevel, DesignColumns, OneByOne

FIT_ROWS, FIT_VALUES = 1 << 15, 1 << 22
"""Rows of the sample that grids are fitted to, and its values if it has many columns."""

FEW, MANY = 256, 16
"""Rows of other levels are filtered out if a level has fewer than FEW rows in the sample, or if
there are more than MANY other levels beyond twice the number asked for."""


class EngineTable:
    """A table of an engine as a Table.

    Parameters
    ----------
    table : ibis.Table
        The table to read.
    name : str
        The name that errors show.
    engine : Engine, optional
        Runs the queries; the table's own backend by default.
    rows : callable, optional
        Turns names of columns into a table of these columns with the chosen rows; all rows by
        default.
    absent_levels : bool
        Whether a level without rows is empty. By default it is an error.
    """

    parses_text = False
    left_out = ""

    def __init__(
        self,
        table: Any,
        name: str,
        engine: Engine | None = None,
        rows: Callable[[Sequence[str]], Any] | None = None,
        absent_levels: bool = False,
    ) -> None:
        self._table = table
        self.name = name
        self._engine = engine or IbisEngine(table.get_backend())
        self._rows = rows
        self._absent_levels = absent_levels
        self._offsets: dict[str, int] = {}  # subtracted from columns before they become doubles

    def filtered(self, where: Any) -> EngineTable:
        """The rows for which an expression is true."""
        return EngineTable(self._of(*self._table.columns).filter(where), self.name, self._engine)

    def labelled(self, groups: str) -> EngineTable:
        """The rows that have a label in a column, with a note on the others."""
        if groups not in self._table.columns:
            return self
        missing = self._of(groups).filter(lambda some: has_no_label(some[groups]))
        rows = int(self._engine.run(missing.aggregate(rows=lambda some: some.count()))["rows"][0])
        if not rows:
            return self
        other = self.filtered(lambda some: ~has_no_label(some[groups]))
        other.left_out = unlabelled(self.name, groups, rows)
        return other

    def _of(self, *columns: str | None) -> Any:
        """The table, or these columns of the chosen rows."""
        names = list(dict.fromkeys(name for name in columns if name is not None))
        for name in names:
            self._column(self._table, name)
        return self._table if self._rows is None else self._rows(names)

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return {str(name): kind_of_type(kind) for name, kind in self._table.schema().items()}

    def keyed(self, parts: Sequence[KeyPart]) -> EngineTable:
        """The same table with the column KEY, as an expression."""

        def key(some: Any) -> Any:
            texts = [self._as_text(some, part.column) for part in parts]
            return some.mutate(**{KEY: key_of_texts(texts, parts)})

        names, rows = [part.column for part in parts], self._rows
        keyed = key(self._of(*names) if rows is None else self._table)
        chosen = None if rows is None else lambda wanted: key(rows([*wanted, *names]))
        other = EngineTable(keyed, self.name, self._engine, chosen, absent_levels=True)
        other._offsets = self._offsets
        return other

    def held(self, column: str, groups: str) -> None:
        """None: the data stay in the engine."""

    def sum_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """The same as ``read_levels``."""
        return self.read_levels(column, by, levels, groups)

    def missing_at(self, column: str, where: AtLevel = None) -> str:
        """Empty: rows of an engine have no order."""
        return ""

    def require_readable(self) -> None:
        """Raise an EngineError if the table can no longer be read: the connection may be lost."""
        self._engine.run(self._table.limit(1).aggregate(rows=lambda some: some.count()))

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column, as text."""
        table = self._of(by)
        level = self._level(table, by)
        found = self._engine.run(table.select(level.name(SAMPLE)).distinct())
        return sorted(set(level_words(found[SAMPLE])), key=level_order)

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows each level of a column has."""
        table = self._of(by)
        levels = table.select(self._level(table, by).name(SAMPLE))
        found = self._engine.run(levels.group_by(SAMPLE).aggregate(rows=lambda some: some.count()))
        known = [row for row, level in enumerate(found[SAMPLE]) if not is_null(level)]
        return dict(zip(level_words(found[SAMPLE]), map(int, found["rows"][known]), strict=True))

    def read(self, column: str, groups: str | None = None, where: AtLevel = None) -> ColumnData:
        """A column, which the engine sums up."""
        if where is not None:
            return self.read_levels(column, where[0], [str(where[1])], groups)[str(where[1])]
        return self.read_columns([column], groups)[column]

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """A column at several levels: one random sample and one aggregate serve all of them."""
        source = self._of(column, by, groups)
        kind = self._level(source, by).type()
        texts = self._level_texts(source, by, levels)

        def everything(table: Any) -> Any:
            return self._long(table, column, self._level(table, by))

        def at_levels(table: Any) -> Any:
            long = everything(table)
            wanted = [level_literal(kind, text) for text in texts.values()]
            return long.filter(long[SAMPLE].isin(wanted))

        view = everything
        found = by_sample(self._engine.sample(source, view, FIT_ROWS))
        seen = sum(rows[VALUE].size for rows in found.values())
        ours = [found[text][VALUE].size if text in found else 0 for text in texts.values()]
        # reading all levels is faster than filtering, unless the chosen levels are rare
        few = 2 * sum(ours) < seen or min(ours) < FEW
        if seen >= ENOUGH and (few or len(found) > 2 * len(texts) + MANY):
            view = at_levels
            found = by_sample(self._engine.sample(source, view, FIT_ROWS))
        previews = {level: preview_of(found.get(text)) for level, text in texts.items()}
        if self._subtracts(column, list(previews.values())):
            return self.read_levels(column, by, levels, groups)
        names = {text: level for level, text in texts.items()}
        absent = None if self._absent_levels else partial(self._no_such_level, by)
        tables = [(view(source), names)]
        read = Scan(self._engine, tables, previews, absent=absent).samples()
        return {
            level: self._sure(each, column, groups, (by, level)) for level, each in read.items()
        }

    def with_levels(self, column: str, by: str) -> tuple[Any, Engine]:
        """The long table of a column and its levels, and the engine that reads it."""
        source = self._of(column, by)
        return self._long(source, column, self._level(source, by)), self._engine

    def _level_texts(self, source: Any, by: str, levels: Sequence[str]) -> dict[str, str]:
        """Each level as Python shows the engine's value."""
        kind = self._level(source, by).type()
        texts: dict[str, str] = {}
        for level in levels:
            decimal = decimal_text(self._engine, source, self._column(source, by), level)
            text = decimal or level_text(kind, level)
            # "1" and "01" are the same level and must not be compared with each other
            if text is None or (text in texts.values() and level not in texts):
                raise self._no_such_level(by, level)
            texts[level] = text
        return texts

    def _no_such_level(self, by: str, level: str) -> ValueError:
        """The error for a level that the column does not have; it lists the nearest levels."""
        table = self._of(by)
        key = self._level(table, by).name(SAMPLE)
        found = nearest_levels(self._engine, table.select(key), level)
        return no_such_level(by, level, level_words(found))

    def read_columns(
        self, columns: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """Several columns: one random sample of all, and their aggregates in batches.

        If one column cannot be read, the others still are. Its error is raised when it is used.
        """
        found = some_of_columns(columns, partial(self._number, self._table), self._sampled)
        far = [name for name, some in found.items() if self._subtracts(name, [some])]
        if far:
            found |= some_of_columns(far, partial(self._number, self._table), self._sampled)
        previews = {name: some for name, some in found.items() if not isinstance(some, Exception)}
        source = self._of(*columns, groups)
        tables = [
            (self._long(source, name, f"c{i}"), {f"c{i}": name}) for i, name in enumerate(previews)
        ]
        read: dict[str, ColumnData] = {}
        if previews:
            wide = self._wide(source, [*previews])
            read = Scan(self._engine, tables, previews, wide).samples()
        broken = {
            name: unreadable(error) for name, error in found.items() if isinstance(error, Exception)
        }
        return {
            name: self._sure(read[name], name, groups) if name in read else broken[name]
            for name in columns
        }

    def stored(
        self, column: str, names: DesignColumns, where: AtLevel, summarize: Summarize | None = None
    ) -> EngineRows:
        """A column with all that belongs to its rows, which the engine sums up."""
        source = self._at(where, column, *names.all)
        chosen = {VALUE: self._number(source, column)}
        chosen |= {f"k{i}": self._number(source, name) for i, name in enumerate(names.covariates)}
        chosen |= {f"l{i}": self._as_text(source, name) for i, name in enumerate(names.strata)}
        for key, name in ((WEIGHTS, names.weights), (COUNTS, names.counts)):
            chosen |= {} if name is None else {key: self._number(source, name)}
        chosen |= {} if names.groups is None else {GROUP: source[names.groups]}
        if summarize is None:
            self._refuse_rounded(column, where)
        table = source.select(**chosen)
        return EngineRows(self._engine, table, column, names, self.name, summarize)

    def _at(self, where: AtLevel, *columns: str | None) -> Any:
        """Columns of the rows at a level."""
        source = self._of(*columns, None if where is None else where[0])
        if where is None:
            return source
        (text,) = self._level_texts(source, where[0], [str(where[1])]).values()
        level = self._level(source, where[0])
        return source.filter(level == level_literal(level.type(), text))

    def _subtracts(self, column: str, previews: Sequence[Array | Exception]) -> bool:
        """Whether a column is read minus whole seconds from now on, because it holds dates."""
        kind = self._column(self._table, column).type()
        some = [each for each in previews if not isinstance(each, Exception)]
        if column in self._offsets or not some or kind_of_type(kind) != DATE:
            return False
        offset = offset_near(some)
        if offset:
            self._offsets[column] = offset
        return bool(offset)

    def _sure(
        self, data: ColumnData, column: str, groups: str | None, where: AtLevel = None
    ) -> ColumnData:
        """Column data with offset and groups, whose sums reject numbers that doubles round."""
        refuse = partial(self._refuse_rounded, column, where)
        data = refusing_rounded(data, self._offsets.get(column, 0), refuse)
        if groups is None or not isinstance(data, StreamedColumn):
            return data
        names = DesignColumns(groups=groups)
        return replace(data, stored=self.stored(column, names, where, data.summarize))

    def _refuse_rounded(self, column: str, where: AtLevel) -> None:
        if may_be_rounded(self._column(self._table, column).type()):
            name = f"{self.name}, column {column!r}"
            refuse_rounded(self._engine, self._at(where, column), column, name)

    def count_levels(self, columns: Sequence[str]) -> Mapping[str, LevelCounts]:
        """Several columns of categories, by one query for some of them."""
        known: dict[str, LevelCounts] = {}

        def read(column: str) -> LevelCounts:
            if column not in known:
                start = columns.index(column)
                known.update(self._counted(columns[start : start + COLUMNS_PER_QUERY]))
            return known[column]

        return OneByOne(columns, read)

    def _counted(self, columns: Sequence[str]) -> dict[str, LevelCounts]:
        """Several columns by one query; the first alone if that fails."""
        source = self._of(*columns)
        cells = {f"l{i}": self._as_text(source, name) for i, name in enumerate(columns)}
        names = dict(zip(cells, columns, strict=True))

        def recount(name: str) -> Recount:
            long = one_below_the_other(source, {name: cells[name]}, self._engine.dialect)
            return partial(chosen_levels, self._engine, long)

        try:
            long = one_below_the_other(source, cells, self._engine.dialect)
            rows = most_frequent(self._engine, long)
        except EngineError:
            if len(columns) == 1:
                raise
            return self._counted(columns[:1])
        numbers = [key for key, name in names.items() if self._is_number(name)]
        found = from_rows(rows, recount, numbers)
        return {column: found.get(key, NO_LEVELS) for key, column in names.items()}

    def count_levels_at(
        self, column: str, by: str, levels: Sequence[str]
    ) -> Mapping[str, LevelCounts]:
        """A column of categories at several levels of another column, by one query."""
        source = self._of(column, by)
        kind = self._level(source, by).type()
        texts = self._level_texts(source, by, levels)
        long = source.select(
            **{SAMPLE: self._level(source, by), LEVEL: self._as_text(source, column)}
        )
        at = {text: long[SAMPLE] == level_literal(kind, text) for text in texts.values()}
        wanted = long.filter(long[SAMPLE].isin([level_literal(kind, t) for t in texts.values()]))

        def recount(text: str) -> Recount:
            return partial(chosen_levels, self._engine, long.filter(at[text]))

        numbers = list(texts.values()) if self._is_number(column) else []
        found = from_rows(most_frequent(self._engine, wanted), recount, numbers)
        if not self._absent_levels:
            for level, text in texts.items():
                if text not in found:
                    raise self._no_such_level(by, level)
        return {level: found.get(text, NO_LEVELS) for level, text in texts.items()}

    def _is_number(self, column: str) -> bool:
        return kind_of_type(self._column(self._table, column).type()) == NUMBER

    def _as_text(self, table: Any, name: str) -> Any:
        """A column as text, NULL where it is missing."""
        return as_text(self._column(table, name))

    def _sampled(self, columns: Sequence[str]) -> dict[str, Array | Exception]:
        """One random sample of several columns; an error for a column that no grid fits."""
        if not columns:
            return {}
        rows = max(1 << 10, min(FIT_ROWS, FIT_VALUES // len(columns)))
        some = self._engine.sample(self._of(*columns), lambda t: self._wide(t, columns), rows)
        found: dict[str, Array | Exception] = {}
        for i, name in enumerate(columns):
            values = doubles(some[f"c{i}"])
            unfit = no_grid(values)
            found[name] = values if unfit is None else unfit
        return found

    def _wide(self, table: Any, columns: Sequence[str]) -> Any:
        """Columns as doubles, renamed c0, c1 and so on."""
        return table.select(
            **{f"c{i}": self._number(table, name) for i, name in enumerate(columns)}
        )

    def _long(self, table: Any, column: str, sample: Any) -> Any:
        """A long table: the sample of each value, and the value."""
        import ibis

        key = ibis.literal(sample) if isinstance(sample, str) else sample
        return table.select(**{SAMPLE: key, VALUE: self._number(table, column)})

    def _column(self, table: Any, name: str) -> Any:
        if name not in table.columns:
            raise no_such_column(self.name, name, table.columns)
        return table[name]

    def _number(self, table: Any, name: str) -> Any:
        """A column as a double."""
        column = self._column(table, name)
        where = f"{self.name}, column {name!r}"
        return as_number(column, self._engine.dialect, self._offsets.get(name, 0), where)

    def _level(self, table: Any, by: str) -> Any:
        """A column of levels, as text unless its type is plain."""
        column = self._column(table, by)
        return column if is_plain(column.type()) else column.cast("string")
