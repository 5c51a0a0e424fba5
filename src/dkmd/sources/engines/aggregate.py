"""The one aggregate: counts and sums per bin as an expression that every engine can run.

Written once in Ibis, without user-defined functions, for DuckDB, PostgreSQL, Spark and whatever
else Ibis compiles for. Its rows, some thousand whatever the table's size, become Summaries here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from dkmd.binned.grid import PER_E_FOLD, Grid

SAMPLE, VALUE, GROUP = "sample", "x", "measured_on"
"""The columns of a long table: which sample, its value, and the group of repeated measurements."""

BELOW, BIN = "below", "bin"

ONE = "one"
"""What |u| is added to before its logarithm is taken."""

FARTHEST = 1e150
"""Values so many units from the centre count as infinite: their squares might not be doubles."""

FARTHEST_BIN = math.floor(PER_E_FOLD * math.log(FARTHEST))

DEEPEST = 2.0**-40
"""Values nearer to 0 than this share of the edge of ``near`` are binned like all others."""

IEEE = ("duckdb", "pyspark", "databricks", "clickhouse", "datafusion", "polars")
"""Dialects in which a result that is too large is infinite; the others stop with an error."""


class Coordinates(NamedTuple):
    """Centre and unit of a grid as parts of an expression: numbers or columns."""

    center: Any
    unit: Any

    @classmethod
    def of(cls, grid: Grid) -> Coordinates:
        """The numbers of a grid."""
        return cls(exactly(grid.center), exactly(grid.unit))


def exactly(number: float) -> Any:
    """A number as a literal that no engine rounds: some read 0.1 as a decimal."""
    import ibis

    return ibis.literal(repr(float(number))).cast("float64")


def is_missing(x: Any) -> Any:
    """Whether a double is NULL or NaN."""
    return x.isnull() | x.isnan()


def per_bin(
    table: Any,
    grid: Coordinates,
    dialect: str,
    keys: tuple[str, ...] = (),
    near: float | None = None,
) -> Any:
    """Counts and sums per sample and bin of the column ``x`` of a long table.

    ``below`` and ``bin`` are the side of the centre and floor(128·ln(1 + |u|)) there. What is
    missing has NULL or NaN for its bin, what is infinite an infinity. Positive values below the
    edge ``near``, if there is one, have u = x/near and the bin floor(128·ln u), which is negative:
    bins that are narrow against their distance from 0.
    """
    return _sums(table.mutate(**_offset(table[VALUE], grid, dialect, near)), dialect, keys)


def per_bin_of_columns(
    wide: Any,
    grids: Mapping[str, Coordinates],
    dialect: str,
    near: Mapping[str, float | None],
) -> Any:
    """The same for several columns of one table in one pass, by as many rows for each of its rows.

    ``sample`` is then a column's name.
    """
    import ibis

    rows = [
        {SAMPLE: ibis.literal(name), **_offset(wide[name], grid, dialect, near[name])}
        for name, grid in grids.items()
    ]
    if any(ONE in row for row in rows):
        rows = [{ONE: ibis.literal(1, "int32"), **row} for row in rows]
    names = [*rows[0]]
    if dialect == "pyspark":  # which unnests one array only
        each = [ibis.struct({name: row[name] for name in names}) for row in rows]
        long = wide.select(each=ibis.array(each).unnest())
        return _sums(long.select(*(long.each[name].name(name) for name in names)), dialect)
    arrays = {name: ibis.array([row[name] for row in rows]).unnest() for name in names}
    return _sums(wide.select(**arrays), dialect)


ONE_PASS = ("postgres", "pyspark")
"""Engines that take several columns quicker in one pass; DuckDB reads each by itself anyway."""


def _sums(offsets: Any, dialect: str, keys: tuple[str, ...] = ()) -> Any:
    """The aggregate itself, of the offsets ``u`` of samples."""
    import ibis

    u = offsets.u
    one = offsets[ONE] if ONE in offsets.columns else ibis.literal(1.0, "float64")
    k = floor((one + u.abs()).ln() * float(PER_E_FOLD))
    if dialect != "duckdb":  # there FLOOR keeps NaN and infinities, and a CASE costs a fifth more
        k = ibis.cases((u.abs() <= FARTHEST, k), else_=u)
    binned = offsets.mutate(**{BELOW: u < 0.0, BIN: k})
    return binned.group_by([SAMPLE, *keys, BELOW, BIN]).aggregate(
        count=binned.count(), sum=binned.u.sum(), squares=(binned.u * binned.u).sum()
    )


def _offset(x: Any, grid: Coordinates, dialect: str, near: float | None) -> dict[str, Any]:
    """``u`` of each value; with an edge ``near`` also ``one``, which is 0 for the values there."""
    import ibis

    u = _from_center(x, grid, dialect)
    if near is None:
        return {"u": u}
    close = (x > exactly(near * DEEPEST)) & (x < exactly(near))
    # a sum with ``one`` in place of a second CASE: 10 % of the whole query in DuckDB
    return {"u": ibis.cases((close, x / exactly(near)), else_=u), ONE: (~close).cast("int32")}


def _from_center(x: Any, grid: Coordinates, dialect: str) -> Any:
    """(x − center)/unit; where an engine would stop at an overflow, that is looked at first."""
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
    """The engine's own FLOOR, as it is: Ibis would make it a whole number, which NaN is not."""
    return _floor()(x)


@cache
def _floor() -> Any:
    import ibis

    def floor(x):  # type: ignore[no-untyped-def]
        ...

    return ibis.udf.scalar.builtin(floor, signature=(("float64",), "float64"))


def logarithms(table: Any, below: float = math.inf) -> Any:
    """A long table of positive values as one of their logarithms, of those below an edge."""
    import ibis

    if below < math.inf:
        table = table.filter(table[VALUE] < exactly(below))
    x = table[VALUE]
    return table.mutate(**{VALUE: ibis.cases((x > 0.0, x)).ln()})
