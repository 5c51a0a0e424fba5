"""The words for arms of an experiment whose sizes are not as planned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dkmd.answers.sample_ratio import SampleRatio
from dkmd.base.wording import count, probability

if TYPE_CHECKING:
    from dkmd.answers.comparison.several import ColumnAnswer


SHOWN = 3
"""Pairs of unequal arms that the sentence lists."""


def unequal_arms(comparisons: Iterable[ColumnAnswer]) -> list[str]:
    """A first sentence if the arms are unequal beyond chance; the same arms are told once."""
    found: dict[tuple[str, str], SampleRatio] = {}
    for c in comparisons:
        if c.sample_ratio is not None and c.sample_ratio.unequal:
            found.setdefault((c.reference.label, c.current.label), c.sample_ratio)
    if not found:
        return []
    parts = [
        _sizes(arms) if len(found) == 1 else f"{before} and {after}: {_sizes(arms)}"
        for (before, after), arms in found.items()
    ]
    more = [f"and {len(parts) - SHOWN:,} more"] if len(parts) > SHOWN else []
    told = "; ".join([*parts[:SHOWN], *more])
    return [f"The arms are unequal beyond chance: {told}. Find out why before you trust the rest."]


def _sizes(arms: SampleRatio) -> str:
    """The sizes of both arms, the expected ratio and the p-value."""
    ratio = ":".join(f"{part:g}" for part in arms.expected)
    return (
        f"{count(arms.reference)} and {count(arms.current)} {arms.counted} where {ratio} was "
        f"expected, {probability(arms.pvalue)}"
    )
