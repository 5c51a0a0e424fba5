"""Runs of a made-up suite as pyperf files: ``python benchmarks/gate_files.py FOLDER --runs 12``.

Each benchmark has a level, a standard deviation between runs and one within a run. Runs of the same
suite differ as runs of one build on one machine do. Everything follows from the seed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Suite:
    """Benchmarks, and how much they vary on the logarithmic scale."""

    levels: Sequence[float]  # in seconds
    between: Sequence[float]
    within: Sequence[float]
    processes: int = 20
    values: int = 3
    names: Sequence[str] = field(default_factory=list)

    @classmethod
    def drawn(cls, size: int, rng: np.random.Generator, **how: Any) -> Suite:
        """Benchmarks from 1 µs to 1 s, between 0.4% and 1.9%, within 0.5% and 3%."""
        return cls(
            levels=(10.0 ** rng.uniform(-6.0, 0.0, size)).tolist(),
            between=np.exp(rng.uniform(np.log(0.004), np.log(0.019), size)).tolist(),
            within=rng.uniform(0.005, 0.03, size).tolist(),
            names=[f"bench_{i:03}" for i in range(size)],
            **how,
        )

    def run(
        self, rng: np.random.Generator, day: int = 0, factors: Mapping[str, float] | None = None
    ) -> dict[str, Any]:
        """One run as a document of pyperf. ``factors`` slow some benchmarks down."""
        when = (FIRST_DAY + timedelta(days=day)).strftime("%Y-%m-%d %H:%M:%S")
        benchmarks = []
        for name, level, between, within in zip(
            self.names, self.levels, self.between, self.within, strict=True
        ):
            center = np.log(level * (factors or {}).get(name, 1.0)) + between * rng.normal()
            # half of the variance within a run is between its processes
            processes = center + within * np.sqrt(0.5) * rng.normal(size=(self.processes, 1))
            noise = within * np.sqrt(0.5) * rng.normal(size=(self.processes, self.values))
            runs: list[dict[str, Any]] = [
                {"metadata": {"date": when}, "values": row}
                for row in np.exp(processes + noise).tolist()
            ]
            benchmarks.append({"metadata": {"name": name}, "runs": runs})
        metadata = {"unit": "second", "loops": 1}
        return {"version": "1.0", "metadata": metadata, "benchmarks": benchmarks}


def main() -> None:
    """Write the runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--benchmarks", type=int, default=84)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first-day", type=int, default=0)
    parser.add_argument("--slower", type=float, default=0.0, help="percent, of the first benchmark")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    suite = Suite.drawn(given.benchmarks, np.random.default_rng(given.seed))
    rng = np.random.default_rng([given.seed, given.first_day])
    factors = {suite.names[0]: 1.0 + given.slower / 100.0}
    for i in range(given.runs):
        day = given.first_day + i
        path = given.folder / f"run-{day:03}.json"
        path.write_text(json.dumps(suite.run(rng, day, factors)))


if __name__ == "__main__":
    main()
