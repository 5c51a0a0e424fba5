"""pyperf: each run is a process; a run without values was a calibration."""

from __future__ import annotations

from typing import Any

from dkmd.sources.files.benchmarks.checks import fresh, numbers
from dkmd.sources.files.benchmarks.model import BenchmarkFile

UNITS = {"second": "s", "byte": "B"}


def read(document: dict[str, Any]) -> BenchmarkFile:
    """Every benchmark, with the process of each value."""
    common = document.get("metadata", {})
    found = BenchmarkFile()
    for benchmark in document["benchmarks"]:
        metadata = {**common, **benchmark.get("metadata", {})}
        name = str(metadata.get("name", "benchmark"))
        unit = str(metadata.get("unit", "second") or "")
        measured = fresh(found, name, UNITS.get(unit, unit))
        for process, run in enumerate(benchmark["runs"]):
            measured.add(numbers(run.get("values", []), name), process)
            said = {**metadata, **run.get("metadata", {})}
            known = {"machine": said.get("hostname"), "round": said.get("round")}
            marks = {key: str(value) for key, value in known.items() if value is not None}
            if marks:
                measured.marks[process] = marks
    return found
