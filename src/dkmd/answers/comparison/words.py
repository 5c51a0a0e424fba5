"""The words of answers."""

from __future__ import annotations


def plain_margin(margin: float | str | None, unit: str) -> str:
    """A margin as it was given, with the unit if it is a number."""
    if margin is None:
        return "0"
    return margin if isinstance(margin, str) else f"{margin:g}{unit and ' ' + unit}"
