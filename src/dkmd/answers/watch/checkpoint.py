"""The checkpoint of a watch: where it stands in its input and what it knows, in one file.

Both are written together, in one step. So a watch that was killed goes on as if it had been stopped
at its last checkpoint: no value is counted twice, and no value after that checkpoint is skipped.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from dkmd.answers.watch.question import Question
from dkmd.answers.watch.tally import Tally
from dkmd.base.documents import Format
from dkmd.base.errors import StateFileError
from dkmd.sources.streams.places import Place

FILES = Format(
    name="dkmd-watch",
    noun="a checkpoint of dkmd watch",
    version=2,
    remedy="Delete it to start anew",
    error=StateFileError,
    largest=64 * 2**20,
)


class Checkpoint(NamedTuple):
    """Everything that a later run needs. Documents are those of the reader and of the machine."""

    place: Place | None
    reader: dict[str, Any]
    tally: Tally
    machine: dict[str, Any]


def write_checkpoint(path: Path, question: Question, checkpoint: Checkpoint) -> None:
    """Write the file; an existing file is replaced in one step."""
    place = checkpoint.place
    FILES.write(path, {
        "question": question.to_dict(),
        "place": None if place is None else place.to_dict(),
        "reader": checkpoint.reader,
        "tally": checkpoint.tally.to_dict(),
        "machine": checkpoint.machine,
    })  # fmt: skip


def read_checkpoint(path: Path, question: Question) -> Checkpoint | None:
    """The checkpoint of an earlier run with the same question; None if there is none yet."""
    if not os.path.exists(path):
        return None
    document = FILES.read(path)
    try:
        other = question.difference(document["question"])
        place = document["place"]
        found = Checkpoint(
            None if place is None else Place.from_dict(place),
            dict(document["reader"]),
            Tally.from_dict(document["tally"]),
            dict(document["machine"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateFileError(f"{path} is damaged: {error}. {FILES.remedy}") from None
    if other:
        raise StateFileError(
            f"{path} belongs to another question: {other}. Name another file, or delete this one"
        )
    return found
