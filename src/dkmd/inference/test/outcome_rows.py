"""Outcomes in the shape of an array: one test for each row of two arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array

if TYPE_CHECKING:
    from dkmd.inference.test.result import Outcome


class Rows:
    """Outcomes in the shape of an array. An outcome is made at the start or when first used.

    ``numbers`` holds what is already known of every row: statistic, pvalue, df, standard_error,
    shift and width. Rows of which nothing is known are NaN in ``statistic``.
    """

    def __init__(self, numbers: dict[str, Array], known: Flags, make: Make) -> None:
        self._made: list[Outcome | None] = [
            None if fine else make(i) for i, fine in enumerate(known)
        ]
        self._make = make
        self._known = numbers
        self.shape: tuple[int, ...] = (known.size,)

    @classmethod
    def of(cls, outcomes: list[Outcome]) -> Rows:
        """Rows of outcomes that are already made."""
        rows = cls.__new__(cls)
        rows._made = list(outcomes)
        rows._make = outcomes.__getitem__
        rows._known = {}
        rows.shape = (len(outcomes),)
        return rows

    def shaped(self, shape: tuple[int, ...]) -> Rows:
        """The same outcomes in another shape."""
        self.shape = shape
        return self

    def __iter__(self) -> Iterator[Outcome]:
        return (self._at(i) for i in range(len(self._made)))

    def _at(self, i: int) -> Outcome:
        made = self._made[i]
        if made is None:
            made = self._made[i] = self._make(i)
        return made

    def each(self, name: str) -> Any:
        """One number of every outcome, in the shape of the array; a float for a single outcome."""
        known = self._known.get(name)
        values = np.array(
            [
                getattr(outcome, name) if outcome is not None or known is None else known[i]
                for i, outcome in enumerate(self._made if known is not None else self)
            ],
            dtype=np.float64,
        ).reshape(self.shape)
        return float(values[()]) if values.ndim == 0 else values

    def witnesses(self) -> Any:
        """The ψ of every outcome; None if nothing could be compared."""
        shaped = np.empty(self.shape, dtype=object)
        flat = shaped.reshape(-1)
        for i, outcome in enumerate(self):
            flat[i] = outcome.witness
        return shaped[()]

    def notes(self) -> list[str]:
        """What to watch out for, each note once. Rows compared in compiled code have no notes."""
        made = (o for o in self._made if o is not None)
        return list(dict.fromkeys(note for outcome in made for note in outcome.notes))

    def only(self) -> Outcome:
        """The only outcome."""
        if self.shape:
            raise ValueError(
                f"this result holds {len(self._made)} comparisons (shape {self.shape}), one is "
                "needed"
            )
        return self._at(0)

    def __getstate__(self) -> dict[str, Any]:
        return {"outcomes": list(self), "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(Rows.of(state["outcomes"]).shaped(state["shape"]).__dict__)


Flags = npt.NDArray[np.bool_]
Make = Callable[[int], "Outcome"]
