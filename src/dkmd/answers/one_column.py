"""The work on one column: two samples become one test, and the test becomes one answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from dkmd.answers.comparison import Comparison, Infinite, SampleFacts
from dkmd.answers.comparison.design_words import Adjusted
from dkmd.answers.comparison.missing import emptiness
from dkmd.answers.crossed_column import compared_by_sums
from dkmd.answers.extremes import extreme_values
from dkmd.answers.facts import beyond_the_data, correlation_of, facts_of, notes_of, or_zero
from dkmd.answers.findings import (
    Finding,
    Held,
    MeanChange,
    mean_change,
    missing_finding,
    percentile_changes,
    spread_finding,
)
from dkmd.answers.grouped import (
    LINEAR,
    grouped_mean_change,
    grouped_missing_finding,
    grouped_percentile_changes,
    grouped_sides,
    missing_of,
)
from dkmd.answers.kinds import Kinded, kind_of_column, with_kind
from dkmd.answers.options import CompareOptions
from dkmd.answers.orientation import (
    centers_of,
    compared,
    compared_units,
    compared_weighted,
    shares_of,
    turned,
)
from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError, EngineError, NanError
from dkmd.binned.logarithms import as_change, log_grid, log_summaries, require_positive
from dkmd.binned.summary import Summary
from dkmd.inference.column_kind import DATE as DATE_KIND
from dkmd.inference.label_codes import coded
from dkmd.inference.limits import LimitOutcome
from dkmd.inference.margins import beyond_margin, opposed, verdict
from dkmd.inference.one_test import ALL_EQUAL, NOTHING_VARIES
from dkmd.inference.opinions import direction_of
from dkmd.inference.options import Options
from dkmd.inference.percentiles import PercentileChange
from dkmd.inference.result import (
    ConfidenceInterval,
    DkmdResult,
    ExactOutcome,
    Outcome,
)
from dkmd.inference.sample_ratio import SampleRatio, check_ratio
from dkmd.inference.shapes import crossing
from dkmd.sources.beside import summed_weights, weights_of_pair
from dkmd.sources.column_data import ColumnData, HeldColumn, LabelledColumn
from dkmd.sources.cross_sides import crossings
from dkmd.sources.kinds import DATE
from dkmd.sources.pairs import (
    groups_of_pair,
    on_one_offset,
    require_one_kind,
    summaries_of_pair,
    units_of_pair,
)
from dkmd.sources.repeated_rows import in_order
from dkmd.statistic.witness import Witness


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
    answer = _compared(reference, current, as_given, options, offset)
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
        result = result.with_logs(_no_percentages)
    values = _values(*as_given)
    percentage = _percentage(result, options.confidence)
    before, after = _facts((reference, current), as_given, test)
    name = current.name if current.name != "value" else reference.name
    held = _held(reference.data, test.summaries[0]), _held(current.data, test.summaries[1])
    kinded = Kinded(DATE_KIND)
    if not is_date:
        kinded = kind_of_column((reference.data, current.data), held, outcome, name, options.kind)
    notes = [reference.left_out, current.left_out, *_told(outcome, kinded.decides)]
    notes += [percentage.note, *(emptiness(side, name) for side in (before, after))]
    notes += [reference.note, current.note]
    notes += [*notes_of((before, after), outcome, values, kinded.decides), *kinded.notes]
    exact = outcome if isinstance(outcome, ExactOutcome) else None
    grouped = _has_groups(outcome)
    reading = _Reading() if kinded.decides else _Reading.of(result, options)
    means = partial(_compare_means, reference, current, options.test)
    mean, percentiles = _described(held, (reference.data, current.data), grouped, options)
    weighted = result.effective_sizes is not None
    if options.test.weigh is not None or weighted:  # weighted means, and no percentiles
        percentiles = ()
    if options.test.weigh is not None or weighted or result.adjustment is not None:
        mean = None if exact is None else _mean_of_units(means, options.confidence)
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
        crossing=None if exact is None else crossing(exact.raw_pair),
        infinite=_infinite(outcome),
        findings=_findings((before, after), as_given, outcome, options),
        mean=mean,
        extremes=None if weighted or _agree(mean, result, options.alpha) else extreme_values(*held),
        percentiles=percentiles,
        sample_ratio=_sample_ratio(reference.data, current.data, before, after, exact, options),
        result=result,
        values=values,
        adjustment=Adjusted.of(result, options.confidence),
        effective_sizes=_effective(result),
    )
    return with_kind(answer, kinded, held, options.test, means)


def _facts(
    sides: tuple[LabelledColumn, LabelledColumn],
    as_given: tuple[ColumnData, ColumnData],
    test: _Tested,
) -> tuple[SampleFacts, SampleFacts]:
    """The facts about reference and current."""
    outcome = test.result.outcome()
    psi = _psi(outcome, sides[0].data)
    found = []
    for side, given, summary, at in zip(
        sides, as_given, test.summaries, centers_of(outcome), strict=True
    ):
        center, correlation = or_zero(at, outcome), correlation_of(given, psi)
        found.append(facts_of(side.data, summary, side.label, center, correlation))
    return found[0], found[1]


def _compare_means(
    reference: LabelledColumn, current: LabelledColumn, options: Options
) -> DkmdResult:
    """The same test with a linear ψ, whose centre is the mean."""
    options = replace(options, witness=LINEAR, scale=None, method=None)
    return _tested(reference, current, options).result


def _mean_of_units(means: Callable[[], DkmdResult], confidence: float) -> MeanChange | None:
    """The means over units on both sides, by the paired test; None where a value is infinite."""
    try:
        result = means()
    except ValueError:  # a linear ψ has no bound, so infinite values have no mean
        return None
    low, high = result.shift_interval(confidence)
    return MeanChange(*centers_of(result.outcome()), result.shift, low, high)


def _agree(mean: MeanChange | None, result: DkmdResult, alpha: float) -> bool:
    """Whether the mean says no more than the centre does."""
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
    options: CompareOptions,
) -> tuple[Finding, ...]:
    """What else may have changed: the spread and the share of missing values.

    The spread of repeated measurements would have to know the groups, so it is left out.
    """
    before, after = facts
    found: list[Finding | None]
    if _has_groups(outcome):
        sides = missing_of(as_given[0]), missing_of(as_given[1])
        found = [grouped_missing_finding(*sides, options.test, options.confidence)]
    else:
        rows = before.size + before.nan, after.size + after.nan
        found = [
            spread_finding(outcome, options.confidence),
            missing_finding((before.nan, after.nan), rows, options.confidence),
        ]
    return tuple(each for each in found if each is not None)


def _has_groups(outcome: Outcome) -> bool:
    """Whether the values are not independent: groups, weights or an adjustment."""
    return isinstance(outcome, ExactOutcome) and outcome.raw_pair.clusters is not None


def _described(
    held: tuple[Held, Held],
    data: tuple[ColumnData, ColumnData],
    grouped: bool,
    options: CompareOptions,
) -> tuple[MeanChange | None, tuple[PercentileChange, ...]]:
    """The mean and the percentiles; of repeated measurements, if the values are in memory."""
    if not grouped:
        percentiles = percentile_changes(*held, options.confidence, options.levels)
        return mean_change(*held, options.confidence), percentiles
    sides = grouped_sides(*data)
    if sides is None:
        return None, ()
    percentiles = grouped_percentile_changes(sides, options.confidence, options.levels)
    return grouped_mean_change(sides, options.confidence), percentiles


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
    elif exact is not None and exact.raw_pair.clusters is not None and exact.effective is None:
        units = turned(exact.raw_pair.clusters.units)
        rows, counted = (int(units[0]), int(units[1])), "groups"
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

    streams = crossings(reference, current)
    if streams is not None:
        return _Tested(*compared_by_sums(reference, current, streams, options, check))
    reference, current = summed_weights(reference), summed_weights(current)
    weights = weights_of_pair(reference, current)
    before, after = summaries_of_pair(reference, current)
    check(before, after)

    def tested(old: Summary, new: Summary, options: Options, logs: bool) -> DkmdResult:
        if options.weigh is not None:
            return compared_units(old, new, options, units_of_pair(reference, current), logs)
        if weights is not None:
            before, after = (each.at(old.grid, logs) for each in weights)
            return compared_weighted(before, after, options)
        return compared(old, new, options, groups_of_pair(reference, current, logs))

    def on_logs() -> DkmdResult:
        require_positive(before, after)
        grid = log_grid(before + after)
        logs = log_summaries((before, after), grid, (reference.logs, current.logs))
        return tested(logs[0], logs[1], options.on_logs(), logs=True)

    result = tested(before, after, options, logs=False)
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


class _Percentage(NamedTuple):
    """The shift in percent, its interval, and a note on why there is none."""

    shift: float | None = None
    interval: ConfidenceInterval | None = None
    note: str = ""


def _percentage(result: DkmdResult, confidence: float) -> _Percentage:
    """The shift in percent, worked out on logarithms."""
    if not isinstance(result.outcome(), ExactOutcome):
        return _Percentage()
    try:
        on_logs = result.on_logs()
    except EngineError:  # an engine that did not answer says nothing about the data
        raise
    except ValueError:
        return _Percentage()
    # a centre at infinity, or near it: every percentage is too small
    if math.isinf(result.shift) or beyond_the_data(on_logs.outcome()):
        return _Percentage()
    if opposed(result, on_logs, confidence):
        return _Percentage(note=DISAGREE)
    low, high = on_logs.shift_interval(confidence)
    interval = ConfidenceInterval(as_change(low), as_change(high))
    return _Percentage(as_change(on_logs.shift), interval)


DISAGREE = (
    "values and their logarithms moved in opposite directions, so there is no percentage: the "
    "shapes differ, with more small values and more very large ones on one side"
)


def _told(outcome: Outcome, by_shares: bool) -> tuple[str, ...]:
    """The notes of the test. The headline already tells shares, at infinity or elsewhere."""
    if isinstance(outcome, LimitOutcome):
        return ()
    untrue = (ALL_EQUAL, NOTHING_VARIES) if by_shares else ()
    return tuple(note for note in outcome.notes if note not in untrue)


def _effective(result: DkmdResult) -> tuple[float, float] | None:
    """The effective sizes of reference and current."""
    sizes = result.effective_sizes
    return None if sizes is None else turned(sizes)


def _infinite(outcome: Outcome) -> Infinite | None:
    """The shares of reference and current at an infinity, if the test compared these."""
    if not isinstance(outcome, LimitOutcome):
        return None
    return Infinite(outcome.where, *shares_of(outcome))


def _psi(outcome: Outcome, reference: ColumnData) -> Witness | None:
    """The ψ by which neighbours are correlated; None where values belong to groups."""
    grouped = isinstance(reference, HeldColumn) and reference.groups is not None
    return outcome.witness if isinstance(outcome, ExactOutcome) and not grouped else None


def _no_percentages() -> DkmdResult:
    """The error for percentages of dates."""
    raise ColumnError("percentages need numbers, not dates: give the margin in data units or sd")


def _held(side: ColumnData, summary: Summary | None) -> Held:
    """One side as its bins, its values, or both."""
    return summary, side.values if isinstance(side, HeldColumn) else None


def _values(reference: ColumnData, current: ColumnData) -> tuple[Array, Array] | None:
    """The values of reference and current, where both are in memory."""
    if isinstance(reference, HeldColumn) and isinstance(current, HeldColumn):
        return reference.values, current.values
    return None
