"""Units on both sides whose values are not in memory: long files, engines, dask.

Each side sums its values up where they are: per bin with the weights of units, and per unit at a
witness. Labels tell which units are shared. What comes back grows with the number of units, not
with the number of values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.binned.weighted import BinSums, WeightedBins
from dkmd.inference.label_codes import Labels
from dkmd.inference.one_test import scale_asked, stopped_by_nan
from dkmd.inference.options import Options
from dkmd.inference.pair import Pair
from dkmd.inference.result import NoOutcome, Outcome
from dkmd.inference.scale import fitted_sides
from dkmd.inference.sides import Side
from dkmd.inference.unit_design import UnitRows
from dkmd.inference.unit_labels import Numbered, numbered
from dkmd.inference.units import KindsOfUnits, Units, fitted_bins, require_known, tested_units
from dkmd.statistic.witness import Witness


class Announced(Exception):  # noqa: N818
    """A question of a stream that will be asked together with others; ask again then."""


Answer = TypeVar("Answer")


def asked_both(x: Callable[[], Answer], y: Callable[[], Answer]) -> tuple[Answer, Answer]:
    """The answers of x and y. If that of x is announced only, y is announced too."""
    try:
        of_x = x()
    except Announced:
        y()
        raise
    return of_x, y()


def common_labels(x: Labels, y: Labels) -> Numbered:
    """``numbered``, where one side may spell whole numbers as text: frames do, engines do not."""
    kinds = x.dtype.kind, y.dtype.kind
    if kinds[0] in "iu" and kinds[1] not in "iu":
        return numbered(x.astype(str).astype(object), y)
    if kinds[1] in "iu" and kinds[0] not in "iu":
        return numbered(x, y.astype(str).astype(object))
    return numbered(x, y)


class LabelledRows(NamedTuple):
    """The label of each unit of one side, and its sums."""

    labels: Labels
    rows: UnitRows


class UnitStream(Protocol):
    """One side whose values are summed up where they are. ``logs`` asks for their logarithms."""

    def labels(self) -> Labels:
        """The label of every unit that has a value."""

    def sums(self, witness: Witness, logs: bool) -> LabelledRows:
        """The sums of every unit at a witness."""

    def bins(self, grid: Grid, beside: UnitStream, logs: bool) -> BinSums:
        """The sums per bin of units that the other side has too.

        A value weighs 1 over the number of values of its unit, so a unit weighs 1.
        """


class UnitStreams(NamedTuple):
    """The units of x and y."""

    x: UnitStream
    y: UnitStream
    logs: bool = False

    def at(self, witness: Witness) -> tuple[Labels, UnitRows, UnitRows]:
        """The labels of all units, and their sums on both sides."""
        of_x, of_y = asked_both(
            partial(self.x.sums, witness, self.logs), partial(self.y.sums, witness, self.logs)
        )
        known = common_labels(of_x.labels, of_y.labels)
        size, (x, y) = int(known.labels.size), known[:2]
        return known.labels, of_x.rows.at(x, size), of_y.rows.at(y, size)


def compare_unit_streams(x: Summary, y: Summary, streams: UnitStreams, options: Options) -> Outcome:
    """The test of two streams of units; x and y are the summaries of all their values."""
    weigh = options.weigh or "units"
    require_known(options, weigh)
    if stopped_by_nan(x.nan + y.nan, options):
        return NoOutcome(options.alternative)
    seen: dict[Witness, tuple[Labels, UnitRows, UnitRows]] = {}

    def at(witness: Witness) -> tuple[Labels, UnitRows, UnitRows]:
        if witness not in seen:
            seen[witness] = streams.at(witness)
        return seen[witness]

    def name(unit: int) -> object:
        return next(iter(seen.values()))[0][unit]

    every = Side.of(x), Side.of(y)

    def slopes(pair: Pair, center: float) -> tuple[float, float]:
        return replace(pair, x=every[0], y=every[1]).slopes(center)

    units = Units(lambda witness: at(witness)[1:], name, slopes, weigh)
    if weigh == "values":
        of_x, of_y, fitted = fitted_sides(x, y, scale_asked(options), options.label_free)
    else:
        bins = _weighed(streams, x.grid)
        of_x, of_y, fitted = fitted_bins(bins, x.grid.unit, options)
    return tested_units(of_x, of_y, x.grid.center, fitted, units, options)


def _weighed(streams: UnitStreams, grid: Grid) -> tuple[WeightedBins, WeightedBins]:
    """The bins of both sides with the weights of ``value_weights``."""
    x, y = asked_both(
        partial(streams.x.bins, grid, streams.y, streams.logs),
        partial(streams.y.bins, grid, streams.x, streams.logs),
    )
    shared = round(x.weight)
    if shared < 2:
        known = common_labels(streams.x.labels(), streams.y.labels())
        KindsOfUnits.of(*known.counts()).require("units")
    each = weight_of_unit(x, y)
    return x.times(each, grid), y.times(each, grid)


def weight_of_unit(x: BinSums, y: BinSums) -> float:
    """What a shared unit weighs (``value_weights``), from bins in which it weighs 1."""
    return 0.5 * (x.rows + y.rows) / round(x.weight)
