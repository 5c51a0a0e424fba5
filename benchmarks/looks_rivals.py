"""River's drift detectors on the same streams: at their defaults, and tuned to one run length."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from looks_arms import draw
from looks_streams import seed

from dkmd.base.arrays import Array

LONGEST = 30_000
"""Streams of rivals without an alarm end here."""

BEGINS = 500


@dataclass(frozen=True)
class Rival:
    """A detector of river, its name, and the option that sets how often it alarms."""

    name: str
    make: Callable[[float], Any]
    option: float
    tries: tuple[float, ...]  # from many alarms to few
    slowness: int  # one stream of so many is run


def _river() -> Any:
    from river import drift

    return drift


RIVALS = (
    Rival(
        "ADWIN, defaults",
        lambda option: _river().ADWIN(delta=option),
        0.002,
        (0.2, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 3e-4, 1e-4, 1e-5),
        1,
    ),
    Rival(
        "PageHinkley, defaults",
        lambda option: _river().PageHinkley(threshold=option),
        50.0,
        (10.0, 20.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0),
        5,
    ),
    Rival(
        "KSWIN, defaults",
        lambda option: _river().KSWIN(alpha=option, seed=1),
        0.005,
        (0.005, 1e-3, 2e-4, 5e-5, 1e-5, 1e-6),
        50,
    ),
)


def run_length(rival: Rival, values: Array, begins: int) -> float:
    """Values from ``begins`` to the first alarm at or after it. Earlier alarms do not count."""
    detector = rival.make(rival.option)
    for i, value in enumerate(values):
        detector.update(value)
        if detector.drift_detected and i >= begins:
            return float(i - begins + 1)
    return float(values.size - begins)


def rival_streams(rival: Rival, family: int, count: int, shift: float) -> Array:
    """Run lengths (without a shift) or delays of many streams."""
    seed(40 + family)
    found = []
    for _ in range(count):
        begins = BEGINS if shift else 0
        size = begins + (5_000 if shift else LONGEST)
        values = draw(family, size, False)
        values[begins:] += shift
        found.append(run_length(rival, values, begins))
    return np.array(found)


def tuned(rival: Rival, arl: float) -> Rival:
    """The rival with the first option whose run length on normal streams is at least ``arl``."""
    few = max(6, 60 // rival.slowness)
    for option in rival.tries:
        candidate = replace(rival, option=option)
        if rival_streams(candidate, 0, few, 0.0).mean() >= arl:
            break
    name = rival.name.split(",")[0]
    return replace(candidate, name=f"{name}({option:g})" if math.isfinite(option) else name)
