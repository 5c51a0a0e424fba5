"""The gate: benchmarks of two builds, paired by name, judged against a margin, for CI.

``load`` reads benchmarks. ``limits`` says what counts as worse, ``judge`` tests one benchmark, and
``decide`` turns all p-values into verdicts. ``question`` asks about all. ``result`` holds the
answer; ``words``, ``listing`` and ``markdown`` show it.
"""

from dkmd.answers.gate.limits import Rule
from dkmd.answers.gate.load import load_benchmarks
from dkmd.answers.gate.question import gate
from dkmd.answers.gate.result import (
    BETTER,
    FAILED,
    INCONCLUSIVE,
    MISSING,
    NEW,
    NOT_WORSE,
    PASSED,
    SAME,
    UNDECIDED,
    VERDICTS,
    WORSE,
    Evidence,
    Gate,
    GateRow,
)

__all__ = [
    "BETTER",
    "FAILED",
    "INCONCLUSIVE",
    "MISSING",
    "NEW",
    "NOT_WORSE",
    "PASSED",
    "SAME",
    "UNDECIDED",
    "VERDICTS",
    "WORSE",
    "Evidence",
    "Gate",
    "GateRow",
    "Rule",
    "gate",
    "load_benchmarks",
]
