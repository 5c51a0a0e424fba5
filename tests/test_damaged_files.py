"""Damaged binary files: one line with the file's name, never the end of the process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather
from shell import here, run

from dkmd import compare

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

ROWS = 200


def _table(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "ms": rng.normal(100.0, 10.0, rows),
            "user": [f"u{i:05d}" for i in range(rows)],
            "vector": [[1.0, 2.0]] * rows,
        }
    )


def _arrow(path: Path, table: pa.Table) -> bytes:
    """Write a table in the file format (.feather) or the stream format (.arrow)."""
    out = io.BytesIO()
    if path.suffix == ".feather":
        feather.write_feather(table, out, compression="uncompressed")
    else:
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    path.write_bytes(out.getvalue())
    return out.getvalue()


def _with_wild_labels(path: Path) -> None:
    """A file in which a label ends 2 GB behind its start."""
    ends = np.arange(0, 6 * (ROWS + 1), 6, dtype=np.int32)
    wild = ends.copy()
    wild[ROWS // 2] = 2**31 - 1
    content = _arrow(path, _table())
    assert content.count(ends.tobytes()) == 1
    path.write_bytes(content.replace(ends.tobytes(), wild.tobytes()))


COMMANDS = {
    "groups": ("compare", "-c", "ms", "--groups", "user"),
    "pairs": ("compare", "-c", "ms", "--pair-by", "user"),
    "segments": ("compare", "-c", "ms", "--segments", "user"),
    "categories": ("compare", "-c", "user"),
    "drift": ("drift", "--groups", "user"),
}


@pytest.mark.parametrize("ending", ["feather", "arrow"])
@pytest.mark.parametrize("command", COMMANDS)
def test_damaged_labels_of_an_arrow_file_are_an_error_in_one_line(
    command: str, ending: str, tmp_path: Path
) -> None:
    """In a process of its own, which pyarrow would end."""
    _arrow(tmp_path / f"good.{ending}", _table())
    _with_wild_labels(tmp_path / f"bad.{ending}")
    verb, *options = COMMANDS[command]
    done = run(verb, f"good.{ending}", f"bad.{ending}", *options, code=2, cwd=tmp_path)
    assert f"bad.{ending}, column 'user' is damaged: " in done.stderr


@pytest.mark.parametrize("ending", ["feather", "arrow"])
def test_the_other_columns_of_a_damaged_arrow_file_are_read(ending: str, tmp_path: Path) -> None:
    _with_wild_labels(tmp_path / f"bad.{ending}")
    done = run("compare", f"bad.{ending}", f"bad.{ending}", "-c", "ms", cwd=tmp_path)
    assert f"n = {ROWS} and {ROWS}" in " ".join(done.stdout.split())


CUT = """
import os, sys
import pyarrow as pa
import dkmd

path, column = sys.argv[1:]
open_file = pa.ipc.open_file

class Cutting:
    def __init__(self, *given, **options):
        self.opened = open_file(*given, **options)

    def __getattr__(self, name):
        return getattr(self.opened, name)

    def get_batch(self, i):
        batch = self.opened.get_batch(i)
        os.truncate(path, 4096)
        return batch

pa.ipc.open_file = Cutting
try:
    dkmd.compare(path, [1.0, 2.0, 3.0], column=column)
except ValueError as error:
    print(error)
"""


def test_an_arrow_file_that_is_cut_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    """A map of the file would end the process by SIGBUS."""
    path = tmp_path / "x.feather"
    table = _table(100_000)
    feather.write_feather(table, str(path), compression="uncompressed", chunksize=50_000)
    words = [sys.executable, "-c", CUT, str(path), "ms"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert "x.feather: " in done.stdout
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("ending", ["feather", "arrow"])
def test_segments_are_read_from_both_formats_of_arrow(ending: str, tmp_path: Path) -> None:
    table = _table().append_column("os", pa.array(["mac", "win"] * (ROWS // 2)))
    _arrow(tmp_path / f"x.{ending}", table)
    path = f"x.{ending}"
    done = here("compare", path, path, "-c", "ms", "--segments", "os", cwd=tmp_path)
    assert "mac" in done.stdout


def test_a_damaged_arrow_file_of_vectors_is_named(tmp_path: Path) -> None:
    content = _arrow(tmp_path / "x.arrow", _table())
    (tmp_path / "x.arrow").write_bytes(content[: len(content) // 2])
    done = here("compare", "x.arrow", "x.arrow", "--together", "vector", code=2, cwd=tmp_path)
    assert "x.arrow: " in done.stderr


HEADERS = {
    "an open bracket": b"{'descr': '<f8', 'fortran_order': False, 'shape': ((((3,), }",
    "no type": b"{'descr': 7, 'fortran_order': False, 'shape': (3,), }",
    "an odd type": b"{'descr': ('<f8', [1, [2]]), 'fortran_order': False, 'shape': (3,), }",
    "nested": b"{'descr': " + b"(" * 3_000 + b"}",
    "a huge shape": b"{'descr': '<f8', 'fortran_order': False, 'shape': (10**30,), }",
    "more than there is": b"{'descr': '<f8', 'fortran_order': False, 'shape': (2**61,), }",
    "below zero": b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
    "NUL": b"{'descr': '<f8', \x00 'fortran_order': False, 'shape': (3,), }",
    "not text": b"\xff" * 60,
    "empty": b"",
}


@pytest.mark.parametrize("command", [("-c", "value"), ("--together", "0,1")])
@pytest.mark.parametrize("header", HEADERS)
def test_a_damaged_header_of_npy_is_an_error_in_one_line(
    header: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    for version in (b"\x01\x00", b"\x02\x00"):
        text = HEADERS[header].ljust(118) + b"\n"
        length = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
        content = b"\x93NUMPY" + version + length + text + bytes(24)
        (tmp_path / "x.npy").write_bytes(content)
        done = here("compare", "x.npy", "x.npy", *command, code=2, cwd=tmp_path)
        assert "x.npy" in done.stderr
        assert "fault of dkmd" not in done.stderr


@pytest.mark.parametrize("kind", ["<U5", ">U5"])
def test_damaged_text_of_an_npy_file_is_an_error_in_one_line(kind: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array(["1.25", "2.5", "3.75"], dtype=kind))
    content = bytearray((tmp_path / "x.npy").read_bytes())
    content[-20 if kind == ">U5" else -17] = 0xFF
    (tmp_path / "x.npy").write_bytes(content)
    done = here("drift", "x.npy", "x.npy", code=2, cwd=tmp_path)
    assert "x.npy is damaged" in done.stderr


def test_an_npy_file_that_is_cut_while_it_is_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(200_000.0))
    fromfile = np.fromfile

    def cutting(*given: object) -> object:
        os.truncate(path, 1_000_000)
        return fromfile(*given)  # type: ignore[call-overload]

    monkeypatch.setattr(np, "fromfile", cutting)
    with pytest.raises(ValueError, match=r"x\.npy was cut off while it was read"):
        compare(path, [1.0, 2.0, 3.0])
