"""Text that stands for a number or for a missing value, and the order of levels."""

from __future__ import annotations

import math

from dkmd.base.errors import NotANumberError

MISSING = ("", "na", "n/a", "nan", "null", "none")
"""Words in text that stand for no value, in any case."""


def parse_number(text: str) -> float | None:
    """A number from text, NaN for a word that stands for no value, None for anything else."""
    word = text.strip()
    if word.lower() in MISSING:
        return math.nan
    try:
        return float(word)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(word.lower())


def not_a_number(where: str, row: int, value: object) -> ValueError:
    """The error for a cell that is no number."""
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return NotANumberError(f"{where}, row {row:,}: {shown} is not a number")


def level_order(level: str) -> tuple[bool, float, str]:
    """Levels that are numbers come first, by size; then text."""
    number = parse_number(level)
    if number is None or math.isnan(number):
        return True, 0.0, level
    return False, number, level
