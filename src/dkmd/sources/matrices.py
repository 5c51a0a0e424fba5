"""Several columns of a source as one matrix: columns by name or pattern, or a column of vectors.

The rows are held in memory. float32 stays float32.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.errors import ColumnError, ColumnTypeError, FileError, TooLittleError
from dkmd.sources.column_data import HeldColumn, Labels
from dkmd.sources.files.arrow_file import ArrowFile
from dkmd.sources.files.formats import suffix_of
from dkmd.sources.files.numpy_file import ArrayFile
from dkmd.sources.files.paths import files_of
from dkmd.sources.kinds import DURATION, NOTHING, NUMBER, OTHER, no_such_column, unlabelled
from dkmd.sources.loading import is_engine_table, open_table
from dkmd.sources.memory.columns import known_labels
from dkmd.sources.memory.dask import is_dask, is_dask_frame
from dkmd.sources.memory.frames import FrameTable, is_frame
from dkmd.sources.table import Table

Numbers = npt.NDArray[Any]
MOST_TOGETHER = 20_000_000
"""Values of all columns of both tables that are compared together by ``drift`` (160 MB)."""

MIXER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number near 2^64 divided by the golden ratio: products with it spread over all bits."""

WILD = "*?["
"""Characters that make a name a pattern."""


class Matrix(NamedTuple):
    """Rows of several columns of one side."""

    values: Numbers  # (rows, columns)
    names: list[str]
    label: str
    groups: Labels | None
    note: str = ""  # what to know about rows that were left out


def matrix_pair(
    reference: Any, current: Any, together: Sequence[str], groups: Any
) -> tuple[Matrix, Matrix]:
    """Both sides with the same columns. ``groups`` is a column's name or a pair of labels."""
    by_name = groups if isinstance(groups, str) else None
    before = _matrix(reference, "reference", together, by_name)
    after = _matrix(current, "current", together, by_name)
    for side in (before, after):
        if not len(side.values):  # the kinds of its columns are not known either
            raise TooLittleError(f"{side.label} has no rows: each side needs at least 2")
    if before.names != after.names:
        lost = [name for name in before.names if name not in after.names]
        new = [name for name in after.names if name not in before.names]
        told = [f"{before.label} alone has {_few(lost)}"] if lost else []
        told += [f"{after.label} alone has {_few(new)}"] if new else []
        raise ColumnError(f"both sides need the same columns: {'; '.join(told) or 'other order'}")
    if groups is not None and by_name is None:
        if len(groups) != 2:
            raise ValueError("groups must be a pair (groups of reference, groups of current)")
        before, after = (
            _with_labels(side, labels) for side, labels in zip((before, after), groups, strict=True)
        )
    return told_apart(before, after)


def told_apart(before: Matrix, after: Matrix) -> tuple[Matrix, Matrix]:
    """The two sides, renamed reference and current if they have the same label."""
    if before.label != after.label:
        return before, after
    return before._replace(label="reference"), after._replace(label="current")


def in_one_order(side: Matrix) -> Matrix:
    """The same rows in an order that depends on their values alone, and is else like a shuffle.

    Resamples move rows by their numbers, and the same rows should give the same answer. Sides of
    more than MOST_TOGETHER values stay as they are: the rows would be copied.
    """
    if side.values.size > MOST_TOGETHER:
        return side
    mixed = np.zeros(len(side.values), dtype=np.uint64)
    codes = [] if side.groups is None else [np.unique(side.groups, return_inverse=True)[1]]
    for column in (*codes, *side.values.T):
        plain = np.asarray(column, dtype=np.float64) + 0.0  # -0.0 is 0.0
        bits = np.where(np.isnan(plain), np.nan, plain).view(np.uint64)
        mixed = (mixed ^ bits) * MIXER
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed, kind="stable")
    groups = None if side.groups is None else side.groups[order]
    return side._replace(values=side.values[order], groups=groups)


def _with_labels(side: Matrix, given: Any) -> Matrix:
    """A side with the labels of its rows. Rows without a label are left out."""
    labels, known = known_labels(given, f"groups of {side.label}")
    if known.all() or known.size != len(side.values):
        return side._replace(groups=labels)
    note = unlabelled(side.label, "groups", int((~known).sum()))
    return side._replace(values=side.values[known], groups=labels, note=note)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _matrix(source: Any, label: str, together: Sequence[str], groups: str | None) -> Matrix:
    if is_engine_table(source):
        raise TypeError(
            "together= needs rows in memory, and tables of an engine stay where they are: fetch "
            "the columns first, for example with to_pyarrow()"
        )
    if is_dask(source) and not is_dask_frame(source):
        source = source.compute()
    if isinstance(source, str | os.PathLike) and suffix_of(os.fspath(source)) == ".npy":
        path = os.fspath(source)
        return _of_array(ArrayFile(path).whole(), Path(path).name, together, groups)
    if isinstance(source, np.ndarray | list | tuple):
        return _of_array(np.asarray(source), label, together, groups)
    if is_dask_frame(source):
        kinds = {str(name): NUMBER for name in source.columns}
        names = chosen(kinds, together, label, groups)
        source = source[[*names, *([groups] if groups else [])]].compute()
    table = open_table(source, label, groups=groups)
    kinds = table.kinds()
    names = chosen(kinds, together, table.name, groups)
    vectors = [name for name in names if kinds[name] == OTHER]
    if not vectors:
        return _of_columns(source, table, names, groups)
    if len(names) > 1:
        raise ColumnError(
            f"{table.name}: {vectors[0]!r} holds vectors: compare a column of vectors alone"
        )
    return _of_vectors(source, table, names[0], groups)


def _of_array(array: Numbers, label: str, together: Sequence[str], groups: str | None) -> Matrix:
    """An array of rows and columns; its columns are named 0, 1, 2 and so on."""
    if groups is not None:
        raise ValueError("groups by name need tables on both sides")
    if array.ndim != 2:
        raise ValueError(f"{label} must have rows and columns, got an array of shape {array.shape}")
    kinds = {str(j): NUMBER for j in range(array.shape[1])}
    names = chosen(kinds, together, label, None)
    if len(names) < array.shape[1]:
        array = array[:, [int(name) for name in names]]
    return Matrix(array, names, label, None)


def chosen(
    kinds: Mapping[str, str], together: Sequence[str], label: str, besides: str | None
) -> list[str]:
    """The columns that names and patterns stand for, each once, in the order of the table.

    Examples
    --------
    >>> chosen({"id": "text", "f_1": "numbers", "f_2": "numbers", "g": "numbers"}, ["f_*"], "", "")
    ['f_1', 'f_2']
    """
    wanted: set[str] = set()
    for pattern in together:
        if pattern in kinds:
            wanted.add(pattern)
        elif any(character in pattern for character in WILD):
            numeric = (name for name, kind in kinds.items() if kind in (NUMBER, DURATION, NOTHING))
            found = [name for name in numeric if fnmatchcase(name, pattern) and name != besides]
            if not found:
                raise ColumnError(f"{label} has no column of numbers that fits {pattern!r}")
            wanted.update(found)
        else:
            raise no_such_column(label, pattern, kinds)
    return [name for name in kinds if name in wanted]


def _of_columns(source: Any, table: Table, names: list[str], groups: str | None) -> Matrix:
    """Columns of numbers, side by side."""
    if is_frame(source) and groups is None:
        whole = _whole(source, names)
        if whole is not None:
            return Matrix(whole, names, table.name, None)
    columns = table.read_columns(names, groups)
    parts, labels = [], None
    for name in names:
        data = columns[name]
        if not isinstance(data, HeldColumn):
            raise ColumnError(
                f"{table.name} has too many rows to compare columns together from this kind of "
                "file: use Parquet with a column of vectors, or pass an array"
            )
        parts.append(data.values + float(data.offset) if data.offset else data.values)
        labels = data.groups
    return Matrix(np.column_stack(parts), names, table.name, labels, table.left_out)


def _whole(frame: Any, names: list[str]) -> Numbers | None:
    """All columns of a frame at once, if they are plain numbers of one type."""
    import narwhals as nw

    known = nw.from_native(frame)
    if isinstance(known, nw.LazyFrame):
        return None
    schema = {str(name): (name, dtype) for name, dtype in known.schema.items()}
    if any(not (schema[name][1].is_float() or schema[name][1].is_integer()) for name in names):
        return None
    array = np.asarray(known.select([schema[name][0] for name in names]).to_numpy())
    return array if array.dtype.kind in "fiu" else None


def _of_vectors(source: Any, table: Table, name: str, groups: str | None) -> Matrix:
    """A column whose rows are vectors of one length."""
    import narwhals as nw
    import pyarrow as pa

    if isinstance(source, str | os.PathLike):
        column, label_column = _from_files(os.fspath(source), name, groups)
    else:
        assert isinstance(table, FrameTable)
        frame = nw.from_native(source)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        series = frame.get_column(name)
        label_column = None if groups is None else frame.get_column(groups).to_native()
        column = series.to_native()
        if not isinstance(column, pa.ChunkedArray):
            try:
                column = (
                    column.to_arrow() if hasattr(column, "to_arrow") else pa.array(list(column))
                )
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                raise _not_vectors(table.name, name) from None
    values = _vectors(column, table.name, name)
    names = [f"{name}[{j}]" for j in range(values.shape[1])]
    if label_column is None:
        return Matrix(values, names, table.name, None)
    labels, known = known_labels(label_column, f"{table.name}, column {groups!r}")
    return Matrix(values[known], names, table.name, labels, table.left_out)


def _from_files(path: str, name: str, groups: str | None) -> tuple[Any, Any]:
    """A column of vectors of Parquet or Arrow files, and the column of groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    wanted = [name] if groups is None else [name, groups]
    tables: list[Any] = []
    for file in files_of(path):
        if isinstance(file, ArrowFile):
            tables += file.tables(wanted)
        elif suffix_of(file.path) in (".parquet", ".pq"):
            try:
                tables.append(pq.ParquetFile(file.path).read(columns=wanted))
            except (pa.ArrowException, OSError) as error:
                raise FileError(
                    f"{file.path}: {(str(error).splitlines() or ['damaged'])[0]}"
                ) from None
        else:
            raise ColumnTypeError(
                f"{file.path}: columns of vectors are read from Parquet and Arrow files only"
            )
    table = pa.concat_tables(tables)
    return table.column(name), None if groups is None else table.column(groups)


def _vectors(column: Any, label: str, name: str) -> Numbers:
    """A list column of Arrow as an array; a missing vector is a row of NaN."""
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # no chunk at all
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    kind = whole.type
    is_list = (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
    if not is_list or not (
        pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)
    ):
        raise _not_vectors(label, name)
    known = whole.drop_null()
    flat = known.flatten().to_numpy(zero_copy_only=False)
    if len(known) == 0:
        raise ColumnError(f"{label}, column {name!r} has no vectors")
    lengths = known.value_lengths().to_numpy(zero_copy_only=False)
    if lengths.min() != lengths.max():
        raise ColumnError(
            f"{label}, column {name!r}: all vectors need one length, and they have from "
            f"{lengths.min():,} to {lengths.max():,} numbers"
        )
    vectors: Numbers = flat.reshape(len(known), -1)
    if vectors.shape[1] == 0:
        raise ColumnError(f"{label}, column {name!r} has empty vectors")
    if len(known) == len(whole):
        return vectors
    kind_of = vectors.dtype if vectors.dtype.kind == "f" else np.dtype(np.float64)
    every = np.full((len(whole), vectors.shape[1]), np.nan, dtype=kind_of)
    every[np.asarray(whole.is_valid())] = vectors
    return every


def _not_vectors(label: str, name: str) -> ColumnTypeError:
    return ColumnTypeError(f"{label}, column {name!r} holds neither numbers nor vectors of numbers")
