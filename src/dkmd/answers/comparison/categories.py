"""One answer about a column of categories: which levels gained and lost, and whether that is real.

It has the same names as ``Comparison`` where drifts, pages and commands use both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from dkmd.answers.comparison.arms import unequal_arms
from dkmd.answers.comparison.documents import FORMAT_VERSION, Documented
from dkmd.answers.comparison.missing import LEFT_OUT
from dkmd.answers.family import BENJAMINI_HOCHBERG, NOT_CORRECTED, Correction, corrected
from dkmd.answers.findings import CATEGORY, SHIFT, Finding
from dkmd.answers.orientation import turned
from dkmd.answers.sample_ratio import SampleRatio
from dkmd.base.calls import Call
from dkmd.base.wording import (
    amount,
    count,
    level_of,
    points,
    probability,
    share_pair,
    short_p,
    text_page,
)
from dkmd.inference.kinds.categories import LevelChange
from dkmd.inference.test.result import ConfidenceInterval

CHANGED, UNCLEAR, NOT_TESTED = "changed", "inconclusive", "not tested"
HIGHER, LOWER = "higher", "lower"
"""The verdicts on categories: whether the shares changed, and of ordered levels which way."""

NO_INTERVAL = ConfidenceInterval(math.nan, math.nan)

NAMED = 3
"""Levels that a headline names."""


@dataclass(frozen=True)
class CategoryFacts:
    """The facts about one side: its label, its numbers of values, of missing values, of levels."""

    label: str
    size: int
    nan: int
    levels: int

    @property
    def nan_share(self) -> float:
        """The share of missing values."""
        total = self.size + self.nan
        return self.nan / total if total else math.nan

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {"label": self.label, "size": self.size, "nan": self.nan, "levels": self.levels}


@dataclass(frozen=True)
class CategoryComparison(Documented):
    """Which levels of a column of categories gained and lost, and whether that is real.

    Attributes
    ----------
    verdict : str
        "changed", "inconclusive" or "not tested". Of ordered levels also "higher" or "lower".
    pvalue : float
        Of the null that all levels have the same shares on both sides (Pearson's X², from
        relabellings if counts are small). NaN if the column was not tested: ``why_not`` says why.
        Of ordered levels, the p-value of their shift; that of the shares is a finding.
    order : tuple of str
        The levels from the lowest to the highest; empty if they have no order.
    shift, shift_interval : float, ConfidenceInterval
        How far ordered levels moved, in levels, with confidence 1 − alpha; NaN without an order.
    levels : tuple of LevelChange
        Each level with its counts (x is current) and the interval of the difference of shares, the
        largest difference first. All intervals hold at once.
    other : LevelChange or None
        Levels beyond the most frequent ones, added up.
    findings : tuple of Finding
        The share of missing values, if any are missing. Of ordered levels, also their shares.
    correction : Correction
        How the p-values of the findings are corrected, and for how many tests.
    sample_ratio : SampleRatio or None
        Whether the numbers of rows fit ``expect_ratio``; None if that was not given.
    reference, current : CategoryFacts
        Numbers of values, of missing values and of levels.
    """

    name: str
    verdict: str
    pvalue: float
    alpha: float
    levels: tuple[LevelChange, ...]
    other: LevelChange | None
    reference: CategoryFacts
    current: CategoryFacts
    warnings: tuple[str, ...]
    why_not: str = ""
    findings: tuple[Finding, ...] = ()
    sample_ratio: SampleRatio | None = None
    adjusted_pvalue: float | None = None
    order: tuple[str, ...] = ()
    shift: float = math.nan
    shift_interval: ConfidenceInterval = NO_INTERVAL
    correction: Correction = NOT_CORRECTED
    call: Call | None = field(default=None, repr=False, compare=False)

    kind = CATEGORY
    unit = ""
    margin = None
    pvalue_beyond = adjusted_pvalue_beyond = math.nan

    @property
    def distance(self) -> float:
        """Half the sum of all changes of shares: the share of values that changed their level."""
        every = [*self.levels, *([self.other] if self.other is not None else [])]
        return 0.5 * sum(abs(each.difference) for each in every)

    @property
    def own(self) -> str:
        """What ``pvalue`` is about: the shares, or the shift of ordered levels."""
        return SHIFT if self.order else CATEGORY

    @property
    def deciding(self) -> tuple[str, ...]:
        """What the verdict tells: of levels that moved, their shift and their shares."""
        return (SHIFT, CATEGORY) if self.verdict in (HIGHER, LOWER) else ()

    @property
    def tests(self) -> dict[str, float]:
        """The p-value of everything that was tested: of the shares, and of missing values."""
        return {self.own: self.pvalue} | {each.what: each.pvalue for each in self.findings}

    @property
    def is_clear(self) -> bool:
        """Whether the shares changed, or ordered levels moved: p, or the adjusted p, is small."""
        return bool({SHIFT, CATEGORY} & {*self.changed})

    @property
    def changed(self) -> list[str]:
        """What clearly changed: "shift", "category", "missing"; empty if nothing did."""
        decides = self.pvalue if self.adjusted_pvalue is None else self.adjusted_pvalue
        own = [self.own] if decides < self.alpha else []
        return own + [each.what for each in self.findings if each.is_clear(self.alpha)]

    def judged(self) -> Self:
        """The same answer with the verdict that follows from its p-values."""
        if self.why_not:
            return replace(self, verdict=NOT_TESTED)
        if SHIFT in self.changed:
            return replace(self, verdict=HIGHER if self.shift > 0.0 else LOWER)
        return replace(self, verdict=CHANGED if self.is_clear else UNCLEAR)

    def finding(self, what: str) -> Finding | None:
        """The finding on missing values, if there is one."""
        return next((each for each in self.findings if each.what == what), None)

    def corrected(self) -> Self:
        """The same answer with findings that are corrected for the tests of this comparison."""
        findings, correction = corrected(self.pvalue, self.findings)
        return replace(self, findings=findings, correction=correction)

    def among_several(self, adjusted: Mapping[str, float], _: float, tests: int) -> Self:
        """The same answer as one of several, with p-values adjusted for the number of tests."""
        return replace(
            self,
            correction=Correction(BENJAMINI_HOCHBERG, tests),
            adjusted_pvalue=adjusted[self.own],
            findings=tuple(each.adjusted(adjusted[each.what]) for each in self.findings),
        ).judged()

    def with_call(self, call: Call) -> Self:
        """The same answer with a record of how it was asked for."""
        return replace(self, call=call)

    @property
    def is_one_share(self) -> bool:
        """Whether both sides have the same two levels, so that one share says all."""
        return len(self.levels) == 2 and self.other is None and not (self.new or self.gone)

    @property
    def new(self) -> list[LevelChange]:
        """Levels that only current has, the most frequent first."""
        found = [level for level in self.levels if level.is_new]
        return sorted(found, key=lambda level: -level.counts.yes_x)

    @property
    def gone(self) -> list[LevelChange]:
        """Levels that only the reference has, the most frequent first."""
        found = [level for level in self.levels if level.is_gone]
        return sorted(found, key=lambda level: -level.counts.yes_y)

    def headline(self) -> str:
        """The answer in one sentence, and its evidence in another."""
        first = unequal_arms([self])
        if self.why_not:
            return " ".join([*first, f"{self.name} {self.why_not}.", *self._more_words()])
        sizes = f"n = {count(self.reference.size)} and {count(self.current.size)}"
        of_shares = self.finding(CATEGORY) if self.verdict == CHANGED else None
        told_by = self if of_shares is None else of_shares
        p = probability(told_by.pvalue)
        if told_by.adjusted_pvalue is not None:
            p += f" (adjusted {short_p(told_by.adjusted_pvalue) or 'unknown'})"
        rare = [*_rare("New", self.new), *_rare("Gone", self.gone)]
        told = [f"{self._answer()}.", f"{p}, {sizes}.", *rare, *self._more_words()]
        return " ".join([*first, *told])

    def _answer(self) -> str:
        told_of = self.levels[:1] if self.is_one_share else self.levels
        clear = [level for level in told_of if level.is_clear]
        moved = [level for level in clear if not (level.is_new or level.is_gone)]
        told = [_moved(level) for level in (clear[:NAMED] if not moved else moved[:NAMED])]
        left = max(0, len(moved or clear) - NAMED)
        if moved:
            told += [*_listed("new", self.new), *_listed("gone", self.gone)]
            for levels in (self.new, self.gone):
                left += max(0, sum(level.is_clear for level in levels) - NAMED)
        told += [f"and {left:,} more" if left > 1 else "and one more"] if left > 0 else []
        largest = _moved(self.levels[0]) if self.levels else ""
        if not self.is_one_share and largest:
            largest = f"the largest difference is {largest}"
        by = self._moved_by()
        if self.verdict in (HIGHER, LOWER):
            where = f"in {self.current.label} than in {self.reference.label}"
            shares = f"; {', '.join(told)}" if told else ""
            return f"{self.name} is {self.verdict.upper()} {where}: {by}{shares}"
        whither = f", without a clear direction, {by}" if self.order else ""
        if self.is_clear and told:
            return f"{self.name} CHANGED{whither}: {', '.join(told)}"
        if self.is_clear:
            return f"{self.name} CHANGED{whither}, but no single level clearly did: {largest}"
        largest = by if self.order else largest
        return f"{self.name}: no clear change (INCONCLUSIVE){largest and f': {largest}'}"

    def _moved_by(self) -> str:
        """How far ordered levels moved: +0.42 levels (95% interval …)."""
        low, high = map(amount, self.shift_interval)
        return f"{amount(self.shift)} levels ({level_of(self.alpha)} interval {low} to {high})"

    def _more_words(self) -> list[str]:
        from dkmd.answers.comparison.words import correction_words, missing_words

        return [*missing_words(self), *correction_words(self)]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """A small table: every level with its shares and their difference."""
        before, after = self.reference, self.current
        rows = [("values", count(before.size), count(after.size), "")]
        rows.append(("levels", count(before.levels), count(after.levels), ""))
        if self.order:
            low, high = map(amount, self.shift_interval)
            rows.append(("shift", "", "", f"{amount(self.shift)} levels ({low} to {high})"))
        for level in [*self.levels, *([self.other] if self.other is not None else [])]:
            shown = share_pair(*turned(level.shares))
            rows.append((level.level, *shown, _difference(level)))
        if before.nan or after.nan:
            rows.append((LEFT_OUT, count(before.nan), count(after.nan), ""))
        return rows

    def table(self) -> list[tuple[str, ...]]:
        """``rows`` under a heading."""
        return [("", self.reference.label, self.current.label, "difference"), *self.rows()]

    def __str__(self) -> str:
        return text_page(self.headline(), self.table(), self.warnings)

    def _repr_html_(self) -> str:
        from dkmd.render.figures.notebook import answer_html

        return answer_html(self.headline(), self.table(), self.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded, under the names of the JSON schema."""
        return {
            "format": "dkmd-categories",
            "version": FORMAT_VERSION,
            "name": self.name,
            "kind": CATEGORY,
            "verdict": self.verdict,
            "pvalue": self.pvalue,
            "alpha": self.alpha,
            "why_not": self.why_not,
            "order": list(self.order),
            "shift": self.shift,
            "shift_interval": list(self.shift_interval),
            "changed": self.changed,
            "correction": self.correction._asdict(),
            "findings": [finding.to_dict() for finding in self.findings],
            "levels": [_level(level) for level in self.levels],
            "other": None if self.other is None else _level(self.other),
            "sample_ratio": None if self.sample_ratio is None else self.sample_ratio.to_dict(),
            "reference": self.reference.to_dict(),
            "current": self.current.to_dict(),
            "warnings": list(self.warnings),
        }

    def tags(self) -> tuple[str, ...]:
        """The level that changed most and new levels, in a few words, if the column changed."""
        if not self.is_clear:
            return ()
        told = [_briefly(level) for level in self.levels[:1]]
        more = [level for level in self.new if level.is_clear and level != self.levels[0]]
        return tuple(told + [f"new: {level.level}" for level in more[:1]])


def _briefly(level: LevelChange) -> str:
    """A level and its shares: DE 31% → 24%."""
    old, new = share_pair(*turned(level.shares))
    return f"{level.level} {old} → {new}"


def _moved(level: LevelChange) -> str:
    """A level with its shares, their difference and its interval."""
    return f"{_briefly(level)} ({_difference(level)})"


def _difference(level: LevelChange) -> str:
    """A difference of shares in percentage points, with its interval."""
    low, high = points(level.low), points(level.high)
    return f"{points(level.difference)} points, {low} to {high}"


def _listed(word: str, levels: list[LevelChange]) -> list[str]:
    """Clear new or vanished levels with their shares: new: PL 2%."""
    clear = [level for level in levels if level.is_clear]
    named = []
    for level in clear:
        old, new = share_pair(*turned(level.shares))
        named.append(f"{level.level} {old if level.is_gone else new}")
    return [f"{word}: {', '.join(named[:NAMED])}"] if named else []


def _rare(word: str, levels: list[LevelChange]) -> list[str]:
    """A sentence on new or vanished levels that chance may explain."""
    rare = [level for level in levels if not level.is_clear]
    if not rare:
        return []
    named = [
        f"{level.level} ({count(max(level.counts.yes_x, level.counts.yes_y))})"
        for level in rare[:NAMED]
    ]
    more = f" and {len(rare) - NAMED:,} more" if len(rare) > NAMED else ""
    return [f"{word} levels that chance may explain, with their counts: {', '.join(named)}{more}."]


def _level(level: LevelChange) -> dict[str, Any]:
    """A level under the names of the JSON schema."""
    current, reference = level.shares
    return {
        "level": level.level,
        "reference": level.counts.yes_y,
        "current": level.counts.yes_x,
        "reference_share": reference,
        "current_share": current,
        "difference": level.difference,
        "interval": list(ConfidenceInterval(level.low, level.high)),
        "new": level.is_new,
        "gone": level.is_gone,
    }
