"""The tree of errors: faults of data, of files and of the engines that hold them.

Every class here is a ``ValueError``, so callers who do not know these classes still catch them.
Arguments of a wrong kind raise plain ``TypeError`` and ``ValueError`` at the door, as in SciPy.
"""

from __future__ import annotations

from dkmd.base.secrets import gist


class DkmdError(ValueError):
    """The data cannot be read or compared. The message says what is wrong and where."""


class TooLittleError(DkmdError):
    """There is nothing to compare: a table without rows, or a column without values."""


class ColumnError(DkmdError):
    """One column cannot be compared. The other columns of its table can."""


class ColumnTypeError(ColumnError, TypeError):
    """A column holds values of a type that cannot be compared."""


class NanError(ColumnError):
    """A column has missing values, and nan_policy="raise" rejects them."""


class NotANumberError(ColumnError):
    """A column of numbers holds text that is not a number."""


class EngineError(DkmdError):
    """An engine did not answer. The message is the engine's own, in one line."""


class FileError(DkmdError):
    """A file cannot be read: it is too long, damaged, or of an unknown format."""


class TooLongError(FileError):
    """A file or a stream is longer than the bound for its kind."""


class SummaryFileError(FileError):
    """A file is not a summary, or is damaged, or is of a newer version."""


class StateFileError(FileError):
    """A file is not the saved state of a monitor or a detector, or is damaged, or is too new."""


class BenchmarkFileError(FileError):
    """A benchmark file cannot be read. The message names the file and the place in it."""


class UnknownFormatError(BenchmarkFileError):
    """The format of a file is not known."""


class UnknownDocumentError(UnknownFormatError):
    """The file is one JSON object that no reader knows. It is not a table either."""


class LockedError(FileError):
    """Another process changes a file. The message names the lock and says what to do."""


TOO_FAR_APART = "its values lie too far apart to be compared as doubles"
"""Why a column whose range overflows cannot be compared."""


def needs_packages(what: str, error: ImportError, extra: str) -> ImportError:
    """The error for a missing package. It says what to install."""
    return ImportError(f"{what} needs more packages ({gist(error)}): pip install '{extra}'")
