"""``compare``: two samples, or the levels of one table. The question, checked at the door."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, overload

from dkmd.answers.comparison import Comparison, Comparisons
from dkmd.answers.many_levels import compare_levels
from dkmd.answers.one_column import compare_samples
from dkmd.answers.options import How
from dkmd.base.calls import recorded
from dkmd.inference.margins import Margin
from dkmd.sources.loading import load_pair, open_table
from dkmd.sources.memory.columns import (
    is_url,
)
from dkmd.sources.samples import (
    Table,
)

Level = str | float | bool
"""A value of the column that tells samples apart."""


@overload
def compare(
    reference: Any,
    current: Any,
    *,
    column: str | int | None = None,
    margin: Margin | None = None,
    groups: Any = None,
    alpha: float = 0.05,
    scale: float | str | None = None,
    method: Any = None,
    nan_policy: str = "omit",
    where: Any = None,
    table: str | Sequence[str] | None = None,
) -> Comparison: ...


@overload
def compare(
    long: Any,
    /,
    *,
    by: str | int,
    reference: Level,
    current: Level,
    column: str | int | None = None,
    margin: Margin | None = None,
    groups: str | None = None,
    alpha: float = 0.05,
    scale: float | str | None = None,
    method: Any = None,
    nan_policy: str = "omit",
    where: Any = None,
    table: str | Sequence[str] | None = None,
) -> Comparison: ...


@overload
def compare(
    long: Any,
    /,
    *,
    by: str | int,
    column: str | int | None = None,
    reference: Level | None = None,
    current: None = None,
    margin: Margin | None = None,
    groups: str | None = None,
    alpha: float = 0.05,
    scale: float | str | None = None,
    method: Any = None,
    nan_policy: str = "omit",
    where: Any = None,
    table: str | Sequence[str] | None = None,
) -> Comparison | Comparisons: ...


@recorded
def compare(
    *samples: Any,
    reference: Any = None,
    current: Any = None,
    column: str | int | None = None,
    by: str | int | None = None,
    margin: Margin | None = None,
    groups: Any = None,
    alpha: float = 0.05,
    scale: float | str | None = None,
    method: Any = None,
    nan_policy: str = "omit",
    where: Any = None,
    table: str | Sequence[str] | None = None,
) -> Comparison | Comparisons:
    """Which way did it move, by how much, and is that real?

    ``compare(reference, current)`` for two samples;
    ``compare(frame, column=…, by=…, reference=…, current=…)`` for two levels of one long table.

    Parameters
    ----------
    reference, current : array_like, column, frame, table, Summary, path or URL
        Numbers, booleans or durations (as seconds) in lists, arrays or columns of pandas, polars,
        pyarrow and dask; frames with a ``column``; tables of Ibis, DataFrames of Spark and
        relations of DuckDB, whose data stay where they are; a Summary; the path of a data file or
        of a saved summary. An array beside a Summary is binned on its grid. For a long table:
        levels of ``by``.
    column : str, optional
        Of frames and files; the only numeric one by default, which must have one name on both
        sides, or the one that a Summary was made of.
    by : str, optional
        The column of a long table that tells the samples apart.
    margin : float or str, optional
        Shifts that do not matter: a number in data units, "3%" or "0.1sd" (of the robust scale).
    groups : (array_like, array_like) or str, optional
        Labels of repeated measurements, for reference and current; a column's name for tables.
    alpha : float
        Intervals have confidence 1 − alpha.
    scale, method
        As in ``dkmd_2samp``.
    nan_policy : {"omit", "propagate", "raise"}
        What to do with NaN and missing values.
    where : ibis expression, optional
        The rows of an engine's tables to take, such as ``ibis._.day == "2026-01-01"``.
    table : str or (str, str), optional
        With the URL of a database for a sample: its table, or the two to compare.

    Returns
    -------
    Comparison or Comparisons
        Several (a mapping by level) for a long table with more than two levels and no ``current``.

    Notes
    -----
    Every signed number is positive when *current* is larger.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> before, after = rng.gamma(4, 5, 500) + 80, rng.gamma(4, 5, 500) + 83
    >>> after[:3] = np.inf  # timed out
    >>> answer = compare(before, after, margin="1%")
    >>> print(answer.headline())  # doctest: +NORMALIZE_WHITESPACE
    value is HIGHER in current than in reference, by more than 1%: +3.06
    (95 % interval +1.84 to +4.28), +3.11 %. p = 1e-6, n = 500 and 500.
    >>> answer.verdict, answer.direction, answer.current.plus_inf
    ('increase', 'current is larger', 3)
    """
    how = How(margin, alpha, scale, method, nan_policy)
    if table is not None:
        with _tables_of(samples, table) as found:
            options: Any = {
                "reference": reference, "current": current, "column": column, "by": by,
                "margin": margin, "groups": groups, "alpha": alpha, "scale": scale,
                "method": method, "nan_policy": nan_policy, "where": where,
            }  # fmt: skip
            answer: Comparison | Comparisons = compare(*found, **options)
            return answer
    column = None if column is None else str(column)
    if len(samples) == 1 and by is not None:
        long = open_table(samples[0], "the table", where)
        return compare_levels(long, column, str(by), reference, current, groups, how)
    if by is not None:
        raise TypeError("by= takes one table: compare(frame, column=…, by=…, reference=…)")
    if samples and reference is not None:
        raise TypeError(
            "the first sample is the reference: give reference= and current= by name, or neither"
        )
    given = [*samples, *(s for s in (reference, current) if s is not None)]
    if len(given) != 2:
        raise TypeError(f"compare takes a reference and a current sample, got {len(given)}")
    pair = load_pair(given[0], given[1], column, groups, where)
    return compare_samples(*pair, how)


def _tables_of(
    samples: tuple[Any, ...], table: str | Sequence[str]
) -> AbstractContextManager[Sequence[Table]]:
    """Tables of the database that the only sample names."""
    if len(samples) != 1 or not is_url(samples[0]):
        raise TypeError("table= goes with the URL of a database, such as postgresql://host/name")
    from dkmd.sources.engines.connections import tables_of

    return tables_of(samples[0], [table] if isinstance(table, str) else list(table))
