"""The answer for a column with a common value: the share of the others, these, and the mean."""

from __future__ import annotations

import math
from dataclasses import replace

from dkmd.answers.comparison import Comparison
from dkmd.answers.findings import REST, SHARE, SHIFT, Finding, Held, mean_error
from dkmd.answers.orientation import turned
from dkmd.answers.shares import Reading, is_zero, ratio_of, read_parts
from dkmd.inference.margins import parse_margin
from dkmd.inference.opinions import direction_of
from dkmd.inference.part_margins import Judged, judge_mean, judge_shares, judged
from dkmd.inference.parts import TwoParts
from dkmd.inference.result import ConfidenceInterval


def part_findings(parts: TwoParts, confidence: float) -> tuple[Finding, ...]:
    """The share of the values that differ from the common one, and these values."""
    ratio, ratio_ends = ratio_of(parts.counts, parts.level(0, confidence))
    reference, current = turned(parts.counts.shares)
    share = Finding(
        SHARE,
        reference,
        current,
        parts.counts.difference,
        ConfidenceInterval(*parts.share_interval(confidence)),
        parts.pvalue_of_share,
        ratio=ratio,
        ratio_interval=ratio_ends,
    )
    rest = _rest_finding(parts, confidence)
    return (share,) if rest is None else (share, rest)


def _rest_finding(parts: TwoParts, confidence: float) -> Finding | None:
    """The values other than the common one: their centres, their shift and their factor."""
    rest = parts.rest
    if rest is None or rest.exact is None:
        return None
    reference, current = turned(rest.centers)
    level = parts.level(1, confidence)
    return Finding(
        REST,
        reference,
        current,
        rest.shift,
        ConfidenceInterval(*rest.interval(level)),
        parts.pvalue_of_rest,
        ratio=rest.factor if rest.has_factor else None,
        ratio_interval=ConfidenceInterval(*rest.factor_interval(level))
        if rest.has_factor
        else None,
    )


def parts_answer(
    answer: Comparison, parts: TwoParts, findings: tuple[Finding, ...], sides: tuple[Held, Held]
) -> Comparison:
    """The two parts first; the shift of all values becomes one of the findings."""
    shift = Finding(
        SHIFT,
        answer.reference.center,
        answer.current.center,
        answer.shift,
        answer.shift_interval,
        answer.pvalue,
    )
    deciding = tuple(each.what for each in findings)
    reading = _judged_parts(answer, parts, findings, sides)
    clearest = min(findings, key=lambda each: each.pvalue)
    sign = clearest.estimate if clearest.what == REST or parts.above else -clearest.estimate
    return replace(
        answer,
        verdict=reading.verdict,
        direction=direction_of(sign),
        pvalue=parts.pvalue,
        pvalue_beyond=reading.pvalue_beyond,
        findings=(*findings, shift, *answer.findings),
        deciding=deciding,
        crossing=None,
    )


def _judged_parts(
    answer: Comparison, parts: TwoParts, findings: tuple[Finding, ...], sides: tuple[Held, Held]
) -> Reading:
    """Against the margin: a percentage is for each part, pp for the share, others for the mean."""
    unit = "" if is_zero(answer) else parse_margin(answer.margin or 0.0)[1]
    confidence = 1.0 - answer.alpha
    if not is_zero(answer) and unit in ("", "sd"):
        return read_parts(_mean_judged(answer, sides))
    found = []
    for finding in findings:
        if unit == "pp" and finding.what == REST:
            continue
        if is_zero(answer):
            each = judged(*finding.interval, (0.0, 0.0), finding.pvalue)
        elif finding.what == SHARE:
            each = judge_shares(parts.counts, answer.margin or 0.0, 1.0, parts.level(0, confidence))
            each = each._replace(pvalue=parts.corrected(each.pvalue, 0))
        else:
            each = _rest_judged(answer, parts)
        found.append(_mirrored(each) if finding.what == SHARE and not parts.above else each)
    return read_parts(*found)


def _mirrored(each: Judged) -> Judged:
    """More values below the common one means lower."""
    return each._replace(place={"above": "below", "below": "above"}.get(each.place, each.place))


def _rest_judged(answer: Comparison, parts: TwoParts) -> Judged:
    """The rest against a margin in percent."""
    assert parts.rest is not None
    assert answer.margin is not None
    parts.rest.require_positive()
    share = parse_margin(answer.margin)[0] / 100.0
    region = max(0.0, 1.0 - share), 1.0 + share
    ends = parts.rest.factor_interval(parts.level(1, 1.0 - answer.alpha))
    pvalue = parts.corrected(parts.rest.pvalue_beyond(*region), 1)
    return judged(*ends, region, pvalue)


def _mean_judged(answer: Comparison, sides: tuple[Held, Held]) -> Judged:
    """The mean, which is the sum of both parts, against a margin in data units or in sd."""
    if answer.mean is None or answer.margin is None:
        return Judged("unclear", math.nan)
    size, unit = parse_margin(answer.margin)
    error = mean_error(*sides)
    most = size * error.reference_sd if unit == "sd" else size
    interval = answer.mean.low, answer.mean.high
    return judge_mean(answer.mean.difference, error.error, error.df, most, interval)
