"""Units on both sides as a row and as JSON. x is current and y is reference."""

from __future__ import annotations

from typing import Any

from dkmd.base.wording import count
from dkmd.inference.test.result import Pairing


def unit_rows(pairing: Pairing | None) -> list[tuple[str, str, str, str]]:
    """How many units each side has, and how many both; nothing without pairing."""
    if pairing is None:
        return []
    shared = pairing.shared
    totals = count(shared + pairing.only_y), count(shared + pairing.only_x)
    return [("units", *totals, f"{count(shared)} shared")]


def unit_numbers(pairing: Pairing | None) -> dict[str, Any] | None:
    """Under the names of the JSON schema."""
    if pairing is None:
        return None
    return {
        "shared": pairing.shared,
        "only_reference": pairing.only_y,
        "only_current": pairing.only_x,
        "gain": pairing.gain,
    }
