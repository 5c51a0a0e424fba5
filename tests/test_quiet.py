"""Warnings of other libraries are hidden, and the program's own filters stay as they were."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import ibis
import numpy as np
import pyarrow as pa
import pytest

from dkmd import compare
from dkmd.base.quiet import without_warnings

pytestmark = pytest.mark.slow  # nothing is compiled here


@pytest.fixture(autouse=True)
def quick_turns() -> Iterator[None]:
    """Let threads take turns after microseconds, so that they overlap."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def _in_threads(work: Callable[[], object], times: int) -> None:
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(times)]:
            done.result()


def test_a_thread_that_hides_warnings_waits_for_the_other() -> None:
    before, inside, order = list(warnings.filters), threading.Event(), []

    def first() -> None:
        with without_warnings():
            inside.set()
            thread.join(0.2)
            order.append("first")

    def second() -> None:
        inside.wait()
        with without_warnings():
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    first()
    thread.join()
    assert order == ["first", "second"]
    assert list(warnings.filters) == before


def test_the_opinions_of_other_tests_in_threads_leave_the_filters_alone() -> None:
    rng = np.random.default_rng(1)
    answer = compare(rng.normal(size=20), np.ones(20))
    answer.peers()  # SciPy adds filters when it is imported
    before = list(warnings.filters)
    _in_threads(answer.peers, 60)
    assert list(warnings.filters) == before


def test_engines_in_threads_hide_only_the_deprecations_of_ibis() -> None:
    values = np.random.default_rng(2).normal(size=50)

    def work() -> None:  # a connection is for one thread
        table = ibis.duckdb.connect().create_table("t", pa.table({"v": values}))
        compare(table, values)

    work()
    before = list(warnings.filters)
    _in_threads(work, 12)
    assert list(warnings.filters) == before
    with pytest.warns(DeprecationWarning, match="ours"):
        warnings.warn("ours", DeprecationWarning, stacklevel=1)
