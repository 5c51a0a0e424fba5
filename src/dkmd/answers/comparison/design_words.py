"""Covariates, strata and weights as words, rows and JSON. Every number is current − reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dkmd.base.wording import points, rounded
from dkmd.inference.kinds.column_kind import YES_NO
from dkmd.inference.test.result import ConfidenceInterval, DkmdResult

if TYPE_CHECKING:
    from dkmd.answers.comparison.one import Comparison

LEAST_WORTH = 1.05
"""A smaller gain by adjusting is not worth a number."""


class Adjusted(NamedTuple):
    """What an answer is adjusted for, what that is worth, and the numbers without it."""

    names: tuple[str, ...]
    columns: int  # degrees of freedom that it cost
    worth: float  # as good as so many times the data
    shift: float
    shift_interval: ConfidenceInterval
    pvalue: float

    @classmethod
    def of(cls, result: DkmdResult, confidence: float) -> Adjusted | None:
        """From a test; None if it is not adjusted."""
        found = result.adjustment
        if found is None:
            return None
        interval = ConfidenceInterval(*found.raw.shift_interval(confidence))
        return cls(
            found.names, found.columns, found.worth, found.raw.shift, interval, found.raw.pvalue
        )

    def to_dict(self) -> dict[str, Any]:
        """Under the names of the JSON schema."""
        return self._asdict() | {
            "names": list(self.names),
            "shift_interval": list(self.shift_interval),
        }


def adjusted_words(c: Comparison) -> str:
    """What the answer is adjusted for and what that is worth; empty without an adjustment."""
    found = c.adjustment
    if found is None:
        return ""
    names = found.names
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    if len(names) > MANY_NAMES:
        listed = f"{', '.join(names[:MANY_NAMES])} and {len(names) - MANY_NAMES} more"
    if not found.worth >= LEAST_WORTH:
        return f"adjusted for {listed}, which gained nothing"
    return f"adjusted for {listed}, as good as {found.worth:.2g} × the data"


MANY_NAMES = 4
"""More columns than this are counted, not named."""


def effective_words(c: Comparison) -> str:
    """The effective sizes; empty without weights."""
    if c.effective_sizes is None:
        return ""
    before, after = (rounded(size) for size in c.effective_sizes)
    return f" (effective {before} and {after})"


def effective_rows(c: Comparison) -> list[tuple[str, str, str, str]]:
    """The effective sizes; nothing without weights."""
    if c.effective_sizes is None:
        return []
    before, after = (rounded(size) for size in c.effective_sizes)
    return [("effective size", before, after, "")]


def design_rows(c: Comparison) -> list[tuple[str, str, str, str]]:
    """The adjusted shift; the raw one where shares or means, which are adjusted, have a row."""
    found = c.adjustment
    if found is None:
        return []
    if c.kind == YES_NO and c.parts is not None and c.parts.yes is not None:
        gap = c.parts.yes - c.parts.common
        low, high = (points(end / gap).removesuffix(" points") for end in found.shift_interval)
        told = f"{points(found.shift / gap)} ({low} to {high})"
        return [("not adjusted", "", "", told)]
    if c.estimand == "mean":  # whose own row is adjusted
        low, high = (c.display.end(end) for end in found.shift_interval)
        return [("not adjusted", "", "", f"{c.display.amount(found.shift)} ({low} to {high})")]
    low, high = (c.display.end(end) for end in c.shift_interval)
    return [("adjusted", "", "", f"{c.display.amount(c.shift)} ({low} to {high})")]


def raw_shift(c: Comparison) -> float:
    """The shift without an adjustment."""
    return c.shift if c.adjustment is None else c.adjustment.shift


def design_numbers(c: Comparison) -> dict[str, Any]:
    """Under the names of the JSON schema."""
    sizes = c.effective_sizes
    return {
        "adjustment": None if c.adjustment is None else c.adjustment.to_dict(),
        "effective_sizes": None if sizes is None else list(sizes),
    }
