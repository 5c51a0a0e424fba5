"""The aggregate query: counts and sums per bin, as an Ibis expression that every engine can run.

It uses no user-defined functions and returns some thousand rows, whatever the table's size.
``summaries`` turns these rows into Summaries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from dkmd.bins.grid import FARTHEST, PER_E_FOLD, Grid

SAMPLE, VALUE, GROUP = "sample", "x", "measured_on"
"""The columns of a long table: the sample, the value, and the group of repeated measurements."""

BELOW, BIN = "below", "bin"
"""Columns of the result: the side of the centre, and the bin there."""

WEIGHTS, COUNTS = "weighs", "copies"
"""The columns of a long table with the weight and the count of a row."""

ONE = "one"
"""The column of the number that is added to |u| before its logarithm is taken: 1, or 0 near 0."""

DEEPEST = 2.0**-40
"""Values nearer to 0 than this share of the edge ``near`` are binned like all others."""

IEEE = ("duckdb", "pyspark", "databricks", "clickhouse", "datafusion", "polars")
"""Dialects in which an overflow gives infinity; the others stop with an error."""


class Coordinates(NamedTuple):
    """Centre and unit of a grid within an expression: literals or columns."""

    center: Any
    unit: Any

    @classmethod
    def of(cls, grid: Grid) -> Coordinates:
        """The centre and unit of a grid as literals."""
        return cls(exactly(grid.center), exactly(grid.unit))


def exactly(number: float) -> Any:
    """A number as a literal that no engine rounds; some engines read 0.1 as a decimal."""
    import ibis

    return ibis.literal(repr(float(number))).cast("float64")


def is_missing(x: Any) -> Any:
    """Whether a double is NULL or NaN."""
    return x.isnull() | x.isnan()


def has_no_label(label: Any) -> Any:
    """Whether a label is NULL, or NaN among floats."""
    return is_missing(label) if label.type().is_floating() else label.isnull()


def per_bin(
    table: Any,
    grid: Coordinates,
    dialect: str,
    keys: tuple[str, ...] = (),
    near: float | None = None,
) -> Any:
    """Counts and sums per sample and bin of the column ``x`` of a long table.

    ``below`` and ``bin`` are the side of the centre and floor(128·ln(1 + |u|)) there. Missing
    values have NULL or NaN for a bin, infinite values an infinity. Positive values below the
    edge ``near``, if it is given, have u = x/near and the bin floor(128·ln u), which is negative:
    these bins are narrow compared with their distance from 0.
    """
    return _sums(table.mutate(**_offset(table[VALUE], grid, dialect, near)), dialect, keys)


def per_bin_of_columns(
    wide: Any,
    grids: Mapping[str, Coordinates],
    dialect: str,
    near: Mapping[str, float | None],
) -> Any:
    """Counts and sums per bin of several columns of one table, in one pass.

    Each row becomes as many rows as there are columns; ``sample`` is the name of the column.
    """
    import ibis

    rows = [
        {SAMPLE: ibis.literal(name), **_offset(wide[name], grid, dialect, near[name])}
        for name, grid in grids.items()
    ]
    if any(ONE in row for row in rows):
        rows = [{ONE: ibis.literal(1, "int32"), **row} for row in rows]
    names = [*rows[0]]
    if dialect == "pyspark":  # Spark unnests only one array per query
        each = [ibis.struct({name: row[name] for name in names}) for row in rows]
        long = wide.select(each=ibis.array(each).unnest())
        return _sums(long.select(*(long.each[name].name(name) for name in names)), dialect)
    arrays = {name: ibis.array([row[name] for row in rows]).unnest() for name in names}
    return _sums(wide.select(**arrays), dialect)


ONE_PASS = ("postgres", "pyspark")
"""Engines that read several columns faster in one pass; DuckDB reads each by itself anyway."""


def _sums(offsets: Any, dialect: str, keys: tuple[str, ...] = ()) -> Any:
    """Counts and sums per bin of the offsets ``u``."""
    binned = _binned(offsets, dialect)
    return binned.group_by([SAMPLE, *keys, BELOW, BIN]).aggregate(
        count=binned.count(), sum=binned.u.sum(), squares=(binned.u * binned.u).sum()
    )


def with_bins(table: Any, grid: Coordinates, dialect: str) -> Any:
    """A long table with ``u``, ``below`` and ``bin`` of every value."""
    return _binned(table.mutate(**_offset(table[VALUE], grid, dialect, None)), dialect)


def _binned(offsets: Any, dialect: str) -> Any:
    """The offsets ``u`` with their side and bin."""
    import ibis

    u = offsets.u
    one = offsets[ONE] if ONE in offsets.columns else ibis.literal(1.0, "float64")
    k = floor((one + u.abs()).ln() * float(PER_E_FOLD))
    if dialect != "duckdb":  # DuckDB's FLOOR keeps NaN and infinities, and a CASE costs 20% more
        k = ibis.cases((u.abs() <= FARTHEST, k), else_=u)
    return offsets.mutate(**{BELOW: u < 0.0, BIN: k})


def _offset(x: Any, grid: Coordinates, dialect: str, near: float | None) -> dict[str, Any]:
    """``u`` of each value; with an edge ``near`` also ``one``, which is 0 for values near 0."""
    import ibis

    u = _from_center(x, grid, dialect)
    if near is None:
        return {"u": u}
    close = (x > exactly(near * DEEPEST)) & (x < exactly(near))
    # adding ``one`` saves a second CASE, 10% of the whole query in DuckDB
    return {"u": ibis.cases((close, x / exactly(near)), else_=u), ONE: (~close).cast("int32")}


def _from_center(x: Any, grid: Coordinates, dialect: str) -> Any:
    """(x − center)/unit; engines that stop at an overflow check for it first."""
    import ibis

    u = (x - grid.center) / grid.unit
    if dialect in IEEE:
        return u
    low, high = grid.center - grid.unit * FARTHEST, grid.center + grid.unit * FARTHEST
    return ibis.cases(
        ((x >= low) & (x <= high), u),
        (x < low, exactly(-math.inf)),
        ((x > high) & ~x.isnan(), exactly(math.inf)),
        else_=x,
    )


def floor(x: Any) -> Any:
    """The engine's own FLOOR. Ibis would convert the result to an integer, which cannot be NaN."""
    return _floor()(x)


@cache
def _floor() -> Any:
    import ibis

    def floor(x):  # type: ignore[no-untyped-def]
        ...

    return ibis.udf.scalar.builtin(floor, signature=(("float64",), "float64"))


def logarithms(table: Any, below: float = math.inf) -> Any:
    """A long table with the logarithms of its values, which are positive, below an edge."""
    import ibis

    if below < math.inf:
        table = table.filter(table[VALUE] < exactly(below))
    x = table[VALUE]
    return table.mutate(**{VALUE: ibis.cases((x > 0.0, x)).ln()})
