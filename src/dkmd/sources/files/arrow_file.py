"""Arrow and Feather files, read by record batches."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError, FileError
from dkmd.sources.column_data import Labels
from dkmd.sources.files.batch_file import BatchFile
from dkmd.sources.kinds import NOTHING, no_such_column
from dkmd.sources.level_counts import LevelCounts, merged
from dkmd.sources.memory.frames import Frame, FrameTable
from dkmd.sources.table import AtLevel

MAGIC = b"ARROW1"
"""How the file format begins. A stream begins otherwise."""


class ArrowFile(BatchFile):
    """An Arrow or Feather file, in the file or the stream format."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._offsets: dict[str, int] = {}
        self._kinds: dict[str, str] | None = None
        self._labelled: str | None = None  # the column in which all rows have a label

    def unlabelled(self, groups: str) -> int:
        """How many rows have no label in a column."""
        return sum(frame.rows - frame.with_labels(groups).rows for frame in self.frames(groups))

    def labelled(self, groups: str) -> Self:
        """The same file without the rows that have no label in a column."""
        other = copy(self)
        other._offsets, other._labelled = dict(self._offsets), groups
        return other

    def subtract(self, column: str, offset: int) -> None:
        """Read a column of dates minus whole seconds from now on."""
        self._offsets[column] = offset

    def offset(self, column: str) -> int:
        """The number that is subtracted from a column."""
        return self._offsets.get(column, 0)

    def kinds(self) -> dict[str, str]:
        """What each column holds; cells show it where the type does not tell."""
        if self._kinds is None:
            kinds = Frame(self.empty(), self.path).kinds()
            unsure = [name for name, kind in kinds.items() if kind == NOTHING]
            if unsure:
                kinds |= Frame(next(self.tables(unsure, 1)), self.path).kinds()
            self._kinds = kinds
        return dict(self._kinds)

    def empty(self) -> Any:
        """All columns, without rows."""
        with self._naming_itself() as pa, pa.OSFile(self.path) as file:
            empty = _opened(file).schema.empty_table()
            assert empty.column_names is not None  # an error if a name is not UTF-8
            return empty

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column, as text."""
        return sorted({level for frame in self.frames(by) for level in frame.levels(by)})

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows each level of a column has."""
        return sum((frame.level_sizes(by) for frame in self.frames(by)), Counter())

    def batches(
        self, column: str, groups: str | None, where: AtLevel
    ) -> Iterator[tuple[Array, Labels | None]]:
        """The columns that are asked for, one record batch after another."""
        for frame in self.frames(column, groups, where[0] if where else None):
            values = frame.exact(column, where).minus(self.offset(column))
            yield values, frame.labels(groups, where) if groups else None

    def counted(self, column: str, where: AtLevel) -> LevelCounts:
        """A column as levels of a category, counted by record batch."""
        parts = [frame.counted(column, where) for frame in self.frames(column, where and where[0])]
        return merged(parts)

    def marks(self, column: str, where: AtLevel) -> Labels:
        """A column as labels, None where one is missing."""
        parts = [frame.marks(column, where) for frame in self.frames(column, where and where[0])]
        return np.concatenate([np.empty(0, dtype=object), *parts])

    def missing_at(self, column: str, where: AtLevel) -> str:
        """Where the first missing value is."""
        frames = self.frames(column, where[0] if where else None)
        return next(filter(None, (frame.missing_at(column, where) for frame in frames)), "")

    def frames(self, *columns: str | None) -> Iterator[Frame]:
        """These columns of each record batch, with their row numbers."""
        first_row = 1
        names = dict.fromkeys(n for n in (*columns, self._labelled) if n is not None)
        for table in self.tables(list(names)):
            frame = Frame(table, self.path, first_row)
            yield frame if self._labelled is None else frame.with_labels(self._labelled)
            first_row += table.num_rows

    def tables(self, names: Sequence[str] = (), limit: int | None = None) -> Iterator[Any]:
        """These columns of each record batch as a table, then an empty one; all columns if none.

        Every batch is checked before anyone looks at it: Arrow trusts its files, and a damaged one
        would end the process. Nothing is mapped into memory, because a file that is cut while it
        is mapped ends the process, too.
        """
        with self._naming_itself() as pa, pa.OSFile(self.path) as file:
            schema = _opened(file).schema
            wanted = [i for i, name in enumerate(schema.names) if name in names]
            opened = _opened(file, wanted if names else None)
            batches = (pa.Table.from_batches([batch]) for batch in _batches_of(opened))
            every = itertools.chain(batches, [opened.schema.empty_table()])
            for table in itertools.islice(every, limit):
                chosen = table.select(list(names)) if names else table
                self._check(chosen)
                yield chosen

    @contextmanager
    def _naming_itself(self) -> Iterator[Any]:
        """Lend pyarrow; errors of Arrow become one line with the name of the file."""
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError("Arrow files need pyarrow: pip install pyarrow") from None
        try:
            yield pa
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of the file system
            raise FileError(f"{self.path}: {_gist(error)}") from None

    def _check(self, table: Any) -> None:
        """Raise an error that names the first column with damaged cells."""
        import pyarrow as pa

        for name, column in zip(table.column_names, table.columns, strict=True):
            try:
                column.validate(full=True)
            except pa.ArrowException as error:
                raise FileError(
                    f"{self.path}, column {name!r} is damaged: {_gist(error)}"
                ) from None


class ArrowColumns(FrameTable):
    """Arrow files as one frame whose columns are read when they are needed."""

    def __init__(self, files: Sequence[ArrowFile], name: str) -> None:
        super().__init__(files[0].empty(), name)
        self._files = files

    def _native(self, column: str) -> Any:
        import pyarrow as pa

        if column not in self._names:
            raise no_such_column(self.name, column, self._names)
        tables = [table for file in self._files for table in file.tables([column])]
        try:
            return pa.concat_tables(tables, promote_options="permissive").column(0)
        except pa.ArrowException:
            raise ColumnError(
                f"{self.name}: column {column!r} has another type in some of the files"
            ) from None


def _opened(file: Any, wanted: list[int] | None = None) -> Any:
    """A reader of the file format, or of the stream format, for the columns at these places."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=wanted)
    file.seek(0)
    magic = file.read(len(MAGIC))
    file.seek(0)
    opened = pa.ipc.open_file if magic == MAGIC else pa.ipc.open_stream
    return opened(file, options=options)


def _batches_of(opened: Any) -> Iterator[Any]:
    """The record batches of a reader, one after another."""
    if hasattr(opened, "num_record_batches"):
        return (opened.get_batch(i) for i in range(opened.num_record_batches))
    return iter(opened)


def _gist(error: Exception) -> str:
    """The first line of an error of Arrow."""
    if isinstance(error, UnicodeDecodeError):
        return "the name of a column is not UTF-8"
    return (str(error).splitlines() or [type(error).__name__])[0]
