"""airspeed velocity: ``results/MACHINE/COMMIT-ENVIRONMENT.json`` of version 1 or 2.

Single samples are saved only with ``asv run --record-samples``. Parameters are part of the name:
"bench.Suite.time_sort(100, 'quick')". The file does not say units; the names of the methods do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks.checks import fresh, named, number, numbers, short
from dkmd.sources.files.benchmarks.model import BenchmarkFile, better_of

NO_SAMPLES = "the file has one value per benchmark: use asv run --record-samples"

FAILED, SKIPPED = "failed: asv has no result", "was skipped"

UNITS = {"time": "s", "timeraw": "s", "mem": "B", "peakmem": "B"}
"""Units by the first word of a method's name; ``track_`` may measure anything."""


def belongs(document: dict[str, Any]) -> bool:
    """Whether a JSON document is a result file of asv."""
    known = "result_columns" in document or "commit_hash" in document
    return known and isinstance(document.get("results"), dict)


def read(document: dict[str, Any]) -> BenchmarkFile:
    """Every benchmark at every combination of its parameters."""
    found = BenchmarkFile()
    columns = document.get("result_columns")
    for benchmark, row in document["results"].items():
        entry = dict(zip(columns, row, strict=False)) if columns else _of_version_1(row)
        for name, result, samples in _combinations(benchmark, entry):
            if result is not None and math.isnan(number(result, name)):
                found.left_out[name] = SKIPPED
                continue
            method = benchmark.rpartition(".")[2]
            unit = UNITS.get(method.partition("_")[0].lower(), "")
            measured = fresh(found, name, unit, better=better_of(unit, "" if unit else method))
            if result is None:
                measured.failure = FAILED
            elif samples:
                measured.add_alone(numbers(samples, name))
            else:
                measured.add_alone([number(result, name)])
                measured.advice = NO_SAMPLES
    params = document.get("params")
    return found.mark(machine=params.get("machine") if isinstance(params, dict) else None)


def _of_version_1(row: Any) -> dict[str, Any]:
    """An entry of version 1: a mapping, or the bare result."""
    entry = dict(row) if isinstance(row, dict) else {"result": row}
    if not isinstance(entry.get("result"), list):
        entry["result"] = [entry.get("result")]
        samples = entry.get("samples")
        flat = isinstance(samples, list) and not any(isinstance(s, list) for s in samples)
        entry["samples"] = [samples] if flat else samples
    return entry


def _combinations(benchmark: str, entry: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The name, the result and the samples of each combination of parameters, the last fastest."""
    params = entry.get("params") or []
    count = math.prod(len(values) for values in params)
    results, samples = entry.get("result"), entry.get("samples")
    if results is None:  # every combination failed: asv keeps one null
        yield benchmark, None, None
        return
    samples = [None] * len(results) if samples is None else samples
    if not len(results) == len(samples) == count:
        raise BenchmarkFileError(
            f"{short(benchmark)} has {count} combinations of parameters, {len(results)} results "
            f"and {len(samples)} lists of samples"
        )
    for chosen, result, each in zip(itertools.product(*params), results, samples, strict=True):
        shown = ", ".join(str(value) for value in chosen)
        yield named(benchmark + (shown and f"({shown})")), result, each
