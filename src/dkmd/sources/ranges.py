"""The paper's estimator where the data are: sorted by their engine, summarised in ranges of values.

Ibis tables are sorted by their database and come here as a stream, a block at a time. Spark keeps
its rows: it puts ranges of values into partitions, each of which becomes one block there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any

import numpy as np

from dkmd.riemann import RiemannBlock, infinite_range, require_laplace
from dkmd.sources.arrays import missing_values
from dkmd.witness import Witness

CHUNK = 1 << 17
"""Rows of a stream that are held at a time."""

VALUE, SIGN, COUNT = "value", "sign", "count"
"""Columns of the streams: a point, what it counts in the statistic, and how many rows it is."""


@dataclass(frozen=True)
class Extent:
    """What has to be known of a column before the walk: its size, its ends and what is missing."""

    size: int
    missing: int
    low: float
    high: float


@dataclass(frozen=True)
class Run:
    """Blocks so far, as one, and how many rows they stand for."""

    block: RiemannBlock
    rows: int

    def followed_by(self, later: Run) -> Run:
        """This run and the one after it."""
        return Run(self.block.combine(later.block), self.rows + later.rows)


def riemann_of_tables(x: Any, y: Any, witness: Witness, column: str | None) -> float:
    """``riemann`` of a column of two tables."""
    require_laplace(witness)
    kinds = {_engine(table) for table in (x, y)}
    if kinds == {"ibis"} and x.get_backend().name == y.get_backend().name == "pyspark":
        x, y = (_spark_frame(table) for table in (x, y))
        kinds = {"pyspark"}
    if kinds == {"ibis"}:
        return _of_ibis(x, y, witness, column)
    if kinds == {"pyspark"}:
        return _of_spark(x, y, witness, column)
    raise TypeError("x and y must both be Ibis tables, or both Spark dataframes, of one connection")


def _engine(table: Any) -> str:
    return type(table).__module__.partition(".")[0]


def _column_of(names: Iterable[str], column: str | None, label: str) -> str:
    """The column that was asked for, or the only one."""
    names = list(names)
    if column is None and len(names) == 1:
        return names[0]
    if column is None:
        raise ValueError(f"{label} has several columns, say which: {', '.join(map(repr, names))}")
    if column not in names:
        raise ValueError(f"{label} has no column {column!r}: it has {', '.join(map(repr, names))}")
    return column


def _require_finite(extents: tuple[Extent, Extent]) -> None:
    """What ``riemann`` refuses of arrays: nothing at all, missing values, infinite ranges."""
    for name, extent in zip("xy", extents, strict=True):
        if extent.size + extent.missing == 0:
            raise ValueError(f"{name} is empty: at least one value is needed")
        if extent.missing:
            raise missing_values(name, extent.missing, "NaN or NULL")
    low = min(extent.low for extent in extents)
    high = max(extent.high for extent in extents)
    if not math.isfinite(high - low):
        raise infinite_range(low, high)


def _walked(batches: Iterable[tuple[Any, Any, Any]], witness: Witness) -> Iterator[Run]:
    """Batches of points in order, each as a block: values, signs and numbers of rows."""
    for values, signs, counts in batches:
        z = np.ascontiguousarray(values, dtype=np.float64)
        if z.size:
            s = np.ascontiguousarray(signs, dtype=np.float64)
            yield Run(RiemannBlock.of_runs(z, s, witness), int(np.sum(counts)))


def _total(runs: Iterable[Run], rows: int) -> float:
    """The statistic; refused if the engine gave other rows than it had counted."""
    whole = reduce(Run.followed_by, runs)
    if whole.rows != rows:
        raise RuntimeError(
            f"{rows:,} values were counted and {whole.rows:,} read: the tables changed meanwhile"
        )
    return whole.block.total


def _of_ibis(x: Any, y: Any, witness: Witness, column: str | None) -> float:
    """One query for the extents, one that is sorted by the database and read as a stream."""
    if x.get_backend() is not y.get_backend():
        raise TypeError("x and y must be tables of one connection")
    sides = [_ibis_numbers(table, column, name) for table, name in ((x, "x"), (y, "y"))]
    extents = (_ibis_extent(sides[0][0]), _ibis_extent(sides[1][0]))
    _require_finite(extents)
    n, m = (extent.size for extent in extents)
    parts = [
        table.mutate(in_x=np.int64(1 - i).item(), in_y=np.int64(i).item())
        for i, (table, _) in enumerate(sides)
    ]
    both = parts[0].union(parts[1])
    if any(whole for _, whole in sides):  # ties are the rule: count them where they are
        both = both.group_by(VALUE).agg(in_x=both.in_x.sum(), in_y=both.in_y.sum())
    stream = x.get_backend().to_pyarrow_batches(both.order_by(VALUE), chunk_size=CHUNK)

    def batches() -> Iterator[tuple[Any, Any, Any]]:
        for batch in stream:
            value, in_x, in_y = (
                batch.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
                for name in (VALUE, "in_x", "in_y")
            )
            yield value, in_x / n - in_y / m, in_x + in_y

    return _total(_walked(batches(), witness), n + m)


def _ibis_numbers(table: Any, column: str | None, label: str) -> tuple[Any, bool]:
    """A table of one column of doubles, and whether they were exact numbers with ties."""
    name = _column_of(table.columns, column, label)
    values = table[name]
    kind = values.type()
    if kind.is_boolean():
        values = values.cast("int8")
    elif not kind.is_numeric():
        raise TypeError(f"{label}, column {name!r} holds {kind}, not numbers")
    return table.select(**{VALUE: values.cast("float64")}), not kind.is_floating()


def _ibis_extent(table: Any) -> Extent:
    value = table[VALUE]
    query = table.aggregate(
        rows=table.count(),
        known=value.count(),
        nan=value.isnan().cast("int64").sum(),
        low=value.min(),
        high=value.max(),
    )
    (row,) = query.to_pyarrow().to_pylist()
    nan = int(row["nan"] or 0)
    low, high = (math.nan if row[end] is None else float(row[end]) for end in ("low", "high"))
    return Extent(int(row["known"]) - nan, int(row["rows"]) - int(row["known"]) + nan, low, high)


def _spark_frame(table: Any) -> Any:
    """An Ibis table of Spark as a dataframe of Spark."""
    backend = table.get_backend()
    return backend.raw_sql(backend.compile(table))


def _of_spark(x: Any, y: Any, witness: Witness, column: str | None) -> float:
    """Ranges of values as partitions, each sorted and summarised by the executor that has it."""
    from pyspark.sql import functions as f

    sides = [_spark_numbers(frame, column, name) for frame, name in ((x, "x"), (y, "y"))]
    extents = (_spark_extent(sides[0]), _spark_extent(sides[1]))
    _require_finite(extents)
    n, m = (extent.size for extent in extents)
    parts = [
        side.withColumn(SIGN, f.lit(sign))
        for side, sign in zip(sides, (1 / n, -1 / m), strict=True)
    ]
    # equal values never lie in two ranges
    ranged = parts[0].union(parts[1]).repartitionByRange(VALUE).sortWithinPartitions(VALUE)
    schema = ", ".join([*(f"{name} double" for name in RiemannBlock.__slots__), "rows long"])
    found = ranged.mapInArrow(_partition_block(witness), schema).collect()
    runs = [Run(RiemannBlock(*row[:-1]), row[-1]) for row in found]
    return _total(sorted(runs, key=lambda run: run.block.first), n + m)


def _spark_numbers(frame: Any, column: str | None, label: str) -> Any:
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    name = _column_of(frame.columns, column, label)
    kind = frame.schema[name].dataType
    if not isinstance(kind, t.NumericType | t.BooleanType):
        raise TypeError(f"{label}, column {name!r} holds {kind.simpleString()}, not numbers")
    escaped = name.replace("`", "``")
    return frame.select(f.col(f"`{escaped}`").cast("double").alias(VALUE))


def _spark_extent(frame: Any) -> Extent:
    from pyspark.sql import functions as f

    value = f.col(VALUE)
    gone = value.isNull() | f.isnan(value)
    row = frame.select(
        f.count(f.lit(1)), f.sum(gone.cast("long")), f.min(value), f.max(value)
    ).first()
    rows, missing = int(row[0]), int(row[1] or 0)
    low, high = (math.nan if end is None else float(end) for end in row[2:])
    return Extent(rows - missing, missing, low, high)


def _partition_block(witness: Witness) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What an executor does with the Arrow batches of a sorted partition: one row, its block."""

    def summarise(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        points = (
            (batch.column(0).to_numpy(), batch.column(1).to_numpy(), batch.num_rows)
            for batch in batches
        )
        runs = list(_combined(_walked(points, witness)))
        rows = [asdict(run.block) | {"rows": run.rows} for run in runs]
        if rows:
            yield pa.RecordBatch.from_pylist(rows)

    return summarise


def _combined(runs: Iterable[Run]) -> Iterator[Run]:
    """All runs as one; none for none."""
    whole: Run | None = None
    for run in runs:
        whole = run if whole is None else whole.followed_by(run)
    if whole is not None:
        yield whole
