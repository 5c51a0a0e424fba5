"""Processes that run batches of trials and report their progress.

A trial of a thousand values spends most of its time in Python, which threads cannot share:
processes halve the time on two cores where threads save nothing.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from dkmd.base.compiled import thread_count
from dkmd.paper.trials import Result, Runner, Task

Advance = Callable[[int, int], None]
"""Called after every task with the number of finished tasks and of all tasks."""


def silent(_done: int, _total: int) -> None:
    """Report no progress."""


@contextmanager
def workers(count: int | None = None) -> Iterator[Callable[[Advance], Runner]]:
    """Processes for a ``with`` block, by default one per core.

    Yields a function that takes an ``Advance`` and returns a ``Runner``. A script that calls this
    needs the usual ``if __name__ == "__main__"``, because each process imports the script again.
    """
    with _pool(count or thread_count(), initializer=_use_one_thread) as pool:
        yield lambda advance: _run(pool, advance)


@contextmanager
def one_at_a_time() -> Iterator[Callable[[Advance], Runner]]:
    """Like ``workers``, but each task runs alone in a fresh process, for timings."""
    with _pool(1, max_tasks_per_child=1) as pool:
        yield lambda advance: _run(pool, advance)


def _pool(
    count: int,
    initializer: Callable[[], None] | None = None,
    max_tasks_per_child: int | None = None,
) -> ProcessPoolExecutor:
    """Spawned, not forked, because threads and compiled code do not survive a fork well."""
    return ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=initializer,
        max_tasks_per_child=max_tasks_per_child,
    )


def _use_one_thread() -> None:
    """Use one thread, because the other workers use the other cores."""
    os.environ["DKMD_NUM_THREADS"] = "1"


def _run(pool: ProcessPoolExecutor, advance: Advance) -> Runner:
    def run(function: Callable[[Task], Result], tasks: Sequence[Task], /) -> list[Result]:
        outcomes = []
        for outcome in pool.map(function, tasks):
            outcomes.append(outcome)
            advance(len(outcomes), len(tasks))
        return outcomes

    return run
