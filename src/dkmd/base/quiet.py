"""Hide or collect warnings, safely in threads.

Python keeps one list of filters for the whole process. ``warnings.catch_warnings`` saves the list
and puts it back. If two threads overlap, the second one puts back the filters of the first, and
every warning of the program stays hidden.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def without_warnings() -> Iterator[None]:
    """Hide all warnings for a moment. Other threads that ask for the same wait."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def warnings_noted() -> Iterator[list[str]]:
    """Collect runtime warnings for a moment. Other threads that ask for the same wait."""
    texts: list[str] = []
    with _ONE_AT_A_TIME, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        yield texts
    texts += [str(each.message) for each in caught]


def ignore_deprecations_in(modules: re.Pattern[str]) -> None:
    """From now on, ignore deprecation warnings that these modules cause. No thread has to wait."""
    for category in (DeprecationWarning, FutureWarning):
        if ("ignore", None, category, modules, 0) not in warnings.filters:
            warnings.filterwarnings("ignore", category=category, module=modules.pattern)
