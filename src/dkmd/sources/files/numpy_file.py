"""``.npy`` files: arrays of one dimension, read piece by piece."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import FileError
from dkmd.sources.column_data import Labels
from dkmd.sources.files.batch_file import BatchFile
from dkmd.sources.memory.columns import as_numbers
from dkmd.sources.table import AtLevel

VALUES_PER_BATCH = 1 << 16


class ArrayFile(BatchFile):
    """A ``.npy`` array of one dimension."""

    def batches(
        self, column: str, groups: str | None, where: AtLevel
    ) -> Iterator[tuple[Array, Labels | None]]:
        """Pieces of the array."""
        shape, dtype, start = self._header()
        if len(shape) != 1:
            raise ValueError(f"{self.path} must be one-dimensional, got shape {shape}")
        with open(self.path, "rb") as file:
            file.seek(start)
            for first in range(0, shape[0], VALUES_PER_BATCH):
                values = np.fromfile(file, dtype, min(VALUES_PER_BATCH, shape[0] - first))
                if values.size < min(VALUES_PER_BATCH, shape[0] - first):
                    raise FileError(f"{self.path} was cut off while it was read")
                self._check_text(values)
                rows = range(first + 1, first + 1 + values.size)
                yield as_numbers(values, self.path, rows), None

    def whole(self) -> npt.NDArray[Any]:
        """The array, of any number of dimensions."""
        array = self._load(None)
        self._check_text(array)
        return array

    def _check_text(self, values: npt.NDArray[Any]) -> None:
        """Raise an error for text that no Python string can hold."""
        if values.dtype.kind == "U" and values.size and values.dtype.itemsize:
            signs = np.dtype(np.uint32).newbyteorder(values.dtype.byteorder)
            if np.ascontiguousarray(values).view(signs).max() > sys.maxunicode:
                raise FileError(f"{self.path} is damaged: it holds signs that are no characters")

    def _header(self) -> tuple[tuple[int, ...], np.dtype[Any], int]:
        """The shape, the type and the place of the first value.

        The map of the file is not kept: reading from the map of a file that was cut meanwhile
        would end the process.
        """
        array = self._load("r")
        assert isinstance(array, np.memmap)
        return array.shape, array.dtype, array.offset

    def _load(self, mapped: Literal["r"] | None) -> npt.NDArray[Any]:
        """The array. NumPy takes other files for pickles, so the format is checked first."""
        try:
            with open(self.path, "rb") as file:
                version = np.lib.format.read_magic(file)
        except ValueError:
            raise FileError(f"{self.path} is not an array that NumPy wrote") from None
        try:
            return np.asanyarray(np.load(self.path, mmap_mode=mapped, allow_pickle=False))
        except Exception as error:  # NumPy runs the header through Python's parser
            if "pickle" in str(error) or "Python objects" in str(error):
                raise FileError(
                    f"{self.path} holds Python objects, which are not read: save numbers, with "
                    "numpy.save(path, array.astype(float))"
                ) from None
            raise FileError(
                f"{self.path} is an array that cannot be read (format version {version[0]}): "
                f"{str(error).splitlines()[0] if str(error) else 'it is cut off'}"
            ) from None
