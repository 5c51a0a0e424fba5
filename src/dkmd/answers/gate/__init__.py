"""The gate: benchmarks of two builds, paired by name, judged against a margin, for CI.

``load`` reads benchmarks, and ``runs`` knows how much they change from run to run. ``limits`` says
what counts as worse, ``judge`` tests one benchmark, and ``decide`` turns p-values into verdicts.
``unjudged`` shows what has no direction.
``question`` asks about all. ``result`` holds the answer; ``words``, ``listing`` and ``markdown``
show it.
"""

from dkmd.answers.gate.limits import Rule
from dkmd.answers.gate.load import load_benchmarks, load_runs
from dkmd.answers.gate.question import gate
from dkmd.answers.gate.result import (
    BETTER,
    FAILED,
    INCONCLUSIVE,
    MISSING,
    NEW,
    NOT_JUDGED,
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
from dkmd.sources.files.run_files import read_histories

__all__ = [
    "BETTER",
    "FAILED",
    "INCONCLUSIVE",
    "MISSING",
    "NEW",
    "NOT_JUDGED",
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
    "load_runs",
    "read_histories",
]
