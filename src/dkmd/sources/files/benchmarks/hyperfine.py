"""``hyperfine --export-json``: one entry per command, with all its times in seconds."""

from __future__ import annotations

from typing import Any

from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks.checks import fresh, numbers, short
from dkmd.sources.files.benchmarks.model import BenchmarkFile


def belongs(document: dict[str, Any]) -> bool:
    """Whether a JSON document is a file of hyperfine."""
    return isinstance(document.get("results"), list)


def read(document: dict[str, Any]) -> BenchmarkFile:
    """Every command; every run is its own process."""
    found = BenchmarkFile()
    for result in document["results"]:
        name = str(result["command"])
        if "times" not in result:
            raise BenchmarkFileError(f"{short(name)} has no single times; use --export-json")
        measured = fresh(found, name, "s")
        measured.add_alone(numbers(result["times"], name))
        measured.failure = _failed_runs(result.get("exit_codes") or [])
    return found


def _failed_runs(codes: list[int | None]) -> str:
    """The failed runs that ``--ignore-failure`` kept, by their exit codes; None is a signal."""
    failed = [code for code in codes if code != 0]
    if not failed:
        return ""
    shown = sorted({"a signal" if code is None else f"exit code {short(code)}" for code in failed})
    return f"failed: {len(failed)} of {len(codes)} runs ended with {', '.join(shown[:5])}"
