"""Files in: what a path names, which format each file has, and its columns as samples.

CSV, TSV, JSON, NDJSON and Parquet are read by DuckDB (``duck``); Arrow, ``.npy`` and text of one
number a line here. A folder or a pattern stands for its files together, in order of their names.
Up to LARGE values are held; beyond that only their sums per bin. What can be read once only, a
pipe or a device, is text and must end.
"""

from __future__ import annotations

import glob
import gzip
import io
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TextIO
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import EngineError
from dkmd.binned.grid import Grid
from dkmd.binned.logarithms import logs_below
from dkmd.binned.summary import Summary
from dkmd.inference.groups import GroupSums
from dkmd.sources.engines.aggregate import GROUP, SAMPLE, VALUE
from dkmd.sources.files.characters import DAMAGED, first_bytes, marked_encoding
from dkmd.sources.files.delta import current_files, delta_table_of, may_be_past
from dkmd.sources.files.duck import DuckFile, Known, Where
from dkmd.sources.memory.columns import (
    NOTHING,
    NUMBER,
    Frame,
    as_numbers,
    is_url,
    level_order,
    no_such_column,
    not_a_number,
    parse_number,
)
from dkmd.sources.samples import LARGE, Data, Held, OneByOne, Streamed, Summarize
from dkmd.statistic.witness import Witness

BATCH = 1 << 16
"""Values of an array that are read at a time."""

PIECE = 1 << 20
"""Characters of text that are read at a time."""

LONGEST_LINE = 1 << 16
"""Characters of one line of text, which should hold one number."""

PIPED = 50_000_000
"""Lines of text that are read from what can be read once only, and are all held."""

RUNS = 16
"""Places in files that a part of them is taken from."""

STDIN = "-"
TEXT_COLUMN = "value"

DUCK_FORMS = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".ndjson": "json", ".jsonl": "json",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
ARROW = (".arrow", ".feather", ".ipc")
TEXT_SUFFIXES = (".txt", ".dat", "")
KNOWN = (*DUCK_FORMS, *ARROW, ".npy", ".txt", ".dat")


class File(Protocol):
    """One file, by columns."""

    path: str

    @property
    def rereadable(self) -> bool:
        """Whether it can be read more than once."""

    def kinds(self) -> dict[str, str]:
        """What each column holds."""

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""

    def expect(self, columns: Sequence[str]) -> None:
        """These columns will be read one after the other."""

    def part(
        self, column: str, groups: str | None, where: Where, limit: int | None
    ) -> tuple[Array, npt.NDArray[Any] | None]:
        """Up to ``limit`` values of a column in order, with the labels of another one."""

    def missing_at(self, column: str, where: Where) -> str:
        """Where the first missing value is; empty if it is not there, or cannot be found again."""


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

    def missing_at(self, column: str, where: Where = None) -> str:
        """The file and the row of the first missing value."""
        places = (file.missing_at(column, where) for file in self.files if file.rereadable)
        return next(filter(None, places), "")

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
        in_duck = _in_duck(duck, column, by, levels, groups) if duck else {}
        if not rest:
            return in_duck
        found: dict[str, Data] = {}
        for level in levels:
            where = None if by is None else (by, level)
            parts = [file.streamed(column, where) for file in rest]
            parts += [in_duck[level]] if duck else []
            found[level] = _together(parts)
        return found


ALL = ""
"""The name of the one sample of a column without levels."""


def _in_duck(
    files: Sequence[DuckFile],
    column: str,
    by: str | None,
    levels: Sequence[str],
    groups: str | None,
) -> dict[str, Streamed]:
    """Samples within DuckDB; a word where a number belongs is named as soon as it is met."""
    try:
        return _summed(files, column, by, levels, groups)
    except EngineError:
        # text that is no UTF-8 ends the query, and its database with it
        turned = [file.turn_latin() for file in files]
        if not any(turned):
            raise
        return _summed(files, column, by, levels, groups)


def _summed(
    files: Sequence[DuckFile],
    column: str,
    by: str | None,
    levels: Sequence[str],
    groups: str | None,
) -> dict[str, Streamed]:
    """Samples of a table in DuckDB that all files make up."""
    from dkmd.sources.engines.tables import FIT_ROWS, EngineTable
    from dkmd.sources.files.engine import FilesEngine

    whole = [file.selection(column, by, groups) for file in files]
    part = _runs(files, column, by, groups, FIT_ROWS // RUNS)
    name = files[0].path if len(files) == 1 else f"{files[0].path} and {len(files) - 1:,} more"
    engine = FilesEngine(whole, part, name)
    table = EngineTable(engine.table, name, engine)
    group = None if groups is None else GROUP
    read = (
        {ALL: table.read(VALUE, group)}
        if by is None
        else table.read_levels(VALUE, SAMPLE, levels, group)
    )
    checked = {}
    for level, data in read.items():
        assert isinstance(data, Streamed)
        data.scan.absent = None  # a level that is not there has no rows, in small files as well
        where = None if by is None else (by, level)
        checked[level] = replace(
            data,
            summarize=_refusing(data.summarize, files, column, where),
            grouped=_naming(data.grouped, files, groups, where),
        )
    return checked


def _runs(
    files: Sequence[DuckFile], column: str, by: str | None, groups: str | None, rows: int
) -> list[str]:
    """Some rows from all over the files, where all are large and of a kind that allows it."""
    few = [files[at] for at in np.linspace(0, len(files) - 1, min(RUNS, len(files))).astype(int)]
    count = max(1, RUNS // len(few))
    sources = [(file, file.runs(count, rows)) for file in few]
    if not all(found for _, found in sources):
        return []
    return [file.selection(column, by, groups, each) for file, found in sources for each in found]


def _refusing(
    summarize: Summarize, files: Sequence[DuckFile], column: str, where: Where
) -> Summarize:
    def checked(grid: Grid, logs: float | None) -> Summary:
        summary = summarize(grid, logs)
        if summary.nan:
            for file in files:
                file.refuse_words(column, where)
        return summary

    return checked


Grouped = Callable[[Witness, bool], GroupSums]


def _naming(
    grouped: Grouped | None, files: Sequence[DuckFile], groups: str | None, where: Where
) -> Grouped | None:
    """Sums over groups that say which row has no group."""
    if grouped is None or groups is None:
        return None

    def named(witness: Witness, logs: bool) -> GroupSums:
        try:
            return grouped(witness, logs)
        except ValueError:
            for file in files:
                file.refuse_missing_labels(groups, where)
            raise

    return named


def _together(parts: Sequence[Streamed]) -> Streamed:
    """Several parts of one sample."""

    def summarize(grid: Grid, logs: float | None) -> Summary:
        total = Summary(grid)
        for part in parts:
            total.merge(part.summarize(grid, logs))
        return total

    return Streamed(np.concatenate([part.preview for part in parts]), summarize)


def open_files(path: str) -> FileTable:
    """What a path, a folder, a pattern or "-" names."""
    if path == STDIN:
        return FileTable([TextFile(STDIN)], "standard input")
    return FileTable(_files(path), Path(path).name or path)


def text_table(text: str, name: str) -> FileTable:
    """Text that was read already, of one number a line."""
    return FileTable([TextFile(name, text)], name)


def _files(path: str) -> list[File]:
    """The files that a path stands for."""
    if os.path.isdir(path):
        found = _in_folder(path)
        if not found:
            raise ValueError(f"the folder {path} holds no data file ({', '.join(KNOWN)})")
        return found
    if os.path.exists(path):
        return [_open(path)]
    if path.lower().startswith("file:"):
        return _files(_of_file_url(path))
    if REMOTE.match(path):
        raise ValueError(
            f"{path.partition(':')[0]}:// addresses are not read: download the file first, or let "
            "DuckDB, Spark or pandas read it and compare the table that this gives"
        )
    if is_url(path):  # its password is nobody's business
        raise ValueError("the URL of a database goes with --connect, in Python with table=…")
    if glob.has_magic(path):
        matched = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not matched:
            raise FileNotFoundError(f"no file matches {path}")
        return _current(matched, path)
    raise FileNotFoundError(f"there is no file {path}")


REMOTE = re.compile(
    r"(https?|s?ftps?|s3[an]?|gc?s|r2|hf|az|azure|abfss?|wasbs?|hdfs)://", re.IGNORECASE
)
"""Addresses of files elsewhere."""


def _of_file_url(url: str) -> str:
    """The path that file:///tmp/a%20b.csv, file:/tmp/x.csv or file:x.csv names."""
    split = urlsplit(url)
    if split.netloc not in ("", "localhost"):
        raise ValueError(f"{url} is on another host: give file:///path/to/file")
    return unquote(url[len("file:") :] if not url[5:].startswith("//") else split.path)


def _in_folder(path: str) -> list[File]:
    """The data files of a folder: those in it, or below it as in a partitioned table (build=41/…).

    Files and folders whose names begin with . or _ are not data, by the custom of Spark and Hive.
    Of a Delta table, or a folder within one, its log tells the files.
    """
    folder = Path(path)
    table = delta_table_of(path)
    if table is None:
        there = _data_files(folder, folder.iterdir()) or _data_files(folder, folder.rglob("*"))
        return [_open(each) for each in there]
    within = Path(os.path.abspath(path))
    files = {
        each: known
        for each, known in current_files(table).items()
        if Path(os.path.abspath(each)).is_relative_to(within)
    }
    if not files:
        raise ValueError(f"the folder {path} holds no file of the Delta table {table} as it is now")
    return [DuckFile(each, "parquet", known) for each, known in files.items()]


def _current(paths: Iterable[str], pattern: str) -> list[File]:
    """Files that match a pattern, without the past versions of Delta tables and their logs."""
    tables: dict[Path, dict[str, Known]] = {}
    found: list[File] = []
    for path in paths:
        table = delta_table_of(path)
        if table is None or not may_be_past(path):
            found.append(_open(path))
            continue
        if table not in tables:
            files = current_files(table)
            tables[table] = {os.path.abspath(each): known for each, known in files.items()}
        known = tables[table].get(os.path.abspath(path))
        if known is not None:
            found.append(DuckFile(path, "parquet", known))
    if not found:
        raise ValueError(f"only past versions of a Delta table match {pattern}")
    return found


def _data_files(folder: Path, paths: Iterable[Path]) -> list[str]:
    """Those of the paths below a folder that hold data, in order of their names."""
    return sorted(
        str(path)
        for path in paths
        if _suffix(str(path)) in KNOWN
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
        and not path.is_dir()
    )


def _suffix(path: str) -> str:
    """What a file's name ends with, without what compression adds."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return Path(name).suffix


def _open(path: str) -> File:
    suffix = _suffix(path)
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise ValueError(f"{path} is empty (0 bytes)")
    if suffix not in TEXT_SUFFIXES and os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(
            f"{path} is a pipe or a device, and {suffix} files are read more than once: write it "
            "to a file first"
        )
    if suffix in DUCK_FORMS:
        return DuckFile(path, DUCK_FORMS[suffix])
    if suffix in ARROW:
        return ArrowFile(path)
    if suffix == ".npy":
        return ArrayFile(path)
    if suffix in TEXT_SUFFIXES:
        return TextFile(path)
    raise ValueError(f"{path}: files like {suffix} are not known, only {', '.join(KNOWN)}")


class BatchFile:
    """A file that is read in batches of values; a format says how."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def rereadable(self) -> bool:
        """A pipe can be read once only."""
        return os.path.isfile(self.path)

    def kinds(self) -> dict[str, str]:
        """One column of numbers, unless a format has more."""
        return {TEXT_COLUMN: NUMBER}

    def levels(self, by: str) -> list[str]:
        """Not there, unless a format has columns."""
        raise no_such_column(self.path, by, self.kinds())

    def expect(self, columns: Sequence[str]) -> None:
        """Each is read on its own all the same."""

    def batches(
        self, column: str, groups: str | None, where: Where
    ) -> Iterator[tuple[Array, npt.NDArray[Any] | None]]:
        """The values in order, with labels if groups are asked for."""
        raise NotImplementedError

    def part(
        self, column: str, groups: str | None, where: Where, limit: int | None
    ) -> tuple[Array, npt.NDArray[Any] | None]:
        """Batches until there are ``limit`` values."""
        values, labels, size = [np.empty(0)], [], 0
        for batch, marks in self._checked(column, groups, where):
            values.append(batch)
            labels.append(marks)
            size += batch.size
            if limit is not None and size >= limit:
                break
        together = np.concatenate([m for m in labels if m is not None]) if groups else None
        return np.concatenate(values), together

    def streamed(self, column: str, where: Where) -> Streamed:
        """Every 61st value, and a way to sum up all of them batch by batch."""
        batches = self._checked(column, None, where)
        preview = np.concatenate([np.empty(0), *(batch[::61] for batch, _ in batches)])

        def summarize(grid: Grid, logs: float | None) -> Summary:
            total = Summary(grid)
            for batch, _ in self._checked(column, None, where):
                total.update(batch if logs is None else logs_below(batch, logs))
            return total

        return Streamed(preview, summarize)

    def missing_at(self, column: str, where: Where) -> str:
        """Where the first missing value is, by counting."""
        row = 1
        for values, _ in self._checked(column, None, where):
            if np.isnan(values).any():
                return f"{self.path}, row {row + int(np.argmax(np.isnan(values))):,}"
            row += values.size
        return ""

    def _checked(
        self, column: str, groups: str | None, where: Where
    ) -> Iterator[tuple[Array, npt.NDArray[Any] | None]]:
        asked = (column, groups, where[0] if where else None)
        for name in (name for name in asked if name is not None):
            if name not in self.kinds():
                raise no_such_column(self.path, name, self.kinds())
        return self.batches(column, groups, where)


class TextFile(BatchFile):
    """One number a line; empty lines and lines that begin with # are passed over.

    Parameters
    ----------
    path : str
        Of the file, or what to call a text that is at hand.
    text : str, optional
        That text.
    """

    def __init__(self, path: str, text: str | None = None) -> None:
        super().__init__(path)
        self._text = text

    @property
    def rereadable(self) -> bool:
        """A text is; a pipe can be read once only."""
        return self._text is not None or super().rereadable

    @property
    def _name(self) -> str:
        return "standard input" if self.path == STDIN else self.path

    def batches(
        self, column: str, groups: str | None, where: Where
    ) -> Iterator[tuple[Array, npt.NDArray[Any] | None]]:
        """Lines by the thousand."""
        row = 1
        try:
            with self._open() as file:
                for lines in self._lines(file):
                    yield _numbers(lines, row, self._name), None
                    row += len(lines)
                    if row > PIPED and not self.rereadable:
                        raise ValueError(
                            f"{self._name} has more than {PIPED:,} lines and can be read once "
                            "only: write it to a file first"
                        )
        except UnicodeError:
            raise ValueError(f"{self._name} is not text of one number a line") from None
        except DAMAGED:
            raise ValueError(f"{self._name} is not a whole gzip file") from None

    def missing_at(self, column: str, where: Where) -> str:
        """The first line that stands for a missing value."""
        row = 1
        with self._open() as file:
            for lines in self._lines(file):
                for at, line in enumerate(lines, row):
                    if np.isnan(_numbers([line], at, self._name)).any():
                        return f"{self._name}, row {at:,}"
                row += len(lines)
        return ""

    def _lines(self, file: TextIO) -> Iterator[list[str]]:
        """Lines of a piece of text at a time; one that is too long for a number is an error."""
        rest, row = "", 1
        while piece := file.read(PIECE):
            *lines, rest = (rest + piece).removeprefix("\ufeff" if row == 1 else "").split("\n")
            yield lines
            row += len(lines)
            if len(rest) > LONGEST_LINE:
                raise ValueError(
                    f"{self._name}, row {row:,}: the line is longer than {LONGEST_LINE:,} "
                    "characters; this is not text of one number a line"
                )
        if rest:
            yield [rest]

    def _open(self) -> AbstractContextManager[TextIO]:
        if self._text is not None:
            return io.StringIO(self._text)
        if self.path == STDIN:
            return nullcontext(sys.stdin)
        if self.path.endswith(".zst"):
            raise ValueError(f"{self.path}: text compressed by zstd is not read, gzip is")
        start = first_bytes(self.path) if self.rereadable else b""
        encoding = marked_encoding(start) or "utf-8"
        if self.path.endswith(".gz"):
            return gzip.open(self.path, "rt", encoding=encoding)
        return open(self.path, encoding=encoding)


def _numbers(lines: list[str], first_row: int, where: str) -> Array:
    """The numbers of some lines of text."""
    try:
        return np.array(lines, dtype=np.float64)
    except ValueError:  # an empty line, a comment, a word: one by one
        numbers = []
    for row, line in enumerate(lines, first_row):
        text = line.strip()
        if text and not text.startswith("#"):
            number = parse_number(text)
            if number is None:
                raise not_a_number(where, row, text)
            numbers.append(number)
    return np.array(numbers, dtype=np.float64)


class ArrayFile(BatchFile):
    """A ``.npy`` array of one dimension, read where it lies."""

    def batches(
        self, column: str, groups: str | None, where: Where
    ) -> Iterator[tuple[Array, npt.NDArray[Any] | None]]:
        """Pieces of the array."""
        array = self._array()
        if array.ndim != 1:
            raise ValueError(f"{self.path} must be one-dimensional, got shape {array.shape}")
        for start in range(0, array.size, BATCH):
            values = np.asarray(array[start : start + BATCH])
            rows = range(start + 1, start + 1 + values.size)
            yield as_numbers(values, self.path, rows), None

    def _array(self) -> npt.NDArray[Any]:
        """The array, which NumPy would rather take for a pickle than say what is wrong."""
        try:
            with open(self.path, "rb") as file:
                version = np.lib.format.read_magic(file)
        except ValueError:
            raise ValueError(f"{self.path} is no array: NumPy did not write it") from None
        try:
            array: npt.NDArray[Any] = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OSError, SyntaxError) as error:
            if "pickle" in str(error) or "Python objects" in str(error):
                raise ValueError(
                    f"{self.path} holds Python objects, which are not read: save numbers, with "
                    "numpy.save(path, array.astype(float))"
                ) from None
            raise ValueError(
                f"{self.path} is no array that can be read (version {version[0]} of the format): "
                f"{str(error).splitlines()[0] if str(error) else 'it is cut off'}"
            ) from None
        return array


class ArrowFile(BatchFile):
    """An Arrow or Feather file, by record batches; needs pyarrow."""

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return self._frame(self._tables([], 1)).kinds()

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""
        frames = (Frame(table, self.path) for table in self._tables([by]))
        return sorted({level for frame in frames for level in frame.levels(by)})

    def batches(
        self, column: str, groups: str | None, where: Where
    ) -> Iterator[tuple[Array, npt.NDArray[Any] | None]]:
        """Record batches, of which only the columns that are asked for are looked at."""
        for frame in self._frames(column, groups, where[0] if where else None):
            yield frame.values(column, where), frame.labels(groups, where) if groups else None

    def missing_at(self, column: str, where: Where) -> str:
        """Where the first missing value is."""
        frames = self._frames(column, where[0] if where else None)
        return next(filter(None, (frame.missing_at(column, where) for frame in frames)), "")

    def _frames(self, *columns: str | None) -> Iterator[Frame]:
        """Record batches of these columns, which know the numbers of their rows."""
        first_row = 1
        for table in self._tables(list(dict.fromkeys(n for n in columns if n is not None))):
            yield Frame(table, self.path, first_row)
            first_row += table.num_rows

    def _frame(self, tables: Iterable[Any]) -> Frame:
        return Frame(next(iter(tables)), self.path)

    def _tables(self, names: list[str], limit: int | None = None) -> Iterator[Any]:
        """Tables of one record batch each, with these columns (all, if none are named)."""
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
            if isinstance(error, OSError) and error.errno is not None:  # not about what it holds
                raise
            raise ValueError(f"{self.path}: {str(error).splitlines()[0]}") from None
