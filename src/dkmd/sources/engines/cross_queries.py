"""Queries for covariates and strata: sums per bin and per unit with those of the columns g.

All of it is plain SQL: g is a cubic of a number that is cut to ±1, and strata are further keys of
the GROUP BY. ``cross_rows`` turns the rows of these queries into sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.crossed_loops import MISSING
from dkmd.binned.weighted_sums import CLOSE
from dkmd.inference.frame import AT_ENDS, Covariate, Frame
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    GROUP,
    ROWS,
    SAMPLE,
    VALUE,
    WEIGHT,
    Coordinates,
    exactly,
    is_missing,
    with_bins,
)
from dkmd.sources.engines.cross_rows import STRATUM
from dkmd.sources.engines.measured import COUNTS, WEIGHTS
from dkmd.sources.table import CrossNames


def columns_beside(
    columns: Sequence[str],
    beside: CrossNames,
    number: Callable[[str], Any],
    text: Callable[[str], Any],
    source: Any,
) -> dict[str, Any]:
    """The columns of the table of a ``CrossScan``, as numbers and as text."""
    chosen = {f"v{i}": number(name) for i, name in enumerate(columns)}
    chosen |= {f"k{i}": number(name) for i, name in enumerate(beside.covariates)}
    chosen |= {f"l{i}": text(name) for i, name in enumerate(beside.strata)}
    chosen |= {
        key: number(name)
        for key, name in zip((WEIGHTS, COUNTS), beside.measures, strict=True)
        if name is not None
    }
    return chosen if beside.groups is None else chosen | {GROUP: source[beside.groups]}


def g_of(x: Any, covariate: Covariate) -> Any:
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
    reach = 1.0 / covariate.per
    low, high = exactly(covariate.center - reach), exactly(covariate.center + reach)
    # NULL and NaN would be cut to an end, and infinite numbers must be cut before they are used
    near = ibis.cases(
        (is_missing(x), exactly(covariate.center)), (x < low, low), (x > high, high), else_=x
    )
    t = (near - exactly(covariate.center)) * exactly(covariate.per)
    return t * (exactly(1.5) - t * t * exactly(0.5))


def with_columns(rows: Any, frame: Frame) -> Any:
    """The rows with the numeric columns g0, g1 and so on."""
    columns = {}
    for j, (i, kind) in enumerate(frame.numbers):
        x = rows[f"k{i}"]
        missing = is_missing(x).cast("int32").cast("float64")
        columns[f"g{j}"] = missing if kind == MISSING else g_of(x, frame.covariates[i])
    return rows.mutate(**columns) if columns else rows


def cross_query(table: Any, grid: Coordinates, dialect: str, frame: Frame) -> Any:
    """Counts and sums per sample, stratum and bin: of u, of u·g and of products of g.

    With a column of weights all sums are weighted, and the result has the number of rows too.
    """
    rows = with_bins(with_columns(table, frame), grid, dialect)
    u, numbers = rows.u, range(len(frame.numbers))
    sums = {"lowest": rows[VALUE].min(), "highest": rows[VALUE].max()}
    if WEIGHT in table.columns:
        w = rows[WEIGHT]
        sums |= {ROWS: rows_of(rows), "count": w.sum()}
    else:
        w = exactly(1.0)
        sums |= {"count": rows.count()}
    sums |= {"sum": (w * u).sum(), "squares": (w * u * u).sum()}
    for j in numbers:
        g = w * rows[f"g{j}"]
        sums |= {f"s{j}": g.sum(), f"f{j}": (u * g).sum(), f"q{j}": (u * u * g).sum()}
        sums |= {f"p{j}_{k}": (g * rows[f"g{k}"]).sum() for k in range(j + 1)}
    for i in range(len(frame.covariates)):
        sums[f"m{i}"] = rows_of(rows, is_missing(rows[f"k{i}"]))
    keys = [SAMPLE, STRATUM] if frame.factors else [SAMPLE]
    return rows.group_by([*keys, BELOW, BIN]).aggregate(**sums)


def rows_of(rows: Any, where: Any = None) -> Any:
    """How many rows there are, each as often as it counts; or those for which something is true."""
    if COUNTS in rows.columns:
        c = rows[COUNTS]
        return c.sum() if where is None else where.ifelse(c, exactly(0.0)).sum()
    return rows.count() if where is None else where.cast("int32").sum()


def powers_query(rows: Any) -> Any:
    """How many values there are, and the sums of the first three powers of ``psi``."""
    c = rows[COUNTS] if COUNTS in rows.columns else exactly(1.0)
    r = rows.psi
    return rows.aggregate(
        size=rows_of(rows), first=(c * r).sum(), second=(c * r * r).sum(),
        third=(c * r * r * r).sum(),
    )  # fmt: skip


def weighted_groups_query(rows: Any) -> Any:
    """One row per group: the sums of WEIGHT, and with it of ``psi`` and of its square."""
    w, r = rows[WEIGHT], rows.psi
    return rows.group_by(GROUP).aggregate(
        weight=w.sum(), psi=(w * r).sum(), squares=(w * r * r).sum()
    )


def weighted_powers_query(rows: Any, total: float) -> Any:
    """The sums of ``WeightedPowers``; the shares of weights are the column WEIGHTS."""
    import ibis

    rows = rows.mutate(
        out=rows[WEIGHTS] / ibis.greatest(exactly(total) - rows[WEIGHTS], exactly(CLOSE))
    )
    c = rows[COUNTS] if COUNTS in rows.columns else exactly(1.0)
    s, r = rows[WEIGHTS], rows.psi
    sums: dict[str, Any] = {}
    for i, m in enumerate((c * s, c * s * s, c * s * s * s, c * rows.out * rows.out)):
        sums |= {f"m{i}_0": m.sum(), f"m{i}_1": (m * r).sum(), f"m{i}_2": (m * r * r).sum()}
        sums |= {f"m{i}_3": (m * r * r * r).sum()}
    return rows.aggregate(**sums)


def unit_query(rows: Any, frame: Frame) -> Any:
    """One row per unit and stratum: how many values, and the sums of ψ and of the columns g."""
    c = rows[COUNTS] if COUNTS in rows.columns else exactly(1.0)
    sums = {
        "n": rows_of(rows).cast("float64"),
        "psi": (c * rows.psi).sum(),
        "squares": (c * rows.psi * rows.psi).sum(),
    }
    sums |= {f"s{j}": (c * rows[f"g{j}"]).sum() for j in range(len(frame.numbers))}
    return rows.group_by([GROUP, STRATUM] if frame.factors else [GROUP]).aggregate(**sums)


def explained(rows: Any, frame: Frame, theta: Array) -> Any:
    """g·θ of every row as an expression."""
    import ibis

    total = exactly(0.0)
    for j, (i, kind) in enumerate(frame.numbers):
        x = rows[f"k{i}"]
        missing = is_missing(x).cast("int32").cast("float64")
        g = missing if kind == MISSING else g_of(x, frame.covariates[i])
        total = total + g * exactly(float(theta[j]))
    for f, (factor, first) in enumerate(zip(frame.factors, frame.plan().first, strict=True)):
        text = rows[f"l{f}"]
        of = np.concatenate([[0.0], theta[first : first + factor.columns]])
        cases = [
            (text.isnull() if level is None else text == str(level), exactly(float(of[code])))
            for code, level in enumerate(factor.levels)
        ]
        other = float(of[len(factor.levels)]) if factor.others else 0.0
        total = total + ibis.cases(*cases, else_=exactly(other))
    return total
