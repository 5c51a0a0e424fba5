"""Feed the command files that are odd, damaged or both: ``make fuzz``.

Every case must end in an answer or in a one-line error. A traceback, a second line, a process
that dies and a case that takes too long are findings. A case is made from the seed and its number
alone: ``scripts/fuzz.py readers --only 1234`` runs one case again and keeps its files.

Each part runs in worker processes, because a damaged file can kill the process that reads it.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import fuzz_benchmarks
import fuzz_readers
import numpy as np

KEPT = Path("build/fuzz")
"""Where the files of findings, and of cases that run alone, stay."""

PATIENCE = 120.0
"""Seconds without a word from a worker, after which its case counts as a finding."""

LONGEST = 1_000
"""The most characters of a message."""

Maker = Callable[[np.random.Generator], list[str]]
"""Writes the files of a case into the working folder and returns the words of a command."""

PARTS: dict[str, Maker] = {"readers": fuzz_readers.case, "benchmarks": fuzz_benchmarks.case}


class Finding(NamedTuple):
    """A case that ended in neither an answer nor a one-line error."""

    part: str
    number: int
    what: str


def run_case(part: str, seed: int, number: int) -> tuple[int, str | None]:
    """Run one case in the working folder: its exit code, and what was wrong with its end."""
    from dkmd.cli import main

    words = PARTS[part](np.random.default_rng([seed, number]))
    Path("command.json").write_text(json.dumps(words))
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", words):
            main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException as error:  # whatever passes the command's own handler is the finding
        return code, f"{type(error).__name__}: {error}"
    return code, _fault(code, out.getvalue(), err.getvalue())


def _fault(code: int, out: str, err: str) -> str | None:
    """What is wrong with the end of a command, if anything."""
    line = err.rstrip("\n")
    faults = {
        f"a traceback: {err[-400:]}": "Traceback" in err + out,
        f"exit code {code}": code not in (0, 1, 2, 3),
        f"exit code {code} without an answer": code in (0, 1) and not out.strip(),
    }
    if code == 2 or not out.strip():  # 3: nothing to compare, in one line
        faults |= {
            f"not one line: {err[:400]!r}": len(err.splitlines()) != 1,
            f"not a message of dkmd: {line[:400]!r}": not line.startswith("dkmd: "),
            f"a message of {len(line):,} characters": len(line) > LONGEST,
            f"an unexpected error: {line[:400]}": "This is a fault of dkmd" in line,
        }
    return next((fault for fault, found in faults.items() if found), None)


def work(part: str, seed: int, numbers: range) -> None:
    """Run cases one after another; a line on standard output before and after each."""
    say = sys.stdout
    for number in numbers:
        print(json.dumps({"begins": number}), file=say, flush=True)
        folder = Path(tempfile.mkdtemp(prefix="dkmd-fuzz-"))
        with chdir(folder):
            code, fault = run_case(part, seed, number)
        if fault is not None:
            _keep(folder, part, number)
        shutil.rmtree(folder, ignore_errors=True)
        print(json.dumps({"ended": number, "code": code, "fault": fault}), file=say, flush=True)


def _keep(folder: Path, part: str, number: int) -> None:
    kept = KEPT / f"{part}-{number}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder, kept)


def _heard(part: str, seed: int, numbers: range) -> Iterator[dict[str, object]]:
    """What a worker says; ends with ``died`` if it did not finish its cases."""
    words = [sys.executable, __file__, part, "--seed", str(seed), "--worker"]
    worker = subprocess.Popen(
        [*words, str(numbers.start), str(numbers.stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert worker.stdout is not None
    watchdog = threading.Timer(PATIENCE, worker.kill)
    watchdog.start()
    for line in worker.stdout:
        watchdog.cancel()
        watchdog = threading.Timer(PATIENCE, worker.kill)
        watchdog.start()
        yield json.loads(line)
    watchdog.cancel()
    if worker.wait() != 0:
        yield {"died": worker.returncode}


def watched(part: str, seed: int, numbers: range) -> tuple[dict[int, int], list[Finding]]:
    """Run cases in a worker, and in a new one after each case that kills it."""
    codes: dict[int, int] = {}
    findings: list[Finding] = []
    left = numbers
    while left:
        now = left.start
        done = left.stop
        for word in _heard(part, seed, left):
            if "begins" in word:
                now = int(str(word["begins"]))
            elif "ended" in word:
                codes[now] = int(str(word["code"]))
                if word["fault"] is not None:
                    findings.append(Finding(part, now, str(word["fault"])))
            else:
                signal = f"the process ended with {word['died']}"
                findings.append(Finding(part, now, signal))
                done = now + 1
        left = range(done, left.stop)
    return codes, findings


def fuzzed(part: str, seed: int, cases: int, jobs: int) -> list[Finding]:
    """All cases of a part, in several workers; a line says how they ended."""
    cuts = np.linspace(0, cases, 8 * jobs + 1).astype(int)
    pieces = [range(int(a), int(b)) for a, b in itertools.pairwise(cuts.tolist()) if b > a]
    with ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda piece: watched(part, seed, piece), pieces))
    codes = [code for found, _ in done for code in found.values()]
    findings = [finding for _, found in done for finding in found]
    ended = ", ".join(f"{codes.count(code):,} with {code}" for code in sorted(set(codes)))
    print(f"{part}: {cases:,} cases under seed {seed}; exit codes: {ended}")
    for finding in findings:
        print(f"  case {finding.number}: {finding.what}")
    return findings


def main() -> None:
    """Run the parts that were named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(PARTS)}; all by default")
    parser.add_argument("--cases", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="run this case alone and keep its files")
    parser.add_argument("--worker", type=int, nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    parts = asked.parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part called {', '.join(sorted(unknown))}")
    if asked.worker is not None:
        work(parts[0], asked.seed, range(*asked.worker))
        return
    if asked.only is not None:
        folder = KEPT / f"{parts[0]}-{asked.only}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with chdir(folder):
            print(folder, *run_case(parts[0], asked.seed, asked.only))
        return
    findings = [
        each for part in parts for each in fuzzed(part, asked.seed, asked.cases, asked.jobs)
    ]
    print(f"{len(findings)} findings" + (f"; files in {KEPT}" if findings else ""))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
