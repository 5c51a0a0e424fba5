"""The paper's estimator for tables of an engine, which sorts the values range by range.

A query returns ten numbers for each range that holds values: a RiemannBlock. Blocks combine in
order. DuckDB runs in this process and passes its sorted values instead, which is faster. Weights
that SQL has no function for need the sorted values of every engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array, missing_values
from dkmd.sources.engines.aggregate import VALUE, exactly, floor
from dkmd.sources.engines.connections import tables_together
from dkmd.sources.engines.fetched import Columns
from dkmd.sources.engines.tables import FIT_ROWS, EngineTable
from dkmd.statistic.riemann import RiemannBlock, infinite_range, require_laplace
from dkmd.statistic.witness import Witness

MOST = 1 << 20
"""Ranges that a query may return."""

ALONE = 0.8
"""If more than this share of values have a range to themselves, the values are read instead."""

CHUNK = 1 << 17
"""Values of a stream that are held at once."""

WIDEST = 4.0
"""The largest width of a range in σ. Rounding errors grow by e to the power of it."""

PER_SPREAD = 32.0
"""The least number of ranges between the quartiles, so that sorting runs in parallel."""

FARTHEST_RANGE = 2.0**50
"""This many ranges from the middle, the two ends of a range are the same double."""

IN_PROCESS = ("duckdb", "polars")
"""Engines in this process: passing their values on costs nothing."""

IN_X, IN_Y = "in_x", "in_y"
"""Columns with the numbers of values of x and of y that a row stands for."""


@dataclass(frozen=True)
class Extent:
    """The size, the ends and the number of missing values of a column."""

    size: int
    missing: int
    low: float
    high: float


class Run(NamedTuple):
    """Combined blocks, and the number of values that they stand for."""

    block: RiemannBlock
    values: int

    def followed_by(self, later: Run) -> Run:
        """This run and the one after it."""
        return Run(self.block.combine(later.block), self.values + later.values)


class Ranges(NamedTuple):
    """Ranges of values of equal width."""

    base: float
    width: float


def riemann_of_tables(x: Any, y: Any, witness: Witness, column: str | None) -> float:
    """``riemann`` of a column of two tables."""
    require_laplace(witness)
    engine, tables = tables_together(x, y)
    columns = [_column_of(table, column) for table in tables]
    values = [table.values(name) for table, name in zip(tables, columns, strict=True)]
    extents = [_extent(engine.run(_ends(each))) for each in values]
    _require_finite(extents)
    n, m = (extent.size for extent in extents)
    # whole numbers have many ties, which the engine counts
    whole = any(not t.is_floating(name) for t, name in zip(tables, columns, strict=True))
    pooled = _pooled(values, whole)
    ranges = None
    if engine.dialect not in IN_PROCESS and witness.weight in WEIGHTS:
        some = engine.sample(pooled, lambda table: table[[VALUE]], FIT_ROWS)[VALUE]
        some = np.asarray(some, dtype=np.float64)
        ranges = _fitted(some, extents, witness.sigma)
        if ranges is not None and _too_many(ranges, some, n + m):
            ranges = None
    if ranges is None:
        runs = _streamed(engine.batches(pooled.order_by(VALUE), CHUNK), n, m, witness)
    else:
        found = engine.run(blocks_of_ranges(pooled, ranges, n, m, witness))
        runs = _in_order(found, witness)
    return _total(runs, n + m)


def _column_of(table: EngineTable, column: str | None) -> str:
    """The column that was asked for, or the only column."""
    names = list(table.kinds())
    if column is None and len(names) > 1:
        several = ", ".join(map(repr, names))
        raise ValueError(f"{table.name} has several columns, say which: {several}")
    return names[0] if column is None else column


def _ends(values: Any) -> Any:
    """The query for an Extent."""
    x = values[VALUE]
    return values.aggregate(
        rows=values.count(), known=x.count(), nan=x.isnan().sum(), low=x.min(), high=x.max()
    )


def _extent(found: Columns) -> Extent:
    rows, known, nan = (int(found[name][0] or 0) for name in ("rows", "known", "nan"))
    low, high = (_double(found[name][0]) for name in ("low", "high"))
    return Extent(known - nan, rows - known + nan, low, high)


def _double(value: Any) -> float:
    return math.nan if value is None else float(value)


def _require_finite(extents: Iterable[Extent]) -> None:
    """Reject what ``riemann`` rejects: no values, missing values, an infinite range."""
    extents = list(extents)
    for name, extent in zip("xy", extents, strict=True):
        if extent.size + extent.missing == 0:
            raise ValueError(f"{name} is empty: at least one value is needed")
        if extent.missing:
            raise missing_values(name, extent.missing, "NaN or NULL")
    low = min(extent.low for extent in extents)
    high = max(extent.high for extent in extents)
    if not math.isfinite(high - low):
        raise infinite_range(low, high)


def _pooled(values: list[Any], whole: bool) -> Any:
    """Both samples as one table, with the sample of each value."""
    x, y = (
        table.mutate(**{IN_X: np.int64(1 - i).item(), IN_Y: np.int64(i).item()})
        for i, table in enumerate(values)
    )
    both = x.union(y)
    if not whole:
        return both
    return both.group_by(VALUE).aggregate(**{name: both[name].sum() for name in (IN_X, IN_Y)})


def _streamed(batches: Iterable[Columns], n: int, m: int, witness: Witness) -> Iterator[Run]:
    """Blocks of values that arrive in order."""
    for batch in batches:
        z, in_x, in_y = (
            np.ascontiguousarray(batch[name], dtype=np.float64) for name in (VALUE, IN_X, IN_Y)
        )
        if z.size:
            block = RiemannBlock.of_runs(z, in_x / n - in_y / m, witness)
            yield Run(block, int(in_x.sum() + in_y.sum()))


def _fitted(some: Array, extents: Iterable[Extent], sigma: float) -> Ranges | None:
    """Ranges for data of which some values are known; None if there would be too many."""
    low, middle, high = np.quantile(some[np.isfinite(some)], (0.25, 0.5, 0.75)).tolist()
    width = WIDEST * sigma
    if high > low:
        width = min(width, (high - low) / PER_SPREAD)
    farthest = max(max(extent.high - middle, middle - extent.low) for extent in extents)
    return None if farthest > FARTHEST_RANGE * width else Ranges(middle, width)


def _too_many(ranges: Ranges, some: Array, rows: int) -> bool:
    """Whether most values have a range to themselves, so that reading the values is as good.

    The number of ranges is estimated from some rows: ranges that hold one of their values count
    √(all/some) times, the "guaranteed-error estimator" of Charikar et al. (PODS 2000).
    """
    _, values = np.unique(np.floor((some - ranges.base) / ranges.width), return_counts=True)
    once = int(np.count_nonzero(values == 1))
    expected = math.sqrt(max(1.0, rows / some.size)) * once + (values.size - once)
    return expected > MOST or (rows > CHUNK and once > ALONE * some.size)


def blocks_of_ranges(pooled: Any, ranges: Ranges, n: int, m: int, witness: Witness) -> Any:
    """The query for the numbers of a RiemannBlock, one row per range that holds values.

    The statistic is Σ_k c_k·Σ_i s_i e^{−|z_i − z_k|/σ}. With g_i = e^{(z_i − origin)/σ} the inner
    sum is Σ_{i ≤ k} s_i g_i / g_k + g_k·Σ_{i > k} s_i / g_i: two running sums, F and G, of which
    the second is taken from its total. The order of ties does not matter, but must be the same for
    both.
    """
    import ibis

    z, sigma = pooled[VALUE], exactly(witness.sigma)
    base, width = exactly(ranges.base), exactly(ranges.width)
    rows = pooled.mutate(place=floor((z - base) / width))
    rows = rows.mutate(
        origin=base + rows.place * width,
        s=rows[IN_X] * exactly(1.0 / n) - rows[IN_Y] * exactly(1.0 / m),
    )
    rows = rows.mutate(g=((rows[VALUE] - rows.origin) / sigma).exp())
    sorted_by = {"group_by": rows.place, "order_by": rows[VALUE]}
    gap = rows[VALUE] - rows[VALUE].lag().over(**sorted_by)
    running = ibis.cumulative_window(**sorted_by)
    rows = rows.mutate(
        c=gap.fill_null(0.0) * WEIGHTS[str(witness.weight)](rows[VALUE], witness),
        f=(rows.s * rows.g).sum().over(running),
        b=(rows.s / rows.g).sum().over(running),
    )
    return rows.group_by(rows.place).aggregate(
        values=(rows[IN_X] + rows[IN_Y]).sum(),
        origin=rows.origin.min(),
        low=rows[VALUE].min(),
        high=rows[VALUE].max(),
        inside=(rows.c * (rows.f / rows.g - rows.b * rows.g)).sum(),
        signs_up=(rows.s * rows.g).sum(),
        steps_up=(rows.c * rows.g).sum(),
        signs_down=(rows.s / rows.g).sum(),
        steps_down=(rows.c / rows.g).sum(),
    )


def _in_order(found: Columns, witness: Witness) -> Iterator[Run]:
    """The blocks of a query, in the order of their values."""
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in found.items()}
    for at in np.argsort(columns["low"]).tolist():
        yield _run({name: float(column[at]) for name, column in columns.items()}, witness)


def _run(row: Mapping[str, float], witness: Witness) -> Run:
    low, high, sigma = row["low"], row["high"], witness.sigma
    at_low = math.exp((low - row["origin"]) / sigma)
    at_high = math.exp((row["origin"] - high) / sigma)
    block = RiemannBlock(
        first=low,
        last=high,
        first_weight=float(witness.weigh(low)),
        total=row["inside"] + row["signs_down"] * row["steps_up"],
        signs_at_last=row["signs_up"] * at_high,
        steps_at_last=row["steps_up"] * at_high,
        signs_at_first=row["signs_down"] * at_low,
        steps_at_first=row["steps_down"] * at_low,
        sigma=sigma,
    )
    return Run(block, int(row["values"]))


def _total(runs: Iterable[Run], values: int) -> float:
    """The statistic; an error if the engine read another number of values than it had counted."""
    whole = reduce(Run.followed_by, runs)
    if whole.values != values:
        counted = f"{values:,} values were counted and {whole.values:,} read"
        raise RuntimeError(f"{counted}: the tables changed meanwhile")
    return whole.block.total


def _tanh(z: Any, witness: Witness) -> Any:
    """1 − 2/(e^{2u} + 1): not every engine has tanh, and some stop if e^{2u} overflows."""
    return exactly(1.0) - exactly(2.0) / ((_near(z, witness, 20.0) * 2.0).exp() + exactly(1.0))


def _algebraic(z: Any, witness: Witness) -> Any:
    u = _near(z, witness, 2.0**28)
    return u / (u * u + exactly(1.0)).sqrt()


def _linear(z: Any, witness: Witness) -> Any:
    return z - exactly(witness.center)


def _sign(z: Any, witness: Witness) -> Any:
    return _linear(z, witness).sign()


def _near(z: Any, witness: Witness, reach: float) -> Any:
    """(z − center)/tau, clipped where the weight has reached its limit."""
    import ibis

    low, high = (exactly(witness.center + side * reach * witness.tau) for side in (-1.0, 1.0))
    return (ibis.least(ibis.greatest(z, low), high) - exactly(witness.center)) / exactly(
        witness.tau
    )


WEIGHTS: Mapping[str, Callable[[Any, Witness], Any]] = {
    "tanh": _tanh,
    "algebraic": _algebraic,
    "linear": _linear,
    "sign": _sign,
}
"""Weights that SQL can express. It has no erf, and cannot call functions of Python."""
