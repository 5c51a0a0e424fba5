"""``compare``: two samples, or the levels of one table. The question, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, overload

from dkmd.answers.asked import Asked, answer, tables_of_url, two_samples
from dkmd.answers.comparison import (
    ColumnAnswer,
    Comparison,
    Comparisons,
    Segmented,
    TogetherComparison,
)
from dkmd.answers.designs import Beside, sides_beside
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
    segment_columns,
    units_or_groups,
    weigh_of,
)
from dkmd.answers.together import compare_together, require_none
from dkmd.base.calls import recorded
from dkmd.base.defaults import ALPHA
from dkmd.inference.test.margins import Margin
from dkmd.sources.files.conventions import reading_text


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
    estimand: str | None = None,
    per: Beside | None = None,
    alpha: float = ALPHA,
    scale: float | None = None,
    method: Any = None,
    nan_policy: str = "omit",
    where: Any = None,
    table: str | Sequence[str] | None = None,
    expect_ratio: Ratio | None = None,
    percentiles: Sequence[float | str] | None = None,
    most_levels: int | None = MOST_LEVELS,
    segments: str | Sequence[str] | None = None,
    cross: bool = False,
    decimal: str | None = None,
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
        The answer says whether they moved together, by how many scales, and which columns moved
        (docs/matrices.md). "*" stands for all columns, also of an array of rows and
        columns.
    by : str, optional
        The column of a long table that says which sample a row belongs to.
    margin : float or str, optional
        The smallest shift that matters: a number in data units, "3%" or "0.1sd" (of the robust
        scale). For shares also "1pp": one percentage point.
    kind : str or mapping, optional
        "amount", "yes/no", "zeros" (mostly one value), "count", "rating" or "identifier". By
        default dkmd decides from the values of the reference. The kind decides what the answer
        says first.
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
    estimand : {"shift", "mean"}, optional
        What is compared. "shift", the default: pick one value from each sample, by how much is the
        current one typically larger? "mean": the difference of means, in the same designs.
    per : str or (array_like, array_like), optional
        Compare ratios of sums, such as revenue per session: the column, or arrays, of the
        denominators. The estimand is then "mean".
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
    decimal : {",", "."}, optional
        The decimal sign of numbers in text files. The other sign may then stand between thousands:
        1.234,5 is a number with ``decimal=","``. By default the cells of both files show it.
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
    value is HIGHER in current than in reference, by more than 1%: typically +3.11
    (95% interval +1.93 to +4.28), +3.16%. p = 3e-7, n = 500 and 500.
    >>> answer.verdict, answer.direction, answer.current.plus_inf
    ('higher', 'current is larger', 3)
    """
    if together is not None:
        require_none(
            column=column, by=by, kind=kind, scale=scale, where=where, table=table,
            expect_ratio=expect_ratio, percentiles=percentiles, weigh=weigh, covariate=covariate,
            strata=strata, weights=weights, counts=counts, segments=segments, estimand=estimand,
            per=per,
        )  # fmt: skip
        both = two_samples(samples, reference, current)
        with reading_text(decimal, both):
            return compare_together(
                *both,
                together,
                groups=units_or_groups(groups, pair_by),
                paired=pair_by is not None,
                margin=margin,
                alpha=alpha,
                nan_policy=nan_policy,
                method=method,
            )
    several = not isinstance(column, str | int | None)
    columns = column_names(column)
    kinds = _kinds(kind, columns)
    only = kind if isinstance(kind, str) else next(iter(kinds.values()), None)
    options = CompareOptions.of(
        margin, alpha, scale, method, nan_policy, expect_ratio, percentiles, only,
        weigh_of(weigh, pair_by), _estimand(estimand, per),
    )  # fmt: skip
    groups = units_or_groups(groups, pair_by)
    beside = sides_beside(covariate, strata, randomized, weights, counts, per)
    if most_levels is not None and most_levels < 1:
        raise ValueError(f"most_levels must be at least 1, or None for all, got {most_levels}")
    by = None if by is None else str(by)
    asked = Asked(
        reference, current, columns, several, kinds, by, groups, beside, where, most_levels,
        advance, segment_columns(segments, cross), cross,
    )  # fmt: skip
    if table is None:
        with reading_text(decimal):
            return answer(samples, asked, options)
    with tables_of_url(samples, table) as found:
        return answer(found, asked, options)


def _estimand(estimand: str | None, per: Beside | None) -> str:
    """What is compared: with ``per`` it is the mean."""
    if per is not None and estimand not in (None, "mean"):
        raise ValueError(f"per compares ratios of sums, so estimand is 'mean', not {estimand!r}")
    return estimand or ("shift" if per is None else "mean")


def _kinds(kind: str | Mapping[str, str] | None, columns: Sequence[str]) -> dict[str, str]:
    """The kinds of columns by name; one kind is that of all columns."""
    if kind is None:
        return {}
    if isinstance(kind, str):
        return dict.fromkeys(columns, kind)
    unknown = next((name for name in kind if name not in columns), None)
    if unknown is not None:
        raise ValueError(f"kind names column {unknown!r}, which is not compared")
    return dict(kind)
