"""Files of one kind as one table: held up to LARGE values, beyond that summed up per bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dkmd.sources.column_data import LARGE, Data, Held
from dkmd.sources.files.batch_file import BatchFile
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.formats import File, open_file
from dkmd.sources.files.large_files import ALL, one_after_the_other, sums_in_duckdb
from dkmd.sources.files.paths import paths_of
from dkmd.sources.files.text_file import STDIN, TextFile
from dkmd.sources.kinds import NOTHING
from dkmd.sources.number_words import level_order
from dkmd.sources.table import OneByOne, Where


class FileTable:
    """Files of one kind as one table: see ``Table``."""

    def __init__(self, files: list[File], name: str) -> None:
        self.files = files
        self.name = name

    def kinds(self) -> dict[str, str]:
        """What each column of the first file holds; the others must have what is asked for.

        Columns that are empty there hold what the next file has in them.
        """
        kinds = self.files[0].kinds()
        for file in self.files[1:]:
            empty = [name for name, kind in kinds.items() if kind == NOTHING]
            if not empty:
                break
            more = file.kinds()
            kinds |= {name: more[name] for name in empty if name in more}
        return kinds

    def levels(self, by: str) -> list[str]:
        """The values of a column in all files."""
        found = {level for file in self.files for level in file.levels(by)}
        return sorted(found, key=level_order)

    def read(self, column: str, groups: str | None = None, where: Where = None) -> Data:
        """A column: held up to LARGE values or where it can be read once only, else summed up."""
        if where is not None:
            return self.read_levels(column, where[0], [str(where[1])], groups)[str(where[1])]
        return self._held(column, groups, None) or self._streamed(column, None, [ALL], groups)[ALL]

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, Data]:
        """A column at several levels: as soon as one is too large to hold, all are streamed."""
        held: dict[str, Data] = {}
        for level in levels:
            data = self._held(column, groups, (by, level))
            if data is None:
                return self._streamed(column, by, levels, groups)
            held[level] = data
        return held

    def read_columns(self, columns: Sequence[str], groups: str | None = None) -> Mapping[str, Data]:
        """Several columns, one by one: files are kept by columns."""
        for file in self.files:
            file.expect(columns)
        return OneByOne(columns, lambda column: self.read(column, groups))

    def require_readable(self) -> None:
        """An OSError if one of the files is gone."""
        for file in self.files:
            if file.rereadable:
                with open(file.path, "rb"):
                    pass

    def _held(self, column: str, groups: str | None, where: Where) -> Held | None:
        """The values, or None if there are more than LARGE and they can be read again."""
        again = all(file.rereadable for file in self.files)
        again = again and (groups is None or self._all_duck)
        parts, labels, left = [], [], LARGE
        for file in self.files:
            values, marks = file.part(column, groups, where, left + 1 if again else None)
            left -= values.size
            if again and left < 0:
                return None
            parts.append(values)
            labels.append(marks)
        if groups is None:
            return Held(np.concatenate(parts))
        return Held(np.concatenate(parts), np.concatenate([m for m in labels if m is not None]))

    @property
    def _all_duck(self) -> bool:
        return all(isinstance(file, DuckFile) for file in self.files)

    def _streamed(
        self, column: str, by: str | None, levels: Sequence[str], groups: str | None
    ) -> Mapping[str, Data]:
        """Samples that are summed up file by file; all that DuckDB reads in one pass."""
        duck = [file for file in self.files if isinstance(file, DuckFile)]
        rest = [file for file in self.files if isinstance(file, BatchFile)]
        in_duck = sums_in_duckdb(duck, column, by, levels, groups) if duck else {}
        if not rest:
            return in_duck
        found: dict[str, Data] = {}
        for level in levels:
            where = None if by is None else (by, level)
            parts = [file.streamed(column, where) for file in rest]
            parts += [in_duck[level]] if duck else []
            found[level] = one_after_the_other(parts)
        return found


def open_files(path: str) -> FileTable:
    """What a path, a folder, a pattern or "-" names."""
    if path == STDIN:
        return FileTable([TextFile(STDIN)], "standard input")
    found = paths_of(path)
    name = Path(path).name or path
    return FileTable([open_file(each) for each in found], name)


def text_table(text: str, name: str) -> FileTable:
    """Text that was read already, of one number a line."""
    return FileTable([TextFile(name, text)], name)
