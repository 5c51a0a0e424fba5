"""The adjusted test of two summaries with columns g, wherever they were summed up."""

from __future__ import annotations

from dataclasses import replace

from dkmd.binned.crossed import Crossed
from dkmd.inference.adjusting import Effect, adjust, imbalance, notes_on
from dkmd.inference.cross import Cross
from dkmd.inference.frame import Frame
from dkmd.inference.one_test import Clustering, compare_summaries
from dkmd.inference.options import Options
from dkmd.inference.result import ExactOutcome, Outcome


def compare_crossed(
    x: Crossed,
    y: Crossed,
    frame: Frame,
    options: Options,
    effect: Effect | None = None,
    checked: bool = True,
    grouped: Clustering | None = None,
) -> Outcome:
    """The test of two sides from their sums. ``checked`` compares covariates between the sides.

    ``effect`` says what is left of ψ, and ``grouped`` what groups do to the raw test.
    """
    raw = compare_summaries(x.summary, y.summary, options, grouped)
    if not isinstance(raw, ExactOutcome):
        return raw
    cross = Cross.of_crossed(raw.pair.x, x), Cross.of_crossed(raw.pair.y, y)
    found = adjust(raw, cross, frame, effect)
    if checked:
        found = replace(found, notes=(*found.notes, *notes_on(imbalance(x, y, frame))))
    return found
