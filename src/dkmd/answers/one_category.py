"""The work on one column of categories: counts of levels become one test and one answer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dkmd.answers.comparison import ColumnAnswer
from dkmd.answers.comparison.categories import (
    NO_INTERVAL,
    UNCLEAR,
    CategoryComparison,
    CategoryFacts,
)
from dkmd.answers.comparison.missing import emptiness
from dkmd.answers.findings import CATEGORY, Finding, missing_finding
from dkmd.answers.grouped import Missing, grouped_missing_finding
from dkmd.answers.one_column import compare_samples
from dkmd.answers.options import CompareOptions
from dkmd.answers.orientation import compared, turned
from dkmd.answers.sample_ratio import check_ratio
from dkmd.base.errors import NanError
from dkmd.base.wording import count
from dkmd.inference.design.units import few_units
from dkmd.inference.kinds.categories import LevelChange, category_pvalue, compare_shares
from dkmd.inference.kinds.column_kind import CATEGORY as CATEGORY_KIND
from dkmd.inference.kinds.unit_shares import compare_levels, unit_counts
from dkmd.inference.test.result import ConfidenceInterval
from dkmd.sources.column_data import HeldColumn, LabelledColumn
from dkmd.sources.level_counts import LabelledLevels, LevelCounts, LevelGroups, yes_and_no
from dkmd.sources.loading import LevelPair, NumberPair
from dkmd.sources.number_words import HAS_UNIT, number_with_unit

MOST_COMPARED = 100
"""Levels that are compared one by one, the most frequent first; the others are added up."""

OTHER = "other levels"

IDENTIFIER_SHARE = 0.9
"""A column is an identifier if so many of its values are distinct on both sides."""

IDENTIFIER_SIZE = 20
"""A side with fewer values is never called an identifier."""


def compare_pair(pair: NumberPair | LevelPair, options: CompareOptions) -> ColumnAnswer:
    """Compare two columns of numbers, or two columns of categories.

    Text that says yes and no is compared as yes/no data, wherever it was kept.
    """
    before, after = pair
    if isinstance(before, LabelledLevels) and isinstance(after, LabelledLevels):
        words = yes_and_no(before.data, after.data)
        if words is None or options.kind == CATEGORY_KIND or before.data.order:
            return compare_categories(before, after, options)
        before, after = (_as_numbers(side, words) for side in (before, after))
    assert isinstance(before, LabelledColumn)
    assert isinstance(after, LabelledColumn)
    return compare_samples(before, after, options)


def _as_numbers(side: LabelledLevels, words: tuple[str, str]) -> LabelledColumn:
    """Words for no and yes as 0 and 1. Counts have no order of rows, so there is none to judge."""
    labels = None if side.data.groups is None else side.data.groups.labels
    data = HeldColumn(side.data.truths(words), labels, repeated=labels is None)
    return LabelledColumn(
        data, side.name, side.label, missing_at=side.missing_at, left_out=side.note
    )


def compare_categories(
    reference: LabelledLevels, current: LabelledLevels, options: CompareOptions
) -> CategoryComparison:
    """Compare the shares of the levels of one column."""
    for side in (reference, current):
        if options.test.nan_policy == "raise" and side.data.missing:
            raise NanError(_first_missing(side))
    before, after = (
        CategoryFacts(side.label, side.data.size, side.data.missing, side.data.distinct)
        for side in (reference, current)
    )
    name = current.name if current.name != "value" else reference.name
    rows = before.size + before.nan, after.size + after.nan
    grouped = reference.data.groups is not None
    missing = (
        grouped_missing_finding(
            _missing(reference), _missing(current), options.test.weigh, options.confidence
        )
        if grouped
        else missing_finding((before.nan, after.nan), rows, options.confidence)
    )
    units = _units(reference.data, current.data)
    why_not = _why_not(reference.data, current.data, options.test.nan_policy)
    tested = _Tested() if why_not else _tested(reference.data, current.data, options)
    findings = () if missing is None else (missing,)
    answer = CategoryComparison(
        name=name,
        verdict=UNCLEAR,
        pvalue=tested.pvalue,
        alpha=options.alpha,
        levels=tested.levels,
        other=tested.other,
        reference=before,
        current=after,
        warnings=tuple(
            filter(
                None,
                [
                    reference.note,
                    current.note if current.note != reference.note else "",
                    emptiness(before, name),
                    emptiness(after, name),
                    _cap(tested.levels, tested.other),
                    "" if options.kind == CATEGORY_KIND else _unit(reference.data, current.data),
                    *tested.notes,
                    _no_order(reference.data, current.data),
                ],
            )
        ),
        why_not=why_not,
        findings=findings,
        sample_ratio=(
            None
            if options.expect_ratio is None
            else check_ratio(*(units or rows), options.expect_ratio, "groups" if units else "rows")
        ),
    )
    if not why_not:
        answer = _with_direction(answer, (reference.data, current.data), options)
    return answer.corrected().judged()


def _with_direction(
    answer: CategoryComparison, sides: tuple[LevelCounts, LevelCounts], options: CompareOptions
) -> CategoryComparison:
    """The answer about ordered levels: which way they moved, by the test of numbers."""
    reference, current = sides
    order = _order(reference, current)
    if not order:
        return answer
    if answer.is_one_share:  # its test and its interval tell the direction
        upper = max(answer.levels, key=lambda each: order.index(each.level))
        interval = ConfidenceInterval(upper.low, upper.high)
        return replace(answer, order=order, shift=upper.difference, shift_interval=interval)
    labels = None
    if reference.groups is not None and current.groups is not None:
        labels = reference.groups.labels, current.groups.labels
    asked = replace(options.test, witness=None, scale=None, estimator="exact", nan_policy="omit")
    outcome = compared(reference.places(order), current.places(order), asked, labels).single()
    if outcome is None:
        return answer
    shares = Finding(CATEGORY, math.nan, math.nan, answer.distance, NO_INTERVAL, answer.pvalue)
    return replace(
        answer,
        order=order,
        pvalue=outcome.pvalue,
        shift=outcome.shift,
        shift_interval=ConfidenceInterval(*outcome.shift_interval(options.confidence)),
        findings=(shares, *answer.findings),
    )


def _order(reference: LevelCounts, current: LevelCounts) -> tuple[str, ...]:
    """The order of the levels of both sides; empty if there is none, or if it leaves out levels."""
    shorter, longer = sorted((reference.order, current.order), key=len)
    rest = iter(longer)
    if not all(level in rest for level in shorter):  # another order, or other levels
        return ()
    every = {*reference.counts, *current.counts}
    return longer if every <= {*longer} else ()


def _no_order(reference: LevelCounts, current: LevelCounts) -> str:
    """A note that levels have an order that cannot be used; empty if it can, or there is none."""
    if not (reference.order or current.order) or _order(reference, current):
        return ""
    return "the levels of both sides have no common order, so there is no direction"


def _unit(reference: LevelCounts, current: LevelCounts) -> str:
    """What to do about categories that look like numbers with a unit."""
    cells = (number_with_unit(side.counts) for side in (reference, current))
    cell = next(filter(None, cells), "")
    return HAS_UNIT.format(cell) if cell else ""


class _Tested(NamedTuple):
    """The levels, the rest of them, the p-value of the column, and notes on its units."""

    levels: tuple[LevelChange, ...] = ()
    other: LevelChange | None = None
    pvalue: float = math.nan
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, changes: list[LevelChange], rest: bool, pvalue: float, notes: tuple[str, ...] = ()
    ) -> _Tested:
        """From all changes. If there is a rest, it is the last one."""
        other = changes.pop() if rest else None
        # the largest difference first
        order = sorted(changes, key=lambda each: (-round(abs(each.difference), 12), each.level))
        return cls(tuple(order), other, pvalue, notes)


def _tested(reference: LevelCounts, current: LevelCounts, options: CompareOptions) -> _Tested:
    """The test of a column."""
    levels = _most_frequent(reference, current)
    if reference.groups is not None and current.groups is not None:
        return _tested_by_units(levels, reference.groups, current.groups, options)
    x, y = turned((reference.counted(levels), current.counted(levels)))
    of_x, of_y = turned((reference.size, current.size))
    rest = of_x - sum(x), of_y - sum(y)
    if any(rest):
        levels, x, y = [*levels, OTHER], [*x, rest[0]], [*y, rest[1]]
    changes = compare_shares(levels, x, y, options.confidence)
    return _Tested.of(changes, any(rest), category_pvalue(np.asarray(x), np.asarray(y)))


def _tested_by_units(
    levels: list[str], reference: LevelGroups, current: LevelGroups, options: CompareOptions
) -> _Tested:
    """The same for repeated measurements."""
    before, after = reference.counted(levels), current.counted(levels)
    rest = bool(before.counts[:, -1].any() or after.counts[:, -1].any())
    names = [*levels, OTHER] if rest else levels
    x, y = (
        unit_counts(side.counts[:, : len(names)], side.labels) for side in turned((before, after))
    )
    weigh = options.test.weigh
    found = compare_levels(names, x, y, weigh, options.confidence)
    # words about groups have the reference first
    notes = found.notes if weigh is not None else few_units(*turned((x.rows.size, y.rows.size)))
    return _Tested.of(found.levels, rest, found.pvalue, notes)


def _missing(side: LabelledLevels) -> Missing | None:
    """Which rows of repeated measurements have no level."""
    groups = side.data.groups
    return None if groups is None else Missing(groups.missing, groups.labels)


def _units(reference: LevelCounts, current: LevelCounts) -> tuple[int, int] | None:
    """The numbers of groups of both sides; None without groups."""
    if reference.groups is None or current.groups is None:
        return None
    return np.unique(reference.groups.labels).size, np.unique(current.groups.labels).size


def _most_frequent(reference: LevelCounts, current: LevelCounts) -> list[str]:
    """The most frequent levels of both sides together."""
    pooled = dict(reference.counts)
    for level, n in current.counts.items():
        pooled[level] = pooled.get(level, 0) + n
    return sorted(pooled, key=lambda level: (-pooled[level], level))[:MOST_COMPARED]


def _why_not(reference: LevelCounts, current: LevelCounts, nan_policy: str) -> str:
    """Why a column is not tested; empty if it is."""
    sides = (reference, current)
    if not all(side.size for side in sides):
        return "cannot be compared"
    if any(side.groups is not None and side.groups.known < 2 for side in sides):
        return "has a single group on a side, so it is not tested"
    if nan_policy == "propagate" and any(side.missing for side in sides):
        return 'has missing values, and nan_policy is "propagate"'
    if all(_is_identifier(side) for side in sides):
        distinct, size = (sum(getattr(s, part) for s in sides) for part in ("distinct", "size"))
        return (
            f"looks like an identifier, so it is not tested: {count(distinct)} distinct values "
            f"among {count(size)}"
        )
    if reference.distinct == 1 and reference.counts.keys() == current.counts.keys():
        return f"is constant, so it is not tested: every value is {next(iter(current.counts))}"
    return ""


def _is_identifier(side: LevelCounts) -> bool:
    return side.size >= IDENTIFIER_SIZE and side.distinct >= IDENTIFIER_SHARE * side.size


def _cap(levels: tuple[LevelChange, ...], other: LevelChange | None) -> str:
    if other is None:
        return ""
    return (
        f"only the {len(levels):,} most frequent levels are compared one by one; the others are "
        f"added up as “{OTHER}”"
    )


def _first_missing(side: LabelledLevels) -> str:
    """Where the first missing value is, as nan_policy="raise" asks."""
    place = "" if side.missing_at is None else side.missing_at()
    if place:
        return f'{place}: the value is missing, and nan_policy is "raise"'
    rows, missing = side.data.size + side.data.missing, side.data.missing
    column = f", column {side.name!r}" if side.name != "value" else ""
    return (
        f"{side.label}{column}: {missing:,} of {rows:,} values "
        f'{"is" if missing == 1 else "are"} missing, and nan_policy is "raise"'
    )
