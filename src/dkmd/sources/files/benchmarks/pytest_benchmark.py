"""pytest-benchmark: single rounds are saved only with --benchmark-save-data."""

from __future__ import annotations

from typing import Any

from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks.checks import fresh, numbers, short
from dkmd.sources.files.benchmarks.model import BenchmarkFile


def read(document: dict[str, Any]) -> BenchmarkFile:
    """Every benchmark, with its rounds in the order in which they ran."""
    found = BenchmarkFile()
    for benchmark in document["benchmarks"]:
        name = str(benchmark["fullname"])
        data = benchmark["stats"].get("data")
        if not data:
            raise BenchmarkFileError(
                f"{short(name)} has no single rounds; run pytest with --benchmark-save-data"
            )
        fresh(found, name, "s").add_alone(numbers(data, name))
    machine = document.get("machine_info")
    return found.mark(machine=machine.get("node") if isinstance(machine, dict) else None)
