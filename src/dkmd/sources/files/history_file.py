"""The store of a history: a few numbers for each benchmark and run, in one JSON file.

Each run is one line, and runs are in the order of their dates. So two stores that were changed
apart can be merged line by line (Git: ``history.json merge=union``): a run that is there twice
counts once. Levels are those of logarithms (``run_levels``), so only positive benchmarks
are stored.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dkmd.base.errors import BenchmarkFileError
from dkmd.base.whole_files import write_whole
from dkmd.inference.runs.blocks import blocks_of
from dkmd.inference.runs.heavy_tails import RunsOfPast
from dkmd.inference.runs.run_levels import RunLevel, run_level
from dkmd.sources.files.benchmarks import (
    LARGEST_FILE,
    NANOSECONDS,
    Benchmarks,
    Measurements,
    text_of,
)
from dkmd.sources.files.characters import whole_file

FORMAT, VERSION = "dkmd-history", 1
WHAT = "a history"


@dataclass(frozen=True)
class StoredLevel:
    """The level of one benchmark in one run: a logarithm, in a unit."""

    unit: str
    level: RunLevel

    def in_unit(self, unit: str) -> RunLevel | None:
        """The level in another unit of time; None if the units cannot be compared."""
        if unit == self.unit:
            return self.level
        if not {unit, self.unit} <= set(NANOSECONDS):
            return None
        factor = math.log(NANOSECONDS[self.unit] / NANOSECONDS[unit])
        return self.level._replace(center=self.level.center + factor)


@dataclass(frozen=True)
class StoredRun:
    """One run: what it is called, when it was, and the level of each benchmark."""

    digest: str
    date: str
    label: str
    levels: Mapping[str, StoredLevel]

    @property
    def place(self) -> tuple[str, str, str]:
        """The sort key: runs are ordered by date."""
        return self.date, self.label, self.digest


History = tuple[StoredRun, ...]
"""Runs, oldest first."""


def stored_run(
    benchmarks: Benchmarks, own_date: str, label: str, date: str | None = None
) -> StoredRun:
    """A run as it is stored: levels of the benchmarks that are positive and did not fail.

    ``own_date`` is the date that its file gives, and part of the digest. ``date`` replaces it.
    """
    levels = {
        name: StoredLevel(measured.unit, level)
        for name, measured in benchmarks.items()
        if not measured.failure and (level := level_of_logs(measured)) is not None
    }
    when = own_date if date is None else date
    return StoredRun(content_digest(benchmarks, own_date), when, label, levels)


def level_of_logs(measured: Measurements) -> RunLevel | None:
    """The level of the logarithms of one run; None if a value has no logarithm."""
    values = np.asarray(measured.values, dtype=np.float64)
    groups = np.asarray(measured.groups)
    present = ~np.isnan(values)
    values, groups = values[present], groups[present]
    if not values.size or not (values.min() > 0.0 and np.isfinite(values).all()):
        return None
    logs = np.log(values)
    given = groups if measured.repeated else None
    blocks = blocks_of(logs, given)
    return run_level(logs, given if blocks is None else blocks)


def content_digest(benchmarks: Benchmarks, date: str = "") -> str:
    """A digest of all measurements: the same run has the same digest in any file."""
    found = hashlib.sha256(date.encode())
    for name in sorted(benchmarks):
        measured = benchmarks[name]
        head = json.dumps([name, measured.unit, measured.failure, len(measured.values)])
        found.update(head.encode())
        found.update(np.asarray(measured.values, dtype="<f8").tobytes())
        found.update(np.asarray(measured.groups, dtype="<i8").tobytes())
    return found.hexdigest()[:20]


def merged(*histories: Iterable[StoredRun], keep: int | None = None) -> History:
    """All runs of some histories by date, each run once; with ``keep``, only the latest ones."""
    runs = {run.digest: run for history in histories for run in history}
    ordered = tuple(sorted(runs.values(), key=lambda run: run.place))
    return ordered if keep is None else ordered[-keep:]


def history_in_unit(name: str, history: History, unit: str) -> RunsOfPast:
    """The levels of one benchmark in a unit. Runs in a unit of another kind are left out."""
    found = [
        (place, level)
        for place, run in enumerate(history)
        if name in run.levels and (level := run.levels[name].in_unit(unit)) is not None
    ]
    return RunsOfPast([level for _, level in found], [place for place, _ in found])


def is_history(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a store does."""
    try:
        with open(path, "rb") as file:
            start = file.read(200)
    except OSError:
        return False
    return f'"format": "{FORMAT}"'.encode() in start


def write_history(path: str | os.PathLike[str], history: Iterable[StoredRun]) -> None:
    """Write a store; the file is replaced in one step."""
    lines = [f'{{"format": "{FORMAT}", "version": {VERSION}, "runs": [']
    lines += [json.dumps(_document(run), ensure_ascii=False) + "," for run in history]
    lines.append("null]}")  # every run ends with a comma, so that lines can be merged
    write_whole(path, "\n".join(lines) + "\n")


def _document(run: StoredRun) -> dict[str, Any]:
    """A run as JSON: [centre, relative error, values, units, unit] for each benchmark.

    ``units`` are the processes, or the degrees of freedom + 1 of the error.
    """
    return {
        "digest": run.digest,
        "date": run.date,
        "label": run.label,
        "benchmarks": {
            name: [
                float(f"{math.exp(stored.level.center):.8g}"),
                _rounded(math.sqrt(stored.level.variance)),
                stored.level.values,
                _rounded(stored.level.df + 1.0),
                stored.unit,
            ]
            for name, stored in run.levels.items()
        },
    }


def _rounded(value: float) -> float | None:
    """A number to four digits; None for NaN."""
    return None if math.isnan(value) else float(f"{value:.4g}")


def read_history(path: str | os.PathLike[str]) -> History:
    """The runs of a store. A damaged store, or one of a newer version, raises an error."""
    name = os.fspath(path)
    text = text_of(whole_file(name, LARGEST_FILE, WHAT), name)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise BenchmarkFileError(
            f"{name} is damaged: it is not valid JSON (was it cut off, or merged by hand?)"
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BenchmarkFileError(
            f"{name} is not a history: make one with dkmd history add run.json --to {name}"
        )
    version = document.get("version")
    if version != VERSION:
        raise BenchmarkFileError(
            f"{name} is a history of version {version}, and this dkmd reads version {VERSION}"
        )
    try:
        return merged(_run(each) for each in document["runs"] if each is not None)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BenchmarkFileError(f"{name} is damaged: {error!r}") from None


def _run(document: dict[str, Any]) -> StoredRun:
    digest, date, label = (document[key] for key in ("digest", "date", "label"))
    if not all(isinstance(text, str) for text in (digest, date, label)):
        raise ValueError("digest, date and label of a run must be text")
    levels = {str(name): _level(each) for name, each in document["benchmarks"].items()}
    return StoredRun(digest, date, label, levels)


def _level(numbers: list[Any]) -> StoredLevel:
    center, error, values, units, unit = numbers
    if not (center > 0.0 and math.isfinite(center) and units >= 1 and int(values) >= 1):
        raise ValueError(f"{numbers!r} is not a level")
    if error is not None and not (error >= 0.0 and math.isfinite(error)):
        raise ValueError(f"{numbers!r} is not a level")
    variance = math.nan if error is None else float(error) ** 2
    level = RunLevel(math.log(center), variance, float(units) - 1.0, int(values), round(units))
    return StoredLevel(str(unit), level)
