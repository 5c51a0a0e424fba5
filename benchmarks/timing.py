"""How every benchmark measures time (the best of several runs, in turns) and peak memory."""

from __future__ import annotations

import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version


def best_seconds(
    *functions: Callable[[], object],
    budget: float = 3.0,
    rounds: int = 50,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """The shortest time of each function. They take turns, so that noise affects all of them.

    There are at least three rounds, then more until ``budget`` seconds have passed (``rounds`` at
    most). ``clock=time.process_time`` measures CPU time, which other processes affect less.
    """
    for function in functions:
        function()  # compiles, warms caches
    best = [math.inf] * len(functions)
    start = time.perf_counter()
    for round_ in range(rounds):
        if round_ >= 3 and time.perf_counter() - start > budget:
            break
        for i, function in enumerate(functions):
            begin = clock()
            function()
            best[i] = min(best[i], clock() - begin)
    return best


def extra_mebibytes(setup: str, call: str) -> float:
    """Peak memory that ``call`` adds after ``setup``, measured in a separate process."""
    code = (
        "import re, pathlib\n"
        "def peak():\n"
        "    status = pathlib.Path('/proc/self/status').read_text()\n"
        "    return int(re.search(r'VmHWM:\\s*(\\d+)', status)[1])\n"
        f"{setup}\n"
        "before = peak()\n"
        f"{call}\n"
        "print(peak() - before)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(run.stdout) / 1024


_WATCHED = """
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
seconds = time.perf_counter() - start
print(code, seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_of_command(command: Sequence[str]) -> tuple[float, float]:
    """Seconds and peak memory in MiB of a command, which must succeed.

    A small process starts the command. A process forked from this one would begin with the memory
    of this one, and the system would count that.
    """
    watcher = [sys.executable, "-c", _WATCHED, *command]
    done = subprocess.run(watcher, stdout=subprocess.PIPE, text=True, check=True)
    code, seconds, kibibytes = done.stdout.split()
    if int(code):
        raise RuntimeError(f"{' '.join(command)} exits with {code}")
    return float(seconds), int(kibibytes) / 1024


def machine() -> dict[str, str]:
    """The machine and the versions of the packages."""
    names = ("dkmd", "numpy", "numba", "scipy", "statsmodels")
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: version(name) for name in names},
    }
