"""Answers as JSON that any parser reads."""

from __future__ import annotations

import json
import math
from typing import Any

FORMAT_VERSION = 2
"""The version of ``to_dict`` and of the command line's JSON; schema/answers.json describes it."""


def to_json(document: Any, indent: int | None = None) -> str:
    """JSON that any parser reads: NaN is null, infinities are "inf" and "-inf"."""
    return json.dumps(_plain(document), indent=indent, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """The same document without NaN and infinities."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else f"{value:.0f}"
    return value
