"""The statement that sums a column up per bin, as text, for a database that dkmd cannot reach.

It is an expression of sqlglot, written in a dialect. ``Summary.from_bins`` reads its result.
"""

from __future__ import annotations

import sys
from functools import reduce

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dkmd.bins.bin_rows import BELOW, BIN, SAMPLE
from dkmd.bins.grid import FARTHEST, PER_E_FOLD, Grid
from dkmd.sources.engines.connections import name_parts

DIALECTS = {
    "bigquery": "inf", "clickhouse": "inf", "databricks": "Infinity", "duckdb": "Infinity",
    "postgres": "Infinity", "snowflake": "inf", "spark": "Infinity", "trino": "Infinity",
}  # fmt: skip
"""The dialects, each with the text that its CAST reads as infinity."""

LARGEST = sys.float_info.max


def bins_query(
    table: str,
    column: str,
    grid: Grid | npt.ArrayLike,
    *,
    dialect: str,
    by: str | None = None,
) -> str:
    """SQL that sums a column up per bin, to be run where dkmd cannot connect.

    Parameters
    ----------
    table : str
        The table: ``table``, ``schema.table``, or ``catalogue.schema."odd.name"``. Names are quoted
        as they are written. In Snowflake, names made without quotes are in capitals.
    column : str
        The column of numbers.
    grid : Grid or array_like
        The bins, or some values of the column to fit bins to: a few hundred random rows are enough.
        Give samples that are compared the same grid.
    dialect : str
        bigquery, clickhouse, databricks, duckdb, postgres, snowflake, spark or trino.
    by : str, optional
        A column of levels, such as the arms of an experiment. Each level is a sample. Rows without
        a level are left out.

    Returns
    -------
    str
        One SELECT. It returns some hundred rows per sample, whatever the size of the table.
        ``Summary.from_bins`` reads them; with ``by``, ``Summary.levels_from_bins`` does.

    Examples
    --------
    >>> import duckdb
    >>> rows = duckdb.sql("SELECT range / 10.0 AS ms, range % 2 AS arm FROM range(100)")
    >>> sql = bins_query("rows", "ms", Grid(5.0, 0.5), dialect="duckdb", by="arm")
    >>> from dkmd import Summary
    >>> found = Summary.levels_from_bins(duckdb.sql(sql).fetchall())
    >>> {arm: (summary.size, round(summary.mean, 1)) for arm, summary in sorted(found.items())}
    {'0': (50, 4.9), '1': (50, 5.0)}
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}; got {dialect!r}")
    bins = grid if isinstance(grid, Grid) else _fitted(grid)
    keys = [] if by is None else [_named(SAMPLE)]
    sums = {
        "count": exp.Count(this=exp.Star()),
        "sum": exp.Sum(this=_named("u")),
        "squares": exp.Sum(this=exp.Mul(this=_named("u"), expression=_named("u"))),
    }
    sides = [*keys, _named(BELOW), _named(BIN)]
    steps = {
        "measured": _measured(table, column, by),
        "offsets": exp.select(*keys, _as("u", _offset(bins, DIALECTS[dialect]))).from_("measured"),
        "binned": exp.select(*keys, _named("u"), *_places()).from_("offsets"),
        "bins": exp.select(*sides, *(_as(name, each) for name, each in sums.items()))
        .from_("binned")
        .group_by(*sides),
    }
    last = exp.select(
        *keys,
        _as("center", _double(bins.center)),
        _as("unit", _double(bins.unit)),
        *(_named(name) for name in (BELOW, BIN, *sums)),
        _as("rows", exp.Window(this=exp.Count(this=exp.Star()))),
    ).from_("bins")
    whole = reduce(lambda query, step: query.with_(step[0], as_=step[1]), steps.items(), last)
    return whole.sql(dialect=dialect, pretty=True)


def _fitted(values: npt.ArrayLike) -> Grid:
    """A grid for some values of the column, with round numbers."""
    sample = np.ma.asarray(values, dtype=np.float64).filled(np.nan)
    if not np.isfinite(sample).any():
        raise ValueError("grid must be a Grid, or some finite values to fit one to")
    return Grid.fit(sample).rounded()


def _measured(table: str, column: str, by: str | None) -> exp.Select:
    """The values ``x`` of a column, with their levels."""
    parts = name_parts(table)
    if len(parts) > len(PLACES):
        raise ValueError(f"{table!r} has {len(parts)} parts: give catalogue.schema.table at most")
    place = dict(zip(PLACES, (_quoted(part) for part in reversed(parts)), strict=False))
    values = _as("x", exp.cast(_named(column), "double"))
    if by is None:
        return exp.select(values).from_(exp.Table(**place))
    level = _as(SAMPLE, exp.cast(_named(by), "text"))
    known = exp.not_(_named(by).is_(exp.null()))
    return exp.select(level, values).from_(exp.Table(**place)).where(known)


PLACES = ("this", "db", "catalog")
"""sqlglot's names of the parts of a table's name, from the last to the first."""


def _offset(grid: Grid, infinity: str) -> exp.Expression:
    """u = (x − center)/unit. Values so far out that u might overflow become infinite.

    Some engines stop at an overflow. NaN stays NaN: some engines sort it above infinity, and the
    others find it neither above nor below.
    """
    x, infinite = _named("x"), exp.cast(exp.Literal.string(infinity), "double")
    reach = min(grid.unit * FARTHEST, LARGEST - abs(grid.center))
    low, high = _double(grid.center - reach), _double(grid.center + reach)
    inside = exp.and_(exp.GTE(this=x, expression=low), exp.LTE(this=x, expression=high))
    above = exp.and_(exp.GT(this=x, expression=high), exp.LTE(this=x, expression=infinite))
    distance = exp.paren(exp.Sub(this=x, expression=_double(grid.center)))
    u = exp.Div(this=distance, expression=_double(grid.unit), typed=True)
    return (
        exp.Case()
        .when(inside, u)
        .when(exp.LT(this=x, expression=low), exp.Neg(this=infinite))
        .when(above, infinite)
        .else_(x)
    )


def _places() -> list[exp.Expression]:
    """The side of the centre and the bin floor(128·ln(1 + |u|)) there; NaN and infinities stay."""
    u = _named("u")
    size = exp.Abs(this=u)
    logarithm = exp.Ln(this=exp.Add(this=exp.Literal.number(1), expression=size))
    k = exp.Floor(this=exp.Mul(this=logarithm, expression=exp.Literal.number(PER_E_FOLD)))
    near = exp.LTE(this=size, expression=_double(FARTHEST))
    below = exp.LT(this=u, expression=exp.Literal.number(0))
    return [_as(BELOW, below), _as(BIN, exp.Case().when(near, k).else_(u))]


def _double(number: float) -> exp.Expression:
    """A number as a double that no engine rounds; some engines read 0.1 as a decimal."""
    return exp.cast(exp.Literal.string(repr(number)), "double")


def _named(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _as(name: str, value: exp.Expression) -> exp.Alias:
    return exp.Alias(this=value, alias=_quoted(name))
