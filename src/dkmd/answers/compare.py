"""``compare``: two samples, or the levels of one table. The question, checked at the door."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Unpack, overload

from dkmd.answers.by_segment import SegmentsAsked, compare_segments, two_levels, two_tables
from dkmd.answers.comparison import (
    ColumnAnswer,
    Comparison,
    Comparisons,
    Segmented,
    TogetherComparison,
)
from dkmd.answers.designs import Beside, columns_beside, sides_beside
from dkmd.answers.many_columns import TwoTables, compare_columns
from dkmd.answers.many_levels import Levels, compare_columns_at_levels, compare_levels
from dkmd.answers.one_category import compare_pair
from dkmd.answers.options import (
    MOST_LEVELS,
    Advance,
    Columns,
    CompareOptions,
    GroupLabels,
    Level,
    Ratio,
    Settings,
    column_names,
    kinds_by_column,
    segment_columns,
    units_or_groups,
    weigh_of,
)
from dkmd.answers.together import compare_together, require_none
from dkmd.base.calls import recorded
from dkmd.base.errors import ColumnError
from dkmd.inference.column_kind import CATEGORY
from dkmd.inference.defaults import ALPHA
from dkmd.inference.margins import Margin
from dkmd.sources.engines.urls import is_url
from dkmd.sources.loading import SidesBeside, load_pair, open_table
from dkmd.sources.table import Table


@overload
def compare(
    *samples: Any,
    segments: str | list[str] | tuple[str, ...],
    cross: bool = False,
    by: str | int | None = None,
    reference: Any = None,
    current: Any = None,
    column: str | int | None = None,
    groups: GroupLabels | None = None,
    **settings: Unpack[Settings],
) -> Segmented: ...


@overload
def compare(
    reference: Any,
    current: Any,
    *,
    column: str | int | None = None,
    groups: GroupLabels | None = None,
    **settings: Unpack[Settings],
) -> Comparison: ...


@overload
def compare(
    reference: Any,
    current: Any,
    *,
    column: Columns,
    groups: str | None = None,
    **settings: Unpack[Settings],
) -> Comparisons: ...


@overload
def compare(
    reference: Any,
    current: Any,
    *,
    together: str | Columns,
    whiten: bool = False,
    groups: GroupLabels | None = None,
    **settings: Unpack[Settings],
) -> TogetherComparison: ...


@overload
def compare(
    long: Any,
    /,
    *,
    by: str | int,
    reference: Level,
    current: Level,
    column: str | int | None = None,
    groups: str | None = None,
    **settings: Unpack[Settings],
) -> Comparison: ...


@overload
def compare(
    long: Any,
    /,
    *,
    by: str | int,
    reference: Level,
    current: Level | None = None,
    column: Columns,
    groups: str | None = None,
    **settings: Unpack[Settings],
) -> Comparisons: ...


@overload
def compare(
    long: Any,
    /,
    *,
    by: str | int,
    reference: Level | None = None,
    current: Level | None = None,
    column: str | int | Columns | None = None,
    groups: str | None = None,
    **settings: Unpack[Settings],
) -> Comparison | Comparisons: ...


@recorded
def compare(
    *samples: Any,
    reference: Any = None,
    current: Any = None,
    column: str | int | Columns | None = None,
    together: str | Columns | None = None,
    whiten: bool = False,
    by: str | int | None = None,
    margin: Margin | None = None,
    kind: str | Mapping[str, str] | None = None,
    groups: GroupLabels | None = None,
    pair_by: GroupLabels | None = None,
    weigh: str | None = None,
    covariate: Beside | None = None,
    strata: Beside | None = None,
    randomized: bool = False,
    weights: Beside | None = None,
    counts: Beside | None = None,
    alpha: float = ALPHA,
    scale: float | str | None = None,
    method: Any = None,
    nan_policy: str = "omit",
    where: Any = None,
    table: str | Sequence[str] | None = None,
    expect_ratio: Ratio | None = None,
    percentiles: Sequence[float | str] | None = None,
    most_levels: int | None = MOST_LEVELS,
    segments: str | Sequence[str] | None = None,
    cross: bool = False,
    advance: Advance | None = None,
) -> ColumnAnswer | Comparisons | Segmented | TogetherComparison:
    """Which way did it move, by how much, and how sure is that?

    ``compare(reference, current)`` compares two samples.
    ``compare(frame, column=…, by=…, reference=…, current=…)`` compares two levels of a long table.

    Parameters
    ----------
    reference, current : array_like, column, frame, table, Summary, path or URL
        Lists, arrays, and pandas, polars, pyarrow or dask columns of numbers, booleans or durations
        (as seconds). Frames, with a ``column``. Ibis tables, Spark DataFrames and DuckDB relations,
        whose data stay where they are. A Summary, and the path of a data file or of a saved
        summary. An array that is compared with a Summary uses its grid. For a long table:
        levels of ``by``.
    column : str or list of str, optional
        The column of frames, tables and files. By default the only numeric column, which must have
        the same name on both sides, or the column that a Summary was made of. For several columns
        the answer is a mapping by column.
    together : str or list of str, optional
        Columns that are compared as one: names, patterns such as "f_*", or one column of vectors.
        The answer says whether they moved together, by how many scales, and which columns carry
        the move (docs/matrices.md). "*" stands for all columns, also of an array of rows and
        columns.
    whiten : bool
        For ``together``: give every direction the same spread first, as in ``dkmd_multivariate``.
    by : str, optional
        The column of a long table that says which sample a row belongs to.
    margin : float or str, optional
        The smallest shift that matters: a number in data units, "3%" or "0.1sd" (of the robust
        scale). For shares also "1pp": one percentage point.
    kind : str or mapping, optional
        "amount", "yes/no", "zeros" (mostly one value), "count", "rating" or "identifier". By
        default the values of the reference tell. The kind decides what is said first.
        For several columns also a mapping from column to kind.
    groups : (array_like, array_like) or str, optional
        Labels of repeated measurements, for reference and current. For tables: a column's name.
    pair_by : (array_like, array_like) or str, optional
        Labels of units that were measured on both sides, such as hosts before and after. Equal
        labels are one unit, and each shared unit weighs the same. What its values share cancels.
        Units on one side only are left out and counted. Not with ``groups``: labels of units
        already say which values are repeated measurements.
    weigh : {"units", "values"}, optional
        For ``pair_by``. "units", the default: each shared unit weighs the same on both sides.
        "values": each value weighs the same, and all values are used.
    covariate : str, list of str, or (array_like, array_like), optional
        What was known before the experiment, such as last month's revenue: columns by name, or
        arrays of reference and current. The shift, its interval and the verdict are adjusted.
        Missing values are a stratum of their own. docs/designs.md says when to use this.
    strata : str, list of str, or (array_like, array_like), optional
        Labels such as the country, used in the same way.
    randomized : bool
        Must be true with a covariate or strata: chance decided which unit joined which side.
    weights : str or (array_like, array_like), optional
        How much each row stands for: inverse probabilities, survey weights, sampling rates.
    counts : str or (array_like, array_like), optional
        Whole numbers: each row stands for so many equal rows.
    alpha : float
        Intervals have confidence 1 − alpha.
    scale, method
        As in ``dkmd_2samp``.
    nan_policy : {"omit", "propagate", "raise"}
        What to do with NaN and missing values: leave them out and count them, answer NaN, or raise
        an error. The error names the column and the first such row. The rows of an engine have no
        order, so there it says how many values are missing.
    where : ibis expression, optional
        Which rows of an engine's tables to use, such as ``ibis._.day == "2026-01-01"``.
    table : str or (str, str), optional
        If the sample is the URL of a database: its table, or the two tables to compare.
    expect_ratio : str or (float, float), optional
        The planned sizes of an experiment's arms, reference : current, such as "1:1". Sizes that
        are unequal beyond chance (p < 0.001) are reported first. Groups count as units.
    percentiles : sequence of float, optional
        The percentiles to show, such as [50, 99.9]. By default 5, 25, 50, 75, 90, 95, 99, 99.9.
    most_levels : int or None
        If ``by`` has more levels than this, only the most frequent ones are compared. None
        compares all of them. Of a column of ``segments``, the rarer levels become one segment.
    segments : str or list of str, optional
        Columns of both tables, such as ["country", "device"]. Each level is compared on its own,
        too: the answer is a Segmented. It says whether the segments differ, how much of the total
        shift each one carries, and whether the mix of segments changed.
    cross : bool
        With several columns of ``segments``: whether combinations of their levels are segments too.
    advance : callable, optional
        Called with (column or level, done, total) before each comparison of several.

    Returns
    -------
    Comparison, Comparisons, Segmented or TogetherComparison
        Segmented with ``segments``, TogetherComparison for ``together``. Comparisons, a mapping,
        for several columns (by column) and for a long table with more than two levels and no
        ``current`` (by level). Their p-values are adjusted for their number.

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
    (95% interval +1.84 to +4.28), +3.11%. p = 1e-6, n = 500 and 500.
    >>> answer.verdict, answer.direction, answer.current.plus_inf
    ('higher', 'current is larger', 3)
    """
    if together is not None:
        require_none(
            column=column, by=by, kind=kind, scale=scale, where=where, table=table, weigh=weigh,
            expect_ratio=expect_ratio, percentiles=percentiles, covariate=covariate, strata=strata,
            weights=weights, counts=counts,
        )  # fmt: skip
        return compare_together(
            *_two(samples, reference, current),
            together,
            groups=units_or_groups(groups, pair_by),
            paired=pair_by is not None,
            margin=margin,
            alpha=alpha,
            nan_policy=nan_policy,
            whiten=whiten,
            method=method,
        )
    if whiten:
        raise ValueError("whiten=True is for columns that are compared together=")
    several = not isinstance(column, str | int | None)
    columns = column_names(column)
    kinds = kinds_by_column(kind, columns)
    only = kind if isinstance(kind, str) else next(iter(kinds.values()), None)
    options = CompareOptions.of(
        margin, alpha, scale, method, nan_policy, expect_ratio, percentiles, only,
        weigh_of(weigh, pair_by),
    )  # fmt: skip
    groups = units_or_groups(groups, pair_by)
    beside = sides_beside(covariate, strata, randomized, weights, counts)
    if most_levels is not None and most_levels < 1:
        raise ValueError(f"most_levels must be at least 1, or None for all, got {most_levels}")
    by = None if by is None else str(by)
    asked = _Asked(
        reference, current, columns, several, kinds, by, groups, beside, where, most_levels,
        advance, segment_columns(segments, cross), cross,
    )  # fmt: skip
    if table is None:
        return _answer(samples, asked, options)
    with _tables_of(samples, table) as found:
        return _answer(found, asked, options)


class _Asked(NamedTuple):
    """What ``compare`` was asked about its samples."""

    reference: Any  # a sample; with ``by``, a level
    current: Any
    columns: list[str]  # empty if no column was named
    several: bool  # whether columns were given as a list
    kinds: Mapping[str, str]  # the kinds of some columns, if users gave them
    by: str | None
    groups: GroupLabels | None
    beside: SidesBeside
    where: Any
    most_levels: int | None
    advance: Advance | None
    segments: tuple[str, ...] = ()
    cross: bool = False

    @property
    def column(self) -> str | None:
        """The only column, if one was named."""
        return self.columns[0] if self.columns else None


def _answer(
    samples: Sequence[Any], asked: _Asked, options: CompareOptions
) -> ColumnAnswer | Comparisons | Segmented:
    """The answer about levels of one table, or about two samples."""
    if asked.segments:
        return _segmented(samples, asked, options)
    if asked.by is not None:
        if len(samples) != 1:
            raise TypeError("by= needs one table: compare(frame, column=…, by=…, reference=…)")
        if not isinstance(asked.groups, str | None):
            raise TypeError("with by=, groups is the name of a column of the table")
        table = open_table(samples[0], "the table", asked.where)
        beside = columns_beside(asked.beside, "with by=")
        question = Levels(
            asked.by, asked.reference, asked.current, asked.groups, beside, asked.most_levels,
            asked.advance,
        )  # fmt: skip
        if asked.several:
            return compare_columns_at_levels(table, asked.columns, question, options, asked.kinds)
        return compare_levels(table, asked.column, question, options)
    before, after = _two(samples, asked.reference, asked.current)
    if asked.several:
        return _columns_of_two(before, after, asked, options)
    categories = options.kind == CATEGORY
    pair = load_pair(
        before, after, asked.column, asked.groups, asked.where, categories, asked.beside
    )
    return compare_pair(pair, options)


def _two(samples: Sequence[Any], reference: Any, current: Any) -> tuple[Any, Any]:
    """The two samples, given in order or by name."""
    if samples and reference is not None:
        raise TypeError(
            "the first sample is the reference: give reference= and current= by name, or neither"
        )
    given = [*samples, *(s for s in (reference, current) if s is not None)]
    if len(given) != 2:
        raise TypeError(f"compare needs a reference and a current sample, got {len(given)}")
    return given[0], given[1]


def _segmented(samples: Sequence[Any], asked: _Asked, options: CompareOptions) -> Segmented:
    """The answer about segments of two tables, or of two levels of one table."""
    if asked.several:
        raise ValueError("segments need one column: compare the columns one after the other")
    if asked.beside[0] is not None:
        raise ValueError(
            "segments go with groups or pair_by, not with covariates, strata, weights or counts"
        )
    if not isinstance(asked.groups, str | None):
        raise TypeError("with segments, groups and pair_by are names of columns")
    given = [*samples]
    if asked.by is None:
        given += [sample for sample in (asked.reference, asked.current) if sample is not None]
    tables = [
        open_table(source, label, asked.where)
        for source, label in zip(given, ("reference", "current"), strict=False)
    ]
    wanted = SegmentsAsked(
        asked.segments, asked.cross, asked.most_levels, asked.groups, asked.advance
    )
    if asked.by is None:
        if len(given) != 2:
            raise TypeError(f"compare needs a reference and a current sample, got {len(given)}")
        before, after = two_tables(tables[0], tables[1])
    else:
        if len(given) != 1:
            raise TypeError("by= needs one table: compare(frame, column=…, by=…, reference=…)")
        before, after = two_levels(tables[0], asked.by, asked.reference, asked.current)
    return compare_segments(before, after, asked.column, wanted, options)


def _columns_of_two(
    reference: Any, current: Any, asked: _Asked, options: CompareOptions
) -> Comparisons:
    """Several columns of two tables, in the order in which they were named."""
    if not isinstance(asked.groups, str | None):
        raise TypeError("with several columns, groups is the name of a column of both tables")
    before = open_table(reference, "reference", asked.where)
    after = open_table(current, "current", asked.where)
    beside = columns_beside(asked.beside, "with several columns")
    tables = TwoTables.of(before, after, asked.groups, options.test.weigh is not None, beside)
    from_files = any(isinstance(source, str | os.PathLike) for source in (reference, current))
    found = compare_columns(
        tables, asked.columns, options, from_files, asked.advance, tables.kinds_asked(asked.kinds)
    )
    for name, why in found.skipped.items():
        raise ColumnError(f"column {name!r} was not compared: {why}")
    return Comparisons(
        {name: found[name] for name in asked.columns}, options.alpha, rows=found.ROWS
    )


def _tables_of(
    samples: Sequence[Any], table: str | Sequence[str]
) -> AbstractContextManager[Sequence[Table]]:
    """The tables of the database whose URL is the only sample."""
    if len(samples) != 1 or not is_url(samples[0]):
        raise TypeError("table= goes with the URL of a database, such as postgresql://host/name")
    from dkmd.sources.engines.connections import tables_of

    return tables_of(samples[0], [table] if isinstance(table, str) else list(table))
