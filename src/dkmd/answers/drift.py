"""``drift``: every column of two tables. The question, checked at the door."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dkmd.answers.comparison import Drift
from dkmd.answers.designs import columns_beside, sides_beside
from dkmd.answers.many_columns import TwoTables, compare_columns
from dkmd.answers.options import Advance, CompareOptions, Ratio, units_or_groups, weigh_of
from dkmd.base.calls import recorded
from dkmd.base.defaults import ALPHA
from dkmd.inference.test.margins import Margin
from dkmd.sources.files.conventions import reading_text
from dkmd.sources.loading import open_table


@recorded
def drift(
    reference: Any,
    current: Any,
    columns: Sequence[str | int] | None = None,
    *,
    margin: Margin | None = None,
    kind: Mapping[str, str] | None = None,
    groups: str | None = None,
    pair_by: str | None = None,
    weigh: str | None = None,
    covariate: str | Sequence[str] | None = None,
    strata: str | Sequence[str] | None = None,
    randomized: bool = False,
    weights: str | None = None,
    counts: str | None = None,
    alpha: float = ALPHA,
    scale: float | None = None,
    nan_policy: str = "omit",
    expect_ratio: Ratio | None = None,
    percentiles: Sequence[float | str] | None = None,
    decimal: str | None = None,
    advance: Advance | None = None,
) -> Drift:
    """Compare every column of two tables: numbers and dates by their shift, text by its levels.

    Parameters
    ----------
    reference, current : frame, table or path
        pandas, polars, pyarrow or dask frames; Ibis tables, Spark DataFrames, DuckDB relations;
        data files.
    columns : sequence of str, optional
        By default, all columns that both tables have.
    margin, groups, pair_by, weigh, alpha, scale, nan_policy
        As in ``compare``. A margin in sd suits tables with many columns. With "raise", the first
        column with a missing value raises an error: it is not skipped.
    covariate, strata, randomized, weights, counts
        As in ``compare``: columns of both tables, which are not compared themselves.
    kind : mapping, optional
        The kinds of some columns by name, as in ``compare``: ``{"revenue": "zeros"}``.
    expect_ratio, percentiles, decimal
        As in ``compare``. The tables are the arms of an experiment, and rows or groups are counted.
    advance : callable, optional
        Called with (column, done, total) before each column.

    Returns
    -------
    Drift
        A mapping from column to Comparison, the largest |shift| in robust scales first, then to
        CategoryComparison for columns of text. It has adjusted p-values (false-discovery control),
        ``changed``, ``nan_change()`` and ``skipped``. ``together`` says whether all columns of
        numbers moved as one.

    Examples
    --------
    >>> import pandas as pd, numpy as np
    >>> rng = np.random.default_rng(5)
    >>> old = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "c": "text"})
    >>> new = old.assign(b=old.b + 0.5)
    >>> found = drift(old, new)
    >>> found.changed, found.skipped
    (['b'], {'c': 'it is constant, so it is not tested: every value is text'})
    """
    options = CompareOptions.of(
        margin,
        alpha,
        scale,
        nan_policy=nan_policy,
        expect_ratio=expect_ratio,
        percentiles=percentiles,
        weigh=weigh_of(weigh, pair_by),
    )
    units = units_or_groups(groups, pair_by)
    if not isinstance(units, str | None):
        raise TypeError("groups and pair_by of drift are names of columns")
    sides = sides_beside(covariate, strata, randomized, weights, counts)
    beside = columns_beside(sides, "of a drift")
    with reading_text(decimal):
        before = open_table(reference, "reference", groups=units)
        after = open_table(current, "current", groups=units)
    names = None if columns is None else list(map(str, columns))
    from_files = any(isinstance(source, str | os.PathLike) for source in (reference, current))
    tables = TwoTables.of(before, after, units, pair_by is not None, beside)
    asked = tables.kinds_asked(kind or {})
    return compare_columns(tables, names, options, from_files, advance, asked, as_one=True)
