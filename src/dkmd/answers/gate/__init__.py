"""The gate: benchmarks of two builds, paired by name, judged against a margin, for CI.

``load`` reads benchmarks, ``runs`` knows how much they change from run to run, ``judge`` decides
about one of them, ``question`` asks about all, and ``result`` holds the answer and its words.
"""

from dkmd.answers.gate.load import load_benchmarks, load_runs
from dkmd.answers.gate.question import gate
from dkmd.answers.gate.result import (
    FAILED,
    INCONCLUSIVE,
    NOT_WORSE,
    PASSED,
    UNDECIDED,
    WORSE,
    Evidence,
    Gate,
    GateRow,
)
from dkmd.sources.files.run_files import read_histories

__all__ = [
    "FAILED",
    "INCONCLUSIVE",
    "NOT_WORSE",
    "PASSED",
    "UNDECIDED",
    "WORSE",
    "Evidence",
    "Gate",
    "GateRow",
    "gate",
    "load_benchmarks",
    "load_runs",
    "read_histories",
]
