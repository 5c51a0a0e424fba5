"""The work on one column: two sides become one test, and the test one answer."""

from __future__ import annotations

import math
from typing import Any

from dkmd.answers.comparison import Comparison, Infinite, SampleFacts
from dkmd.answers.facts import facts_of, notes_of
from dkmd.answers.options import How
from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnTypeError, EngineError
from dkmd.binned.logarithms import as_change, log_grid, log_summaries, require_positive
from dkmd.binned.summary import Summary
from dkmd.inference.margins import beyond_margin, opposed, verdict
from dkmd.inference.opinions import direction_of
from dkmd.inference.result import ConfidenceInterval, DkmdResult, ExactOutcome, LimitOutcome
from dkmd.inference.shapes import crossing
from dkmd.inference.two_sample import check_options, run
from dkmd.sources.memory.columns import (
    DURATION,
    NUMBER,
)
from dkmd.sources.pairs import groups_of_pair, summaries_of_pair
from dkmd.sources.samples import (
    Data,
    Held,
    Sample,
)


def compare_samples(reference: Sample, current: Sample, how: How) -> Comparison:
    """The comparison of two sides."""
    _require_one_kind(reference, current)
    level = 1.0 - how.alpha
    result, summaries = _test(reference.data, current.data, how)
    says = verdict(result, how.margin or 0.0, confidence_level=level)
    interval = result.shift_interval(level)
    relative, relative_interval, disagree = _relative(result, level)
    outcome = result.outcome()
    grouped = isinstance(reference.data, Held) and reference.data.groups is not None
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


def _require_one_kind(reference: Sample, current: Sample) -> None:
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
    reference: Data, current: Data, how: How
) -> tuple[DkmdResult, tuple[Summary | None, Summary | None]]:
    """The test of current against reference: on values where both are held and few, else on bins.

    The summaries are those of reference and current, None where values were compared.
    """
    options = check_options(None, how.scale, "exact", "two-sided", how.method, how.nan_policy)
    held = _held(reference, current)
    if held is not None and not (reference.summed or current.summed):
        groups = (current.groups, reference.groups)  # type: ignore[union-attr]
        if (groups[0] is None) != (groups[1] is None):
            raise ValueError("groups are needed on both sides")
        by_group = None if groups[0] is None else groups
        return run(held[1], held[0], options, by_group), (None, None)
    before, after = summaries_of_pair(reference, current)
    result = run(after, before, options, groups_of_pair(current, reference, logs=False))

    def on_logs() -> DkmdResult:
        require_positive(before, after)
        grid_of_logs = log_grid(before + after)
        logs = log_summaries((after, before), grid_of_logs, (current.logs, reference.logs))
        groups = groups_of_pair(current, reference, logs=True)
        return run(logs[0], logs[1], options.on_logs(), groups)

    return result.with_logs(on_logs), (before, after)


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


def _held(reference: Data, current: Data) -> tuple[Array, Array] | None:
    if isinstance(reference, Held) and isinstance(current, Held):
        return reference.values, current.values
    return None


def _centers(outcome: Any) -> tuple[float, float]:
    """The M-centres of reference and current."""
    if not isinstance(outcome, ExactOutcome):
        return math.nan, math.nan
    after, before = outcome.pair.centers()
    return outcome.pair.origin + before, outcome.pair.origin + after
