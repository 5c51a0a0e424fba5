"""Cases of ``make fuzz`` for readers of data: tables in every format, odd or damaged."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.random import Generator

CELLS = [
    "#DIV/0!", "#N/A", "#5", "'", "''", '"', '""', "N/A", "NaN", "null", "-", "", " ", "inf",
    "-inf", "1e999", "1e-320", "9007199254740993", "18446744073709551617", "0x10", "1_000",
    "1,234", "0,5", "1.234,5", "12 ms", "$12", "12%", "yes", "No", "t", "true", "2024-01-31",
    "01/31/2024", "31.01.2024", "12:30", "a;b", "a\tb", "a\nb", "=1+1", "<b>x</b>", "\u202eabc",
    "é", "\x00", "\ufeff1", "x" * 3_000, "1" * 400, "+5", "--5", "5e", "½", "\uff11\uff12",
]  # fmt: skip
"""Cells that people, spreadsheets and programs write."""

NAMES = [
    "a", "b", "value", "#id", "", "a", "A", "ms", "c,d", 'q"q', "x" * 300, "\u202ename", "nan",
    "0", "1.5", "group", "sél", " a ", "SELECT 1; --", "<i>", "inf",
]  # fmt: skip

TOKENS = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"#", b"'", b'"', b"\r", b"\n", b"\r\n", b",", b";",
    b"\t", b"[", b"{", b"NaN", b"1e999", b"<!DOCTYPE html><html>", b"\xe2\x80\xae", b"\x1b[31m",
    b"9" * 30, b"PAR1", b"ARROW1",
]  # fmt: skip


def case(rng: Generator) -> list[str]:
    """Write two files of one kind and return a command about them."""
    ending = str(rng.choice(list(WRITERS)))
    names = [str(name) for name in rng.choice(NAMES, size=rng.integers(1, 5))]
    kinds = [int(rng.integers(2)), *(int(kind) for kind in rng.integers(6, size=len(names) - 1))]
    rows = int(rng.choice([0, 1, 2, 12, 60, 300], p=[0.03, 0.04, 0.04, 0.2, 0.39, 0.3]))
    odd = rng.random() < 0.4
    paths = []
    for side in ("old", "new"):
        path = Path(f"{side}.{ending}")
        columns = [_cells(rng, kind, rows, odd and rng.random() < 0.5) for kind in kinds]
        content = WRITERS[ending](rng, names, columns)
        path.write_bytes(damaged(rng, content) if rng.random() < 0.2 else content)
        paths.append(str(path))
    return ["dkmd", *_command(rng, paths, ["value"] if ending in ("npy", "txt") else names)]


def _cells(rng: Generator, kind: int, rows: int, odd: bool) -> list[object]:
    """One column: numbers, whole numbers, levels or missing values, with odd cells among them."""
    numbers = rng.lognormal(3, 1, rows)
    cells: list[object] = [float(f"{x:.6g}") for x in numbers]
    if kind == 1:
        cells = [int(x) for x in numbers]
    elif kind == 2:
        cells = [str(word) for word in rng.choice(["red", "green", "Yes", "No", "ü"], rows)]
    elif kind == 3:
        cells = [float(x) if x > 15 else 0.0 for x in numbers]
    elif kind == 4:
        cells = [None if x > 40 else float(x) for x in numbers]
    elif kind == 5:
        cells = [str(word) for word in rng.choice(CELLS, rows)]
    if odd and rows and kind != 5:
        for at in rng.integers(rows, size=rng.integers(1, 4)):
            cells[at] = str(rng.choice(CELLS))
    return cells


def _command(rng: Generator, paths: list[str], names: list[str]) -> list[str]:
    """A command about two files, with options that may or may not fit them."""
    verb = str(rng.choice(["compare", "compare", "drift", "gate", "summarize", "watch"]))
    column = ["-c", names[0] if rng.random() < 0.7 else str(rng.choice(names))]
    if verb == "summarize":
        return [verb, paths[0], "--out", "out.dkmd", *column]
    if verb == "watch":
        return [verb, *paths, *column]
    if verb == "gate":
        return [verb, *paths, "--margin", "5%", *column, *_some(rng, {"--inconclusive": "pass"})]
    beside = str(rng.choice(names))
    words = _some(rng, {"--groups": beside, "--pair-by": beside, "--margin": "0.1sd"})
    if verb == "drift":
        return [verb, *paths, *words]
    adjusted = _some(rng, {"--covariate": beside, "--strata": beside})
    words += [*adjusted, "--randomized"] if adjusted else []
    words += _some(rng, {"--segments": beside, "--weight-column": beside})
    if rng.random() < 0.1:
        return [verb, paths[0], *column, "--by", beside]
    return [verb, *paths, *column, *words, *(["--json"] if rng.random() < 0.3 else [])]


def _some(rng: Generator, options: dict[str, str]) -> list[str]:
    """Each option with a small probability."""
    return [word for each in options.items() if rng.random() < 0.08 for word in each]


def damaged(rng: Generator, content: bytes) -> bytes:
    """The same bytes after a few faults: flipped, cut, repeated or replaced."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not data:
            break
        at, size = int(rng.integers(len(data))), int(rng.integers(1, 40))
        match int(rng.integers(6)):
            case 0:
                data[at] ^= 1 << int(rng.integers(8))
            case 1:
                del data[at:]
            case 2:
                del data[at : at + size]
            case 3:
                data[at:at] = data[at : at + size]
            case 4:
                data[at:at] = TOKENS[int(rng.integers(len(TOKENS)))]
            case _:
                data[at : at + size] = rng.bytes(size)
    return bytes(data)


def _quoted(rng: Generator, cell: object, delimiter: str) -> str:
    text = "" if cell is None else str(cell)
    needed = any(sign in text for sign in (delimiter, '"', "\n", "\r"))
    if needed or rng.random() < 0.05:
        return '"' + text.replace('"', '""') + '"'
    return text


def _separated(delimiter: str) -> Callable[[Generator, list[str], list[list[object]]], bytes]:
    def write(rng: Generator, names: list[str], columns: list[list[object]]) -> bytes:
        lines = ["# written by a tool"] * int(rng.integers(3)) if rng.random() < 0.2 else []
        rows: list[list[object]] = [list(row) for row in zip(*columns, strict=True)]
        head: list[list[object]] = [list(names)] if rng.random() < 0.9 else []
        for row in head + rows:
            lines.append(delimiter.join(_quoted(rng, cell, delimiter) for cell in row))
            if rng.random() < 0.01:
                lines.append("")
        end = str(rng.choice(["\n", "\r\n"]))
        mark = "\ufeff" if rng.random() < 0.1 else ""
        return (mark + end.join(lines) + end * int(rng.integers(2))).encode("utf-8", "replace")

    return write


def _json(rng: Generator, names: list[str], columns: list[list[object]]) -> bytes:
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    if rng.random() < 0.5:
        return "\n".join(json.dumps(row) for row in rows).encode()
    return json.dumps(rows).encode()


def _table(names: list[str], columns: list[list[object]]) -> object:
    import pyarrow as pa

    arrays = []
    for column in columns:
        try:
            arrays.append(pa.array(column))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            arrays.append(pa.array([None if cell is None else str(cell) for cell in column]))
    return pa.Table.from_arrays(arrays, names=names)


def _parquet(rng: Generator, names: list[str], columns: list[list[object]]) -> bytes:
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(_table(names, columns), out)
    return out.getvalue()


def _arrow(rng: Generator, names: list[str], columns: list[list[object]]) -> bytes:
    from pyarrow import feather

    out = io.BytesIO()
    packed = str(rng.choice(["uncompressed", "lz4", "zstd"]))
    feather.write_feather(_table(names, columns), out, compression=packed)
    return out.getvalue()


def _npy(rng: Generator, names: list[str], columns: list[list[object]]) -> bytes:
    out = io.BytesIO()
    numbers = [cell for cell in columns[0] if isinstance(cell, int | float)]
    kinds = ["float64", "float32", "int64", "uint8", "bool", ">f8", "complex128", "U5"]
    np.save(out, np.array(numbers).astype(str(rng.choice(kinds))))
    return out.getvalue()


def _text(rng: Generator, names: list[str], columns: list[list[object]]) -> bytes:
    return "\n".join("" if cell is None else str(cell) for cell in columns[0]).encode()


def _zipped(rng: Generator, names: list[str], columns: list[list[object]]) -> bytes:
    return gzip.compress(_separated(",")(rng, names, columns))


WRITERS: dict[str, Callable[[Generator, list[str], list[list[object]]], bytes]] = {
    "csv": _separated(","),
    "tsv": _separated("\t"),
    "semicolon.csv": _separated(";"),
    "json": _json,
    "ndjson": _json,
    "parquet": _parquet,
    "arrow": _arrow,
    "feather": _arrow,
    "npy": _npy,
    "txt": _text,
    "csv.gz": _zipped,
}
"""How a file of each ending is written."""
