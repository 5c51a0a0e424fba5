"""How long a gate takes from the command line: ``python benchmarks/gate_speed.py``.

Two pyperf files of 84 benchmarks are judged by ``dkmd gate`` and by ``pyperf compare_to``. A third
program loads Numba and calls one small function from Numba's cache: no gate that uses Numba can be
faster than that. The programs take turns, and the shortest of several runs counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from gate_files import Suite

ONE_LOOP = """
import numba
import numpy as np

@numba.njit(cache=True)
def total(values):
    result = 0.0
    for value in values:
        result += value
    return result

total(np.ones(3))
"""


def programs(folder: Path, benchmarks: int) -> dict[str, list[str]]:
    """The command lines to compare, and their files in a folder."""
    suite = Suite.drawn(benchmarks, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    files = []
    for day in range(2):
        files.append(str(folder / f"run-{day}.json"))
        Path(files[-1]).write_text(json.dumps(suite.run(rng, day)))
    one_loop = folder / "one_loop.py"
    one_loop.write_text(ONE_LOOP)
    python = sys.executable
    return {
        "pyperf compare_to": [python, "-m", "pyperf", "compare_to", *files],
        "dkmd gate": [python, "-m", "dkmd", "gate", *files],
        "one cached loop of Numba": [python, str(one_loop)],
        "import numba": [python, "-c", "import numba"],
    }


def shortest(commands: dict[str, list[str]], rounds: int) -> dict[str, float]:
    """The shortest time of each command, in seconds; the first round fills the caches."""
    # without bytecode on disk, most of the time would go into compiling Python
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    taken = dict.fromkeys(commands, float("inf"))
    for turn in range(rounds + 1):
        for name, command in commands.items():
            begun = time.perf_counter()
            done = subprocess.run(command, env=environment, capture_output=True, check=False)
            if done.returncode not in (0, 1, 3):
                raise SystemExit(f"{name} failed: {done.stderr.decode()}")
            if turn:
                taken[name] = min(taken[name], time.perf_counter() - begun)
    return taken


def main() -> None:
    """Print the times, and their ratios to pyperf's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", type=int, default=84)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        taken = shortest(programs(Path(folder), given.benchmarks), given.rounds)
    peer = next(iter(taken.values()))
    print("| program | seconds | times pyperf |\n|---|---|---|")
    for name, seconds in taken.items():
        print(f"| {name} | {seconds:.2f} | {seconds / peer:.1f} |")


if __name__ == "__main__":
    main()
