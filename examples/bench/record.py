"""Record the shipped benchmark files: workload.py timed by hyperfine and pyperf, two builds each.

Both tools must be on the path (hyperfine; ``pip install pyperf``). "branch" does 20% more work in
one of two benchmarks. The builds take turns, so that a machine that slows down for a minute slows
both. Recorded one after the other, the unchanged benchmark once came out 26% slower. Of what the
tools write, only names, units and times are kept. The rest describes a machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROUNDS = {"main": 40, "branch": 48}
"""How much work "count-words" does in each build."""
SMALL = 5
TURNS = 10
Runs = dict[str, list[Any]]
"""The measurements, by benchmark."""


def main() -> None:
    """Write four files beside this one."""
    for build, runs in _in_turns(_hyperfine).items():
        results = [{"command": name, "times": times} for name, times in runs.items()]
        _write(f"hyperfine-{build}.json", {"results": results})
    for build, runs in _in_turns(_pyperf).items():
        benchmarks = [{"metadata": {"name": n}, "runs": found} for n, found in runs.items()]
        _write(
            f"pyperf-{build}.json",
            {"version": "1.0", "metadata": {"unit": "second"}, "benchmarks": benchmarks},
        )


def _in_turns(measure: Callable[[int], Runs]) -> dict[str, Runs]:
    """Measure both builds in turns. They alternate in going first."""
    found: dict[str, Runs] = {build: {} for build in ROUNDS}
    for turn in range(TURNS):
        for build in sorted(ROUNDS, reverse=turn % 2 == 0):
            for name, runs in measure(ROUNDS[build]).items():
                found[build].setdefault(name, []).extend(runs)
    return found


def _hyperfine(rounds: int) -> Runs:
    run = f"{sys.executable} {HERE / 'workload.py'}"
    recorded = _recorded(
        "hyperfine", "-N", "--warmup", "1", "--runs", "6", "--export-json", "{out}",
        "-n", "count-words", f"{run} --rounds {rounds}",
        "-n", "count-words-small", f"{run} --rounds {SMALL}",
    )  # fmt: skip
    return {result["command"]: result["times"] for result in recorded["results"]}


def _pyperf(rounds: int) -> Runs:
    setup = f"import sys; sys.path.insert(0, {str(HERE)!r}); from workload import count_words"
    found: Runs = {}
    for name, work in (("count-words", rounds), ("count-words-small", SMALL)):
        recorded = _recorded(
            sys.executable, "-m", "pyperf", "timeit", "--quiet", "-p", "2", "-n", "3", "-w", "1",
            "--name", name, "-o", "{out}", "-s", setup, f"count_words({work})",
        )  # fmt: skip
        runs = recorded["benchmarks"][0]["runs"]
        found[name] = [{"values": run["values"]} for run in runs if "values" in run]
    return found


def _recorded(*command: str) -> Any:
    """Run a tool and read the file that it writes. {out} stands for that file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        subprocess.run([part.replace("{out}", str(out)) for part in command], check=True)
        return json.loads(out.read_text())


def _write(name: str, document: dict[str, Any]) -> None:
    (HERE / name).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
