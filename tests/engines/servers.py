"""Engines for tests: a PostgreSQL server, a Spark session, DuckDB in memory.

Servers listen on loopback only, keep their files in a temporary folder and are stopped at the end.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
MISSING = "{} is not installed: run scripts/install-engines as root, or leave it out with "
MISSING += "DKMD_SKIP_ENGINES={}"


class Postgres:
    """A server in its own folder, run by an unprivileged user."""

    user = "dkmd"

    def __init__(self, folder: Path) -> None:
        found = sorted(glob("/usr/lib/postgresql/*/bin")) or [_folder_of("pg_ctl")]
        if not found[-1]:
            raise RuntimeError(MISSING.format("PostgreSQL", "postgres"))
        self._programs = Path(found[-1])
        self._data = folder / "data"
        self._owner = "postgres" if os.geteuid() == 0 else None
        self.port = free_port()
        if self._owner:
            shutil.chown(folder, self._owner)
        for parent in (folder, *folder.parents):  # only the owner may enter pytest's folders
            if self._owner and parent.stat().st_uid == 0 and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o055)
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", self.user, "--no-sync")

    @property
    def url(self) -> str:
        """The URL has a password. The server does not check it, and no message may show it."""
        return f"postgresql://{self.user}:s3cret@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off "
        options += f"-c unix_socket_directories={self._data}"
        self._control("start", "-l", str(self._data / "log"), "-o", options)

    def stop(self) -> None:
        """Stop at once, even in the middle of a query."""
        self._control("stop", "-m", "immediate")

    def restart(self) -> None:
        """Lose every connection."""
        self.stop()
        self.start()

    def _control(self, *words: str) -> None:
        self._run("pg_ctl", "-D", self._data, "-w", *words)

    def _run(self, program: str, *words: object) -> None:
        command = [str(self._programs / program), *map(str, words)]
        done = subprocess.run(
            command, user=self._owner, group=self._owner, cwd="/", check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")


def free_port() -> int:
    """A free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """A running server."""
    server = Postgres(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def spark(folder: Path, executors: int = 2) -> Iterator[Any]:
    """A session whose executors are separate processes, so that one can be killed."""
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        raise RuntimeError(MISSING.format("Java", "spark"))
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable  # dkmd is installed there
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(executors),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.executor.memory": "512m",
        "spark.driver.memory": "1g",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,512]").appName("dkmd")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _folder_of(program: str) -> str:
    found = shutil.which(program)
    return str(Path(found).resolve().parent) if found else ""


def wait_until(holds: Any, seconds: float = 30.0) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("waited in vain")
        time.sleep(0.05)
