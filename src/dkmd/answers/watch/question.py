"""What is watched, and how it is judged. A checkpoint belongs to one question."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dkmd.inference.test.margins import Margin

STREAM, REFERENCE, ARMS = "stream", "reference", "arms"
"""A stream with alarms; a stream against a reference until that is decided; two arms."""


@dataclass(frozen=True)
class Question:
    """The options of a watch that decide what is counted and how.

    Attributes
    ----------
    kind : {"stream", "reference", "arms"}
        A stream without end that may alarm, or a question that will be decided: a stream against
        a fixed reference, or two arms.
    source : str
        The path of the stream.
    baseline : str
        What the stream is compared with: the label of the reference, or of the first arm.
    digest : str
        Of the reference, so that a checkpoint is not continued with another one.
    """

    kind: str = STREAM
    source: str = ""
    baseline: str = ""
    field: str | None = None
    by: str | None = None
    current: str = ""
    digest: str = ""
    alpha: float = 0.05
    expected_n: float = 1000
    margin: Margin | None = None
    arl: float = 10_000
    block: int = 1
    worse: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """For a checkpoint."""
        return asdict(self)

    @property
    def margin_in_words(self) -> str:
        """The margin as it was given."""
        return f"{self.margin:g}" if isinstance(self.margin, float) else str(self.margin or "")

    def difference(self, other: dict[str, Any]) -> str:
        """The first option that differs from those of a checkpoint; empty if none does."""
        for key, value in self.to_dict().items():
            if other.get(key) != value:
                what = NAMES.get(key, f"--{key.replace('_', '-')}")
                if key == "digest":
                    return f"{what} has changed"
                return f"{what} was {other.get(key)!r} and is {value!r} now"
        return ""


NAMES = {
    "kind": "the kind of question",
    "source": "the input",
    "baseline": "the reference",
    "digest": "the content of the reference",
}
