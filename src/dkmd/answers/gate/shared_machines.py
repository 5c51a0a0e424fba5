"""Benchmarks that both builds ran on the same machines, or in the same rounds.

The machine's own speed is on both sides and cancels. Machines are the units: how much the change
differs between them is the error, so nothing else is needed about changes from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence

from dkmd.answers.gate.runs import RunsOfAll
from dkmd.base.wording import count
from dkmd.render.terminal import named
from dkmd.sources.files.benchmarks import BenchmarkFile
from dkmd.sources.files.history_file import History


def paired_runs(
    before: BenchmarkFile,
    after: BenchmarkFile,
    names: Sequence[str],
    sides: tuple[int, int],
    pair_by: str,
    history: History,
) -> RunsOfAll:
    """What is known about the runs of benchmarks that are paired: what they have in common."""
    if history:
        raise ValueError(
            "a history says how much runs differ, and pairs do not need it: give history or "
            "pair_by, not both"
        )
    reference, current = (_units(side, names, pair_by) for side in (before, after))
    for label, found in (("reference", reference), ("current", current)):
        if not found:
            raise ValueError(
                f"pair_by: the files of {label} do not say their {pair_by} (pyperf writes "
                "hostname, and round if you add it; hyperfine's runs are not paired)"
            )
    shared = sorted(reference & current)
    if len(shared) < 2:
        have = (
            f"reference has {named(sorted(reference), 3)}; current has {named(sorted(current), 3)}"
        )
        raise ValueError(
            f"pairing by {pair_by} needs two or more on both sides, and {count(len(shared))} is "
            f"shared: {have}"
        )
    about = f"benchmarks are paired by {pair_by}: {count(len(shared))} on both sides"
    return RunsOfAll({}, sides, about=about)


def _units(side: BenchmarkFile, names: Sequence[str], pair_by: str) -> set[str]:
    """What all benchmarks of a side are paired by."""
    found = {label for name in names if name in side for label in side[name].marked(pair_by)}
    return {label for label in found if label is not None}
