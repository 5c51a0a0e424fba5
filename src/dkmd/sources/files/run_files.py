"""Runs of benchmarks: the files that paths, folders and patterns name, and when they were made."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks import (
    LARGEST_FILE,
    WHAT,
    looks_like_benchmarks,
    read_benchmarks,
    text_of,
)
from dkmd.sources.files.characters import whole_file
from dkmd.sources.files.history_file import (
    History,
    StoredRun,
    is_history,
    merged,
    read_history,
    stored_run,
)

_DATE = re.compile(r'"(?:date|datetime)"\s*:\s*"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^"]*)"')


def run_files(given: str) -> list[str]:
    """The benchmark files that a path names, in the order of their names (run-2 before run-10).

    A folder or a pattern without benchmark files is returned as it is: it may be a table.
    """
    if os.path.isdir(given):
        inside = [path for path in Path(given).iterdir() if path.name[0] not in "._"]
        found = [str(path) for path in inside if path.is_file()]
    elif not os.path.exists(given) and glob.has_magic(given):
        found = [path for path in glob.glob(given, recursive=True) if os.path.isfile(path)]
    else:
        return [given]
    runs = [path for path in found if looks_like_benchmarks(path) and not is_history(path)]
    return sorted(runs, key=_natural) or [given]


def _natural(path: str) -> list[tuple[int, int, str]]:
    """The sort key of a name, with its numbers as numbers."""
    parts = re.split(r"(\d+)", path)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]


def read_histories(given: Sequence[str]) -> History:
    """All runs of some benchmark files, folders, patterns and stores, oldest first.

    Runs are ordered by the dates in the files. Files without dates keep the order of their names.
    """
    dated: list[StoredRun] = []
    stored: list[StoredRun] = []
    for path in given:
        for file in _history_files(path):
            if is_history(file):
                stored += read_history(file)
            else:
                dated.append(stored_run(read_benchmarks(file), date_in(file), file))
    if all(run.date for run in dated):
        return merged(stored, dated)
    # without dates the files are the latest runs: a store holds older ones
    unique = {run.digest: run for run in dated}
    known = {run.digest for run in stored}
    return merged(stored) + tuple(run for run in unique.values() if run.digest not in known)


def runs_to_store(
    given: Sequence[str], label: str | None = None, date: str | None = None
) -> list[StoredRun]:
    """The runs of some files, folders, patterns and stores, each with a date.

    A run whose file gives no date has ``date``, or else it was made now.
    """
    found: list[StoredRun] = []
    wanted = None if date is None else normal_date(date)
    files = [file for path in given for file in _history_files(path)]
    fresh = [file for file in files if not is_history(file)]
    if len(fresh) > 1 and (label is not None or date is not None):
        raise BenchmarkFileError("--label and --date are for a single run: add one run at a time")
    moment = now()
    for file in files:
        if is_history(file):
            found += read_history(file)
            continue
        own = date_in(file)
        # runs that are added together keep the order of their names
        when = own or wanted or (moment if len(fresh) == 1 else f"{moment}.{len(found):06}")
        name = os.path.basename(file) if label is None else label
        found.append(stored_run(read_benchmarks(file), own, name, when))
    return found


def _history_files(given: str) -> list[str]:
    """The files of one argument of ``--history``: runs, and stores among them."""
    if os.path.isdir(given):
        inside = [str(path) for path in Path(given).iterdir() if path.name[0] not in "._"]
    elif not os.path.exists(given) and glob.has_magic(given):
        inside = glob.glob(given, recursive=True)
    else:
        return [given]
    files = [path for path in inside if os.path.isfile(path)]
    found = [path for path in files if is_history(path) or looks_like_benchmarks(path)]
    if not found:
        raise BenchmarkFileError(f"{given}: there is no benchmark file and no history")
    return sorted(found, key=_natural)


def date_in(path: str) -> str:
    """When a run was made, as its file says: the first date in it; empty if there is none.

    pyperf, pytest-benchmark and google-benchmark write dates. Dates are in UTC where the file gives
    an offset, so that they sort.
    """
    found = _DATE.search(text_of(whole_file(path, LARGEST_FILE, WHAT), path))
    try:
        return normal_date(found.group(1)) if found else ""
    except BenchmarkFileError:
        return ""


def normal_date(text: str) -> str:
    """A date in one form that sorts: 2026-03-01T12:30:00.

    Examples
    --------
    >>> normal_date("2026-03-01 12:30:00.25"), normal_date("2026-03-01T12:30:00+02:00")
    ('2026-03-01T12:30:00', '2026-03-01T10:30:00')
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise BenchmarkFileError(
            f"{text!r} is not a date: give one such as 2026-03-01T12:30"
        ) from None
    if when.tzinfo is not None:
        when = when.astimezone(UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%S")


def now() -> str:
    """The date of a run whose file has none: now, in UTC."""
    return normal_date(datetime.now(UTC).isoformat())
