"""The data to compare, from any source: a frame, a file, a table of an engine, values, a summary.

Each becomes a Table, or a column with its name and label. Which columns belong together is settled
before any column is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from dkmd.base.errors import ColumnTypeError, TooLittleError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.sources.beside import Columns, attach
from dkmd.sources.column_data import HeldColumn, LabelledColumn, StoredColumn, labelled_column
from dkmd.sources.grouped_levels import NOT_HELD, of_values, with_groups
from dkmd.sources.kinds import are_text, the_numeric_column, unlabelled
from dkmd.sources.level_counts import LabelledLevels, LevelCounts
from dkmd.sources.memory.columns import count_levels, kind_of, known_labels
from dkmd.sources.memory.dask import DaskTable, dask_column, is_dask, is_dask_frame
from dkmd.sources.memory.exact import as_exact
from dkmd.sources.memory.frames import FrameTable, is_frame
from dkmd.sources.number_words import number_with_unit, short_repr
from dkmd.sources.table import Table, note_of, require_one

SUMMARY_SUFFIX = ".dkmd"
"""The ending of the name of a saved summary."""


def open_table(source: Any, name: str, where: Any = None, groups: str | None = None) -> Table:
    """A source as a Table. Rows without a label in the column ``groups`` are left out, with a note.

    ``where`` chooses rows of an engine's table.
    """
    table = _opened(source, name, where)
    return table if groups is None else table.labelled(groups)


def _opened(source: Any, name: str, where: Any) -> Table:
    """A frame, a file or a table of an engine as a Table."""
    if is_engine_table(source):
        from dkmd.sources.engines.connections import open_engine_table

        return open_engine_table(source, name, where)
    if where is not None:
        raise TypeError("where= is an expression of Ibis and needs tables of an engine")
    if isinstance(source, str | os.PathLike):
        from dkmd.sources.files.table import open_files

        return open_files(os.fspath(source))
    if is_dask_frame(source):
        return DaskTable(source, name)
    if not is_frame(source):
        raise TypeError(f"{name} must be a data frame or a path, got {type(source).__name__}")
    return FrameTable(source, name)


SidesBeside = tuple[Columns | None, Columns | None]
"""The columns beside the values of reference and current."""

NumberPair = tuple[LabelledColumn, LabelledColumn]
LevelPair = tuple[LabelledLevels, LabelledLevels]
"""Two columns of numbers, or two columns of categories."""


def load_pair(
    reference: Any,
    current: Any,
    column: str | None,
    groups: Any,
    where: Any = None,
    as_categories: bool = False,
    beside: SidesBeside = (None, None),
) -> NumberPair | LevelPair:
    """Both sides, loaded and labelled differently. Text is categories unless it spells numbers.

    ``beside`` has the columns beside the values of reference and current.
    """
    tables = [_is_table(source) for source in (reference, current)]
    if isinstance(groups, str):
        if not all(tables):
            raise ValueError("groups by name need tables on both sides")
        labels: tuple[Any, Any] = (groups, groups)
    else:
        labels = _group_pair(groups)
    sides = (
        Opened(reference, "reference", where, groups),
        Opened(current, "current", where, groups),
    )
    names = _columns_of_pair(sides, column, labels, beside)
    kinds = [side.kind(name) for side, name in zip(sides, names, strict=True)]
    if as_categories or are_text(kinds):
        levels = [side.levels(name) for side, name in zip(sides, names, strict=True)]
        counts = [each.data for each in levels]
        if as_categories or not are_numbers([side.table for side in sides], counts):
            if not as_categories:
                require_no_units(levels[0].name, counts)
            if beside != (None, None):
                raise no_designed_categories(levels[0].name)
            if groups is not None:
                pairs = zip(levels, sides, labels, strict=True)
                levels = [_with_groups(each, side, names) for each, side, names in pairs]
            return labelled_levels(levels[0], levels[1])
    before, after = (
        _with_beside(_loaded(side, name, groups, columns), columns, side, groups)
        for side, name, groups, columns in zip(sides, names, labels, beside, strict=True)
    )
    return labelled(before, after)


def _with_groups(levels: LabelledLevels, side: Opened, groups: Any) -> LabelledLevels:
    """The levels of one side with the groups of its rows."""
    if side.table is not None:
        return with_groups(levels, side.table, groups)
    if is_dask(side.source):
        raise ColumnTypeError(f"column {levels.name!r} {NOT_HELD}")
    return of_values(levels, side.source, groups)


def _with_beside(
    loaded: LabelledColumn, columns: Columns | None, side: Opened, groups: Any
) -> LabelledColumn:
    """A side with the columns beside its values."""
    return replace(
        loaded,
        data=attach(
            loaded.data, columns, side.label, side.table, column=loaded.name, groups=groups
        ),
    )


class Opened:
    """One side before its values are read: a table, a summary, or plain values."""

    def __init__(self, source: Any, label: str, where: Any = None, groups: Any = None) -> None:
        self.source, self.label = source, label
        by_name = groups if isinstance(groups, str) else None
        self.table = open_table(source, label, where, by_name) if _is_table(source) else None
        self.summary = source if isinstance(source, Summary) else None
        if self.table is not None:
            self.label = self.table.name
        elif _is_summary_file(source):
            self.summary, self.label = Summary.load(source), Path(source).name

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What the columns of a table hold; empty for summaries and values."""
        return {} if self.table is None else self.table.kinds()

    def kind(self, column: str | None) -> str:
        """What a column of a table holds, or the plain values; empty for summaries."""
        if self.table is not None:
            return self.kinds.get(column or "", "")
        if self.summary is not None:
            return ""
        if is_dask(self.source):
            table, name = dask_column(self.source, self.label)
            return table.kinds()[name]
        return kind_of(self.source)

    def levels(self, column: str | None) -> LabelledLevels:
        """A column as categories, counted."""
        if self.summary is not None:
            raise ColumnTypeError(f"{self.label} is a summary of numbers, not of categories")
        if self.table is not None and column is not None:
            counts = self.table.count_levels([column])[column]
            missing_at = partial(self.table.missing_at, column)
            return LabelledLevels(counts, column, self.label, missing_at, self.table.left_out)
        if is_dask(self.source):
            table, name = dask_column(self.source, self.label)
            return LabelledLevels(table.count_levels([name])[name], name, self.label)
        name = str(getattr(self.source, "name", None) or "value")
        return LabelledLevels(count_levels(self.source, self.label), name, self.label)

    def numeric_column(self, groups: Any, beside: Columns | None = None) -> str:
        """The only numeric column of a table, or the column of a summary."""
        if self.summary is not None:
            return self.summary.column
        besides = [groups if isinstance(groups, str) else None]
        besides += [] if beside is None else beside.names
        return the_numeric_column(self.kinds, self.label, besides) if self.kinds else ""


def _columns_of_pair(
    sides: tuple[Opened, Opened],
    column: str | None,
    groups: tuple[Any, Any],
    beside: SidesBeside,
) -> tuple[str | None, str | None]:
    """The column of each side: the one asked for, that of a summary, or the only numeric one."""
    if column is not None:
        for side in sides:
            require_one(side.table, column)
        return column, column
    stored = next((s.summary.column for s in sides if s.summary and s.summary.column), None)
    names: list[str] = []
    nothing: TooLittleError | None = None
    for side, labels, columns in zip(sides, groups, beside, strict=True):
        try:
            name = stored if stored in side.kinds else side.numeric_column(labels, columns)
        except TooLittleError as error:
            name, nothing = None, error
        names.append(name or "")
    known = next(filter(None, names), "")
    if nothing is not None:  # an empty table has the column of the other side
        if not all(known in side.kinds for side in sides if side.kinds):
            raise nothing
        names = [known if side.kinds else name for side, name in zip(sides, names, strict=True)]
    before, after = names
    if before != after and not (is_generic(before) or is_generic(after)):
        raise ValueError(
            f"the only numeric column of {sides[0].label} is {before!r} and that of "
            f"{sides[1].label} is {after!r}: say which to compare, or give both one name"
        )
    return before or None, after or None


def is_generic(name: str) -> bool:
    """Whether a name is made up: of plain values, or of a column without a header."""
    return re.fullmatch(r"|value|json|column\d+", name) is not None


def load(
    source: Any,
    label: str,
    column: str | None = None,
    groups: Any = None,
    where: Any = None,
    beside: Columns | None = None,
) -> LabelledColumn:
    """One side, from any source."""
    side = Opened(source, label, where, groups)
    require_one(side.table, column)
    return _with_beside(_loaded(side, column, groups, beside), beside, side, groups)


def _loaded(
    side: Opened, column: str | None, groups: Any, beside: Columns | None = None
) -> LabelledColumn:
    """The column data of one side, with name, label and unit."""
    source, label = side.source, side.label
    if side.summary is not None:
        _no_groups(groups)
        known = side.summary.column
        if column and column != known and not is_generic(known):
            raise ValueError(f"{label} is a summary of column {known!r}, not of {column!r}")
        name = column or known or "value"
        return LabelledColumn(StoredColumn(side.summary), name, label, side.summary.column_unit)
    if side.table is not None:
        name = column or side.numeric_column(groups, beside)
        data, missing_at = side.table.read(name, groups), partial(side.table.missing_at, name)
        kind, note = side.kinds.get(name, ""), note_of(side.table, name)
        left_out = side.table.left_out
        return labelled_column(data, name, label, kind, missing_at, note, left_out)
    if is_dask(source):
        _no_groups(groups)
        table, name = dask_column(source, label)
        missing_at = partial(table.missing_at, name)
        return labelled_column(table.read(name), name, label, table.kinds()[name], missing_at)
    name = str(getattr(source, "name", None) or "value")
    values, offset = as_exact(source, label)
    kind, left_out = kind_of(source) if values.size else "", ""
    if groups is None:
        return labelled_column(HeldColumn(values, None, offset), name, label, kind)
    labels, has_label = known_labels(groups, f"groups of {label}", beside is None)
    if has_label.size == values.size:
        values, left_out = values[has_label], unlabelled(label, "groups", int((~has_label).sum()))
    return labelled_column(HeldColumn(values, labels, offset), name, label, kind, left_out=left_out)


def summarized(sample: LabelledColumn, grid: Grid | None = None) -> Summary:
    """A column as a summary, on this grid or on one that fits it."""
    data = sample.data
    if data.offset:
        raise ColumnTypeError(
            f"{sample.label}, column {sample.name!r} holds dates, and a summary holds "
            "doubles: subtract a start first"
        )
    if isinstance(data, StoredColumn):
        return data.summary(grid or data.stored.grid)
    return data.summary(grid or Grid.fit(data.preview))


def labelled(
    reference: LabelledColumn, current: LabelledColumn
) -> tuple[LabelledColumn, LabelledColumn]:
    """The two sides, renamed reference and current if they have the same label."""
    if reference.label != current.label:
        return reference, current
    return replace(reference, label="reference"), replace(current, label="current")


def labelled_levels(reference: LabelledLevels, current: LabelledLevels) -> LevelPair:
    """The two sides, renamed reference and current if they have the same label."""
    if reference.label != current.label:
        return reference, current
    return replace(reference, label="reference"), replace(current, label="current")


def are_numbers(tables: Iterable[Table | None], levels: Iterable[LevelCounts]) -> bool:
    """Whether text is read as numbers: most values spell numbers, and no engine holds them."""
    if not all(table is None or table.parses_text for table in tables):
        return False
    sides = list(levels)
    numbers, words = np.sum([side.spelled() for side in sides], axis=0)
    return bool(numbers > words) or (not words and any(side.counts for side in sides))


def require_no_units(column: str, levels: Iterable[LevelCounts]) -> None:
    """Reject a column that was asked for if its cells look like numbers with a unit."""
    cell = next(filter(None, (number_with_unit(side.counts) for side in levels)), "")
    if cell:
        raise ColumnTypeError(
            f"column {column!r} holds text that looks like numbers with a unit, such as "
            f"{short_repr(cell)}: leave the unit out of the cells, or compare the column as "
            "categories (--kind category)"
        )


def no_designed_categories(column: str) -> ColumnTypeError:
    """The error for categories with covariates, strata, weights or counts."""
    return ColumnTypeError(f"column {column!r} {NO_DESIGNED_CATEGORIES}")


NO_DESIGNED_CATEGORIES = (
    "holds categories, which are not tested with covariates, strata, weights or counts"
)


def _is_summary_file(source: Any) -> bool:
    return isinstance(source, str | os.PathLike) and os.fspath(source).endswith(SUMMARY_SUFFIX)


def _is_table(source: Any) -> bool:
    if isinstance(source, str | os.PathLike):
        return not _is_summary_file(source)
    if is_dask(source):
        return is_dask_frame(source)
    return is_engine_table(source) or is_frame(source)


def _group_pair(groups: Any) -> tuple[Any, Any]:
    if groups is None:
        return None, None
    if not hasattr(groups, "__len__") or len(groups) != 2:
        raise ValueError("groups must be a pair (groups of reference, groups of current)")
    return groups[0], groups[1]


def _no_groups(groups: Any) -> None:
    if groups is not None:
        raise ValueError("groups need the single values, which a summary does not hold")


def is_engine_table(source: Any) -> bool:
    """Whether this is a table of an engine, by the package of its type."""
    package, _, rest = type(source).__module__.partition(".")
    if package in ("ibis", "dkmd"):
        return hasattr(source, "get_backend") or type(source).__name__ == "EngineTable"
    if package == "pyspark":
        return "dataframe" in rest and hasattr(type(source), "sparkSession")
    return package in ("duckdb", "_duckdb") and type(source).__name__ == "DuckDBPyRelation"
