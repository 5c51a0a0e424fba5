"""How loops are compiled and spread over threads: one decorator and one pool, the same everywhere.

Touches Numba and the standard library only. Nothing here knows what is being computed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def compiled(function: Function) -> Function:
    """Compile with Numba, without the GIL, cached on disk where a cache can be written.

    ``contract`` lets a multiplication and an addition share one rounding (FMA). It is the only
    relaxation: sums keep the order that the source gives them, NaN and inf mean what they say.
    """
    relaxed = {"contract"}
    try:
        return cast(Function, numba.njit(cache=True, nogil=True, fastmath=relaxed)(function))
    except RuntimeError:  # a read-only installation without a home folder: no place for a cache
        return cast(Function, numba.njit(nogil=True, fastmath=relaxed)(function))


def thread_count() -> int:
    """Threads to use: ``DKMD_NUM_THREADS`` if set, else the cores this process may run on."""
    asked = os.environ.get("DKMD_NUM_THREADS", "")
    if asked:
        if not asked.isdigit() or int(asked) < 1:
            raise ValueError(f"DKMD_NUM_THREADS must be a whole number from 1 up, got {asked!r}")
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(task: Callable[[Item], Outcome], items: Iterable[Item], work: int) -> list[Outcome]:
    """``[task(item) for item in items]``, in threads when ``work`` (values touched) is worth it.

    This thread takes the first item itself where there are no more items than threads: one thread
    less to wake. A task must not call ``spread`` itself: its threads would wait for each other.
    """
    threads = thread_count() if work >= WORTH_THREADS else 1
    if threads == 1:
        return [task(item) for item in items]
    pool = _pool(os.getpid(), threads)
    all_items = list(items)
    if len(all_items) > threads:
        return list(pool.map(task, all_items))
    others = [pool.submit(task, item) for item in all_items[1:]]
    return [task(item) for item in all_items[:1]] + [other.result() for other in others]


@lru_cache(maxsize=8)
def _pool(_process: int, threads: int) -> ThreadPoolExecutor:
    """Threads are kept between calls: starting them takes 0.3 ms. A forked process has its own."""
    return ThreadPoolExecutor(threads, thread_name_prefix="dkmd")


WORTH_THREADS = 200_000
"""Below this many values, handing work to threads costs more than it saves."""
