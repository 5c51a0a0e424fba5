"""dask.distributed with two workers gives the same answers, even if a worker is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from dkmd import compare, drift

pytestmark = [
    pytest.mark.slow,
    # a killed worker leaves its sockets open
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*inplace keyword"),
]

SCALE = 10.0


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Two processes with one thread each. If one dies, a new one replaces it."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        Client(cluster) as found,
    ):  # fmt: skip
        yield found


def _frames() -> list[pd.DataFrame]:
    rng = np.random.default_rng(4)
    return [
        pd.DataFrame({"ms": 80.0 + rng.gamma(4.0, 5.0, 4_000) + late, "b": rng.normal(size=4_000)})
        for late in (0.0, 1.0)
    ]


def test_two_processes_give_what_memory_gives(client: Client) -> None:
    frames = _frames()
    lazy = [dd.from_pandas(frame, npartitions=6) for frame in frames]
    found = compare(lazy[0], lazy[1], column="ms", scale=SCALE)
    expected = compare(frames[0], frames[1], column="ms", scale=SCALE)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9 * SCALE)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-6)
    assert found.relative_shift == pytest.approx(expected.relative_shift, rel=1e-4)
    assert list(drift(lazy[0], lazy[1])) == list(drift(frames[0], frames[1]))


def _dying(part: pd.DataFrame, folder: str) -> pd.DataFrame:
    """Kill the worker at the block whose number is in the file ``fatal``."""
    seen = Path(folder)
    if len(part) == 0:  # dask calls the function on an empty block to infer its result
        return part
    (seen / f"{time.monotonic_ns()}-{os.getpid()}").touch()
    if len(list(seen.iterdir())) == int((seen.parent / "fatal").read_text()):
        os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.parametrize("fatal", [3, 8])
def test_a_worker_killed_during_a_pass_does_not_change_the_answer(
    client: Client, tmp_path: Path, fatal: int
) -> None:
    """The worker dies while values are sampled (6 blocks per side), or while they are summed."""
    frames = _frames()
    seen = tmp_path / "seen"
    seen.mkdir()
    (tmp_path / "fatal").write_text(str(fatal))
    workers = set(client.scheduler_info()["workers"])
    lazy: list[Any] = [
        dd.from_pandas(frame, npartitions=6).map_partitions(_dying, str(seen), meta=frame)
        for frame in frames
    ]
    found = compare(lazy[0], lazy[1], column="ms", scale=SCALE)
    expected = compare(frames[0], frames[1], column="ms", scale=SCALE)
    assert set(client.scheduler_info()["workers"]) != workers
    assert (found.reference.size, found.current.size) == (4_000, 4_000)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9 * SCALE)


def _always_dying(part: pd.DataFrame) -> pd.DataFrame:
    if len(part):
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def test_a_block_that_kills_every_worker_is_an_error(client: Client) -> None:
    frame = _frames()[0]
    lazy = dd.from_pandas(frame, npartitions=2).map_partitions(_always_dying, meta=frame)
    with pytest.raises(Exception, match=r"died|killed|Killed"):
        compare(lazy, lazy, column="ms")
