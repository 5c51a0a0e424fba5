"""Labels of units as numbers that both sides share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.reading import Codes
from dkmd.inference.groups import SampleGroups
from dkmd.inference.label_codes import (
    Coded,
    Labels,
    close_range,
    coded,
    less,
    present_labels,
)
from dkmd.inference.unit_design import counted


class Numbered(NamedTuple):
    """The number of each value's label on both sides, and the labels of the numbers."""

    x: Codes
    y: Codes
    labels: Labels  # some may have no value

    def counts(self) -> tuple[Array, Array]:
        """How many values of x and of y each number has."""
        return counted(self.x, self.labels.size), counted(self.y, self.labels.size)

    def kept(self, in_x: npt.NDArray[np.bool_], in_y: npt.NDArray[np.bool_]) -> Numbered:
        """The numbers of some values."""
        return Numbered(self.x[in_x], self.y[in_y], self.labels)


def common_codes(groups: tuple[SampleGroups, SampleGroups], sizes: tuple[int, int]) -> Numbered:
    """The labels of both samples as numbers. Missing labels are an error."""
    of_x, of_y = (present_labels(*side) for side in zip(groups, sizes, "xy", strict=True))
    return numbered(of_x, of_y)


def numbered(of_x: Coded | Labels, of_y: Coded | Labels) -> Numbered:
    """Labels that are all present as numbers."""
    if isinstance(of_x, Coded) or isinstance(of_y, Coded):
        return _joined(coded(of_x), coded(of_y))
    near = close_range(of_x, of_y)
    if near is not None:
        x, y = (less(side, near[0]) for side in (of_x, of_y))
        return Numbered(x, y, np.arange(near[0], near[1] + 1))
    if of_x.dtype.kind != of_y.dtype.kind:  # an array of both would round or spell them
        return _joined(coded(of_x), coded(of_y))
    codes, labels = coded(np.concatenate([of_x, of_y]))
    return Numbered(codes[: of_x.size], codes[of_x.size :], labels)


def _joined(x: Coded, y: Coded) -> Numbered:
    """Both sides with common numbers: those of x, then those of labels that only y has."""
    kinds = [_kind(side.labels) for side in (x, y) if side.labels.size]
    if len(set(kinds)) > 1:
        raise ValueError(f"groups: labels of x are {kinds[0]} and labels of y are {kinds[1]}")
    known = {label: number for number, label in enumerate(x.labels.tolist())}
    places = np.array(
        [known.setdefault(label, len(known)) for label in y.labels.tolist()], dtype=np.int64
    )
    labels = np.empty(len(known), dtype=object)
    labels[:] = list(known)
    return Numbered(less(x.codes, 0), places[y.codes], labels)


def _kind(labels: Labels) -> str:
    """What labels are, as far as it decides whether they can be equal."""
    kind = labels.dtype.kind
    if kind == "O":
        kind = np.asarray(labels[:1].tolist()).dtype.kind
    return {"U": "text", "S": "bytes", "M": "times", "m": "durations", "b": "true or false"}.get(
        kind, "numbers"
    )
