"""The gate: benchmarks of two builds, paired by name, judged against a margin, for CI.

``load`` reads benchmarks, ``judge`` decides about one of them, ``question`` asks about all, and
``result`` holds the answer and its words.
"""

from dkmd.answers.gate.judge import (
    FAILED,
    INCONCLUSIVE,
    NOT_WORSE,
    PASSED,
    UNDECIDED,
    WORSE,
    Evidence,
    Gate,
    GateRow,
    _holm,
    gate,
    load_benchmarks,
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
    "_holm",
    "gate",
    "load_benchmarks",
]
