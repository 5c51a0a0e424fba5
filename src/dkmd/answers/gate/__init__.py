"""The gate: benchmarks of two builds, paired by name, judged against a margin, for CI.

``load`` reads benchmarks, ``judge`` decides about one of them, ``question`` asks about all, and
``result`` holds the answer and its words.
"""

from dkmd.answers.gate.load import load_benchmarks
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
]
