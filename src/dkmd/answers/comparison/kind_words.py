"""The sentences and rows about shares: yes/no data, and columns with a common value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dkmd.answers.comparison.mean_words import mean_direction, mean_moved, mean_numbers
from dkmd.answers.findings import REST, SHARE, Finding
from dkmd.base.wording import amount, factor, level_of, plain, plain_pair, rounded, signed_number
from dkmd.inference.test.margins import parse_margin

if TYPE_CHECKING:
    from dkmd.answers.comparison.one import Comparison


def share_pair(old: float, new: float) -> tuple[str, str]:
    """Two shares in percent, with enough digits to see that they differ.

    Examples
    --------
    >>> share_pair(0.042, 0.051), share_pair(0.50001, 0.50002)
    (('4.20%', '5.10%'), ('50.001%', '50.002%'))
    """
    for digits in range(3, 12):
        shown = tuple(f"{rounded(100.0 * share, digits)}%" for share in (old, new))
        if old == new or shown[0] != shown[1]:
            break
    return shown[0], shown[1]


def points(finding: Finding, alpha: float) -> str:
    """A difference of shares with its interval: +0.9 percentage points (95% interval …)."""
    low, high = (signed_number(100.0 * end) for end in finding.interval)
    middle = signed_number(100.0 * finding.estimate)
    return f"{middle} percentage points ({level_of(alpha)} interval {low} to {high})"


def times(finding: Finding, with_interval: bool = False) -> str:
    """A ratio: × 1.21; empty if there is none."""
    if finding.ratio is None or math.isnan(finding.ratio):
        return ""
    shown = f"× {factor(finding.ratio)}"
    if with_interval and finding.ratio_interval is not None:
        low, high = (factor(end) for end in finding.ratio_interval)
        shown += f" ({low} to {high})"
    return shown


def yes_no_numbers(c: Comparison) -> str:
    """Both shares, their difference and their ratio."""
    share = c.finding(SHARE)
    assert share is not None
    old, new = share_pair(share.reference, share.current)
    ratio = times(share)
    of = "" if c.parts is None or c.parts[:2] == (0.0, 1.0) else f" of the values are {_yes(c)}"
    return f"{new}{of}, before {old}: {points(share, c.alpha)}{ratio and f', {ratio}'}"


def _yes(c: Comparison) -> str:
    return "yes" if c.yes is None else plain_value(c.yes)


def plain_value(value: float) -> str:
    """A value of the data: 0, 1, 2.5."""
    return f"{value:,.10g}" if math.isfinite(value) else plain(value)


def part_numbers(c: Comparison) -> str:
    """Both parts of a column with a common value, the clearest first."""
    share, rest = c.finding(SHARE), c.finding(REST)
    assert share is not None
    if rest is None:
        return f"{_share_words(c, share)} ({_too_few(c)})"
    first_is_share = not rest.pvalue < share.pvalue
    told = [_share_words(c, share), _rest_words(c, rest)]
    between = "; but " if c.verdict == "mixed" else "; "
    return between.join(told if first_is_share else told[::-1])


def subject(c: Comparison) -> str:
    """What a margin is about: the column, or in two parts the mean or the share."""
    if c.per:
        return f"{c.name} per {c.per}"
    if c.estimand == "mean":
        return f"the mean of {c.name}"
    if c.margin is None or c.parts is None or c.yes is not None or SHARE not in c.deciding:
        return c.name
    unit = parse_margin(c.margin)[1]
    if unit == "pp":
        return f"the share of {c.name} other than {plain_value(c.parts.common)}"
    return c.name if unit == "%" else f"the mean of {c.name}"


def _too_few(c: Comparison) -> str:
    return "the other values are too few, or too alike, to compare their size"


def _share_words(c: Comparison, share: Finding) -> str:
    assert c.parts is not None
    old, new = share_pair(share.reference, share.current)
    common = plain_value(c.parts.common)
    if not share.is_clear(c.alpha):
        return (
            f"the share of values other than {common} did not clearly change ({new}, before {old})"
        )
    word = "more" if share.estimate > 0.0 else "fewer"
    ratio = times(share)
    return (
        f"{word} values differ from {common}: {new}, before {old}: {points(share, c.alpha)}"
        f"{ratio and f', {ratio}'}"
    )


def _rest_words(c: Comparison, rest: Finding) -> str:
    assert c.parts is not None
    common = plain_value(c.parts.common)
    old, new = plain_pair(rest.reference, rest.current)
    unit = c.unit and f" {c.unit}"
    if not rest.is_clear(c.alpha):
        return (
            f"the values other than {common} did not clearly change (median {new}{unit}, before "
            f"{old}{unit})"
        )
    word = "higher" if rest.estimate > 0.0 else "lower"
    change = times(rest, with_interval=True) or _amounts(c, rest)
    return (
        f"the values other than {common} are {word}: median {new}{unit}, before {old}{unit}: "
        f"{change}"
    )


def _amounts(c: Comparison, rest: Finding) -> str:
    low, high = (amount(end) for end in rest.interval)
    return f"{amount(rest.estimate, c.unit)} ({level_of(c.alpha)} interval {low} to {high})"


def mean_of_parts(c: Comparison) -> str:
    """What both parts together do to the mean; empty without a mean."""
    if c.mean is None:
        return ""
    if not mean_direction(c):
        return f" The mean did not clearly change: {mean_numbers(c)}."
    return f" The {mean_moved(c)}."


def also_of_parts(c: Comparison) -> list[str]:
    """Clear parts of a column whose shift was said first, a sentence each."""
    if c.parts is None or SHARE in c.deciding:
        return []
    told = []
    share, rest = c.finding(SHARE), c.finding(REST)
    if share is not None and share.is_clear(c.alpha):
        told.append(_share_words(c, share))
    if rest is not None and rest.is_clear(c.alpha):
        told.append(_rest_words(c, rest))
    return [f"{words[0].upper()}{words[1:]}." for words in told]


def part_tags(c: Comparison) -> list[str]:
    """Clear parts in a few words each: share 4.2% → 5.1%, rest × 1.5."""
    told = []
    share, rest = c.finding(SHARE), c.finding(REST)
    if share is not None and share.is_clear(c.alpha):
        told.append(f"share {' → '.join(share_pair(share.reference, share.current))}")
    if rest is not None and rest.is_clear(c.alpha):
        told.append(f"rest {times(rest) or amount(rest.estimate)}")
    return told


def part_rows(c: Comparison) -> list[tuple[str, str, str, str]]:
    """The rows of the table about shares and parts."""
    share, rest = c.finding(SHARE), c.finding(REST)
    if share is None or c.parts is None:
        return []
    name = f"not {plain_value(c.parts.common)}"
    if c.parts.yes is not None:
        name = f"share of {plain_value(c.parts.yes)}"
    low, high = (signed_number(100.0 * end) for end in share.interval)
    moved = f"{signed_number(100.0 * share.estimate)} points ({low} to {high})"
    ratio = times(share)
    rows = [(name, *share_pair(share.reference, share.current), moved + (ratio and f", {ratio}"))]
    if rest is not None:
        low, high = (amount(end) for end in rest.interval)
        moved = times(rest, with_interval=True)
        moved = moved or f"{amount(rest.estimate, c.unit)} ({low} to {high})"
        rows.append(("median of these", *plain_pair(rest.reference, rest.current), moved))
    return rows
