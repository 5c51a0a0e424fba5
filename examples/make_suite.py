"""Write ``examples/bench/suite``: simulated runs of a small suite of benchmarks, for docs/gate.md.

Runs of one build differ by 1.2% (standard deviation), values within a run by 1%. The branch makes
``parse`` 9% slower and ``render`` 30% faster. The history holds 14 runs of ``main``, and in the
middle of them ``sort`` became 8% faster for good.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dkmd.sources.files.benchmarks import read_benchmarks
from dkmd.sources.files.history_file import stored_run, write_history

FOLDER = Path(__file__).parent / "bench" / "suite"
SECONDS = {"parse": 21e-6, "render": 3.4e-3, "sort": 180e-6, "hash": 640e-9, "startup": 0.052}
BRANCH = {"parse": 1.09, "render": 0.70}
BETWEEN, WITHIN, VALUES = 0.012, 0.01, 20


def _write(path: Path, rng: np.random.Generator, factors: dict[str, float]) -> Path:
    results = []
    for name, seconds in SECONDS.items():
        level = seconds * factors.get(name, 1.0) * np.exp(rng.normal(0.0, BETWEEN))
        times = level * np.exp(rng.normal(0.0, WITHIN, VALUES))
        results.append({"command": name, "times": [float(f"{t:.5g}") for t in times]})
    path.write_text(json.dumps({"results": results}) + "\n")
    return path


def main() -> None:
    """Draw past runs of main, then three runs of each build."""
    FOLDER.mkdir(exist_ok=True)
    rng = np.random.default_rng(16)
    past = []
    for day in range(1, 15):
        before = {"sort": 1.08} if day <= 7 else {}
        path = _write(FOLDER / "past.json", rng, before)
        past.append(stored_run(read_benchmarks(path), f"2026-03-{day:02d}T06:00:00", f"day {day}"))
        path.unlink()
    write_history(FOLDER / "history.json", past)
    for run in (1, 2, 3):
        _write(FOLDER / f"main-{run}.json", rng, {})
        _write(FOLDER / f"branch-{run}.json", rng, BRANCH)


if __name__ == "__main__":
    main()
