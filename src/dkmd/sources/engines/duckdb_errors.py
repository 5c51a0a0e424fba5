"""Errors of DuckDB as errors of this package, with one line of text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dkmd.base.secrets import gist


@contextmanager
def duckdb_errors(
    kind: type[ValueError], of_values: type[ValueError] | None = None
) -> Iterator[None]:
    """Raise errors of DuckDB as ``kind``, and Ctrl-C during a query as KeyboardInterrupt.

    ``of_values`` is raised for a value that the type of its column cannot hold.
    """
    import duckdb

    try:
        yield
    except duckdb.DataError as error:
        raise (of_values or kind)(gist(error)) from None
    except duckdb.Error as error:
        raise kind(gist(error)) from None
    except RuntimeError as error:
        if "interrupted" in str(error):  # DuckDB's word for Ctrl-C
            raise KeyboardInterrupt from None
        raise
