"""Benchmarks, rows and gates made by hand, for the tests of the gate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from dkmd.answers.gate import Gate, GateRow
from dkmd.sources.files.benchmarks import Benchmarks, Measurements


def measurements(values: Any, unit: str = "s", **more: Any) -> Measurements:
    """Values of which each is a process of its own."""
    held = [float(v) for v in values]
    return Measurements(unit, held, list(range(len(held))), **more)


def bench(unit: str = "s", **samples: Any) -> Benchmarks:
    """Benchmarks of one unit by their names."""
    return {name: measurements(values, unit) for name, values in samples.items()}


def times(seed: int, center: float, n: int = 30, noise: float = 0.01) -> Any:
    """Lognormal values about a centre."""
    return center * np.exp(np.random.default_rng(seed).normal(0.0, noise, n))


def made_row(name: str, verdict: str, shift: float, **more: Any) -> GateRow:
    """A row with 9 and 8 values, whose interval is its shift."""
    made = GateRow(name, "s", verdict, "", (9, 8), (2.0, 3.0), shift, (shift, shift), True, 0.2)
    return replace(made, **more)


def made_gate(*rows: GateRow, **more: Any) -> Gate:
    """A gate of such rows, with a margin of 2%."""
    given: dict[str, Any] = {"missing": (), "new": (), "margin": "2%", "worse": None} | more
    return Gate(rows, **({"geometric_mean": 1.0} | given))


class NormalTest(NamedTuple):
    """A test of a shift whose error is known."""

    shift: float
    error: float = 1.0

    def pvalue_beyond(self, delta: float, alternative: str) -> float:
        """The p-value of a normal test."""
        t = (self.shift - delta) / self.error
        return float(norm.sf(t) if alternative == "greater" else norm.cdf(t))

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """The interval of a normal test."""
        reach = self.error * float(norm.ppf(0.5 + 0.5 * confidence_level))
        return self.shift - reach, self.shift + reach
