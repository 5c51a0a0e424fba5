"""The work on many columns: which of two tables' columns are compared, and why others are not."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

from dkmd.answers.comparison import Comparison
from dkmd.sources.memory.columns import (
    DURATION,
    NOTHING,
    NUMBER,
    NUMERIC,
    OTHER,
    TEXT,
)

ALL_MISSING = "all its values are missing"


def _why_not(
    name: str, kinds: dict[str, str], later: dict[str, str], groups: str | None, asked: bool
) -> str:
    """Why a column is not compared; empty if it is. Text is tried when it was asked for."""
    if name not in kinds:
        return "it is not in the reference"
    if name not in later:
        return "it is not in the current table"
    if name == groups:
        return "it holds the groups"
    pair = kinds[name], later[name]
    old, new = ("values that are no numbers" if kind == OTHER else kind for kind in pair)
    apart = f"it holds {old} in the reference and {new} in the current table"
    if any(kind not in NUMERIC and not (asked and kind == TEXT) for kind in pair):
        return f"it holds {old}" if old == new else apart
    if set(pair) == {NUMBER, DURATION}:
        return apart
    return ALL_MISSING if set(pair) == {NOTHING} else ""


KEPT = 16_000_000
"""Values of all columns of two files that answers hold on to: 128 MB."""


def _without_many_values(answer: Comparison, columns: int) -> Comparison:
    """An answer that leaves its values in their file if those of all columns are too many."""
    if answer.values is None or columns * sum(side.size for side in answer.values) <= KEPT:
        return answer
    # a copy of a result has its logarithms worked out, and needs the values no more
    return replace(answer, values=None, result=copy(answer.result))


def _why_empty(answer: Comparison) -> str:
    """Where a column has no values, and how the share of missing ones changed."""
    before, after = answer.reference, answer.current
    if not (before.size + before.nan and after.size + after.nan):
        return "there are no rows to compare"
    if not before.size and not after.size:
        return ALL_MISSING
    where = "the current table" if before.size else "the reference"
    shares = f"{before.nan_share:.1%} → {after.nan_share:.1%}"
    return f"all its values are missing in {where} (missing: {shares})"
