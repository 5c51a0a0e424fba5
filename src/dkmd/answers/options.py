"""How to compare: the options of ``compare`` and ``drift``, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dkmd.inference.margins import Margin, parse_margin


@dataclass(frozen=True)
class How:
    """How to compare; the same for every column and level."""

    margin: Margin | None = None
    alpha: float = 0.05
    scale: float | str | None = None
    method: Any = None
    nan_policy: str = "omit"

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha must lie between 0 and 1, got {self.alpha!r}")
        if self.margin is not None:
            parse_margin(self.margin)
