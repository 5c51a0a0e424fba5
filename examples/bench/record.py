"""Record the shipped benchmark files: workload.py timed by hyperfine and pyperf, two builds each.

Needs both tools on the path (hyperfine; ``pip install pyperf``). "branch" does 20 % more work in
one of two benchmarks. Of the metadata of pyperf only name and unit are kept: the rest describes
a machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BUILDS = {"main": 0, "branch": 8}


def main() -> None:
    """Write four files beside this one."""
    for build, extra in BUILDS.items():
        _hyperfine(build, extra)
        _pyperf(build, extra)


def _hyperfine(build: str, extra: int) -> None:
    run = f"{sys.executable} {HERE / 'workload.py'}"
    out = HERE / f"hyperfine-{build}.json"
    subprocess.run(
        [
            "hyperfine", "-N", "--warmup", "3", "--runs", "40", "--export-json", str(out),
            "-n", "count-words", f"{run} --extra {extra}",
            "-n", "count-words-small", f"{run} --rounds 5",
        ],
        check=True,
    )  # fmt: skip


def _pyperf(build: str, extra: int) -> None:
    """One benchmark a call of pyperf; the files are joined, without the machine's metadata."""
    setup = f"import sys; sys.path.insert(0, {str(HERE)!r}); from workload import count_words"
    benchmarks = []
    for name, rounds in (("count-words", 40 + extra), ("count-words-small", 5)):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.json"
            subprocess.run(
                [
                    sys.executable, "-m", "pyperf", "timeit", "-p", "12", "-n", "3", "-w", "1",
                    "--name", name, "-o", str(out), "-s", setup, f"count_words({rounds})",
                ],
                check=True,
            )  # fmt: skip
            recorded = json.loads(out.read_text())
        runs = [{"values": r["values"]} for r in recorded["benchmarks"][0]["runs"] if "values" in r]
        benchmarks.append({"metadata": {"name": name}, "runs": runs})
    document = {"version": "1.0", "metadata": {"unit": "second"}, "benchmarks": benchmarks}
    (HERE / f"pyperf-{build}.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
