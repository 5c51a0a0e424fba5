"""Gates of real runs of the same commit: ``python benchmarks/gate_real.py REPOSITORY``.

REPOSITORY is a clone (or a bare one) of a fork of github.com/faster-cpython/benchmarking-public,
which keeps the pyperf files of CPython's suite on several machines. Release 3.13.0b1 was measured
twice on five of them. Each pair is compared in both directions, without and with a history: the
runs of the 3.14 development branch on that machine, the oldest 45 at most. Prints the table of
docs/gate_runs.md.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dkmd.answers.gate import WORSE, Gate, gate, load_benchmarks, read_histories

TWICE = "2268289"
"""The commit of 3.13.0b1, of which there are two runs on each machine."""

MOST_RUNS = 45
MARGINS = ("0.001%", "3%", "5%")

NAME = re.compile(
    r"results/bm-\d+-[\w.+]+-[0-9a-f]{7}/"  # other builds (JIT, no GIL) have a longer folder name
    r"bm-(?P<date>\d+)-(?P<machine>\w+?)-\w+-python-.+-(?P<version>3[\w.+]+)-(?P<commit>[0-9a-f]{7})"
    r"\.json"
)


class Run(NamedTuple):
    """A pyperf file of the repository."""

    path: str
    date: str
    machine: str
    version: str
    commit: str


def runs_of(repository: Path) -> list[Run]:
    """All runs of plain builds of CPython's own branches, oldest first."""
    listed = _git(repository, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines()
    found = [(path, NAME.fullmatch(path)) for path in listed]
    return sorted(
        (Run(path, **match.groupdict()) for path, match in found if match),
        key=lambda run: (run.date, run.path),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    repository = parser.parse_args().repository
    by_machine: dict[str, list[Run]] = defaultdict(list)
    for run in runs_of(repository):
        by_machine[run.machine].append(run)
    print("| machine | history | run to run | margin | worse, without a history | with it |")
    print("|---|---:|---:|---:|---:|---:|")
    for machine, runs in by_machine.items():
        pair = [run for run in runs if run.commit == TWICE]
        if len(pair) == 2:
            past = [run for run in runs if run.version.startswith("3.14.0a")][:MOST_RUNS]
            for row in rows_of(repository, machine, pair, past):
                print(row)


def rows_of(
    repository: Path, machine: str, pair: Sequence[Run], past: Sequence[Run]
) -> Iterable[str]:
    """The rows of a machine, one for each margin; both directions stand in one cell."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, other = (load_benchmarks(_copied(repository, run, folder)) for run in pair)
        history = read_histories([_copied(repository, run, folder) for run in past])
    for margin in MARGINS:
        alone = [gate(a, b, margin=margin) for a, b in ((one, other), (other, one))]
        known = [
            gate(a, b, margin=margin, history=history) for a, b in ((one, other), (other, one))
        ]
        usual = re.search(r"typically ([\d.]+%)", known[0].about_runs)
        yield (
            f"| {machine} | {len(past)} | {usual[1] if usual else ''} | {margin} "
            f"| {_counted(alone)} | {_counted(known)} |"
        )


def _counted(gates: Sequence[Gate]) -> str:
    """How many benchmarks of each gate are worse."""
    return " and ".join(str(sum(row.verdict == WORSE for row in each.rows)) for each in gates)


def _copied(repository: Path, run: Run, folder: Path) -> str:
    """The path of a run that was copied to a folder."""
    path = folder / Path(run.path).name
    path.write_bytes(_git(repository, "show", f"HEAD:{run.path}"))
    return str(path)


def _git(repository: Path, *words: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(repository), *words], stdout=subprocess.PIPE, check=True
    ).stdout


if __name__ == "__main__":
    main()
