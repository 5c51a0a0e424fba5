"""Arrow and Feather files, read by record batches."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.sources.column_data import Labels
from dkmd.sources.files.batch_file import BatchFile
from dkmd.sources.level_counts import LevelCounts, merged
from dkmd.sources.memory.frames import Frame
from dkmd.sources.table import AtLevel


class ArrowFile(BatchFile):
    """An Arrow or Feather file, in the file or the stream format."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._offsets: dict[str, int] = {}

    def may_be_inexact(self, column: str) -> bool:
        """Whether a column holds whole numbers, decimals or dates: floats are doubles."""
        import pyarrow as pa

        empty = next(self._tables([column], 1))
        return not pa.types.is_floating(empty.schema.field(0).type)

    def subtract(self, column: str, offset: int) -> None:
        """Read this column minus a whole number from now on."""
        self._offsets[column] = offset

    def offset(self, column: str) -> int:
        """The number that is subtracted from a column."""
        return self._offsets.get(column, 0)

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return self._frame(self._tables([], 1)).kinds()

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column, as text."""
        frames = (Frame(table, self.path) for table in self._tables([by]))
        return sorted({level for frame in frames for level in frame.levels(by)})

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows each level of a column has."""
        frames = (Frame(table, self.path) for table in self._tables([by]))
        return sum((frame.level_sizes(by) for frame in frames), Counter())

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
        for table in self._tables(list(dict.fromkeys(n for n in columns if n is not None))):
            yield Frame(table, self.path, first_row)
            first_row += table.num_rows

    def _frame(self, tables: Iterable[Any]) -> Frame:
        return Frame(next(iter(tables)), self.path)

    def _tables(self, names: list[str], limit: int | None = None) -> Iterator[Any]:
        """These columns of each record batch as a table, then an empty one; all columns if none."""
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError("Arrow files need pyarrow: pip install pyarrow") from None
        try:
            with pa.memory_map(self.path) as file:
                try:
                    opened = pa.ipc.open_file(file)
                    found = (opened.get_batch(i) for i in range(opened.num_record_batches))
                except pa.ArrowInvalid:
                    file.seek(0)
                    opened = pa.ipc.open_stream(file)
                    found = iter(opened)
                empty = opened.schema.empty_table()
                tables = (pa.Table.from_batches([batch]) for batch in found)
                for table in itertools.islice(itertools.chain(tables, [empty]), limit):
                    yield table.select(names) if names else table
        except (pa.ArrowException, OSError) as error:
            if (
                isinstance(error, OSError) and error.errno is not None
            ):  # an error of the file system
                raise
            raise ValueError(f"{self.path}: {str(error).splitlines()[0]}") from None
