"""The work on one column: two samples become one test, and the test becomes one answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from dkmd.answers.comparison import Comparison, SampleFacts
from dkmd.answers.comparison.design_words import Adjusted
from dkmd.answers.comparison.missing import emptiness
from dkmd.answers.extremes import extreme_values
from dkmd.answers.facts import correlation_of, facts_of, infinite_shares, notes_of, or_zero
from dkmd.answers.findings import (
    Finding,
    Held,
    MeanChange,
    mean_change,
    mean_finding,
    missing_finding,
    percentile_changes,
    quantiles_of,
    size_of,
    spread_finding,
)
from dkmd.answers.grouped import (
    grouped_missing_finding,
    grouped_percentile_changes,
    grouped_sides,
    mean_of_units,
    missing_of,
)
from dkmd.answers.kinds import Kinded, kind_of_column, with_kind
from dkmd.answers.opinions import direction_of
from dkmd.answers.options import CompareOptions
from dkmd.answers.orientation import compared, compared_stored, turned
from dkmd.answers.percentages import no_percentages, percentage_of
from dkmd.answers.sample_ratio import SampleRatio, check_ratio
from dkmd.base.arrays import Array
from dkmd.base.errors import NanError
from dkmd.bins.logarithms import log_grid, log_summaries, require_positive
from dkmd.bins.summary import Summary
from dkmd.inference.design.labels import coded
from dkmd.inference.kinds.column_kind import AMOUNT
from dkmd.inference.kinds.column_kind import DATE as DATE_KIND
from dkmd.inference.kinds.neighbours import Middle
from dkmd.inference.kinds.percentiles import PercentileChange
from dkmd.inference.kinds.shapes import crossing
from dkmd.inference.test.margins import beyond_margin, verdict
from dkmd.inference.test.one_test import ALL_EQUAL, NOTHING_VARIES, stopped_by_nan
from dkmd.inference.test.options import Options
from dkmd.inference.test.result import (
    DkmdResult,
    ExactOutcome,
    Outcome,
)
from dkmd.sources.column_data import ColumnData, HeldColumn, LabelledColumn
from dkmd.sources.kinds import DATE
from dkmd.sources.pairs import (
    on_one_offset,
    require_one_kind,
    summaries_of_pair,
)
from dkmd.sources.repeated_rows import in_order
from dkmd.sources.stored_sides import stored_pair


def compare_samples(
    reference: LabelledColumn, current: LabelledColumn, options: CompareOptions
) -> Comparison:
    """Compare two samples of one column."""
    require_one_kind(reference, current)
    old, new, offset = on_one_offset(reference.data, current.data)
    as_given = old, new
    if options.test.nan_policy != "raise":  # which names the row of a missing value
        old, new = in_order(old), in_order(new)
    reference, current = replace(reference, data=old), replace(current, data=new)
    answer = _compared(reference, current, as_given, options, offset).corrected()
    dates = DATE in (reference.kind, current.kind)
    return replace(answer, offset=offset, dates=dates) if offset or dates else answer


def _compared(
    reference: LabelledColumn,
    current: LabelledColumn,
    as_given: tuple[ColumnData, ColumnData],
    options: CompareOptions,
    offset: int,
) -> Comparison:
    """Compare two samples from which the same offset was subtracted; ``as_given`` has all rows."""
    test = _tested(reference, current, options.test)
    result, outcome = test.result, test.result.outcome()
    is_date = DATE in (reference.kind, current.kind)
    if offset or is_date:
        result = result.with_logs(no_percentages)
    values = _values(*as_given)
    percentage = percentage_of(result, options.confidence)
    held = _held(reference.data, test.summaries[0]), _held(current.data, test.summaries[1])
    before, after = _facts((reference, current), as_given, test, held)
    name = current.name if current.name != "value" else reference.name
    kinded = Kinded(DATE_KIND if is_date else AMOUNT)
    by_mean = options.test.estimand == "mean"
    if not (by_mean or is_date):
        kinded = kind_of_column((reference.data, current.data), held, outcome, name, options.kind)
    notes = [reference.left_out, current.left_out, *_told(outcome, kinded.decides)]
    notes += [percentage.note, *(emptiness(side, name) for side in (before, after))]
    notes += [reference.note, current.note]
    notes += [*notes_of((before, after), outcome, values, kinded.decides), *kinded.notes]
    exact = outcome if isinstance(outcome, ExactOutcome) else None
    reading = _Reading() if kinded.decides else _Reading.of(result, options)
    means = partial(_compare_means, reference, current, options.test)
    mean, percentiles = _described(held, (reference.data, current.data), result, means, options)
    weighted = result.effective_sizes is not None
    answer = Comparison(
        name=name,
        unit=current.unit or reference.unit,
        verdict=reading.verdict,
        direction=direction_of(or_zero(result.statistic, outcome)),
        shift=or_zero(result.shift, outcome),
        shift_interval=result.shift_interval(options.confidence),
        relative_shift=percentage.shift,
        relative_shift_interval=percentage.interval,
        statistic=result.statistic,
        pvalue=result.pvalue,
        pvalue_beyond=reading.pvalue_beyond,
        df=result.df,
        scale=math.nan if exact is None else exact.reference_scale,
        margin=options.margin,
        alpha=options.alpha,
        reference=before,
        current=after,
        warnings=tuple(dict.fromkeys(filter(None, notes))),
        crossing=None if exact is None else crossing(exact),
        infinite=infinite_shares(before, after, result.shift),
        findings=_findings((before, after), as_given, outcome, mean, options),
        mean=mean,
        extremes=None if weighted or _agree(mean, result, options.alpha) else extreme_values(*held),
        percentiles=percentiles,
        sample_ratio=_sample_ratio(reference.data, current.data, before, after, exact, options),
        result=result,
        values=values,
        estimand=options.test.estimand,
        per=_per(reference.data),
        adjustment=Adjusted.of(result, options.confidence),
        effective_sizes=_effective(result),
    )
    return with_kind(answer, kinded, held, options.test, means)


def _facts(
    sides: tuple[LabelledColumn, LabelledColumn],
    as_given: tuple[ColumnData, ColumnData],
    test: _Tested,
    held: tuple[Held, Held],
) -> tuple[SampleFacts, SampleFacts]:
    """The facts about reference and current."""
    outcome = test.result.outcome()
    middle = _middle(outcome, sides[0].data)
    found = []
    for side, given, summary, at in zip(
        sides, as_given, test.summaries, _medians(test.result, held), strict=True
    ):
        median, correlation = or_zero(at, outcome), correlation_of(given, middle)
        found.append(facts_of(side.data, summary, side.label, median, correlation))
    return found[0], found[1]


def _medians(result: DkmdResult, held: tuple[Held, Held]) -> tuple[float, float]:
    """The medians of reference and current, as percentiles have them; with weights, weighted."""
    outcome = result.outcome()
    if isinstance(outcome, ExactOutcome) and (outcome.effective or outcome.pairing):
        return turned(outcome.medians)
    before, after = (quantiles_of(side)(0.5) if size_of(side) else math.nan for side in held)
    return before, after


def _per(reference: ColumnData) -> str:
    """The name of the denominators of a ratio of sums; empty without them."""
    if not isinstance(reference, HeldColumn) or reference.beside is None:
        return ""
    return reference.beside.per if reference.beside.denominators is not None else ""


def _compare_means(
    reference: LabelledColumn, current: LabelledColumn, options: Options
) -> DkmdResult:
    """The same test of the means."""
    options = options.of_means()
    return _tested(reference, current, options).result


def _agree(mean: MeanChange | None, result: DkmdResult, alpha: float) -> bool:
    """Whether the mean says no more than the shift does."""
    if mean is None or not mean.direction:
        return True
    return bool(result.pvalue < alpha) and mean.direction * result.shift > 0.0


class _Reading(NamedTuple):
    """The shift against the margin."""

    verdict: str = "inconclusive"
    pvalue_beyond: float = math.nan

    @classmethod
    def of(cls, result: DkmdResult, options: CompareOptions) -> _Reading:
        """The verdict on the shift, and the p-value of "beyond the margin"."""
        word = verdict(result, options.margin or 0.0, confidence_level=options.confidence)
        return cls(word, beyond_margin(result, options.margin))


def _findings(
    facts: tuple[SampleFacts, SampleFacts],
    as_given: tuple[ColumnData, ColumnData],
    outcome: Outcome,
    mean: MeanChange | None,
    options: CompareOptions,
) -> tuple[Finding, ...]:
    """What else may have changed: the mean, the spread and the share of missing values.

    The spread of repeated measurements would have to know the groups, so it is left out. Ratios of
    sums have no spread, and a test of means has no other finding about the mean.
    """
    before, after = facts
    mean = None if options.test.estimand == "mean" else mean
    found: list[Finding | None]
    if _has_groups(outcome):
        sides = missing_of(as_given[0]), missing_of(as_given[1])
        found = [grouped_missing_finding(*sides, options.test.weigh, options.confidence)]
    else:
        rows = before.size + before.nan, after.size + after.nan
        found = [
            None if _per(as_given[0]) else spread_finding(outcome, options.confidence),
            missing_finding((before.nan, after.nan), rows, options.confidence),
        ]
    return tuple(each for each in (mean_finding(mean), *found) if each is not None)


def _has_groups(outcome: Outcome) -> bool:
    """Whether the values are not independent: groups or weights."""
    return isinstance(outcome, ExactOutcome) and outcome.designed


def _described(
    held: tuple[Held, Held],
    data: tuple[ColumnData, ColumnData],
    result: DkmdResult,
    means: Callable[[], DkmdResult],
    options: CompareOptions,
) -> tuple[MeanChange | None, tuple[PercentileChange, ...]]:
    """The mean and the percentiles; of repeated measurements, if the values are in memory.

    Weighted values have no percentiles. Where the means are tested, the mean is that of the test.
    """
    outcome, confidence = result.outcome(), options.confidence
    sides = grouped_sides(*data) if _has_groups(outcome) else None
    percentiles: tuple[PercentileChange, ...] = ()
    weighted = result.effective_sizes is not None or options.test.weigh is not None
    if not (weighted or _per(data[0])):
        if sides is not None:
            percentiles = grouped_percentile_changes(sides, confidence, options.levels)
        elif not _has_groups(outcome):
            percentiles = percentile_changes(*held, confidence, options.levels)
    if options.test.estimand == "mean" or weighted or result.adjustment is not None:
        exact = isinstance(outcome, ExactOutcome)
        return mean_of_units(means, confidence) if exact else None, percentiles
    if sides is not None:
        groups = sides[0].codes, sides[1].codes
        values = (None, sides[0].values), (None, sides[1].values)
        return mean_change(*values, confidence, groups), percentiles
    return None if _has_groups(outcome) else mean_change(*held, confidence), percentiles


def _sample_ratio(
    reference: ColumnData,
    current: ColumnData,
    before: SampleFacts,
    after: SampleFacts,
    exact: ExactOutcome | None,
    options: CompareOptions,
) -> SampleRatio | None:
    """The check of the sizes of both arms, if it was asked for. Groups count as units."""
    if options.expect_ratio is None:
        return None
    rows, counted = (before.size + before.nan, after.size + after.nan), "rows"
    held = [side.groups if isinstance(side, HeldColumn) else None for side in (reference, current)]
    if held[0] is not None and held[1] is not None:
        rows, counted = (coded(held[0]).labels.size, coded(held[1]).labels.size), "groups"
    elif exact is not None and exact.units is not None and exact.effective is None:
        rows, counted = turned(exact.units), "groups"
    elif not before.nan and not after.nan:
        counted = "values"
    return check_ratio(*rows, options.expect_ratio, counted)


class _Tested(NamedTuple):
    """A test, and the summaries of reference and current; None where values were compared."""

    result: DkmdResult
    summaries: tuple[Summary | None, Summary | None]


def _tested(of_reference: LabelledColumn, of_current: LabelledColumn, options: Options) -> _Tested:
    """The test of current against reference: of values where both sides hold few, else of bins."""
    reference, current = of_reference.data, of_current.data
    if _is_small(reference) and _is_small(current):
        groups = _groups(reference, current)
        if options.nan_policy == "raise":
            for side, values in ((of_reference, reference.values), (of_current, current.values)):
                _require_no_nan(side, int(np.isnan(values).sum()), values.size)
        beside = reference.beside, current.beside
        result = compared(reference.values, current.values, options, groups, beside)
        return _Tested(result, (None, None))

    def check(before: Summary, after: Summary) -> None:
        if options.nan_policy == "raise":
            for side, summary in ((of_reference, before), (of_current, after)):
                _require_no_nan(side, summary.nan, summary.size + summary.nan)

    before, after = summaries_of_pair(reference, current)
    check(before, after)
    rows = stored_pair(reference, current, options.weigh is not None)
    if stopped_by_nan(before.nan + after.nan, options):
        rows = None

    def on_logs() -> DkmdResult:
        require_positive(before, after)
        grid = log_grid(before + after)
        if rows is not None:
            return compared_stored(*rows, options.on_logs(), grid, logs=True)
        logs = log_summaries((before, after), grid, (reference.logs, current.logs))
        return compared(logs[0], logs[1], options.on_logs())

    if rows is not None:
        result = compared_stored(*rows, options, before.grid)
    else:
        result = compared(before, after, options)
    return _Tested(result.with_logs(on_logs), (before, after))


def _require_no_nan(side: LabelledColumn, count: int, rows: int) -> None:
    """Raise an error that names the first missing value, as nan_policy="raise" asks."""
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


def _is_small(side: ColumnData) -> TypeGuard[HeldColumn]:
    """Whether the values of a side are in memory, and few enough to compare them without bins."""
    return isinstance(side, HeldColumn) and not side.summed


def _groups(
    reference: HeldColumn, current: HeldColumn
) -> tuple[npt.ArrayLike, npt.ArrayLike] | None:
    """The labels of reference and current; None without groups."""
    before, after = reference.groups, current.groups
    if before is None and after is None:
        return None
    if before is None or after is None:
        raise ValueError("groups are needed on both sides")
    return before, after


def _told(outcome: Outcome, by_shares: bool) -> tuple[str, ...]:
    """The notes of the test. The headline already tells shares."""
    untrue = (ALL_EQUAL, NOTHING_VARIES) if by_shares else ()
    return tuple(note for note in outcome.notes if note not in untrue)


def _effective(result: DkmdResult) -> tuple[float, float] | None:
    """The effective sizes of reference and current."""
    sizes = result.effective_sizes
    return None if sizes is None else turned(sizes)


def _middle(outcome: Outcome, reference: ColumnData) -> Middle | None:
    """Where ψ looks at neighbours; None where values belong to groups."""
    grouped = isinstance(reference, HeldColumn) and reference.groups is not None
    return outcome.middle if isinstance(outcome, ExactOutcome) and not grouped else None


def _held(side: ColumnData, summary: Summary | None) -> Held:
    """One side as its bins, its values, or both."""
    return summary, side.values if isinstance(side, HeldColumn) else None


def _values(reference: ColumnData, current: ColumnData) -> tuple[Array, Array] | None:
    """The values of reference and current, where both are in memory."""
    if isinstance(reference, HeldColumn) and isinstance(current, HeldColumn):
        return reference.values, current.values
    return None
