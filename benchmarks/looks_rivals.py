"""River's drift detectors and ``Detector`` on the same streams: at their defaults, and tuned."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from looks_arms import draw
from looks_streams import seed

from dkmd import Detector
from dkmd.base.arrays import Array

LONGEST, AFTER = 30_000, 5_000
"""Streams without an alarm end after so many values (after so many since the change)."""

BEGINS = 500
N_REFERENCE = 20_000


@dataclass(frozen=True)
class Rival:
    """A detector of river, its name, and the option that sets how often it alarms."""

    name: str
    make: Callable[[float], Any]
    option: float
    tries: tuple[float, ...]  # from many alarms to few
    slowness: int  # one stream of so many is run


class KnownSteps:
    """``scipy.stats.ks_2samp`` for small samples of equal size, with each p-value computed once.

    Without ties the exact p-value depends on the largest step alone. SciPy needs 0.3 ms for each
    value of a stream, and this class 0.02 ms.
    """

    def __init__(self) -> None:
        from scipy.stats import ks_2samp

        self._ks_2samp = ks_2samp
        self._known: dict[tuple[int, int], float] = {}

    def __call__(
        self, x: npt.ArrayLike, y: npt.ArrayLike, method: str = "auto"
    ) -> tuple[float, float]:
        """The largest step between the two distribution functions, and its p-value."""
        first, second = np.sort(x), np.sort(y)
        size = first.size
        both = np.concatenate([first, second])
        steps = np.searchsorted(first, both, "right") - np.searchsorted(second, both, "right")
        most = int(np.abs(steps).max())
        if (size, most) not in self._known:
            result = self._ks_2samp(x, y, method=method)
            self._known[size, most] = float(result.pvalue)
        return most / size, self._known[size, most]


def _river() -> Any:
    from river import drift

    module: Any = importlib.import_module("river.drift.kswin")
    if not isinstance(module.stats, SimpleNamespace):
        module.stats = SimpleNamespace(ks_2samp=KnownSteps())
    return drift


RIVALS = (
    Rival(
        "ADWIN, defaults",
        lambda option: _river().ADWIN(delta=option),
        0.002,
        (0.2, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 3e-4, 1e-4, 1e-5),
        5,
    ),
    Rival(
        "PageHinkley, defaults",
        lambda option: _river().PageHinkley(threshold=option),
        50.0,
        (10.0, 20.0, 50.0, 70.0, 100.0, 140.0, 200.0, 400.0, 800.0, 1600.0),
        5,
    ),
    Rival(
        "KSWIN, defaults",
        lambda option: _river().KSWIN(alpha=option, seed=1),
        0.005,
        (0.005, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6),
        50,
    ),
)


class Stream(NamedTuple):
    """One stream, and where its change begins (0 without a change)."""

    values: Array
    begins: int
    family: int
    number: int

    def reference(self) -> Array:
        """Values of the same family without a change. Only ``Detector`` gets them."""
        seed(5_000_000 + 1_000 * self.family + self.number)
        return draw(self.family, N_REFERENCE, False)


def stream(family: int, number: int, shift: float) -> Stream:
    """A stream by its number: the same for every detector."""
    seed(1_000_000 + 1_000 * family + number)
    begins = BEGINS if shift else 0
    values = draw(family, begins + AFTER if shift else LONGEST, False)
    values[begins:] += shift
    return Stream(values, begins, family, number)


def run_length(rival: Rival, given: Stream) -> float:
    """Values from the beginning to the first alarm after it. Earlier alarms do not count."""
    detector = rival.make(rival.option)
    for i, value in enumerate(given.values.tolist()):
        detector.update(value)
        if detector.drift_detected and i >= given.begins:
            return float(i - given.begins + 1)
    return float(given.values.size - given.begins)


def rival_streams(rival: Rival, family: int, count: int, shift: float) -> Array:
    """Run lengths (without a shift) or delays of many streams."""
    return np.array([run_length(rival, stream(family, i, shift)) for i in range(count)])


def detector_streams(family: int, count: int, shift: float, arl: float) -> Array:
    """The same for ``Detector``, with a reference of its own for each stream."""
    return np.array([_detector_run(stream(family, i, shift), arl) for i in range(count)])


def _detector_run(given: Stream, arl: float) -> float:
    detector = Detector(given.reference(), arl=arl)
    later = [a.at for a in detector.update_many(given.values) if a.at >= given.begins]
    return float((later[0] + 1 if later else given.values.size) - given.begins)


def tuned(rival: Rival, arl: float, count: int) -> Rival:
    """The rival with the first option whose run length on normal streams is at least ``arl``."""
    for option in rival.tries:
        candidate = replace(rival, option=option)
        if rival_streams(candidate, 0, count, 0.0).mean() >= arl:
            break
    return replace(candidate, name=f"{rival.name.split(',')[0]}({option:g})")
