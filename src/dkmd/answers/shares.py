"""The answer for yes/no data: two shares, their difference in points, and their ratio."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from dkmd.answers.comparison import Comparison, Parts
from dkmd.answers.comparison.design_words import Adjusted
from dkmd.answers.findings import MISSING, SHARE, Finding
from dkmd.answers.opinions import direction_of
from dkmd.answers.orientation import centers_of, turned
from dkmd.inference.kinds.column_kind import TwoSamples
from dkmd.inference.kinds.part_margins import (
    Reading,
    in_points,
    judge_shares,
    spread_of_shares,
)
from dkmd.inference.kinds.proportions import Counts, ratio_interval, share_interval, share_tails
from dkmd.inference.test.margins import Margin, beyond_margin, parse_margin, verdict
from dkmd.inference.test.result import ConfidenceInterval, DkmdResult


def yes_no_answer(answer: Comparison, samples: TwoSamples, means: DkmdResult | None) -> Comparison:
    """Shares of the larger of two values. ``means`` is the test of the means, for groups only."""
    values = samples.distinct(2)
    assert values is not None
    low, high = values
    gap = high - low
    # x and y have two values only, so these counts are never None
    counts = _counts_of(samples, high)
    confidence = 1.0 - answer.alpha
    share = _share_finding(counts, confidence)
    reading = judge_shares(counts, margin_of(answer), gap, confidence)
    if means is not None:
        alone = Told(share, reading)
        told = Told(
            _by_groups(share, means, (low, gap), confidence),
            _read_means(answer, counts, means, gap),
        )
        share, reading = _no_surer(told, alone, answer, means, _fewest(counts))
    ends = ConfidenceInterval(*(gap * end for end in share.interval))
    relative, relative_ends = None, None
    if share.ratio is not None and share.ratio_interval is not None:
        relative = share.ratio - 1.0
        relative_ends = ConfidenceInterval(*(end - 1.0 for end in share.ratio_interval))
    others = tuple(each for each in answer.findings if each.what == MISSING)
    return replace(
        answer,
        verdict=reading.verdict,
        direction=direction_of(share.estimate),
        shift=gap * share.estimate,
        shift_interval=ends,
        relative_shift=relative,
        relative_shift_interval=relative_ends,
        statistic=share.estimate,
        df=math.inf if means is None else means.df,
        pvalue=share.pvalue,
        pvalue_beyond=reading.pvalue_beyond,
        scale=gap * spread_of_shares(counts),
        findings=(share, *others),
        deciding=(SHARE,),
        crossing=None,
        percentiles=(),
        parts=Parts(low, high),
        adjustment=None if means is None else Adjusted.of(means, confidence),
    )


def _by_groups(
    share: Finding, means: DkmdResult, values: tuple[float, float], confidence: float
) -> Finding:
    """The same shares with the p-value and the interval of a test that knows the groups.

    ``values`` are the smaller one and the gap. Units on both sides weigh the same, so their shares
    are means over units.
    """
    smaller, gap = values
    if means.pairing is not None or means.effective_sizes is not None:
        old, new = ((mean - smaller) / gap for mean in centers_of(means.outcome()))
        share = replace(share, reference=old, current=new, estimate=new - old, ratio=None)
    if means.adjustment is not None:
        share = replace(share, estimate=means.shift / gap, ratio=None)
    low, high = means.shift_interval(confidence)
    interval = ConfidenceInterval(max(-1.0, low / gap), min(1.0, high / gap))
    return replace(share, interval=interval, pvalue=means.pvalue, ratio_interval=None)


class Told(NamedTuple):
    """What a test says about two shares."""

    share: Finding
    reading: Reading


FEW = 10
"""With fewer of either value on a side, "equivalent" needs the exact test of single rows too."""


def _no_surer(told: Told, alone: Told, answer: Comparison, means: DkmdResult, fewest: int) -> Told:
    """A test of means is fooled by a side without a single yes: it shows no variance.

    ``alone`` is the exact test of single rows. Groups only make an answer less sure, so with groups
    it must agree. Covariates can make an answer surer, and weights change the shares. There the
    p-value is at least that of ``answer``: its ψ orders the two values as the mean does, and its
    tails are guarded. Pairs have bounds of their own.
    """
    if means.pairing is not None:
        return told
    share, reading = told
    if means.adjustment is None and means.effective_sizes is None:
        low, high = zip(share.interval, alone.share.interval, strict=True)
        ends = ConfidenceInterval(min(low), max(high))
        pvalue = max(share.pvalue, alone.share.pvalue)
        return Told(replace(share, pvalue=pvalue, interval=ends), _agreed(reading, alone.reading))
    if math.isnan(answer.pvalue):
        return told
    pvalue = max(share.pvalue, answer.pvalue)
    share = replace(share, pvalue=pvalue)
    if pvalue >= answer.alpha:
        low, high = share.interval
        share = replace(share, interval=ConfidenceInterval(min(low, 0.0), max(high, 0.0)))
    word = reading.verdict
    if word == "equivalent" and fewest < FEW:
        word = _agreed(reading, alone.reading).verdict
    elif word != "equivalent" and pvalue >= answer.alpha:
        word = "inconclusive"
    return Told(share, Reading(word, max(reading.pvalue_beyond, answer.pvalue)))


def _fewest(counts: Counts) -> int:
    """The number of the rarest value on a side."""
    no = counts.negated()
    return min(counts.yes_x, counts.yes_y, no.yes_x, no.yes_y)


def _agreed(one: Reading, other: Reading) -> Reading:
    """What both say."""
    word = one.verdict if one.verdict == other.verdict else "inconclusive"
    return Reading(word, max(one.pvalue_beyond, other.pvalue_beyond))


def _read_means(answer: Comparison, counts: Counts, means: DkmdResult, gap: float) -> Reading:
    """Shares of repeated measurements against the margin. Percent is that of the reference."""
    margin = margin_of(answer)
    size, unit = parse_margin(margin)
    share = counts.shares[1]
    points = size / 100.0 * share if unit == "%" else in_points(counts, margin, gap)
    most = points * gap
    word = verdict(means, most, confidence_level=1.0 - answer.alpha)
    return Reading(word, beyond_margin(means, most))


def _counts_of(samples: TwoSamples, value: float) -> Counts:
    n, m = samples.sizes
    found = samples.counted(value)
    assert found is not None
    return Counts(found.count_x, n, found.count_y, m)


def _share_finding(counts: Counts, confidence: float) -> Finding:
    """The shares of yes, x is current."""
    reference, current = turned(counts.shares)
    ratio, ratio_ends = ratio_of(counts, confidence)
    return Finding(
        SHARE,
        reference,
        current,
        counts.difference,
        ConfidenceInterval(*share_interval(counts, confidence)),
        float(share_tails(counts).pvalue("two-sided")),
        ratio=ratio,
        ratio_interval=ratio_ends,
    )


def ratio_of(counts: Counts, confidence: float) -> tuple[float | None, ConfidenceInterval | None]:
    """The ratio of shares, x over y; None if y has no yes."""
    share_x, share_y = counts.shares
    if not share_y > 0.0:
        return None, None
    return share_x / share_y, ConfidenceInterval(*ratio_interval(counts, confidence))


def margin_of(answer: Comparison) -> Margin:
    """The margin of an answer; 0 without one. A margin of 0 has no unit."""
    margin = 0.0 if answer.margin is None else answer.margin
    return margin if parse_margin(margin)[0] else 0.0
