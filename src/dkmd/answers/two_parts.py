"""The answer for a column with a common value: the share of the others, these, and the mean."""

from __future__ import annotations

import math
from dataclasses import replace

from dkmd.answers.comparison import Comparison
from dkmd.answers.findings import REST, SHARE, SHIFT, Finding, Held, means_compared, sd_of
from dkmd.answers.opinions import direction_of
from dkmd.answers.orientation import centers_of, turned
from dkmd.answers.shares import margin_of, ratio_of
from dkmd.bins.logarithms import as_change, as_factor
from dkmd.inference.kinds.part_margins import Reading, judge_shares, together
from dkmd.inference.kinds.parts import Rest, TwoParts
from dkmd.inference.kinds.proportions import share_interval
from dkmd.inference.test.margins import beyond_margin, parse_margin, verdict
from dkmd.inference.test.result import ConfidenceInterval


def part_findings(parts: TwoParts, confidence: float) -> tuple[Finding, ...]:
    """The share of the values that differ from the common one, and these values."""
    of_share, of_rest = parts.pvalues
    ratio, ratio_ends = ratio_of(parts.counts, confidence)
    reference, current = turned(parts.counts.shares)
    share = Finding(
        SHARE,
        reference,
        current,
        parts.counts.difference,
        ConfidenceInterval(*share_interval(parts.counts, confidence)),
        of_share,
        ratio=ratio,
        ratio_interval=ratio_ends,
    )
    if parts.rest is None:
        return (share,)
    return share, _rest_finding(parts.rest, of_rest, confidence)


def _rest_finding(rest: Rest, pvalue: float, confidence: float) -> Finding:
    """The values other than the common one: their medians, their shift and their factor."""
    reference, current = centers_of(rest.result.outcome())
    shift, (low, high) = float(rest.result.shift), rest.result.shift_interval(confidence)
    if not rest.logs:
        interval = ConfidenceInterval(low, high)
        return Finding(REST, reference, current, shift, interval, pvalue)
    reference, current = as_factor(reference), as_factor(current)
    # in data units, the shift is what the factor does to a value like the median of the reference
    return Finding(
        REST,
        reference,
        current,
        reference * as_change(shift),
        ConfidenceInterval(reference * as_change(low), reference * as_change(high)),
        pvalue,
        ratio=as_factor(shift),
        ratio_interval=ConfidenceInterval(as_factor(low), as_factor(high)),
    )


def parts_answer(
    answer: Comparison, parts: TwoParts, findings: tuple[Finding, ...], sides: tuple[Held, Held]
) -> Comparison:
    """The two parts first; the shift of all values becomes one of the findings."""
    shift = Finding(
        SHIFT,
        answer.reference.median,
        answer.current.median,
        answer.shift,
        answer.shift_interval,
        answer.pvalue,
    )
    reading = _read(answer, parts, sides)
    clearest = min(findings, key=lambda each: each.pvalue)
    sign = clearest.estimate if clearest.what == REST or parts.above else -clearest.estimate
    return replace(
        answer,
        verdict=reading.verdict,
        direction=direction_of(sign),
        pvalue=parts.pvalue,
        pvalue_beyond=reading.pvalue_beyond,
        findings=(*findings, shift, *answer.findings),
        deciding=tuple(each.what for each in findings),
        crossing=None,
    )


def _read(answer: Comparison, parts: TwoParts, sides: tuple[Held, Held]) -> Reading:
    """Against the margin: a percentage is for each part, pp for the share, others for the mean."""
    margin = margin_of(answer)
    size, unit = parse_margin(margin)
    if size and unit in ("", "sd"):
        return _read_mean(answer, sides, size, unit)
    confidence = 1.0 - answer.alpha
    share = judge_shares(parts.counts, margin, 1.0, confidence)
    read = [share if parts.above else _mirrored(share)]
    if parts.rest is not None and unit != "pp":
        result = parts.rest.result
        word = verdict(result, margin, confidence_level=confidence)
        read.append(Reading(word, beyond_margin(result, margin)))
    return together(read, answer.alpha)


def _mirrored(share: Reading) -> Reading:
    """More values below the common one means lower."""
    other = {"higher": "lower", "lower": "higher"}
    return share._replace(verdict=other.get(share.verdict, share.verdict))


def _read_mean(answer: Comparison, sides: tuple[Held, Held], size: float, unit: str) -> Reading:
    """The mean, which is the sum of both parts, against a margin in data units or in sd."""
    if answer.mean is None:
        return Reading("inconclusive", math.nan)
    means = means_compared(*sides)
    most = size * sd_of(sides[0]) if unit == "sd" else size
    word = verdict(means, most, confidence_level=1.0 - answer.alpha)
    return Reading(word, beyond_margin(means, most))
