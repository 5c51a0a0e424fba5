"""Rows of queries with covariates and strata as sums per bin and per unit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.binned.crossed import Crossed
from dkmd.binned.crossed_loops import Plan
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.inference.cross_streams import Level, UnitColumns
from dkmd.inference.frame import Frame
from dkmd.inference.label_codes import Labels, coded
from dkmd.inference.unit_design import UnitRows
from dkmd.inference.weighing import WeightedPowers
from dkmd.sources.engines.fetched import Columns, doubles
from dkmd.sources.engines.summaries import Flags, bin_sums_of, places_of, summary_of
from dkmd.sources.keys import ABSENT, KeyPart, levels_of

STRATUM = "stratum"
"""The column of keys of strata."""


def key_parts(frame: Frame) -> list[KeyPart]:
    """The levels that keys tell apart."""
    return [
        KeyPart(factor.name, tuple(str(level) for level in factor.levels if level is not None))
        for factor in frame.factors
    ]


def codes_of(keys: Sequence[str], frame: Frame) -> list[npt.NDArray[np.int64]]:
    """The codes of the levels of each factor, from keys."""
    parts = key_parts(frame)
    known = {key: levels_of(key, parts) for key in set(keys)}
    return [
        factor.codes([_level(known[key][f]) for key in keys])
        for f, factor in enumerate(frame.factors)
    ]


def _level(text: str) -> Level:
    return None if text == ABSENT else text


def crossed_of(rows: Columns, grid: Grid, frame: Frame) -> Crossed:
    """The rows of ``cross_query`` for one sample."""
    summary = summary_of(rows, grid)
    places = places_of(rows)
    if places.kept.any():
        summary.minimum, summary.maximum = _ends(rows, places.kept)
    missing = [doubles(rows[f"m{i}"])[~places.missing].sum() for i in range(len(frame.covariates))]
    return Crossed(summary, *_sums_of_columns(rows, summary.bins, frame), np.array(missing))


def weighted_powers_of(rows: Columns) -> WeightedPowers:
    """The row of ``weighted_powers_query``."""
    found = [[float(doubles(rows[f"m{i}_{k}"])[0]) for k in range(4)] for i in range(4)]
    return WeightedPowers(np.array(found))


def weighted_crossed_of(rows: Columns, grid: Grid, frame: Frame) -> WeightedCrossed:
    """The rows of ``cross_query`` for a table with weights."""
    bins = bin_sums_of(rows, grid)
    finite = places_of(rows).kept
    if finite.any():
        low, high = _ends(rows, finite)
        bins = bins._replace(within=(low - grid.center, high - grid.center))
    return WeightedCrossed(bins, *_sums_of_columns(rows, bins.bins, frame))


def _ends(rows: Columns, finite: Flags) -> tuple[float, float]:
    """The smallest and the largest finite value."""
    low, high = (doubles(rows[name])[finite] for name in ("lowest", "highest"))
    return float(low.min()), float(high.max())


def _sums_of_columns(
    rows: Columns, bins: npt.NDArray[np.int64], frame: Frame
) -> tuple[Array, Array, Array]:
    """Σg, Σug and Σu²g of all bins, Σg at both infinities, and Σggᵀ."""
    places = places_of(rows)
    there, finite = ~places.missing, places.kept
    plan = frame.plan()
    width = plan.width
    places_in = np.searchsorted(bins, places.bins)
    found = np.zeros((bins.size, 3, width)), np.zeros((2, width)), np.zeros((width, width))
    sums, at_ends, gram = found
    ends = places.minus_inf, places.plus_inf
    for j in range(plan.numeric):
        for power, name in enumerate("sfq"):
            of = doubles(rows[f"{name}{j}"])
            np.add.at(sums[:, power, j], places_in, of[finite])
        of = doubles(rows[f"s{j}"])
        at_ends[:, j] = [of[at].sum() for at in ends]
        for k in range(j + 1):
            gram[j, k] = gram[k, j] = doubles(rows[f"p{j}_{k}"])[there].sum()
    if frame.factors:
        codes = codes_of([str(key) for key in rows[STRATUM].tolist()], frame)
        _add_factors(rows, codes, plan, (finite, there, ends, places_in), found)
    return found


def _add_factors(
    rows: Columns,
    codes: Sequence[npt.NDArray[np.int64]],
    plan: Plan,
    places: tuple[Flags, Flags, tuple[Flags, Flags], npt.NDArray[np.int64]],
    found: tuple[Array, Array, Array],
) -> None:
    """Add the dummies of all factors, and their products with other columns."""
    finite, there, ends, bins = places
    sums, at_ends, gram = found
    at_bin = np.full(finite.size, -1)
    at_bin[finite] = bins
    count = doubles(rows["count"])
    columns = [first - 1 + of for first, of in zip(plan.first, codes, strict=True)]
    for f, (of, column) in enumerate(zip(codes, columns, strict=True)):
        inside = (of > 0) & there
        here = inside & finite
        for power, name in enumerate(("count", "sum", "squares")):
            np.add.at(sums[:, power], (at_bin[here], column[here]), doubles(rows[name])[here])
        for end, flags in enumerate(ends):
            some = inside & flags
            np.add.at(at_ends, (end, column[some]), count[some])
        for j in range(plan.numeric):
            of_number = doubles(rows[f"s{j}"])[inside]
            np.add.at(gram, (column[inside], j), of_number)
            np.add.at(gram, (j, column[inside]), of_number)
        np.add.at(gram, (column[inside], column[inside]), count[inside])
        for e in range(f):
            both = inside & (codes[e] > 0)
            np.add.at(gram, (column[both], columns[e][both]), count[both])
            np.add.at(gram, (columns[e][both], column[both]), count[both])


def units_of(rows: Columns, labels: Labels, frame: Frame) -> UnitColumns:
    """The rows of ``unit_query``; a unit has one row for each of its strata."""
    codes, names = coded(labels)
    n, psi, squares = (doubles(rows[name]) for name in ("n", "psi", "squares"))

    def summed(of: Array) -> Array:
        return np.bincount(codes, of, names.size).astype(np.float64)

    plan = frame.plan()
    columns = np.zeros((names.size, plan.width))
    for j in range(plan.numeric):
        columns[:, j] = summed(doubles(rows[f"s{j}"]))
    if frame.factors:
        of_factors = codes_of([str(key) for key in rows[STRATUM].tolist()], frame)
        for first, of in zip(plan.first, of_factors, strict=True):
            inside = of > 0
            np.add.at(columns, (codes[inside], first - 1 + of[inside]), n[inside])
    sums = UnitRows(summed(n), summed(psi), summed(squares))
    return UnitColumns(names, sums, columns)
