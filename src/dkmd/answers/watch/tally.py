"""What the lines of a stream held: values, missing ones, other arms, and malformed lines."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Self

from dkmd.base.wording import count

NAMED = 5
"""Malformed lines that are named one by one."""


@dataclass
class Tally:
    """Counts since the start of the watch, over all its runs."""

    lines: int = 0
    values: int = 0
    missing: int = 0
    other: int = 0  # values of arms that are not compared
    bad: int = 0
    named: list[str] = field(default_factory=list)  # the first malformed lines

    def to_dict(self) -> dict[str, Any]:
        """For a checkpoint and for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """From a checkpoint."""
        numbers = {key: document[key] for key in ("lines", "values", "missing", "other", "bad")}
        if any(type(number) is not int or number < 0 for number in numbers.values()):
            raise ValueError("a count is not a whole number")
        return cls(**numbers, named=list(map(str, document["named"])))

    def facts(self) -> list[str]:
        """The counts in words, without those that are 0."""
        found = [f"{count(self.values)} {'value' if self.values == 1 else 'values'}"]
        for number, what in (
            (self.missing, "missing"),
            (self.other, "of other arms"),
            (self.bad, "malformed"),
        ):
            if number:
                found.append(f"{count(number)} {what}")
        return found

    def notes(self) -> list[str]:
        """The malformed lines."""
        if not self.bad:
            return []
        more = f", and {count(self.bad - len(self.named))} more" if self.bad > NAMED else ""
        lines = "line was" if self.bad == 1 else "lines were"
        return [f"{count(self.bad)} malformed {lines} skipped: {'; '.join(self.named)}{more}"]
