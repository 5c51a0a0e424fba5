"""What a monitor says at one look: a verdict with its numbers and its reason in a sentence."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from dkmd.base.wording import count, percent, signed_number

DECIDED = ("higher", "lower", "equivalent")


@dataclass(frozen=True, kw_only=True)
class MonitorResult:
    """The answer at one look. Defaults are those of a monitor that knows nothing.

    Attributes
    ----------
    verdict : {"higher", "lower", "equivalent", "inconclusive"}
        The first decision, or "inconclusive". "higher": x is larger by more than the margin.
    decided : bool
        Whether a decision was reached, now or at an earlier look.
    direction : {"x is larger", "y is larger", "no direction"}
        The sign of the shift, decided or not.
    shift : float
        How much larger a value of x typically is than one of y. For ``relative`` monitors it is a
        relative change: 0.05 is 5%. NaN before the burn-in is complete.
    interval : (float, float)
        The confidence sequence of the shift. It holds the true shift at all looks at once with
        probability 1 − alpha. (−inf, inf) at the start.
    pvalue : float
        The running p-value against "no shift": the smallest 1/E at the looks that were taken.
    evalue : float
        E now: the evidence against "no shift". 1/alpha decides, if there is no margin.
    n_x, n_y : int
        Values per arm, without missing ones. For pairs both are the number of pairs.
    information : float
        s²/Var(shift), about 1/(1/n_x + 1/n_y). The evidence grows in proportion to it.
    reason : str
        The verdict in a sentence.
    missing_x, missing_y : int
        Missing values (NaN), which were skipped.
    looks : int
        Looks that were taken, with this one.
    relative : bool
        Whether shift and interval are relative changes.
    """

    verdict: str = "inconclusive"
    decided: bool = False
    direction: str = "no direction"
    shift: float = math.nan
    interval: tuple[float, float] = (-math.inf, math.inf)
    pvalue: float = 1.0
    evalue: float = 1.0
    n_x: int
    n_y: int
    information: float = 0.0
    reason: str
    missing_x: int
    missing_y: int
    looks: int
    relative: bool

    def to_dict(self) -> dict[str, Any]:
        """The result for JSON. Numbers that are not finite are None."""
        low, high = self.interval
        numbers = {**asdict(self), "interval": [low, high]}
        return {key: without_infinities(value) for key, value in numbers.items()}


def without_infinities(value: Any) -> Any:
    """A value that JSON can hold: None for numbers that are not finite."""
    if isinstance(value, list):
        return [without_infinities(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def sizes_in_words(n_x: int, n_y: int, paired: bool) -> str:
    """512 and 498 values, or 64 pairs."""
    return f"{count(n_x)} pairs" if paired else f"{count(n_x)} and {count(n_y)} values"


def shift_in_words(shift: float, interval: tuple[float, float], relative: bool) -> str:
    """A shift with its interval: +0.42 (+0.1 to +0.74)."""
    word = percent if relative else signed_number
    return f"{word(shift)} ({word(interval[0])} to {word(interval[1])})"


def reason_of(
    verdict: str,
    shift: float,
    interval: tuple[float, float],
    margin: str,
    relative: bool,
    when: str,
) -> str:
    """The sentence for a verdict. ``when`` says how many values there were at the decision."""
    amount = shift_in_words(shift, interval, relative)
    beyond = f", beyond the margin of {margin}" if margin else ""
    if verdict == "higher":
        return f"x is larger by {amount}{beyond}; decided after {when}."
    if verdict == "lower":
        return f"x is smaller: {amount}{beyond}; decided after {when}."
    if verdict == "equivalent":
        return f"The shift is {amount}, within the margin of {margin}; decided after {when}."
    if not all(map(math.isfinite, interval)):
        return f"No decision yet after {when}: too few values for an interval."
    still = f"the interval crosses the margin of {margin}" if margin else "0 is still possible"
    return f"No decision yet after {when}: the shift is {amount}, and {still}."


def burn_in_in_words(sizes: list[int], burn_in: int, apart: int, needed: int) -> str:
    """Why there is no answer before the burn-in is complete."""
    have = " and ".join(count(size) for size in sizes)
    if min(sizes) < burn_in:
        side = " per side" if len(sizes) > 1 else ""
        return f"Too early: {have} values, and the burn-in needs {burn_in}{side}."
    if apart >= needed:
        return f"Too early: {have} values, most of them infinite. The burn-in needs finite values."
    return (
        f"Too early: {have} values, of which {apart} differ from the most frequent one. The "
        f"burn-in needs {needed}."
    )
