"""Kinds of columns: which findings decide an answer, and how they are compared with a margin.

For most kinds the shift decides. For yes/no data the share of yes decides. For columns with a value
that most have, two parts decide: the share of the other values, and these values themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dkmd.answers.comparison import Comparison, Parts
from dkmd.answers.findings import MISSING, SHIFT, Held
from dkmd.answers.shares import yes_no_answer
from dkmd.answers.two_parts import part_findings, parts_answer
from dkmd.base.arrays import present
from dkmd.base.errors import ColumnError
from dkmd.bins.summary import Summary
from dkmd.inference.kinds.column_kind import (
    AMOUNT,
    CONSTANT,
    COUNT,
    IDENTIFIER,
    MOSTLY_ONE,
    YES_NO,
    Sample,
    TwoSamples,
    is_identifier,
    kind_of_pair,
)
from dkmd.inference.kinds.parts import two_parts
from dkmd.inference.test.options import Options
from dkmd.inference.test.result import DkmdResult, ExactOutcome, NoOutcome, Outcome
from dkmd.sources.column_data import ColumnData, StoredColumn, StreamedColumn


@dataclass(frozen=True)
class Kinded:
    """The kind of a column, and its samples as far as they were looked at."""

    kind: str = AMOUNT
    samples: TwoSamples | None = None
    """x and y (current and reference)."""

    decides: bool = False
    """Whether shares or parts decide, and not the shift."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about columns that drifts do not test."""
        if self.kind == IDENTIFIER:
            return ("the values look like identifiers: a shift of these means little",)
        return ()


def kind_of_column(
    data: tuple[ColumnData, ColumnData],
    sides: tuple[Held, Held],
    outcome: Outcome,
    name: str,
    given: str | None,
) -> Kinded:
    """The kind of a column: as given, as stored with a summary of the reference, or as it looks."""
    stored = data[0].stored.kind if isinstance(data[0], StoredColumn) else ""
    samples = _samples(*sides)
    if samples is None or min(samples.sizes) < 1:
        return Kinded(given or AMOUNT)
    if not _is_tested(outcome):
        return Kinded(given or _untested_kind(samples), samples)
    kind = kind_of_pair(samples)
    if kind in (AMOUNT, COUNT) and all(_previewed_identifier(side) for side in data):
        kind = IDENTIFIER
    if given is not None:
        _require_possible(given, samples, name)
        kind = given
    elif stored and stored != kind and _is_possible(stored, samples):
        kind = stored
    # the parts of repeated measurements would have to know the groups
    grouped = _is_grouped(outcome)
    adjusted = isinstance(outcome, ExactOutcome) and outcome.adjustment is not None
    without_means = grouped and isinstance(samples.x, Summary) and not adjusted
    decides = kind == YES_NO and not without_means
    return Kinded(kind, samples, decides or (kind == MOSTLY_ONE and not grouped))


def _is_tested(outcome: Outcome) -> bool:
    """Whether the samples can be compared; if all finite values are equal, their share can be."""
    return isinstance(outcome, ExactOutcome) or (
        isinstance(outcome, NoOutcome) and outcome.statistic == 0.0
    )


def _is_grouped(outcome: Outcome) -> bool:
    """Whether values are not all alike in the test: groups, weights or an adjustment."""
    if not isinstance(outcome, ExactOutcome):
        return False
    return outcome.designed or outcome.adjustment is not None


def _previewed_identifier(side: ColumnData) -> bool:
    """Whether streamed values look like identifiers: bins do not tell which values are distinct."""
    if not isinstance(side, StreamedColumn):
        return False
    values = present(side.preview)
    whole = bool(np.isfinite(values).all()) and not (values % 1.0).any()
    return whole and is_identifier(values)


def _untested_kind(samples: TwoSamples) -> str:
    """Constant, or an amount that cannot be compared."""
    values = samples.distinct(1)
    return CONSTANT if values is not None and len(values) == 1 else AMOUNT


def _samples(reference: Held, current: Held) -> TwoSamples | None:
    """x and y: values if both sides have them, else bins."""
    sides: list[Sample] = []
    (bins_y, values_y), (bins_x, values_x) = reference, current
    if values_x is not None and values_y is not None:
        sides = [present(values_x), present(values_y)]
    elif bins_x is not None and bins_y is not None:
        sides = [bins_x, bins_y]
    return TwoSamples(sides[0], sides[1]) if sides else None


def _is_possible(kind: str, samples: TwoSamples) -> bool:
    """Whether values can be of a kind."""
    if kind == YES_NO:
        values = samples.distinct(2)
        return values is not None and len(values) == 2
    if kind == CONSTANT:
        return samples.distinct(1) is not None
    return kind != MOSTLY_ONE or samples.common_value is not None


def _require_possible(kind: str, samples: TwoSamples, name: str) -> None:
    """Reject a kind that the values cannot be."""
    if _is_possible(kind, samples):
        return
    why = {
        YES_NO: "there are not exactly two values",
        CONSTANT: "the values differ",
        MOSTLY_ONE: "no value makes up 30% of the reference (ten values are needed)",
    }[kind]
    raise ColumnError(f"{name} cannot be of kind {kind!r}: {why}")


def with_kind(
    answer: Comparison,
    found: Kinded,
    sides: tuple[Held, Held],
    options: Options,
    means: Callable[[], DkmdResult],
) -> Comparison:
    """The answer for its kind. ``answer`` is that of an amount.

    ``means`` compares the means with the variance by groups, if there are groups.
    """
    answer = replace(answer, kind=found.kind)
    samples, outcome = found.samples, answer.result.outcome()
    if samples is None or not _is_tested(outcome):
        return answer
    grouped = _is_grouped(outcome)
    if found.kind == YES_NO and found.decides:
        return yes_no_answer(answer, samples, means() if grouped else None)
    common = samples.common_value
    if common is None or grouped:
        return answer
    parts = two_parts(samples, common, options)
    findings = part_findings(parts, 1.0 - answer.alpha)
    told = Parts(common.value + 0.0, above=parts.above)  # -0.0 is 0.0
    warnings = (*answer.warnings, parts.note) if parts.note else answer.warnings
    answer = replace(answer, parts=told, warnings=warnings)
    if found.kind == MOSTLY_ONE:
        return parts_answer(answer, parts, findings, sides)
    return replace(answer, findings=(*findings, *answer.findings))


def untested(answer: Comparison) -> Comparison:
    """The answer without a test of the values: only missing values are compared."""
    findings = tuple(each for each in answer.findings if each.what == MISSING)
    return replace(
        answer, verdict="inconclusive", pvalue=math.nan, pvalue_beyond=math.nan, findings=findings,
        crossing=None, deciding=(SHIFT,),
    )  # fmt: skip
