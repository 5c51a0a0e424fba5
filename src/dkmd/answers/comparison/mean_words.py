"""The words about the mean, which is one of the findings of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dkmd.answers.findings import MEAN
from dkmd.answers.opinions import UP
from dkmd.base.wording import level_of

if TYPE_CHECKING:
    from dkmd.answers.comparison.one import Comparison


def mean_direction(c: Comparison) -> int:
    """1 or −1 if the mean clearly rose or fell, else 0."""
    mean = c.finding(MEAN)
    if mean is None or not mean.is_clear(c.alpha):
        return 0
    return 1 if mean.estimate > 0.0 else -1


def mean_tells_more(c: Comparison) -> bool:
    """Whether the mean clearly moved and the verdict does not say so already."""
    moved = mean_direction(c)
    told = (1 if c.direction == UP else -1) if c.is_clear else 0
    return moved not in (0, told)


def mean_moved(c: Comparison) -> str:
    """That the mean moved: mean rose by 4.83 ms (95% interval +2.1 to +7.5)."""
    assert c.mean is not None
    word = "rose" if c.mean.difference > 0.0 else "fell"
    return f"mean {word} by {mean_numbers(c).lstrip('+−')}"


def mean_numbers(c: Comparison) -> str:
    """The change of the mean with its interval."""
    assert c.mean is not None
    low, high = (c.display.end(end) for end in (c.mean.low, c.mean.high))
    return f"{c.display.amount(c.mean.difference)} ({level_of(c.alpha)} interval {low} to {high})"


def mean_tags(c: Comparison) -> list[str]:
    """The change of the mean in a few words, if the verdict does not say it: mean +4.83 ms."""
    if c.mean is None or not mean_tells_more(c):
        return []
    return [f"mean {c.display.amount(c.mean.difference)}"]
