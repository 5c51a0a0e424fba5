"""The sentences of answers: what happened, and the evidence for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dkmd.answers.comparison.design_words import adjusted_words, effective_words
from dkmd.answers.comparison.kind_words import (
    also_of_parts,
    mean_of_parts,
    part_numbers,
    part_tags,
    subject,
    yes_no_numbers,
)
from dkmd.answers.comparison.mean_words import (
    mean_moved,
    mean_numbers,
    mean_tags,
    mean_tells_more,
)
from dkmd.answers.comparison.missing import share_words
from dkmd.answers.family import HOLM
from dkmd.answers.findings import CATEGORY, MEAN, MISSING, REST, SHARE, SHIFT, SPREAD, Finding
from dkmd.answers.opinions import UP
from dkmd.base.wording import (
    count,
    factor,
    level_of,
    percent,
    plain,
    probability,
    short_p,
)
from dkmd.inference.kinds.column_kind import IDENTIFIER
from dkmd.inference.kinds.shapes import Crossing
from dkmd.inference.test.margins import Margin

if TYPE_CHECKING:
    from dkmd.answers.comparison.categories import CategoryComparison
    from dkmd.answers.comparison.one import Comparison, Infinite

DIRECTED = ("higher", "lower")
"""Verdicts that have a direction."""


def answer_of(c: Comparison) -> str:
    """The answer in one sentence; in two where the distributions cross."""
    if c.infinite is not None:
        return _answer_at_infinity(c, c.infinite)
    if c.kind == IDENTIFIER and math.isnan(c.pvalue):
        return f"{c.name} holds identifiers, which are not tested."
    if SHARE in c.deciding:
        return _shift_answer(c) + (mean_of_parts(c) if c.yes is None else "")
    first = _said_first(c)
    return f"{first} {_shift_answer(c)}" if first else _shift_answer(c)


def _said_first(c: Comparison) -> str:
    """What comes before the shift, which alone would mislead; empty if nothing does."""
    if c.crossing is not None:
        return _across(c, c.crossing)
    if not _parts_come_first(c):
        return _mean_first(c)
    parts = " ".join(also_of_parts(c))
    return f"{c.name}: {parts[0].lower()}{parts[1:]}{mean_of_parts(c)}"


def _parts_come_first(c: Comparison) -> bool:
    """Whether a part clearly changed and all values did not: 49% zeros read nearly like 51%."""
    unclear = c.verdict == "inconclusive" and not (c.is_clear or c.crossing)
    return unclear and not math.isnan(c.shift) and bool(also_of_parts(c))


def evidence_of(c: Comparison) -> str:
    """The p-value and the sizes."""
    sizes = f"n = {count(c.reference.size)} and {count(c.current.size)}"
    p, how = probability(c.pvalue), []
    if REST in c.deciding:
        how.append("Holm over two parts")
    if c.adjusted_pvalue is not None:
        how.append(f"adjusted {short_p(c.adjusted_pvalue) or 'unknown'}")
    if how:
        p += f" ({'; '.join(how)})"
    sizes += effective_words(c)
    adjusted = adjusted_words(c)
    if adjusted:
        sizes += f"; {adjusted}"
    if c.pairing is not None:
        sizes += f" in {count(c.pairing.shared)} shared units"
        gain = c.pairing.gain
        if gain >= LEAST_GAIN:
            return f"{p}, {sizes}; pairing narrowed the interval {gain:.2g} ×."
    return f"{p}, {sizes}."


LEAST_GAIN = 1.05
"""A smaller gain by pairing is not worth a word."""


def more_of(c: Comparison) -> list[str]:
    """What else changed, a sentence each: the mean, the spread, missing values; the correction."""
    told = [] if _parts_come_first(c) else also_of_parts(c)
    of_parts = SHARE in c.deciding or _parts_come_first(c)  # which told the mean
    if mean_tells_more(c) and not (of_parts or _mean_comes_first(c)):
        told.append(f"The {mean_moved(c)}.")
    shift, spread = c.finding(SHIFT), c.finding(SPREAD)
    if shift is not None and shift.is_clear(c.alpha):
        low, high = (c.display.end(end) for end in shift.interval)
        told.append(
            f"All values moved: typically {c.display.amount(shift.estimate)} "
            f"({level_of(c.alpha)} interval {low} to {high})."
        )
    if spread is not None and spread.is_clear(c.alpha):
        low, high = (factor(end) for end in spread.interval)
        told.append(
            f"The spread changed: × {factor(spread.estimate)} ({level_of(c.alpha)} interval {low} "
            f"to {high})."
        )
    told += missing_words(c)
    shifted = c.is_clear and SHIFT in c.deciding
    if c.mean is not None and shifted and not c.mean.direction and not c.crossing:
        told.append(f"The mean does not show this: {mean_numbers(c)}.")
    return [*told, *correction_words(c)]


def correction_words(c: Comparison | CategoryComparison) -> list[str]:
    """For how many tests the findings are corrected, if any of them says more than the verdict."""
    beside = [each for each in c.findings if each.pvalue < c.alpha and _is_beside(c, each)]
    known = c.correction
    if known.method != HOLM or not beside:
        return []
    what = {CATEGORY: "the categories", "two parts": "the two parts"}.get(c.own, f"the {c.own}")
    how = f"{known.tests} test{'s' if known.tests > 1 else ''} ({known.method})"
    if any(each.is_clear(c.alpha) for each in beside):
        return [f"Findings beside {what} are corrected for {how}."]
    return [f"Nothing beside {what} is clear if corrected for {how}."]


def _is_beside(c: Comparison | CategoryComparison, finding: Finding) -> bool:
    """Whether a finding says more than the verdict: a mean that moved with the values does not."""
    same = finding.what == MEAN and c.is_clear and finding.estimate * c.shift > 0.0
    return finding.what not in c.deciding and not same


def missing_words(c: Comparison | CategoryComparison) -> list[str]:
    """A sentence on missing values, if their share clearly changed."""
    missing = c.finding(MISSING)
    if missing is None or not missing.is_clear(c.alpha):
        return []
    word = "More" if missing.estimate > 0.0 else "Fewer"
    old, new = share_words(missing.reference, missing.current)
    return [f"{word} values are missing: {new}, before {old}."]


def tags_of(c: Comparison | CategoryComparison) -> tuple[str, ...]:
    """What changed besides the shift, in a few words each: spread × 2, missing 19% → 59%."""
    from dkmd.answers.comparison.categories import CategoryComparison

    told = [*part_tags(c), *mean_tags(c)] if not isinstance(c, CategoryComparison) else [*c.tags()]
    spread, missing = c.finding(SPREAD), c.finding(MISSING)
    if spread is not None and spread.is_clear(c.alpha):
        told.append(f"spread × {factor(spread.estimate, 2)}")
    if missing is not None and missing.is_clear(c.alpha):
        old, new = share_words(missing.reference, missing.current, digits=0)
        told.append(f"missing {old} → {new}")
    return tuple(told)


def _mean_comes_first(c: Comparison) -> bool:
    """Whether the mean is said before the shift: other signs, or only the mean moved clearly."""
    if math.isnan(c.shift) or c.crossing is not None or not mean_tells_more(c):
        return False
    return c.is_clear or c.pvalue >= 4.0 * c.alpha  # below that, nearly the same answer


def _mean_first(c: Comparison) -> str:
    """A first sentence if mean and shift disagree."""
    if not _mean_comes_first(c):
        return ""
    typical = "moved the other way" if c.is_clear else "did not clearly move"
    return f"{c.name}: the {mean_moved(c)} because of {_extremes(c)}; the typical value {typical}."


def _extremes(c: Comparison) -> str:
    """The values that moved the mean: 12 values above 500 (before 3)."""
    if c.extremes is None:
        return "values in the tails"
    where = "above" if c.extremes.above else "below"
    values = "value" if c.extremes.current == 1 else "values"
    return (
        f"{count(c.extremes.current)} {values} {where} {plain(c.extremes.limit, 3)} (before "
        f"{count(c.extremes.reference)})"
    )


def plain_margin(margin: Margin | None, unit: str) -> str:
    """A margin as users gave it. A bare number gets the unit of the data."""
    if margin is None:
        return "0"
    return margin if isinstance(margin, str) else f"{margin:g}{unit and ' ' + unit}"


def _shift_answer(c: Comparison) -> str:
    where = f"in {c.current.label} than in {c.reference.label}"
    margin, numbers, what = plain_margin(c.margin, c.unit), _numbers(c), subject(c)
    if c.verdict in DIRECTED:
        beyond = f", by more than {margin}" if c.margin else ""
        return f"{what} is {c.verdict.upper()} {where}{beyond}: {numbers}."
    if c.verdict == "mixed":
        beyond = f" by more than {margin}" if c.margin else ""
        return f"{what} moved both ways{beyond} (MIXED): {numbers}."
    if c.verdict == "equivalent":
        return f"{what} is EQUIVALENT up to {margin}: {numbers}."
    if math.isnan(c.shift):
        return f"{c.name} cannot be compared."
    if c.is_clear:
        word = "higher" if c.direction == UP else "lower"
        known = f"{c.name} is {word} {where}, but whether by more than {margin}"
        if SHARE in c.deciding and c.yes is None:  # the margin may be about another part
            known = f"{what}: whether the change is beyond {margin}"
        return f"{known} is INCONCLUSIVE: {numbers}."
    return f"{_nothing_clear(c)} (INCONCLUSIVE): {numbers}."


def _nothing_clear(c: Comparison) -> str:
    """That nothing is clear; "no change" would deny a change of the mean, the spread or others."""
    if _parts_come_first(c):
        return "All values together did not clearly move"
    change = "shift" if c.changed or _mean_first(c) else "change"
    return f"{subject(c)}: no clear {change}"


def _numbers(c: Comparison) -> str:
    """The shift, its interval and the percentage; or the shares, or the parts."""
    if SHARE in c.deciding:
        return yes_no_numbers(c) if c.yes is not None else part_numbers(c)
    shift, low, high = c.display.interval(c.shift, *c.shift_interval)
    unit = f" {c.unit}" if c.unit and not c.dates else ""
    typically = "typically " if c.estimand == "shift" else ""
    shown = f"{typically}{shift}{unit} ({level_of(c.alpha)} interval {low} to {high})"
    if c.relative_shift is not None:
        shown += f", {percent(c.relative_shift)}"
    return shown


def _across(c: Comparison, crossing: Crossing) -> str:
    """The first sentence where one number would mislead."""
    low, high = (c.display.amount(end) for end in crossing)
    return (
        f"{c.name}: the distributions CROSS: the 25% quantile moved by {low}, the 75% quantile by "
        f"{high}."
    )


def _answer_at_infinity(c: Comparison, infinite: Infinite) -> str:
    """The shares at infinity, and the first quantile that is finite on both sides."""
    word = "no clear change (INCONCLUSIVE)"
    if c.verdict in DIRECTED:
        word = f"{c.verdict.upper()} in {c.current.label} than in {c.reference.label}"
    sign = "+" if infinite.where > 0.0 else "−"
    told = (
        f"{c.name}: {word}: {infinite.current:.0%} of the values are at {sign}inf (never finished, "
        f"for times), before {infinite.reference:.0%}"
    )
    known = {q: (old, c.current.quantiles[q]) for q, old in c.reference.quantiles.items()}
    for each in c.percentiles:  # as the table has them
        if each.x.level in known:
            known[each.x.level] = each.y.value, each.x.value
    for q in sorted(known, reverse=infinite.where < 0.0):
        if all(map(math.isfinite, known[q])):
            old, new = c.display.pair(*known[q])
            unit = f" {c.unit}" if c.unit and not c.dates else ""
            return f"{told}; the {100.0 * q:g}% quantile is {new}{unit}, before {old}{unit}."
    return f"{told}."
