"""Expressions that score the rows of a long table, and the columns g beside them.

All of it is plain SQL. The scores of a row come from a table of bins, joined by the bin of its
value. g is a cubic of a number that is cut to ±1. Strata are further keys of the GROUP BY.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.bins.grid import FARTHEST, SIDE
from dkmd.inference.design.columns import AT_ENDS, MISSING, MOST_REACHES, Covariate, Frame
from dkmd.inference.design.stored import Index, ScoreTable
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    Coordinates,
    exactly,
    is_missing,
    with_bins,
)
from dkmd.sources.engines.level_queries import key_of_texts
from dkmd.sources.keys import ABSENT, KeyPart, levels_of

STRATUM = "stratum"
"""The column of keys of strata."""

TINY = 1e-150
"""Coefficients below this do not change a score, which is a sum of numbers around 1."""

ONE_UNNEST = ("pyspark", "databricks")
"""Dialects that unnest only one array in a query."""


def with_scores(rows: Any, scores: ScoreTable, dialect: str) -> Any:
    """The rows of a long table, all of which have a value, with the scores s0, s1 and so on."""
    import ibis

    rows = _with_coefficients(
        with_bins(rows, Coordinates.of(scores.grid), dialect), scores, dialect
    )
    away = rows.u - rows["mean"]
    columns = {}
    for j in range(scores.scores):
        c = [rows[f"c{j}_{power}"] for power in range(3)]
        low, high = (exactly(float(end)) for end in scores.infinite[:, j])
        columns[f"s{j}"] = ibis.cases(
            (rows.u < exactly(-FARTHEST), low),
            (rows.u > exactly(FARTHEST), high),
            else_=c[0] + away * (c[1] + away * c[2]),
        )
    return rows.mutate(**columns)


def _with_coefficients(rows: Any, scores: ScoreTable, dialect: str) -> Any:
    """The rows, whose bins are known, with the μ and the coefficients of their bin."""
    import ibis

    first, last, table = _every_bin(scores)
    names = ["mean", *(f"c{j}_{power}" for j in range(scores.scores) for power in range(3))]
    if first == last:
        of_bin = table[0, 1:].tolist()
        return rows.mutate(**{n: exactly(v) for n, v in zip(names, of_bin, strict=True)})
    k = ibis.least(rows[BIN], exactly(float(SIDE)))
    signed = ibis.cases((rows[BELOW], exactly(-1.0) - k), else_=k)
    # a value may lie one bin off by rounding, so no row is lost at the ends
    near = ibis.greatest(ibis.least(signed, exactly(last)), exactly(first))
    finite = rows.u.abs() <= exactly(FARTHEST)
    rows = rows.mutate(at=ibis.cases((finite, near), else_=exactly(first)))
    return rows.inner_join(_literal_table(["at", *names], table, dialect), "at")


def _every_bin(scores: ScoreTable) -> tuple[float, float, Array]:
    """The first and the last bin; and of every bin between, its number, μ and coefficients.

    A bin that is not listed has those of the nearest one.
    """
    if not scores.bins.size:
        return 0.0, 0.0, np.zeros((1, 2 + 3 * scores.scores))
    first, last = int(scores.bins[0]), int(scores.bins[-1])
    every = np.arange(first, last + 1)
    places = np.searchsorted(0.5 * (scores.bins[1:] + scores.bins[:-1]), every)
    coefficients = scores.coefficients[places].reshape(every.size, -1)
    # PostgreSQL stops where a product is too small for a double
    coefficients = np.where(np.abs(coefficients) < TINY, 0.0, coefficients)
    table = np.column_stack([every, scores.mean[places], coefficients])
    return float(first), float(last), table


def _literal_table(names: Sequence[str], numbers: Array, dialect: str) -> Any:
    """Numbers as a table of doubles. As text they are one literal, which every engine reads fast.

    Temporary tables would need the right to write, and thousands of literals take seconds.
    """
    import ibis

    if dialect in ONE_UNNEST:
        text = ";".join(",".join(map(repr, row)) for row in numbers.tolist())
        lines = ibis.literal(text).split(";").unnest().name("line").as_table()
        cells = lines.select(cells=lines.line.split(","))
        return cells.select(
            **{name: cells.cells[i].cast("float64") for i, name in enumerate(names)}
        )
    columns = {
        name: ibis.literal(",".join(map(repr, column.tolist())))
        .split(",")
        .cast("array<float64>")
        .unnest()
        for name, column in zip(names, numbers.T, strict=True)
    }
    return ibis.literal(1).name("one").as_table().select(**columns)


def with_columns(rows: Any, frame: Frame) -> Any:
    """The rows with the numeric columns g0, g1 and so on, and the key of their strata."""
    columns = {f"g{j}": _g(rows, frame, *of) for j, of in enumerate(frame.numbers)}
    if frame.factors:
        texts = [rows[f"l{f}"] for f in range(len(frame.factors))]
        columns[STRATUM] = key_of_texts(texts, _parts(frame))
    return rows.mutate(**columns) if columns else rows


def _g(rows: Any, frame: Frame, i: int, kind: int) -> Any:
    x = rows[f"k{i}"]
    if kind == MISSING:
        return is_missing(x).cast("int32").cast("float64")
    return _g_of(x, frame.covariates[i])


def _g_of(x: Any, covariate: Covariate) -> Any:
    """g of a covariate as an expression; 0 where it is missing."""
    import ibis

    zero = exactly(0.0)
    if covariate.per <= AT_ENDS:
        return ibis.cases(
            (is_missing(x), zero),
            (x == exactly(math.inf), exactly(1.0)),
            (x == exactly(-math.inf), exactly(-1.0)),
            else_=zero,
        )
    center, per = exactly(covariate.center), exactly(covariate.per)
    if not covariate.bounded:
        far = MOST_REACHES / covariate.per
        return ibis.cases(
            (is_missing(x), zero),
            (x > exactly(covariate.center + far), exactly(math.inf)),
            (x < exactly(covariate.center - far), exactly(-math.inf)),
            else_=(x - center) * per,
        )
    reach = 1.0 / covariate.per
    low, high = exactly(covariate.center - reach), exactly(covariate.center + reach)
    # NULL and NaN would be cut to an end, and infinite numbers must be cut before they are used
    near = ibis.cases((is_missing(x), center), (x < low, low), (x > high, high), else_=x)
    t = (near - center) * per
    return t * (exactly(1.5) - t * t * exactly(0.5))


def _parts(frame: Frame) -> list[KeyPart]:
    """The levels that keys tell apart."""
    return [
        KeyPart(factor.name, tuple(str(level) for level in factor.levels if level is not None))
        for factor in frame.factors
    ]


def codes_of(keys: Sequence[str], frame: Frame) -> list[Index]:
    """The codes of the levels of each factor, from keys; 0 for a level without a column."""
    parts = _parts(frame)
    known = {key: levels_of(key, parts) for key in set(keys)}
    found = []
    for f, factor in enumerate(frame.factors):
        levels = [None if known[key][f] == ABSENT else known[key][f] for key in keys]
        codes = factor.codes(levels)
        found.append(np.where(codes <= factor.columns, codes, 0))
    return found
