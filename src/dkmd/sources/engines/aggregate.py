"""The one aggregate: counts and sums per bin as an expression that every engine can run.

Written once in Ibis, without user-defined functions, for DuckDB, PostgreSQL, Spark and whatever
else Ibis compiles for. Its rows, some thousand whatever the table's size, become Summaries here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.binned.grid import EDGES, PER_E_FOLD, SIDE, Grid
from dkmd.binned.summary import Summary
from dkmd.statistic.witness import Witness

Columns = Mapping[str, npt.NDArray[Any]]
"""What a query found, by column."""

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

FLAT = 40.0
"""So many widths from its centre ψ is at its bound, to the last bit of a double."""

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


def group_moments(table: Any, witness: Witness, samples: Sequence[tuple[Any, float, float]]) -> Any:
    """Sums over groups of repeated measurements: one row per sample, whatever their number.

    ``samples`` holds the key, a pivot and the size of each. With ψ in units of σ, s is a group's
    Σ(ψ − pivot), q its Σ(ψ − pivot)² and n its size; "rest" divides by the square of the number of
    all other values, as the jackknife does. ψ has a closed form for σ = τ = w, t = (x − c)/w:
    ψ/w = ±2·(A·(e + 1/e) − e·π/2) with e = exp(−|t|) and A = arctan e.
    """
    import ibis

    rows = table.filter(~is_missing(table[VALUE]))
    reach, x = FLAT * witness.sigma, rows[VALUE]
    low, high = exactly(witness.center - reach), exactly(witness.center + reach)
    near = ibis.least(ibis.greatest(x, low), high)
    rows = rows.mutate(t=(near - exactly(witness.center)) / exactly(witness.sigma))
    rows = rows.mutate(e=(-rows.t.abs()).exp())
    # PostgreSQL works each use of a column out anew, so there are few: mean and variance share one
    size = rows.e.atan() * (rows.e + exactly(1.0) / rows.e) - rows.e * exactly(0.5 * math.pi)
    size *= exactly(2.0)
    rows = rows.mutate(psi=ibis.cases((rows.t < 0.0, -size), else_=size))
    groups = rows.group_by([SAMPLE, GROUP]).aggregate(
        n=rows.count().cast("float64"), mean=rows.psi.mean(), variance=rows.psi.var(how="pop")
    )
    pivot = ibis.cases(*((groups[SAMPLE] == key, exactly(at)) for key, at, _ in samples))
    size = ibis.cases(*((groups[SAMPLE] == key, exactly(all_)) for key, _, all_ in samples))
    groups = groups.mutate(
        away=groups["mean"] - pivot,
        rest=ibis.greatest(size - groups.n, exactly(0.5)),
    )
    groups = groups.mutate(
        s=groups.n * groups.away,
        q=groups.n * (groups["variance"] + groups.away * groups.away),
    )
    label = groups[GROUP]
    unlabelled = is_missing(label) if label.type().is_floating() else label.isnull()
    return groups.group_by(SAMPLE).aggregate(
        groups=groups.count(),
        unlabelled=unlabelled.sum(),
        n=groups.n.sum(),
        s=groups.s.sum(),
        q=groups.q.sum(),
        nn=(groups.n * groups.n).sum(),
        ss=(groups.s * groups.s).sum(),
        sn=(groups.s * groups.n).sum(),
        sss=(groups.s * groups.s * groups.s).sum(),
        ssn=(groups.s * groups.s * groups.n).sum(),
        snn=(groups.s * groups.n * groups.n).sum(),
        nnn=(groups.n * groups.n * groups.n).sum(),
        ss_rest=(groups.s * groups.s / (groups.rest * groups.rest)).sum(),
        sn_rest=(groups.s * groups.n / (groups.rest * groups.rest)).sum(),
        nn_rest=(groups.n * groups.n / (groups.rest * groups.rest)).sum(),
    )


def near_zero_of(rows: Columns, near: float) -> Summary:
    """The values below the edge ``near`` of one sample, from its rows of ``per_bin``.

    The bins of this Summary are those of the logarithm, which no grid has. So it only serves to be
    put on a grid (``Summary.on``) and for the logarithms of its bins.
    """
    found = np.asarray(rows[BIN], dtype=np.float64)
    kept = np.flatnonzero((found < 0.0) & (found > -FARTHEST_BIN))
    kept = kept[np.argsort(found[kept])]
    summary = Summary(Grid(0.0, near))
    summary.bins = found[kept].astype(np.int64)
    summary.counts = np.asarray(rows["count"], dtype=np.int64)[kept]
    summary.sums, summary.squares = (
        np.asarray(rows[name], dtype=np.float64)[kept] for name in ("sum", "squares")
    )
    if kept.size:
        offset, variance, _ = summary.moments()
        ends = near * np.exp((summary.bins[[0, -1]] + [0, 1]) / PER_E_FOLD)
        ends = np.where(variance[[0, -1]] == 0.0, offset[[0, -1]], ends)
        summary.minimum, summary.maximum = map(float, ends)
    return summary


def summary_of(rows: Columns, grid: Grid) -> Summary:
    """The Summary of one sample from its rows of ``per_bin``, without those near 0.

    Its minimum and maximum are those of its outermost bins, exact where these hold single values.
    """
    found = np.asarray(rows[BIN], dtype=np.float64)
    counts = np.asarray(rows["count"], dtype=np.int64)
    summary = Summary(grid)
    missing, far = np.isnan(found), np.abs(found) >= FARTHEST_BIN
    below = np.array([side is not None and bool(side) for side in rows[BELOW]], dtype=bool)
    summary.nan = int(counts[missing].sum())
    summary.plus_inf = int(counts[far & ~below].sum())
    summary.minus_inf = int(counts[far & below].sum())
    kept = (found >= 0.0) & ~far
    k = np.minimum(found[kept], SIDE).astype(np.int64)
    signed = np.where(below[kept], -1 - k, k)
    summary.bins, which = np.unique(signed, return_inverse=True)
    size = summary.bins.size
    summary.counts = np.bincount(which, counts[kept], size).astype(np.int64)
    for name, column in (("sums", "sum"), ("squares", "squares")):
        setattr(summary, name, np.bincount(which, np.asarray(rows[column], np.float64)[kept], size))
    if size:
        summary.minimum, summary.maximum = _end(summary, 0), _end(summary, -1)
    return summary


def _end(summary: Summary, at: int) -> float:
    """The outer end of the first (0) or last (−1) bin, or the value there where it is but one."""
    center, unit = summary.grid.center, summary.grid.unit
    if not -SIDE <= summary.bins[at] < SIDE:  # no bin reaches farther: no value of n lies more
        n, mean = float(summary.counts[at]), float(summary.sums[at] / summary.counts[at])
        variance = max(0.0, float(summary.squares[at]) / n - mean * mean)
        reach = math.sqrt(variance * (n - 1.0))  # than √(n − 1) deviations from their mean
        return center + unit * (mean + (reach if at else -reach))
    moments = summary.moments()
    if moments.variance[at] == 0.0:
        return center + float(moments.offset[at])
    return _edges(summary, at)[at]


def hides_sign(summary: Summary) -> bool:
    """Whether the first bin holds several values and 0 lies within: are they all positive?"""
    if not summary.bins.size or summary.counts[0] == 1:
        return False
    low, high = _edges(summary, 0)
    return low <= 0.0 < high


def _edges(summary: Summary, at: int) -> tuple[float, float]:
    """From where to where the first or last bin reaches."""
    k = int(summary.bins[at])
    side = k if k >= 0 else -1 - k
    inner = float(EDGES[min(side, SIDE)])
    outer = float(EDGES[side + 1]) if side < SIDE else math.inf
    low, high = (inner, outer) if k >= 0 else (-outer, -inner)
    return (
        summary.grid.center + summary.grid.unit * low,
        summary.grid.center + summary.grid.unit * high,
    )
