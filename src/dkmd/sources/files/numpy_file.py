"""``.npy`` files: arrays of one dimension, mapped into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
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
        array = self._array()
        if array.ndim != 1:
            raise ValueError(f"{self.path} must be one-dimensional, got shape {array.shape}")
        for start in range(0, array.size, VALUES_PER_BATCH):
            values = np.asarray(array[start : start + VALUES_PER_BATCH])
            rows = range(start + 1, start + 1 + values.size)
            yield as_numbers(values, self.path, rows), None

    def _array(self) -> npt.NDArray[Any]:
        """The array. NumPy takes other files for pickles, so the format is checked first."""
        try:
            with open(self.path, "rb") as file:
                version = np.lib.format.read_magic(file)
        except ValueError:
            raise ValueError(f"{self.path} is not an array that NumPy wrote") from None
        try:
            array: npt.NDArray[Any] = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OSError, SyntaxError) as error:
            if "pickle" in str(error) or "Python objects" in str(error):
                raise ValueError(
                    f"{self.path} holds Python objects, which are not read: save numbers, with "
                    "numpy.save(path, array.astype(float))"
                ) from None
            raise ValueError(
                f"{self.path} is an array that cannot be read (format version {version[0]}): "
                f"{str(error).splitlines()[0] if str(error) else 'it is cut off'}"
            ) from None
        return array
