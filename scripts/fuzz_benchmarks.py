"""Cases of ``make fuzz`` for benchmark files: files of every tool, with odd parts or damaged."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from fuzz_readers import damaged
from numpy.random import Generator

FILES = sorted((Path(__file__).parent.parent / "tests" / "bench_files").iterdir())

VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 1e308, -1e308, float("nan"), float("inf"), 2**70, "", "12", "1,5",
    "x" * 500, "\u202e<b>", "\ud800", [], {}, [1], [[1.0, 2.0]], {"a": 1}, [None], ["a"], "ns",
    "GB/s", "\n", "miss_rate",
]  # fmt: skip
"""Values that a reader of benchmark files may meet in the place of another."""

WORDS = [
    "pkg:",
    "pkg: ",
    "Benchmark",
    "ns/op",
    "MB/s",
    "PASS",
    "NaN",
    "-5",
    "1e999",
    "<not counted>",
    ",",
    "%",
]


def case(rng: Generator) -> list[str]:
    """Write benchmark files of one tool and return a command about them."""
    source = FILES[int(rng.integers(len(FILES)))]
    count = 2 if rng.random() < 0.8 else 4
    paths = [Path(f"run{i}{source.suffix}") for i in range(count)]
    for path in paths:
        path.write_bytes(_changed(rng, source.read_bytes()))
    if rng.random() < 0.05:
        paths[0].write_bytes(FILES[int(rng.integers(len(FILES)))].read_bytes())
    return ["dkmd", *_command(rng, [str(path) for path in paths])]


def _command(rng: Generator, paths: list[str]) -> list[str]:
    if rng.random() < 0.1:
        return ["history", "add", "store.json", *paths]
    words = ["gate", paths[0], paths[1], "--margin", str(rng.choice(["5%", "0.1sd", "3ms"]))]
    for more in paths[2:]:
        words += ["--history", more] if "--history" not in words else ["--also-current", more]
    if rng.random() < 0.2:
        words += ["--inconclusive", "pass"]
    return words + (["--json"] if rng.random() < 0.2 else [])


def _changed(rng: Generator, content: bytes) -> bytes:
    """The file as it is, with other values in it, or with other bytes."""
    way = rng.random()
    if way < 0.5:
        return content
    if way < 0.65:
        return damaged(rng, content)
    try:
        document = json.loads(content)
    except ValueError:
        return _other_lines(rng, content.decode())
    for _ in range(int(rng.integers(1, 4))):
        document = _other_values(rng, document)
    return json.dumps(document).encode("utf-8", "surrogatepass")


def _other_lines(rng: Generator, text: str) -> bytes:
    """Lines of text: a word replaced, a line repeated, left out, or put elsewhere."""
    lines = text.splitlines()
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(lines))) if lines else 0
        match int(rng.integers(4)):
            case 0 if lines and (words := lines[at].split(" ")):
                words[int(rng.integers(len(words)))] = str(rng.choice(WORDS))
                lines[at] = " ".join(words)
            case 1 if lines:
                del lines[at]
            case 2 if lines:
                lines.insert(int(rng.integers(len(lines))), lines[at])
            case _:
                lines.insert(at, str(rng.choice(WORDS)))
    return "\n".join(lines).encode()


def _other_values(rng: Generator, document: Any) -> Any:
    """The same document with one of its parts replaced, left out or repeated."""
    changed = copy.deepcopy(document)
    part = changed
    for _ in range(int(rng.integers(8))):  # walk down, some steps
        inner = [each for each in _parts(part) if isinstance(each, dict | list) and each]
        if not inner:
            break
        part = inner[int(rng.integers(len(inner)))]
    if not isinstance(part, dict | list) or not part:
        return VALUES[int(rng.integers(len(VALUES)))]
    keys = list(part) if isinstance(part, dict) else list(range(len(part)))
    key = keys[int(rng.integers(len(keys)))]
    match int(rng.integers(4)):
        case 0:
            del part[key]
        case 1 if isinstance(part, list):
            part.append(copy.deepcopy(part[key]))
        case 2 if isinstance(part, dict):
            part[str(rng.choice(["FOM: GB/s", "miss_rate", "name", "unit", "\u202e"]))] = part[key]
        case _:
            part[key] = VALUES[int(rng.integers(len(VALUES)))]
    return changed


def _parts(document: Any) -> list[Any]:
    return list(document.values()) if isinstance(document, dict) else list(document)
