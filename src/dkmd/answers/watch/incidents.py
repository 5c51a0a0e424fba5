"""Alarms that belong together.

A change that stays alarms again and again, because the detector starts anew after each alarm. The
alarms of one direction that follow each other closely are one incident.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

KEPT = 200
"""Incidents that are remembered in full."""

CLOSE = 0.1
"""Alarms closer than this share of the ARL belong to one incident."""


@dataclass
class Incident:
    """One change: its first alarm, and how often it alarmed up to now. Values count from 1."""

    number: int
    direction: str
    alarms: int
    first: int
    last: int
    line: int
    began: tuple[int, int, int]
    shift: float
    interval: tuple[float, float]
    strength: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        began = dict(zip(("estimate", "low", "high"), self.began, strict=True))
        return asdict(self) | {"began": began, "interval": list(self.interval)}


class Incidents:
    """All incidents of a stream, in the order of their alarms."""

    def __init__(self, arl: float) -> None:
        self._close = CLOSE * arl
        self.alarms = 0
        self.count = 0
        self.kept: list[Incident] = []

    def add(self, found: Any, line: int) -> Incident:
        """The incident of an alarm of a ``Detector``."""
        self.alarms += 1
        at = found.at + 1
        last = self.kept[-1] if self.kept else None
        if last and last.direction == found.direction and at - last.last <= self._close:
            last.alarms, last.last = last.alarms + 1, at
            return last
        self.count += 1
        low, high = found.interval
        began = found.began
        self.kept.append(
            Incident(
                self.count,
                found.direction,
                1,
                at,
                at,
                line,
                (began[0] + 1, began[1] + 1, began[2] + 1),
                float(found.shift),
                (float(low), float(high)),
                float(found.strength),
            )
        )
        del self.kept[:-KEPT]
        return self.kept[-1]

    def document(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "alarms": self.alarms,
            "count": self.count,
            "kept": [_without_infinities(asdict(each)) for each in self.kept],
        }

    def restore(self, document: dict[str, Any]) -> None:
        """From a checkpoint."""
        self.alarms, self.count = int(document["alarms"]), int(document["count"])
        self.kept = [_incident(each) for each in document["kept"]]


def _without_infinities(incident: dict[str, Any]) -> dict[str, Any]:
    """Numbers that may be infinite, as text: checkpoints are strict JSON."""
    ends = [repr(end) for end in incident["interval"]]
    return incident | {"shift": repr(incident["shift"]), "interval": ends,
                       "strength": repr(incident["strength"])}  # fmt: skip


def _incident(document: dict[str, Any]) -> Incident:
    low, high = map(float, document["interval"])
    began = tuple(map(int, document["began"]))
    return Incident(
        **document
        | {
            "interval": (low, high),
            "began": (began[0], began[1], began[2]),
            "shift": float(document["shift"]),
            "strength": float(document["strength"]),
        }
    )


def is_told(alarms: int) -> bool:
    """Whether people are told of an alarm of an incident: of the 1st, 2nd, 4th, 8th, …"""
    return alarms & (alarms - 1) == 0
