"""Two arms of an experiment on Spark Structured Streaming, with one ``GROUP BY`` per micro-batch.

``ArmsOnSpark`` is a function for ``foreachBatch``. Spark sums up each batch per arm and bin, and a
``dkmd.Monitor`` gets the sums: a few hundred rows, however large the batch is. The state survives
restarts. Spark repeats the last batch if it was interrupted, and the number of the last batch is
part of the name of the state, so every row counts exactly once.

``python examples/spark_stream.py`` streams two arms from files, stops in the middle, goes on, and
prints the answer. It needs Java and ``pip install 'dkmd[spark]'``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import dkmd

ARMS = ("old", "new")
SCHEMA = "arm string, ms double"


class ArmsOnSpark:
    """Feeds a monitor with micro-batches.

    Parameters
    ----------
    folder : Path
        Where the state is kept: inside the checkpoint of the query, because both belong together.
    monitor : dkmd.Monitor
        A new monitor, which is used if there is no state yet. Its grid must be known, so give it a
        pilot, for example last week's data.
    column, by : str
        The columns of the values and of the arms.
    arms : (str, str)
        Reference and current.
    """

    def __init__(
        self, folder: Path, monitor: dkmd.Monitor, column: str, by: str, arms: tuple[str, str]
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.column, self.by, self.arms = folder, column, by, arms
        saved = sorted(folder.glob("*.monitor"))
        self.last = int(saved[-1].stem) if saved else -1
        self.monitor = dkmd.Monitor.load(saved[-1]) if saved else monitor

    def __call__(self, batch: Any, number: int) -> None:
        """Take one micro-batch, unless its state was saved before Spark could note its end."""
        if number <= self.last:
            return
        assert self.monitor.grid is not None
        found = dkmd.level_summaries(batch, self.column, self.by, self.monitor.grid)
        reference, current = self.arms
        self.monitor.update(x=found.get(current), y=found.get(reference))
        self.monitor.save(self.folder / f"{number:012d}.monitor")  # whole or not at all
        self.last = number
        for older in sorted(self.folder.glob("*.monitor"))[:-1]:
            older.unlink()


def watch_arms(session: Any, source: Path, checkpoint: Path, monitor: dkmd.Monitor) -> dkmd.Monitor:
    """Stream all files that are there, one per batch, and return the monitor after them."""
    arms = ArmsOnSpark(checkpoint / "dkmd", monitor, "ms", "arm", ARMS)
    rows = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(source))
    query = (
        rows.writeStream.foreachBatch(arms)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return arms.monitor


def write_files(source: Path, first: int, files: int) -> None:
    """Some JSON files. The new version takes 3% longer, and one request in a hundred hangs."""
    source.mkdir(exist_ok=True)
    for number in range(first, first + files):
        rng = np.random.default_rng(number)
        arm = rng.integers(0, 2, 2_000)
        ms = rng.gamma(8.0, 12.0, arm.size) * np.where(arm, 1.03, 1.0)
        ms[rng.random(arm.size) < 0.01] = 30_000.0
        lines = (f'{{"arm": "{ARMS[a]}", "ms": {m:.3f}}}\n' for a, m in zip(arm, ms, strict=True))
        (source / f"{number:03d}.json").write_text("".join(lines))


def new_monitor() -> dkmd.Monitor:
    """A monitor that knows last week's latencies."""
    last_week = np.random.default_rng(99).gamma(8.0, 12.0, 2_000)
    return dkmd.Monitor(alpha=0.01, expected_n=10_000, pilot=last_week)


def main() -> None:
    """Two runs of one query."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").appName("dkmd").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        source, checkpoint = Path(folder, "requests"), Path(folder, "checkpoint")
        for first in (0, 5):
            write_files(source, first, 5)
            monitor = watch_arms(session, source, checkpoint, new_monitor())
            print(f"after {first + 5} batches: {monitor.result.reason}")
    session.stop()


if __name__ == "__main__":
    main()
