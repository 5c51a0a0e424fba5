"""What monitors and detectors have in common: a state for a file, a warning about neighbours."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from typing import ClassVar, Self

from dkmd.base.arrays import Array
from dkmd.base.documents import Document, Format
from dkmd.base.errors import StateFileError
from dkmd.inference.kinds.neighbours import CORRELATED, Middle, neighbour_correlation


class Stateful(ABC):
    """An object whose state is a JSON document."""

    files: ClassVar[Format]
    kind: ClassVar[str]
    _warned = False  # whether neighbours were alike

    @abstractmethod
    def document(self) -> Document:
        """The state as JSON, to be kept together with other state. See ``of_document``."""

    @classmethod
    @abstractmethod
    def of_document(cls, document: Document) -> Self:
        """The object of a ``document``. Any error means that the document is damaged."""

    def _warn_of_neighbours(self, values: Array, middle: Middle, words: str) -> None:
        """Warn once if neighbours are clearly alike. The words have a place for the correlation.

        To be called by a method that the public ``update`` calls.
        """
        found = 0.0 if self._warned else neighbour_correlation(values, middle)
        if found > CORRELATED:
            self._warned = True
            warnings.warn(words.format(found), RuntimeWarning, stacklevel=4)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, in one step. ``load`` continues from there."""
        self.files.write(path, {"kind": self.kind, **self.document()})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by ``save``. Any other file raises a StateFileError."""
        document, name = cls.files.read(path), os.fspath(path)
        if document.get("kind") != cls.kind:
            raise StateFileError(f"{name} is not the state of a {cls.__name__}")
        try:
            return cls.of_document(document)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StateFileError(f"{name} is damaged: {error}") from None


def state_files(name: str, version: int) -> Format:
    """The files of one class."""
    return Format(
        name=f"dkmd-{name}",
        noun=f"a saved dkmd {name}",
        version=version,
        remedy=f"Start the {name} anew",
        error=StateFileError,
    )
