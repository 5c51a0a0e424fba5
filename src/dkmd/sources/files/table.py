"""Files as one table: up to LARGE values of a column are held, more are summed up per bin.

A folder or a pattern stands for its files together, in the order of their names. A pipe or a device
can be read only once, so all its values are held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dkmd.base.errors import ColumnError
from dkmd.sources.blocks import BlockRows
from dkmd.sources.column_data import (
    LARGE,
    ColumnData,
    HeldColumn,
    Labels,
    StreamedColumn,
    Summarize,
    offset_near,
    preview_of,
    with_offset,
)
from dkmd.sources.files.arrow_file import ArrowColumns, ArrowFile
from dkmd.sources.files.arrow_rows import ArrowBlocks
from dkmd.sources.files.batch_file import BatchFile
from dkmd.sources.files.characters import STDIN
from dkmd.sources.files.conventions import Conventions, conventions
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.duckdb_rows import rows_in_duckdb
from dkmd.sources.files.formats import DataFile
from dkmd.sources.files.large_files import ALL, ColumnRoles, one_after_the_other, sums_in_duckdb
from dkmd.sources.files.level_queries import SEVERAL, count_at_levels, count_columns
from dkmd.sources.files.paths import files_of
from dkmd.sources.files.text_file import TextFile
from dkmd.sources.keys import KeyPart
from dkmd.sources.kinds import DATE, NOTHING, unlabelled
from dkmd.sources.level_counts import LevelCounts, merged
from dkmd.sources.memory.block_reader import BlockReader
from dkmd.sources.memory.frames import FrameTable
from dkmd.sources.number_words import level_order
from dkmd.sources.table import AtLevel, DesignColumns, OneByOne, StoredRows, Table


class FileTable:
    """Several files as one Table."""

    parses_text = True

    def __init__(
        self, files: list[DataFile], name: str, conventions: Conventions | None = None
    ) -> None:
        self.files = files
        self.name = name
        self.left_out = ""
        self._labelled: str | None = None  # the column in which all rows have a label
        for file in files:
            if conventions is not None and isinstance(file, DuckFile | TextFile):
                file.follow(conventions)

    def require_one(self, column: str) -> None:
        """Raise an error if several columns of a file have this name."""
        for file in self.files:
            if isinstance(file, DuckFile):
                file.require_one(column)

    def note(self, column: str) -> str:
        """What an answer says about how the numbers of a column are written."""
        notes = (file.note(column) for file in self.files if isinstance(file, DuckFile))
        return next(filter(None, notes), "")

    def kinds(self) -> dict[str, str]:
        """What each column of the first file holds.

        If a column is empty there, the next files show what it holds.
        """
        kinds = self.files[0].kinds()
        for file in self.files[1:]:
            empty = [name for name, kind in kinds.items() if kind == NOTHING]
            if not empty:
                break
            more = file.kinds()
            kinds |= {name: more[name] for name in empty if name in more}
        return kinds

    def labelled(self, groups: str) -> FileTable:
        """The rows that have a label in a column, with a note on the others."""
        if groups not in self.kinds() or not all(file.rereadable for file in self.files):
            return self
        rows = sum(file.unlabelled(groups) for file in self.files)
        if not rows:
            return self
        other = FileTable([file.labelled(groups) for file in self.files], self.name)
        other.left_out, other._labelled = unlabelled(self.name, groups, rows), groups
        return other

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column in all files."""
        found = {level for file in self.files for level in file.levels(by)}
        return sorted(found, key=level_order)

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows of all files each level of a column has."""
        return sum((Counter(file.level_sizes(by)) for file in self.files), Counter())

    def read(self, column: str, groups: str | None = None, where: AtLevel = None) -> ColumnData:
        """A column: held if it has up to LARGE values or can be read only once, else summed up."""
        if where is not None:
            return self.read_levels(column, where[0], [str(where[1])], groups)[str(where[1])]

        def read() -> dict[str, ColumnData]:
            held = self._held(column, groups, None)
            if held is not None:
                return {ALL: held}
            return dict(self._streamed(ColumnRoles(column, None, groups), [ALL]))

        return self._exactly(column, read)[ALL]

    def keyed(self, parts: Sequence[KeyPart]) -> Table:
        """The same files with the column KEY. Columns of Arrow files are held for that."""
        duck, rest = self._by_reader
        if rest:
            return self._as_frame().keyed(parts)
        other = FileTable([file.keyed(parts) for file in duck], self.name)
        other.left_out = self.left_out
        return other

    def _as_frame(self) -> FrameTable:
        """Arrow files as one frame."""
        arrow = self._all_arrow
        if arrow is None:
            raise ColumnError(f"{self.name}: segments need files with columns, of one format")
        if self._labelled is None:
            return ArrowColumns(arrow, self.name)
        import pyarrow as pa

        tables = [table for file in arrow for table in file.tables()]
        return FrameTable(pa.concat_tables(tables), self.name).labelled(self._labelled)

    def held(self, column: str, groups: str) -> HeldColumn | None:
        """A column with labels if all files together have up to LARGE values of it."""
        found = self._exactly(column, lambda: self._all_held(column, groups)).get(ALL)
        return found if isinstance(found, HeldColumn) else None

    def _all_held(self, column: str, groups: str) -> dict[str, ColumnData]:
        held = self._held(column, groups, None)
        return {} if held is None else {ALL: held}

    def sum_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """A column at several levels, summed up by one query."""
        roles = ColumnRoles(column, by, groups)
        return self._exactly(column, lambda: dict(self._streamed(roles, levels)))

    def marks(self, column: str, where: AtLevel = None) -> Labels:
        """A column as labels, None where a label is missing."""
        return np.concatenate([file.marks(column, where) for file in self.files])

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """A column at several levels; if one level is too large to hold, all are summed up."""

        def read() -> dict[str, ColumnData]:
            held: dict[str, ColumnData] = {}
            for level in levels:
                data = self._held(column, groups, (by, level))
                if data is None:
                    return dict(self._streamed(ColumnRoles(column, by, groups), levels))
                held[level] = data
            return held

        return self._exactly(column, read)

    def _exactly(
        self, column: str, read: Callable[[], dict[str, ColumnData]]
    ) -> dict[str, ColumnData]:
        """A column as it is read; points in time again, minus whole seconds near them."""
        first = self.files[0]
        found = read()
        if first.kinds()[column] != DATE:
            return found
        if not first.offset(column):
            offset = offset_near([preview_of(each) for each in found.values()])
            if not offset:
                return found
            for file in self.files:
                file.subtract(column, offset)
            found = read()
        return {key: with_offset(each, first.offset(column)) for key, each in found.items()}

    def read_columns(
        self, columns: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """Several columns, each read when it is asked for."""
        for file in self.files:
            file.expect(columns)
        return OneByOne(columns, lambda column: self.read(column, groups))

    def stored(
        self, column: str, names: DesignColumns, where: AtLevel, summarize: Summarize | None = None
    ) -> StoredRows:
        """A column with all that belongs to its rows, which stay in their files."""
        arrow = self._all_arrow
        if arrow is not None:
            read = BlockReader(column, names, where, arrow[0].offset(column))
            return BlockRows(ArrowBlocks(arrow, read), names, summarize)
        duck, rest = self._by_reader
        if rest:
            raise ColumnError(
                f"{self.name}: groups, covariates, strata, weights and counts of long files need "
                "files of one format"
            )
        return rows_in_duckdb(duck, column, names, where, self.name, summarize)

    def count_levels(self, columns: Sequence[str]) -> Mapping[str, LevelCounts]:
        """Several columns of categories; DuckDB counts some of them in one pass."""
        known: dict[str, LevelCounts] = {}

        def read(column: str) -> LevelCounts:
            if column not in known:
                start = columns.index(column)
                known.update(self._counted(columns[start : start + SEVERAL]))
            return known[column]

        return OneByOne(columns, read)

    def _counted(self, columns: Sequence[str]) -> dict[str, LevelCounts]:
        """Several columns; the first alone if that fails."""
        duck, rest = self._by_reader
        try:
            in_duck = count_columns(duck, columns) if duck else {}
        except ValueError:
            if len(columns) == 1:
                raise
            return self._counted(columns[:1])
        return {
            name: merged(
                [*(f.counted(name, None) for f in rest), *([in_duck[name]] if duck else ())]
            )
            for name in (columns if duck else columns[:1])
        }

    def count_levels_at(
        self, column: str, by: str, levels: Sequence[str]
    ) -> Mapping[str, LevelCounts]:
        """A column of categories at several levels of another column."""
        duck, rest = self._by_reader
        in_duck = count_at_levels(duck, column, by, levels) if duck else {}
        return {
            level: merged(
                [
                    *(file.counted(column, (by, level)) for file in rest),
                    *([in_duck[level]] if duck else ()),
                ]
            )
            for level in levels
        }

    @property
    def _by_reader(self) -> tuple[list[DuckFile], list[BatchFile]]:
        """The files that DuckDB reads, and those that are read in batches."""
        duck = [file for file in self.files if isinstance(file, DuckFile)]
        return duck, [file for file in self.files if isinstance(file, BatchFile)]

    def missing_at(self, column: str, where: AtLevel = None) -> str:
        """The file and the row of the first missing value."""
        places = (file.missing_at(column, where) for file in self.files if file.rereadable)
        return next(filter(None, places), "")

    def require_readable(self) -> None:
        """Raise an OSError if one of the files is gone."""
        for file in self.files:
            if file.rereadable:
                with open(file.path, "rb"):
                    pass

    def _held(self, column: str, groups: str | None, where: AtLevel) -> HeldColumn | None:
        """The values; None if there are more than LARGE and they can be read again."""
        again = all(file.rereadable for file in self.files)
        again = again and (groups is None or self._all_duck or self._all_arrow is not None)
        parts, labels, left = [], [], LARGE
        for file in self.files:
            values, marks = file.part(column, groups, where, left + 1 if again else None)
            left -= values.size
            if again and left < 0:
                return None
            parts.append(values)
            labels.append(marks)
        if groups is None:
            return HeldColumn(np.concatenate(parts))
        return HeldColumn(
            np.concatenate(parts), np.concatenate([m for m in labels if m is not None])
        )

    @property
    def _all_arrow(self) -> list[ArrowFile] | None:
        """The files if all are Arrow files, else None."""
        arrow = [file for file in self.files if isinstance(file, ArrowFile)]
        return arrow if len(arrow) == len(self.files) else None

    def _grouped(
        self, files: Sequence[ArrowFile], roles: ColumnRoles, where: AtLevel
    ) -> StreamedColumn:
        """A column of Arrow files with its groups."""
        plain = one_after_the_other([file.streamed(roles.values, where) for file in files])
        names = DesignColumns(groups=roles.groups)
        return replace(plain, stored=self.stored(roles.values, names, where, plain.summarize))

    @property
    def _all_duck(self) -> bool:
        return all(isinstance(file, DuckFile) for file in self.files)

    def _streamed(self, roles: ColumnRoles, levels: Sequence[str]) -> Mapping[str, ColumnData]:
        """Each level as a sample that is summed up; DuckDB reads all its files in one pass."""
        arrow = self._all_arrow
        if arrow is not None and roles.groups is not None:
            return {level: self._grouped(arrow, roles, roles.where(level)) for level in levels}
        duck, rest = self._by_reader
        in_duck = sums_in_duckdb(duck, roles, levels) if duck else {}
        if not rest:
            return in_duck
        found: dict[str, ColumnData] = {}
        for level in levels:
            parts = [file.streamed(roles.values, roles.where(level)) for file in rest]
            parts += [in_duck[level]] if duck else []
            found[level] = one_after_the_other(parts)
        return found


def open_files(path: str) -> FileTable:
    """The files that a path, a folder, a pattern or "-" names, as one table."""
    if path == STDIN:
        return FileTable([TextFile(STDIN)], "standard input", conventions())
    return FileTable(files_of(path), Path(path).name or path, conventions())


def open_text(text: str, name: str) -> FileTable:
    """Text that was read already, with one number per line, as a table."""
    return FileTable([TextFile(name, text)], name, conventions())
