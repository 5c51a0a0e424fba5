"""How loops are compiled and spread over threads: one decorator and one pool for the package.

This module uses Numba and the standard library only, and knows nothing about statistics.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar, cast

import numba
from numba.extending import register_jitable

Function = TypeVar("Function", bound=Callable[..., object])
Item = TypeVar("Item")
T = TypeVar("T")


def compiled(function: Function) -> Function:
    """Compile with Numba, without the GIL. The result is cached on disk if the disk can be written.

    ``contract`` lets a multiplication and an addition share one rounding (FMA). No other rule is
    relaxed: sums keep the order of the source, and NaN and inf follow IEEE 754.
    """
    return _compiled(function, {"contract"})


def compiled_sums(function: Function) -> Function:
    """Compile loops whose sums may be taken in any order, so several numbers are added at a time.

    That is up to ten times as fast as ``compiled``. The last digits depend on the processor.
    """
    return _compiled(function, {"contract", "reassoc"})


def _compiled(function: Function, relaxed: set[str]) -> Function:
    try:
        return cast(Function, numba.njit(cache=True, nogil=True, fastmath=relaxed)(function))
    except RuntimeError:  # read-only installation and no home folder: there is no place for a cache
        return cast(Function, numba.njit(nogil=True, fastmath=relaxed)(function))


def compilable(function: Function) -> Function:
    """Leave a function as it is, and let compiled functions call it too."""
    return register_jitable(function)


def thread_count() -> int:
    """The number of threads: ``DKMD_NUM_THREADS`` if set, else the cores this process may use."""
    asked = os.environ.get("DKMD_NUM_THREADS", "")
    if asked:
        if not asked.isdigit() or int(asked) < 1:
            raise ValueError(f"DKMD_NUM_THREADS must be a whole number from 1 up, got {asked!r}")
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(task: Callable[[Item], T], items: Iterable[Item], work: int) -> list[T]:
    """``[task(item) for item in items]``, in threads if ``work`` (values read) is large enough.

    The calling thread takes the first item itself if there are no more items than threads, so one
    thread fewer has to wake up. A task must not call ``spread`` itself: the threads would wait for
    each other.
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


CHUNKS = 8
"""Parts of a large array. They do not depend on the number of threads, so results are identical."""

LEAST_CHUNK = 1 << 18
"""Values of a part, at least."""


def chunks_of(size: int, least: int = LEAST_CHUNK) -> list[slice]:
    """The parts of an array."""
    step = max(least, math.ceil(size / CHUNKS))
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def spread_parts(
    task: Callable[[int, slice], T], sizes: Sequence[int], results: Sequence[int] | None = None
) -> list[list[T]]:
    """``task(array, part)`` for the parts of arrays of these sizes, in threads; a list per array.

    ``results`` says how many numbers each result of an array has: parts have four times as many
    values, so that their results do not matter beside them.
    """
    least = [max(2 * LEAST_CHUNK, 4 * numbers) for numbers in results or [0 for _ in sizes]]
    cut = [chunks_of(size, few) for size, few in zip(sizes, least, strict=True)]
    parts = [(array, at) for array, slices in enumerate(cut) for at in slices]
    found = iter(spread(lambda part: task(*part), parts, sum(sizes)))
    return [[next(found) for _ in slices] for slices in cut]


@lru_cache(maxsize=8)
def _pool(_process: int, threads: int) -> ThreadPoolExecutor:
    """The threads of a process, kept between calls because starting them needs 0.3 ms."""
    return ThreadPoolExecutor(threads, thread_name_prefix="dkmd")


WORTH_THREADS = 200_000
"""Below this many values, handing work to threads costs more than it saves."""
