"""The gate in words: its outcome in a sentence or a line, and what to watch out for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dkmd.answers.comparison import plain_margin
from dkmd.answers.gate.result import (
    FAILED,
    INCONCLUSIVE,
    MISSING,
    NOT_JUDGED,
    PASSED,
    UNDECIDED,
    WORSE,
)
from dkmd.base.wording import names_by_note, short_percent
from dkmd.render.terminal import fitting_line, named, shortened
from dkmd.sources.files.benchmarks import go_processors

if TYPE_CHECKING:
    from dkmd.answers.gate.result import Gate

MARKS = {PASSED: "✓", FAILED: "✗", INCONCLUSIVE: "?"}


def headline(gate: Gate) -> str:
    """The outcome in one sentence, with some names."""
    total, beyond = len(gate.judged), f"worse by more than {margin_words(gate)}"
    worse, undecided = gate.named(WORSE), gate.named(UNDECIDED)
    if gate.outcome == PASSED:
        return f"PASSED: none of {total} benchmarks is {beyond}."
    if gate.outcome == INCONCLUSIVE:
        return (
            f"INCONCLUSIVE: {len(undecided)} of {total} benchmarks may or may not be {beyond}: "
            f"{named(undecided)}."
        )
    found = []
    if worse:
        found.append(f"{len(worse)} of {total} benchmarks {beyond}: {named(worse)}")
    if gate.missing and gate.missing_fails:
        found.append(f"{len(gate.missing)} missing: {named(gate.missing)}")
    return f"FAILED: {'; '.join(found)}."


def closing_line(gate: Gate, width: int | None, names: bool) -> str:
    """The outcome in one line. If it is too wide, names go first, then counts, then the mean."""
    outcome = gate.outcome
    total, beyond = len(gate.judged), f"worse by more than {margin_words(gate)}"
    worse, undecided = gate.named(WORSE), gate.named(UNDECIDED)
    told, meant = f"none of {total} {beyond}", worse or list(gate.missing)
    if worse:
        told = f"{len(worse)} of {total} {beyond}"
    elif outcome == INCONCLUSIVE:
        told, meant = f"{len(undecided)} of {total} may be {beyond}", undecided
    missing = f", {len(gate.missing)} {MISSING}" if gate.missing else ""
    failing = bool(missing) and gate.missing_fails
    also = f", {len(undecided)} inconclusive" if outcome == FAILED and undecided else ""
    mean = ""
    if not math.isnan(gate.mean_change):
        mean = f"   {gate.mean_of()} {short_percent(gate.mean_change)}"
    parts = [
        (f"{MARKS[outcome]} {outcome.upper()}  {told}", 0),
        (missing, 0 if failing else 2),
        (also, 3),
        (f": {named(meant)}" if names and meant and outcome != PASSED else "", 4),
        (mean, 1),
    ]
    return fitting_line(parts, width or 10**9)


def margin_words(gate: Gate) -> str:
    """The margin of all benchmarks, or that each has its own."""
    margins = {gate.margin if row.margin is None else row.margin for row in gate.judged}
    if len(margins) > 1:
        return "their margins"
    return plain_margin(margins.pop() if margins else gate.margin, "")


def notes(gate: Gate, most: int | None, one_sided: bool = True) -> list[str]:
    """Reasons by the names that they concern, and what was not judged.

    ``one_sided`` includes benchmarks that are in one file only.
    """
    reasons = names_by_note((_short(row.name, most), row.reason) for row in gate.rows)
    told = [f"{named(names, most)}: {why}" for why, names in reasons.items() if why]
    return told + not_judged(gate, most, one_sided) + list(gate.run_notes)


def _short(name: str, most: int | None) -> str:
    """A name in a note, shortened if the notes are short."""
    return name if most is None else shortened(name, LONGEST_NAME)


LONGEST_NAME = 40


def only_shown(gate: Gate, most: int | None) -> list[str]:
    """The benchmarks that are shown but not judged, and why."""
    shown = names_by_note((r.name, r.reason) for r in gate.rows if r.verdict == NOT_JUDGED)
    return [f"not judged: {named(names, most)}: {why}" for why, names in shown.items()]


def not_judged(gate: Gate, most: int | None, one_sided: bool = True) -> list[str]:
    """Benchmarks that are in one file only, and columns that were left out."""
    told = []
    if gate.missing and one_sided:
        told.append(f"missing from current: {named(gate.missing, most)}")
    if gate.new and one_sided:
        told.append(f"new in current, not judged: {named(gate.new, most)}")
    renamed = processors_differ(gate.missing, gate.new)
    if renamed:
        told.append(renamed)
    reasons = names_by_note(gate.left_out.items())
    return told + [f"not judged: {named(names, most)} {why}" for why, names in reasons.items()]


def remarks(gate: Gate) -> list[str]:
    """Which benchmarks are better when higher, and what the intervals know about runs."""
    higher = [row.name for row in gate.judged if row.better == "higher"]
    found = []
    if higher:
        some = f" for {named(higher)}; lower is better for the others"
        lower = any(row.better == "lower" for row in gate.judged)
        found.append("higher is better" + (some if lower else ""))
    return found + ([gate.about_runs] if gate.about_runs else [])


def processors_differ(before: Sequence[str], after: Sequence[str]) -> str:
    """A note if names differ only in the number that Go appends for GOMAXPROCS; else empty."""
    then = dict(go_processors(name) for name in before)
    now = dict(go_processors(name) for name in after)
    for bare, processors in then.items():
        if now.get(bare, processors) != processors:
            counts = [f"-{count}" if count else "none" for count in (processors, now[bare])]
            return (
                f"the names differ in the GOMAXPROCS that Go appends ({' and '.join(counts)}): run "
                "both with the same -cpu"
            )
    return ""
