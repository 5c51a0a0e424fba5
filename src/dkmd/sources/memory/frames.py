"""Data frames of pandas, polars and pyarrow as tables, through narwhals.

A frame may be part of a larger table; errors then count rows within that table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.sources.column_data import ColumnData, HeldColumn, Labels
from dkmd.sources.keys import BETWEEN, KEY, KeyPart
from dkmd.sources.kinds import no_such_column, unlabelled
from dkmd.sources.level_counts import LevelCounts, level_word, level_words
from dkmd.sources.memory.columns import (
    RowNumbers,
    as_labels,
    as_marks,
    as_numbers,
    count_levels,
    is_missing,
    kind_of,
    kind_of_dtype,
    series_of,
)
from dkmd.sources.memory.exact import Near, as_exact
from dkmd.sources.number_words import level_order
from dkmd.sources.table import AtLevel, OneByOne


def is_frame(source: Any) -> bool:
    """Whether this is a data frame: its class has ``columns``."""
    return hasattr(type(source), "columns")  # asking the object would make a lazy frame warn


class Frame:
    """Columns of a data frame of pandas, polars (also lazy) or pyarrow.

    Parameters
    ----------
    native
        The frame.
    name : str
        The name that errors show.
    first_row : int
        The row number of its first row, if it is a part of a larger table.
    """

    def __init__(self, native: Any, name: str, first_row: int = 1) -> None:
        import narwhals as nw

        try:
            self._frame = nw.from_native(native)
        except TypeError:
            raise TypeError(
                f"{name}: {type(native).__name__} is not a data frame that dkmd knows"
            ) from None
        self._lazy = isinstance(self._frame, nw.LazyFrame)
        # columns of pandas may have numbers for names; they are known by their text here
        self._names = {str(name): name for name in self._frame.collect_schema().names()}
        self.name = name
        self.first_row = first_row
        self._kept: npt.NDArray[np.intp] | None = None  # the places of the rows in use

    def with_labels(self, groups: str) -> Self:
        """The rows that have a label in a column."""
        series = series_of(self._native(groups))
        missing = series.is_null()
        if series.dtype.is_float():
            missing = missing | series.is_nan()
        known = np.flatnonzero(~np.asarray(missing.fill_null(value=True).to_list(), dtype=bool))
        if known.size == len(series):
            return self
        other = copy(self)
        other._kept = known if self._kept is None else self._kept[known]
        return other

    @property
    def rows(self) -> int:
        """The number of rows in use."""
        if self._kept is not None:
            return int(self._kept.size)
        return len(self._native(next(iter(self._names)))) if self._names else 0

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        if self._lazy:
            schema = self._frame.collect_schema()
            return {str(column): kind_of_dtype(dtype) for column, dtype in schema.items()}
        return {name: kind_of(self._native(name)) for name in self._names}

    def values(self, column: str, where: AtLevel = None) -> Array:
        """One column as numbers."""
        native, rows = self._chosen(column, where)
        return as_numbers(native, f"{self.name}, column {column!r}", rows)

    def exact(self, column: str, where: AtLevel = None) -> Near:
        """One column as numbers; points in time are seconds minus a whole number."""
        native, rows = self._chosen(column, where)
        return as_exact(native, f"{self.name}, column {column!r}", rows)

    def counted(self, column: str, where: AtLevel = None) -> LevelCounts:
        """One column as levels of a category, counted."""
        return count_levels(self._chosen(column, where)[0], f"{self.name}, column {column!r}")

    def labels(self, column: str, where: AtLevel = None) -> Labels:
        """One column as group labels."""
        native, rows = self._chosen(column, where)
        return as_labels(native, f"{self.name}, column {column!r}", rows)

    def marks(self, column: str, where: AtLevel = None) -> Labels:
        """One column as labels, None where a label is missing."""
        return as_marks(self._chosen(column, where)[0])

    def missing_row(self, column: str, where: AtLevel = None) -> int | None:
        """The row number of the first missing value; None if no value is missing."""
        native, rows = self._chosen(column, where)
        missing = is_missing(native, f"{self.name}, column {column!r}", rows)
        return rows[int(np.argmax(missing))] if missing.any() else None

    def missing_at(self, column: str, where: AtLevel = None) -> str:
        """Where the first missing value is: table, column and row."""
        row = self.missing_row(column, where)
        return "" if row is None else f"{self.name}, column {column!r}, row {row:,}"

    def keys(self, parts: Sequence[KeyPart]) -> Labels:
        """The key of each row."""
        texts = []
        for part in parts:
            known: dict[Any, str] = {}
            for item in (items := series_of(self._native(part.column)).to_list()):
                if item not in known:
                    known[item] = part.text(level_word(item))
            texts.append([known[item] for item in items])
        return np.asarray([BETWEEN.join(row) for row in zip(*texts, strict=True)], dtype=str)

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column, as text."""
        found = series_of(self._native(by)).drop_nulls().unique().to_list()
        return sorted(set(level_words(found)), key=level_order)

    def level_sizes(self, by: str) -> Counter[str]:
        """How many rows each level of a column has."""
        return Counter(level_words(series_of(self._native(by)).drop_nulls().to_list()))

    def _chosen(self, column: str, where: AtLevel) -> tuple[Any, RowNumbers]:
        """A column of the chosen rows, and their row numbers."""
        native = self._native(column)
        if where is None and self._kept is None:
            return native, range(self.first_row, self.first_row + len(native))
        at = np.arange(len(native)) if where is None else self._at_level(*where)
        rows = at if self._kept is None else self._kept[at]
        return series_of(native)[at].to_native(), (rows + self.first_row).tolist()

    def _at_level(self, by: str, level: object) -> npt.NDArray[np.intp]:
        """The positions of the rows at this level."""
        series = series_of(self._native(by))
        alike = [v for v in series.drop_nulls().unique().to_list() if level_word(v) == str(level)]
        if not alike:
            return np.empty(0, dtype=np.intp)
        chosen = series.is_in(alike).fill_null(value=False)
        return np.flatnonzero(chosen.to_list())

    def _native(self, column: str) -> Any:
        if column not in self._names:
            raise no_such_column(self.name, column, self._names)
        name = self._names[column]
        frame = self._frame.select(name).collect() if self._lazy else self._frame
        series = frame.get_column(name)
        return (series if self._kept is None else series[self._kept]).to_native()


class FrameTable(Frame):
    """A data frame as a Table."""

    parses_text = True
    left_out = ""
    _key: Labels | None = None

    def labelled(self, groups: str) -> FrameTable:
        """The rows that have a label in a column, with a note on the others."""
        if groups not in self._names:
            return self
        other = self.with_labels(groups)
        if other is not self:
            other.left_out = unlabelled(self.name, groups, self.rows - other.rows)
        return other

    def keyed(self, parts: Sequence[KeyPart]) -> FrameTable:
        """The same frame with the column KEY."""
        other = copy(self)
        other._key = self.keys(parts)
        return other

    def labels(self, column: str, where: AtLevel = None) -> Labels:
        """One column as group labels."""
        if column == KEY and self._key is not None:
            return self._key
        return super().labels(column, where)

    def level_sizes(self, by: str) -> Counter[str]:
        """How many rows each level of a column has."""
        if by == KEY and self._key is not None:
            return Counter(self._key.tolist())
        return super().level_sizes(by)

    def held(self, column: str, groups: str) -> HeldColumn:
        """A column with labels."""
        found = self.exact(column)
        return HeldColumn(found.values, self.labels(groups), found.offset)

    def sum_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """The same as ``read_levels``: the values are in memory anyway."""
        return self.read_levels(column, by, levels, groups)

    def read(self, column: str, groups: str | None = None, where: AtLevel = None) -> ColumnData:
        """A column of numbers, with its group labels."""
        labels = None if groups is None else self.labels(groups, where)
        found = self.exact(column, where)
        return HeldColumn(found.values, labels, found.offset)

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """A column at several levels of another column."""
        return OneByOne(levels, lambda level: self.read(column, groups, (by, level)))

    def read_columns(
        self, columns: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """Several columns."""
        return OneByOne(columns, lambda column: self.read(column, groups))

    def count_levels(self, columns: Sequence[str]) -> Mapping[str, LevelCounts]:
        """Several columns of categories."""
        return OneByOne(columns, self.counted)

    def count_levels_at(
        self, column: str, by: str, levels: Sequence[str]
    ) -> Mapping[str, LevelCounts]:
        """A column of categories at several levels of another column."""
        return OneByOne(levels, lambda level: self.counted(column, (by, level)))

    def require_readable(self) -> None:
        """Nothing to check: data in memory stay readable."""
