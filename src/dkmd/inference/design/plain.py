"""The plain test of two weighted sides, and how their rows are scored."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import TOO_FAR_APART, ColumnError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.held import AtomScores, HeldRows
from dkmd.inference.design.stored import ScoreTable, Stored
from dkmd.inference.test.one_test import grid_for
from dkmd.inference.test.options import Options
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.scan import merged, sums_of_psi
from dkmd.inference.test.sides import Side
from dkmd.inference.test.width import chosen_width
from dkmd.inference.test.witness_pair import WitnessPair

FEW_ROWS = 2048
"""Up to this many rows in both samples together, the values are compared without bins."""

Sizes = tuple[float, float]
"""The effective numbers of rows of x and of y, (Σw)²/Σw²."""


class PlainTest(NamedTuple):
    """The plain test of weighted sides, and how rows are scored."""

    pair: Pair | WitnessPair | None  # None if all values are equal
    scores: Any = ()  # of x and of y: each a ScoreTable or AtomScores
    aligned: Any = ()  # the same at ``delta``
    few: bool = False  # whether every row is summed up as a unit of its own
    delta: float = 0.0  # the shift at which the samples overlap (``scored_at``)


def plain_pair(
    x: Stored, y: Stored, sizes: Sizes | None, options: Options, logs: bool, grid: Grid | None
) -> PlainTest | None:
    """The plain test; None if a side has fewer than two rows."""
    if isinstance(x, HeldRows) and isinstance(y, HeldRows) and grid is None:
        if min(x.size, y.size) < 2.0:
            return None
        if x.size + y.size <= FEW_ROWS:
            return _of_few(x, y, sizes, options)
    if grid is None:
        samples = [each.sample().values for each in (x, y)]
        one, two = (np.log(s[s > 0.0]) if logs else s for s in samples)
        grid = grid_for(one, two, options.witness)
    if options.weigh == "units":
        bins = x.shared_bins(grid, y, logs), y.shared_bins(grid, x, logs)
    else:
        bins = x.bins(grid, logs), y.bins(grid, logs)
    if min(bins[0].size, bins[1].size) < 2:
        return None
    of_x, of_y = (_side(each, None if sizes is None else sizes[i]) for i, each in enumerate(bins))
    pair = _pair(of_x, of_y, grid.center, options)
    if pair is None:
        return PlainTest(None)
    if isinstance(pair, WitnessPair):
        tables = [ScoreTable.of_witness(pair.witness, pair.bound, each) for each in bins]
        return PlainTest(pair, tables, tables)
    delta = scored_at(pair)
    scores = aligned = ScoreTable.of_pair(pair, *bins)
    if delta != 0.0:
        aligned = ScoreTable.of_pair(pair, *bins, delta)
    return PlainTest(pair, scores, aligned, delta=delta)


SEPARATED = 0.9
"""Beyond this |T|, in units of 2σ, scores hardly vary at δ = 0. A design is then found where the
samples are aligned, at the shift."""


def scored_at(pair: Pair) -> float:
    """The shift at which rows are scored: 0, unless the samples lie too far apart for that."""
    if abs(pair.moments().mean) <= SEPARATED:
        return 0.0
    shift = pair.shift()
    return shift if math.isfinite(shift) else 0.0


def _side(summary: Summary, size: float | None) -> Side:
    """The bins of a summary, with weights that add up to a size."""
    total = summary.total
    found = Side(*summary.moments(), float(summary.minus_inf), float(summary.plus_inf), total)
    return found if size is None else found.scaled_to(size)


def _pair(x: Side, y: Side, origin: float, options: Options) -> Pair | WitnessPair | None:
    """The pair at its width; None if all values are equal."""
    if options.witness is not None:
        return WitnessPair(x, y, options.witness, origin)
    width = chosen_width(x, y, options.scale, options.label_free)
    if not width > 0.0:
        return None
    return Pair(x, y, width, origin)


def _of_few(x: HeldRows, y: HeldRows, sizes: Sizes | None, options: Options) -> PlainTest:
    """Few values, without bins."""
    held = [(side.values, side.relative) for side in (x, y)]
    if options.weigh == "units":
        held = [x.shared_values(y), y.shared_values(x)]
    finite = [values[np.isfinite(values)] for values, _ in held]
    together = np.concatenate(finite)
    origin = float(np.median(together)) if together.size else 0.0
    of_x, of_y = (
        _atoms(values, weights, origin, None if sizes is None else sizes[i])
        for i, (values, weights) in enumerate(held)
    )
    pair = _pair(of_x, of_y, origin, options)
    if pair is None:
        return PlainTest(None)
    if isinstance(pair, WitnessPair):
        psi, ends = pair.witness, np.array([[-1.0], [1.0]])
        tables = [
            AtomScores(origin, s.offset, psi(origin + s.offset)[:, None] / pair.bound, ends)
            for s in (of_x, of_y)
        ]
        return PlainTest(pair, tables, tables, True)
    delta = scored_at(pair)
    scores = aligned = _atom_scores(pair, 0.0)
    if delta != 0.0:
        aligned = _atom_scores(pair, delta)
    return PlainTest(pair, scores, aligned, True, delta)


def _atom_scores(pair: Pair, delta: float) -> list[AtomScores]:
    """The scores of x and of y at a shift, without bins."""
    atoms = merged(pair.x, pair.y, delta)
    sum_x, sum_y = sums_of_psi(atoms, pair.width, None)
    n, m = pair.x.size, pair.y.size
    scores = []
    for own, side, moved in ((sum_y / m, pair.x, delta), (sum_x / n, pair.y, 0.0)):
        found = np.stack([own, (sum_x + sum_y) / (n + m)], axis=1)
        at = np.searchsorted(atoms.position, side.offset - moved)
        ends = np.stack([found[0], found[-1]])
        scores.append(AtomScores(pair.origin, side.offset, found[at], ends))
    return scores


def _atoms(values: Array, weights: Array | None, origin: float, size: float | None) -> Side:
    """Values as a side. Equal values share an atom."""
    places, at = np.unique(values, return_inverse=True)
    counts = np.bincount(at.reshape(-1), weights, places.size).astype(np.float64)
    finite = np.isfinite(places)
    with np.errstate(over="ignore"):
        offset = places[finite] - origin
    if not np.isfinite(offset).all():
        raise ColumnError(TOO_FAR_APART)
    low, high = (float(counts[places == end].sum()) for end in (-math.inf, math.inf))
    side = Side(offset, np.zeros(offset.size), counts[finite], low, high, float(counts.sum()))
    return side if size is None else side.scaled_to(size)
