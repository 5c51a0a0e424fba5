"""The words for missing values: the same in comparisons, drifts and gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dkmd.base.wording import share_pair

if TYPE_CHECKING:
    from dkmd.answers.comparison.categories import CategoryFacts
    from dkmd.answers.comparison.one import SampleFacts

MISSING = "missing"
"""The heading of the shares of missing values."""

LEFT_OUT = "missing, left out"
"""The heading of the numbers of missing values."""

ALL_MISSING = "all its values are missing"


def missing_shares(
    reference: SampleFacts | CategoryFacts, current: SampleFacts | CategoryFacts
) -> str:
    """The shares of missing values: 0.0% → 2.5%."""
    return " → ".join(share_words(reference.nan_share, current.nan_share))


def share_words(old: float, new: float, digits: int = 1) -> tuple[str, str]:
    """Two shares of missing values, with more digits if they would look the same and are not.

    Examples
    --------
    >>> share_words(0.0, 0.025), share_words(0.0004, 0.0001)
    (('0.0%', '2.5%'), ('0.04%', '0.01%'))
    """
    shown = f"{old:.{digits}%}", f"{new:.{digits}%}"
    return shown if shown[0] != shown[1] or old == new else share_pair(old, new)


def emptiness(side: SampleFacts | CategoryFacts, column: str) -> str:
    """What to say of a side that has no values; empty if it has some."""
    if side.size:
        return ""
    if not side.nan:
        return f"{side.label} has no rows"
    where = f" in column {column!r}" if column != "value" else ""
    return no_values(f"{side.label} has no values{where}", side.nan)


def no_values(told: str, missing: int) -> str:
    """The end of a sentence on a side without values: how many are missing, if any."""
    return f"{told}: all {missing:,} are missing" if missing else told


def why_empty(reference: SampleFacts | CategoryFacts, current: SampleFacts | CategoryFacts) -> str:
    """Why a column without values on one side was skipped, and its shares of missing values."""
    if not (reference.size + reference.nan and current.size + current.nan):
        return "there are no rows to compare"
    if not reference.size and not current.size:
        return ALL_MISSING
    where = "the current table" if reference.size else "the reference"
    return f"{ALL_MISSING} in {where} ({MISSING}: {missing_shares(reference, current)})"
