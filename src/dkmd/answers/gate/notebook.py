"""A gate in a notebook: its table, an interval bar and a picture of both builds for each row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dkmd.answers.gate.listing import whole_table
from dkmd.answers.gate.result import BETTER, WORSE
from dkmd.render.figures.notebook import NO_LINE, Line, answer_html, overview

if TYPE_CHECKING:
    from dkmd.answers.gate.result import Gate

COLOURS = {WORSE: "higher", BETTER: "lower"}
"""A bad change has the colour of an alarm, whichever way it points."""


def gate_html(gate: Gate) -> str:
    """The answer as HTML. Bars are in percent; rows that were judged in other units have none."""
    table = whole_table(gate)
    lines = [_line(gate, row[0]) for row in table[1:]]
    return answer_html(gate.headline(), table, gate.notes(), beside=overview(lines, percent=True))


def _line(gate: Gate, name: str) -> Line | None:
    """The change of one benchmark in percent, and its values."""
    row = next((row for row in gate.rows if row.name == name), None)
    evidence = gate.evidence.get(name)
    if row is None or evidence is None or evidence.result is None or not row.relative:
        return NO_LINE
    known = [
        np.array([v for v in side.values if not math.isnan(v)], dtype=np.float64)
        for side in (evidence.reference, evidence.current)
    ]
    interval = 100.0 * row.interval[0], 100.0 * row.interval[1]
    return Line(
        evidence.result.outcome(),
        COLOURS.get(row.verdict, ""),
        100.0 * row.shift,
        interval,
        (known[0], known[1]),
    )
