"""Rows with weights or counts in an engine: one query for totals, one for the sums per bin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_sums import CLOSE, Totals, WeightedSums
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    VALUE,
    Coordinates,
    exactly,
    floor,
    is_missing,
    logarithms,
    with_bins,
)
from dkmd.sources.engines.backends import Engine
from dkmd.sources.engines.fetched import Columns, doubles
from dkmd.sources.engines.summaries import places_of
from dkmd.sources.measured import FINITE, Block, Measures

WEIGHTS, COUNTS = "weighs", "copies"
"""The columns of a long table with the weight and the count of a row."""

PREVIEW = 1 << 15
"""Rows of the sample that a grid is fitted to."""


class EngineRows:
    """Rows of a long table with weights, counts or both.

    Parameters
    ----------
    engine : Engine
        Runs the queries.
    table : ibis.Table
        The rows: the value, and the columns WEIGHTS and COUNTS as doubles if there are any.
    names : Measures
        The names of these columns, for errors.
    label : str
        The name of the table, for errors.
    """

    def __init__(self, engine: Engine, table: Any, names: Measures, label: str) -> None:
        self._engine = engine
        self._table = table
        self._names = names
        self._label = label

    def totals(self) -> Totals:
        """What all rows add up to, and whether weights and counts can be used, by one query."""
        import ibis

        rows, (w, c) = self._table, self._measures(self._table)
        x = rows[VALUE]
        there = ~is_missing(x)
        finite = there & (x > exactly(-math.inf)) & (x < exactly(math.inf))
        used = (w > 0.0) & (c > 0.0)
        known = used & there
        rows = rows.mutate(w=w, c=c)
        asked = {
            "size": rows.c.sum(where=known), "weight": (rows.w * rows.c).sum(where=known),
            "top": rows.w.max(where=known), "least": rows.w.min(where=known),
            "minimum": x.min(where=used & finite), "maximum": x.max(where=used & finite),
        }  # fmt: skip
        faults: dict[str, Any] = {}
        if self._names.weights is not None:
            faults["missing"] = is_missing(w)
            faults["negative"] = w < 0.0
            faults["infinite"] = ~is_missing(w) & (w >= exactly(math.inf))
        if self._names.counts is not None:
            finite_c = ~is_missing(c) & (c < exactly(2.0**53))
            whole = ibis.cases((finite_c & (c >= 0.0), c), else_=exactly(0.5))
            faults["broken"] = whole != floor(whole)
        asked |= {name: bad.ifelse(1, 0).sum() for name, bad in faults.items()}
        found = self._engine.run(rows.aggregate(**asked))
        for name in faults:
            self._refuse(name, int(doubles(found[name])[0] or 0))
        numbers = {name: float(doubles(found[name])[0]) for name in Totals._fields}
        if not numbers["size"] > 0.0:
            return Totals()
        ends = numbers["minimum"], numbers["maximum"]
        if math.isnan(ends[0]):
            ends = math.inf, -math.inf
        return Totals(
            round(numbers["size"]), numbers["weight"], numbers["top"], numbers["least"], *ends
        )

    def _refuse(self, fault: str, rows: int) -> None:
        """Raise an error if some rows have a weight or a count that cannot be used."""
        if not rows:
            return
        where = f"{self._label}, {self._names.weights if fault != 'broken' else self._names.counts}"
        have = "1 row has" if rows == 1 else f"{rows:,} rows have"
        if fault == "broken":
            raise ColumnError(
                f"{where}: {have} a count that is not a whole number, 0 or more: give other "
                "numbers as weights"
            )
        raise ColumnError(f"{where}: {have} a {fault} weight: {FINITE}")

    def preview(self) -> Array:
        """Values of some rows, as often as they count."""
        some = self._engine.sample(self._table, lambda table: table, PREVIEW)
        weights, counts = (doubles(some[c]) if c in some else None for c in (WEIGHTS, COUNTS))
        return Block(doubles(some[VALUE]), weights, counts).preview()

    def sums(self, grid: Grid, below: float | None, totals: Totals) -> WeightedSums:
        """The sums per bin, by one query."""
        rows, (w, c) = self._table, self._measures(self._table)
        rows = rows.filter((w > 0.0) & (c > 0.0))
        rows = rows if below is None else logarithms(rows, below)
        rows = with_bins(rows, Coordinates.of(grid), self._engine.dialect)
        w, c = self._measures(rows)
        measures = {"m0": c + exactly(0.0)}
        if self._names.weights is not None:
            part = {"part": w / exactly(totals.top)}
            rest = exactly(totals.weight / totals.top)
            rows = rows.mutate(**part)
            rows = rows.mutate(apart=_at_least(rest - rows.part, CLOSE))
            rows = rows.mutate(left=rows.part / rows.apart)
            _, c = self._measures(rows)
            measures = {
                "m0": c + exactly(0.0), "m1": c * rows.part, "m2": c * rows.part * rows.part,
                "m3": c * rows.part * rows.part * rows.part, "m4": c * rows.left * rows.left,
            }  # fmt: skip
        rows = rows.mutate(**measures)
        asked: dict[str, Any] = {}
        for name in measures:
            m = rows[name]
            asked |= {
                f"{name}_0": m.sum(), f"{name}_1": (m * rows.u).sum(),
                f"{name}_2": (m * rows.u * rows.u).sum(),
            }  # fmt: skip
        found = self._engine.run(rows.group_by([BELOW, BIN]).aggregate(**asked))
        return weighted_sums_of(found, len(measures))

    def _measures(self, rows: Any) -> tuple[Any, Any]:
        """The weight and the count of each row; 1 where there is no such column."""
        w = exactly(1.0) if self._names.weights is None else rows[WEIGHTS]
        c = exactly(1.0) if self._names.counts is None else rows[COUNTS]
        return w, c


def _at_least(x: Any, least: float) -> Any:
    import ibis

    return ibis.greatest(x, exactly(least))


def weighted_sums_of(found: Columns, measures: int) -> WeightedSums:
    """The sums per bin from the rows of the query."""
    places = places_of(found)
    bins, which = np.unique(places.bins, return_inverse=True)
    sums = np.zeros((measures, bins.size, 3))
    infinite = np.zeros((measures, 2))
    for i in range(measures):
        for j in range(3):
            column = doubles(found[f"m{i}_{j}"])
            sums[i, :, j] = np.bincount(which.reshape(-1), column[places.kept], bins.size)
        of_all = doubles(found[f"m{i}_0"])
        infinite[i] = of_all[places.minus_inf].sum(), of_all[places.plus_inf].sum()
    nan = round(float(doubles(found["m0_0"])[places.missing].sum()))
    return WeightedSums(bins, sums, infinite, nan)
