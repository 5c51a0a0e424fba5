"""The front door: ``compare`` two samples or the levels of a table, ``drift`` of two tables.

Whatever the data are kept in becomes two sides (``loading``), one test is made of them
(``two_sample``) and the answer put into words (``comparison``).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, overload

import numpy as np

from dkmd.answers.comparison import Comparison, Comparisons, Drift, Infinite, SampleFacts
from dkmd.answers.facts import facts_of, notes_of
from dkmd.base.arrays import Array
from dkmd.base.calls import recorded
from dkmd.base.errors import ColumnError, ColumnTypeError, EngineError, NanError, TooLittleError
from dkmd.binned.logarithms import as_change, log_grid, log_summaries, require_positive
from dkmd.binned.summary import Summary
from dkmd.inference.margins import Margin, beyond_margin, opposed, parse_margin, verdict
from dkmd.inference.opinions import direction_of
from dkmd.inference.result import ConfidenceInterval, DkmdResult, ExactOutcome, LimitOutcome
from dkmd.inference.shapes import crossing
from dkmd.inference.two_sample import check_options, run
from dkmd.sources.column_data import (
    ColumnData,
    HeldColumn,
    LabelledColumn,
    StoredColumn,
    labelled_column,
    unit_of,
)
from dkmd.sources.engines.urls import is_url
from dkmd.sources.kinds import (
    DURATION,
    NOTHING,
    NUMBER,
    NUMERIC,
    OTHER,
    TEXT,
    no_such_column,
    the_numeric_column,
)
from dkmd.sources.loading import labelled, load_pair, open_table
from dkmd.sources.number_words import no_such_level, parse_number
from dkmd.sources.pairs import better_grid, groups_of_pair, plan_together, summaries_of_pair
from dkmd.sources.table import Table

Level = str | float | bool
"""A value of the column that tells samples apart."""

ALL_MISSING = "all its values are missing"


@dataclass(frozen=True)
class How:
    """How to compare; the same for every column and level."""

    margin: Margin | None = None
    alpha: float = 0.05
    scale: float | str | None = None
    method: Any = None
    nan_policy: str = "omit"

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha must lie between 0 and 1, got {self.alpha!r}")
        if self.margin is not None:
            parse_margin(self.margin)


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
        What to do with NaN and missing values: leave them out and count them, answer NaN, or raise
        an error that names the column and the first such row (in an engine, whose rows have no
        order, how many there are).
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


def compare_bins(
    path: str, column: str | None, reference: str | None, current: str | None, how: How
) -> Comparison | Comparisons:
    """Samples of a result of ``dkmd sql`` against one of them."""
    from dkmd.sources.files.pasted_bins import read_bins

    found = read_bins(path)
    for level in (reference, current):
        if level is not None and level not in found:
            raise ValueError(f"{path} has no sample {level!r}: it has {', '.join(found)}")
    if reference is None:
        raise ValueError(f"say which sample is the reference: {', '.join(found)}")
    wanted = [current] if current is not None else [name for name in found if name != reference]
    if not wanted:
        raise ValueError(f"{path} has no sample but {reference!r}")
    name = column or "value"

    def sample(level: str) -> LabelledColumn:
        return LabelledColumn(StoredColumn(found[level]), name, level, unit_of(name))

    answers = {}
    for level in wanted:
        better = better_grid(found[reference] + found[level])
        if better is not None:
            raise ValueError(
                f"{path}: the sample that the grid was fitted to was odd; ask again with "
                f"dkmd sql … --grid {better.center!r},{better.unit!r}"
            )
        answers[level] = compare_samples(sample(reference), sample(level), how)
    return answers[wanted[0]] if len(wanted) == 1 else Comparisons(answers, how.alpha)


def compare_levels(
    table: Table,
    column: str | None,
    by: str,
    reference: Any,
    current: Any,
    groups: str | None,
    how: How,
) -> Comparison | Comparisons:
    """Levels of one long table against one of them."""
    kinds = table.kinds()
    if by not in kinds:
        raise no_such_column(table.name, by, kinds)
    column = column or the_numeric_column(kinds, table.name, (by, groups))
    base, wanted = _chosen_levels(table, by, kinds[by], reference, current)
    unit = unit_of(column, kinds.get(column, ""))
    read = table.read_levels(column, by, [base, *wanted], groups)

    def sample(level: str) -> LabelledColumn:
        missing_at = partial(table.missing_at, column, (by, level))
        return LabelledColumn(read[level], column, level, unit, missing_at=missing_at)

    first = sample(base)
    found = {level: compare_samples(first, sample(level), how) for level in wanted}
    for answer in found.values():
        for facts in (answer.reference, answer.current):
            if not facts.size + facts.nan and facts.label not in table.levels(by):
                there = table.levels(by)
                alike = [_level_like(level, by, there, kinds[by]) for level in (base, *wanted)]
                if alike[0] == alike[-1] and base != wanted[-1]:  # two words for one level
                    raise no_such_level(by, wanted[-1], there)
                return compare_levels(table, column, by, alike[0], alike[-1], groups, how)
    return found[wanted[0]] if len(wanted) == 1 else Comparisons(found, how.alpha)


def _chosen_levels(
    table: Table, by: str, kind: str, reference: Any, current: Any
) -> tuple[str, list[str]]:
    """The reference's level and those to compare with it; looked up only where one is not given."""
    if reference is not None and current is not None:
        return str(reference), [str(current)]
    levels = table.levels(by)
    if reference is None:
        shown = ", ".join(repr(level) for level in levels[:20])
        raise ValueError(f"say which level of {by!r} is the reference: {shown}")
    base = _level_like(str(reference), by, levels, kind)
    others = [level for level in levels if level != base]
    if not others:
        raise ValueError(f"column {by!r} has no level but {base!r}")
    return base, others


def _level_like(level: str, by: str, levels: Sequence[str], kind: str) -> str:
    """The level as the table has it: of numbers, 1 may be written as 1.0 there; text is exact."""
    if level in levels:
        return level
    number = parse_number(level) if kind == NUMBER else None
    alike = [] if number is None else [each for each in levels if parse_number(each) == number]
    if len(alike) != 1:
        raise no_such_level(by, level, levels)
    return alike[0]


@recorded
def drift(
    reference: Any,
    current: Any,
    columns: Sequence[str | int] | None = None,
    *,
    margin: Margin | None = None,
    groups: str | None = None,
    alpha: float = 0.05,
    scale: float | str | None = None,
    nan_policy: str = "omit",
    advance: Callable[[str, int, int], None] | None = None,
) -> Drift:
    """Compare every numeric column of two tables.

    Parameters
    ----------
    reference, current : frame, table or path
        Frames of pandas, polars, pyarrow or dask; tables of Ibis, DataFrames of Spark, relations of
        DuckDB; data files.
    columns : sequence of str, optional
        All numeric columns that both have, by default.
    margin, groups, alpha, scale, nan_policy
        As in ``compare``; a margin with the unit sd suits many columns. With "raise" the first
        column that has a missing value is an error: it is not skipped.
    advance : callable, optional
        Called with (column, done, total) before each column.

    Returns
    -------
    Drift
        A mapping from column to Comparison, the largest |shift| in robust scales first, with
        adjusted p-values (false-discovery control), ``changed``, ``nan_change()`` and ``skipped``.

    Examples
    --------
    >>> import pandas as pd, numpy as np
    >>> rng = np.random.default_rng(5)
    >>> old = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "c": "text"})
    >>> new = old.assign(b=old.b + 0.5)
    >>> found = drift(old, new)
    >>> found.changed, found.skipped
    (['b'], {'c': 'it holds text'})
    """
    how = How(margin, alpha, scale, None, nan_policy)
    before, after = open_table(reference, "reference"), open_table(current, "current")
    kinds, later = before.kinds(), after.kinds()
    for table, there in ((before, kinds), (after, later)):
        if groups is not None and groups not in there:
            raise no_such_column(table.name, groups, there)
    wanted = list(dict.fromkeys([*kinds, *later])) if columns is None else list(map(str, columns))
    for name in wanted if columns is not None else ():
        if name not in kinds and name not in later:
            raise no_such_column(before.name, name, kinds)
    found: dict[str, Comparison] = {}
    reasons = {n: _why_not(n, kinds, later, groups, asked=columns is not None) for n in wanted}
    if nan_policy == "raise":  # what is missing in all rows is told like the rest
        reasons = {name: why if why != ALL_MISSING else "" for name, why in reasons.items()}
    skipped = {name: why for name, why in reasons.items() if why}
    empty = {name for name, why in skipped.items() if why == ALL_MISSING}
    compared = [name for name in wanted if name not in skipped]
    from_files = any(isinstance(source, str | os.PathLike) for source in (reference, current))
    old, new = (table.read_columns(compared, groups) for table in (before, after))
    plan_together(old, new)
    for done, name in enumerate(compared):
        if advance is not None:
            advance(name, done, len(compared))
        try:
            pair = [
                labelled_column(
                    read[name], name, table.name, there[name], partial(table.missing_at, name)
                )
                for read, table, there in ((old, before, kinds), (new, after, later))
            ]
            answer = compare_samples(*labelled(pair[0], pair[1]), how)
            found[name] = _without_many_values(answer, len(compared)) if from_files else answer
        except NanError:
            raise
        except ColumnError as error:
            skipped[name] = str(error)
            continue
        except EngineError as error:
            # one that still reads both tables could not read this column; else the engine is lost
            before.require_readable()
            after.require_readable()
            skipped[name] = str(error)
            continue
        if not min(found[name].reference.size, found[name].current.size):
            skipped[name] = _why_empty(found.pop(name))
            empty.add(name)
    if not found:
        listed = "; ".join(f"{name}: {why}" for name, why in skipped.items())
        refusal = TooLittleError if empty and empty == skipped.keys() else ValueError
        raise refusal(f"no column could be compared ({listed or 'there are none'})")
    return Drift(found, skipped, how.alpha)


def _why_not(
    name: str, kinds: dict[str, str], later: dict[str, str], groups: str | None, asked: bool
) -> str:
    """Why a column is not compared; empty if it is. Text is tried when it was asked for."""
    if name not in kinds:
        return "it is not in the reference"
    if name not in later:
        return "it is not in the current table"
    if name == groups:
        return "it holds the groups"
    pair = kinds[name], later[name]
    old, new = ("values that are no numbers" if kind == OTHER else kind for kind in pair)
    apart = f"it holds {old} in the reference and {new} in the current table"
    if any(kind not in NUMERIC and not (asked and kind == TEXT) for kind in pair):
        return f"it holds {old}" if old == new else apart
    if set(pair) == {NUMBER, DURATION}:
        return apart
    return ALL_MISSING if set(pair) == {NOTHING} else ""


KEPT = 16_000_000
"""Values of all columns of two files that answers hold on to: 128 MB."""


def _without_many_values(answer: Comparison, columns: int) -> Comparison:
    """An answer that leaves its values in their file if those of all columns are too many."""
    if answer.values is None or columns * sum(side.size for side in answer.values) <= KEPT:
        return answer
    # a copy of a result has its logarithms worked out, and needs the values no more
    return replace(answer, values=None, result=copy(answer.result))


def _why_empty(answer: Comparison) -> str:
    """Where a column has no values, and how the share of missing ones changed."""
    before, after = answer.reference, answer.current
    if not (before.size + before.nan and after.size + after.nan):
        return "there are no rows to compare"
    if not before.size and not after.size:
        return ALL_MISSING
    where = "the current table" if before.size else "the reference"
    shares = f"{before.nan_share:.1%} → {after.nan_share:.1%}"
    return f"all its values are missing in {where} (missing: {shares})"


def compare_samples(reference: LabelledColumn, current: LabelledColumn, how: How) -> Comparison:
    """The comparison of two sides."""
    _require_one_kind(reference, current)
    level = 1.0 - how.alpha
    result, summaries = _test(reference, current, how)
    says = verdict(result, how.margin or 0.0, confidence_level=level)
    interval = result.shift_interval(level)
    relative, relative_interval, disagree = _relative(result, level)
    outcome = result.outcome()
    grouped = isinstance(reference.data, HeldColumn) and reference.data.groups is not None
    psi = outcome.witness if isinstance(outcome, ExactOutcome) and not grouped else None
    facts = [
        facts_of(side.data, summary, side.label, center, psi)
        for side, summary, center in zip(
            (reference, current), summaries, _centers(outcome), strict=True
        )
    ]
    notes = [*_told(outcome), *disagree]
    name = current.name if current.name != "value" else reference.name
    notes += [note for side in facts if (note := _emptiness(side, name))]
    notes += notes_of(facts, outcome, _held(reference.data, current.data))
    return Comparison(
        name=name,
        unit=current.unit or reference.unit,
        verdict=says,
        direction=direction_of(result.statistic),
        shift=result.shift,
        shift_interval=interval,
        relative_shift=relative,
        relative_shift_interval=relative_interval,
        statistic=result.statistic,
        pvalue=result.pvalue,
        pvalue_beyond=beyond_margin(result, how.margin),
        df=result.df,
        scale=outcome.robust_scale if isinstance(outcome, ExactOutcome) else math.nan,
        margin=how.margin,
        alpha=how.alpha,
        reference=facts[0],
        current=facts[1],
        warnings=tuple(dict.fromkeys(notes)),
        crossing=crossing(outcome.pair) if isinstance(outcome, ExactOutcome) else None,
        infinite=_infinite(outcome),
        result=result,
        values=_held(reference.data, current.data),
    )


def _told(outcome: Any) -> tuple[str, ...]:
    """What the test says of itself; shares at infinity are in the first sentence already."""
    return () if isinstance(outcome, LimitOutcome) else outcome.notes


def _infinite(outcome: Any) -> Infinite | None:
    """The shares of reference and current at an infinity, where they are what was compared."""
    if not isinstance(outcome, LimitOutcome):
        return None
    return Infinite(outcome.where, outcome.shares[1], outcome.shares[0])


def _require_one_kind(reference: LabelledColumn, current: LabelledColumn) -> None:
    """Durations are seconds: plain numbers beside them may be anything."""
    kinds = {side.kind: side.label for side in (reference, current)}
    if kinds.keys() == {NUMBER, DURATION}:
        raise ColumnTypeError(
            f"{reference.name} holds durations in {kinds[DURATION]} and plain numbers in "
            f"{kinds[NUMBER]}: make both durations, or both numbers of one unit"
        )


def _emptiness(side: SampleFacts, name: str) -> str:
    """What to say of a side without values."""
    if side.size:
        return ""
    if not side.nan:
        return f"{side.label} has no rows"
    where = f" in column {name!r}" if name != "value" else ""
    return f"{side.label} has no values{where}: all {side.nan:,} are missing"


def _test(
    of_reference: LabelledColumn, of_current: LabelledColumn, how: How
) -> tuple[DkmdResult, tuple[Summary | None, Summary | None]]:
    """The test of current against reference: on values where both are held and few, else on bins.

    The summaries are those of reference and current, None where values were compared.
    """
    reference, current = of_reference.data, of_current.data
    options = check_options(None, how.scale, "exact", "two-sided", how.method, how.nan_policy)
    held = _held(reference, current)
    if held is not None and not (reference.summed or current.summed):
        groups = (current.groups, reference.groups)  # type: ignore[union-attr]
        if (groups[0] is None) != (groups[1] is None):
            raise ValueError("groups are needed on both sides")
        if how.nan_policy == "raise":
            _require_no_nan(of_reference, int(np.isnan(held[0]).sum()), held[0].size)
            _require_no_nan(of_current, int(np.isnan(held[1]).sum()), held[1].size)
        by_group = None if groups[0] is None else groups
        return run(held[1], held[0], options, by_group), (None, None)
    before, after = summaries_of_pair(reference, current)
    if how.nan_policy == "raise":
        _require_no_nan(of_reference, before.nan, before.size + before.nan)
        _require_no_nan(of_current, after.nan, after.size + after.nan)
    result = run(after, before, options, groups_of_pair(current, reference, logs=False))

    def on_logs() -> DkmdResult:
        require_positive(before, after)
        grid_of_logs = log_grid(before + after)
        logs = log_summaries((after, before), grid_of_logs, (current.logs, reference.logs))
        groups = groups_of_pair(current, reference, logs=True)
        return run(logs[0], logs[1], options.on_logs(), groups)

    return result.with_logs(on_logs), (before, after)


def _require_no_nan(side: LabelledColumn, count: int, rows: int) -> None:
    """No missing value may be there under nan_policy="raise"; the first one is named."""
    if not count:
        return
    place = "" if side.missing_at is None else side.missing_at()
    column = f", column {side.name!r}" if side.name != "value" else ""
    if not place and isinstance(side.data, HeldColumn):
        at = int(np.argmax(np.isnan(side.data.values))) + 1
        word = "row" if side.missing_at is None else "value"  # of a pipe, whose lines are gone
        place = f"{side.label}{column}, {word} {at:,}"
    if place:
        what = "the value is missing"
    else:
        place = f"{side.label}{column}"
        what = f"{count:,} of {rows:,} values {'is' if count == 1 else 'are'} missing"
    raise NanError(f'{place}: {what}, and nan_policy is "raise"')


Relative = tuple[float | None, ConfidenceInterval | None, tuple[str, ...]]


def _relative(result: DkmdResult, level: float) -> Relative:
    """The shift in percent, from the logarithms, and what to say if they disagree."""
    if not isinstance(result.outcome(), ExactOutcome):
        return None, None, ()
    try:
        on_logs = result.on_logs()
    except EngineError:  # one that did not answer says nothing about the data
        raise
    except ValueError:
        return None, None, ()
    if opposed(result, on_logs, level):
        return None, None, (DISAGREE,)
    low, high = on_logs.shift_interval(level)
    return _as_percent(on_logs.shift), ConfidenceInterval(_as_percent(low), _as_percent(high)), ()


DISAGREE = (
    "values and their logarithms moved in opposite directions, so there is no percentage: the "
    "shapes differ, with more small values and more very large ones on one side"
)


def _as_percent(log_shift: float) -> float:
    return 100.0 * as_change(log_shift)


def _held(reference: ColumnData, current: ColumnData) -> tuple[Array, Array] | None:
    if isinstance(reference, HeldColumn) and isinstance(current, HeldColumn):
        return reference.values, current.values
    return None


def _centers(outcome: Any) -> tuple[float, float]:
    """The M-centres of reference and current."""
    if not isinstance(outcome, ExactOutcome):
        return math.nan, math.nan
    after, before = outcome.pair.centers()
    return outcome.pair.origin + before, outcome.pair.origin + after
