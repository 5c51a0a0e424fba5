"""``cargo criterion --message-format=json``: one message per line, one per finished benchmark.

Each sample is a time of many iterations. Its value here is the time per iteration.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dkmd.base.errors import BenchmarkFileError, UnknownFormatError
from dkmd.sources.files.benchmarks.checks import cut, fresh, per_iteration, short
from dkmd.sources.files.benchmarks.model import BenchmarkFile

COMPLETE = "benchmark-complete"


def belongs(message: dict[str, Any]) -> bool:
    """Whether a first line of JSON is a message of cargo-criterion."""
    return "reason" in message


def read(messages: Iterable[dict[str, Any]]) -> BenchmarkFile:
    """Every benchmark; each sample is a unit of its own."""
    found = BenchmarkFile()
    for message in messages:
        if message.get("reason") == COMPLETE:
            _add(found, message)
    if not found:
        raise UnknownFormatError(f"no line is a message {COMPLETE!r} of cargo-criterion")
    return found


def _add(found: BenchmarkFile, message: dict[str, Any]) -> None:
    name = str(message["id"])
    totals, counts = message["measured_values"], message["iteration_count"]
    if len(totals) != len(counts):
        raise BenchmarkFileError(
            f"{short(name)} has {len(totals)} measured_values and {len(counts)} iteration_count"
        )
    measured = fresh(found, name, cut(message["unit"]))
    measured.add_alone(per_iteration(t, n, name) for t, n in zip(totals, counts, strict=True))
