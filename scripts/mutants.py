"""Put small faults into the core, one at a time, and see which ones the tests notice.

Cosmic Ray makes the faults: ``<`` for ``<=``, ``+`` for ``-``, 3 for 2, ``not`` before a condition.
A full run would take days. So the script draws a seeded sample: a few places in every module, and
one fault at each place. It tries every fault in a copy of the project, with the tests of its
module. Modules with compiled loops run as plain Python (NUMBA_DISABLE_JIT=1), because a cache would
hide their faults.

Usage: ``make mutants``, or see ``scripts/mutants.py --help``.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "mutants"
PACKAGE = Path("src/dkmd")

TESTS = {
    "inference/test/sides": "inference/sides inference/scan",
    "inference/test/tails": "inference/tails",
    "inference/test/pair": "inference/pair inference/rows inference/scan",
    "inference/test/scan": "inference/scan",
    "inference/test/width": "inference/width",
    "inference/test/rows": "inference/rows",
    "inference/test/witness_pair": "inference/witness_pair",
    "inference/design/units": "design/any_design design/held",
    "inference/design/designs": "design/any_design design/held",
    "inference/design/guards": "design/any_design design/held",
    "inference/design/shared": "design/any_design",
    "inference/design/means": "design/means",
    "inference/test/resampling": "inference/resampling",
    "inference/test/result": "inference/result inference/margins inference/two_sample",
    "inference/test/margins": "inference/margins",
    "inference/plan/planning": "plan/planning",
    "inference/plan/models": "plan/models plan/shares",
    "inference/plan/pilot": "plan/pilot plan/planning",
    "inference/test/two_sample": "inference/two_sample inference/one_test",
    "inference/test/one_test": "inference/one_test inference/two_sample",
    "inference/test/options": "inference/one_test inference/two_sample",
    "inference/test/intervals": "inference/intervals inference/pair",
    "inference/kinds/proportions": "kinds/proportions",
    "inference/kinds/percentiles": "kinds/percentiles findings",
    "inference/kinds/categories": "kinds/categories",
    "inference/kinds/parts": "kinds/parts",
    "inference/kinds/part_margins": "kinds/part_margins",
    "inference/kinds/spread": "kinds/spread",
    "inference/kinds/shapes": "kinds/shapes compare",
    "inference/runs/between_runs": "runs/between_runs",
    "inference/runs/moderation": "runs/moderation",
    "inference/runs/run_levels": "runs/run_levels",
    "inference/runs/outcome": "runs/outcome",
    "inference/runs/blocks": "runs/blocks",
    "inference/runs/heavy_tails": "runs/heavy_tails",
    "inference/runs/level_changes": "runs/level_changes",
    "matrices/center": "matrices/center matrices/multivariate",
    "matrices/fit": "matrices/multivariate matrices/result",
    "matrices/flipping": "matrices/flipping matrices/multivariate",
    "matrices/inputs": "matrices/inputs matrices/multivariate",
    "matrices/length": "matrices/length matrices/multivariate",
    "matrices/multivariate": "matrices/multivariate",
    "matrices/pvalues": "matrices/pvalues matrices/multivariate",
    "matrices/radial": "matrices/radial matrices/multivariate",
    "matrices/relabelling": "matrices/relabelling matrices/multivariate",
    "matrices/result": "matrices/result matrices/multivariate",
    "matrices/rows": "matrices/rows matrices/multivariate",
    "sequential/alarm": "sequential/detector",
    "sequential/baseline": "sequential/detector",
    "sequential/detection": "sequential/detector",
    "sequential/detector": "sequential/detector",
    "sequential/gathering": "sequential/monitor sequential/pairs",
    "sequential/look": "sequential/look sequential/monitor",
    "sequential/base_monitor": "sequential/monitor sequential/pairs",
    "sequential/mixture": "sequential/mixture",
    "sequential/monitor": "sequential/monitor",
    "sequential/pairs": "sequential/pairs sequential/look sequential/monitor",
    "sequential/result": "sequential/monitor",
    "sequential/scores": "sequential/scores sequential/detector",
    "sequential/state": "sequential/monitor sequential/detector",
    "bins/summary": "summary logarithms",
    "bins/summary_file": "summary",
    "bins/filling": "summary",
    "bins/grid": "summary",
    "bins/logarithms": "logarithms",
    "statistic/exact": "exact",
    "statistic/riemann": "riemann",
    "inference/test/riemann_test": "inference/two_sample",
    "statistic/embedding": "peers render/figures",
    "statistic/population": "population",
    "statistic/witness": "witness",
    "statistic/profiles": "profiles witness",
    "statistic/table": "table exact",
    "inference/kinds/segments": "kinds/segments answers/by_segment",
    "inference/test/rel": "inference/rel",
    "inference/test/one_sample": "inference/rel",
    "answers/facts": "scale compare",
    "answers/one_column": "front_door inference/margins compare",
    "answers/many_columns": "many_answers front_door compare",
    "answers/many_levels": "many_answers front_door levels compare",
    "answers/orientation": "orientation",
    "answers/comparison/one": "headlines inference/margins compare",
    "answers/comparison/several": "headlines compare",
    "answers/comparison/words": "headlines inference/margins compare",
    "answers/gate/load": "gate_edges gate_rows gate_tables gate_cli gate",
    "answers/gate/load_tables": "gate_edges gate_rows gate_tables gate_cli",
    "answers/gate/question": "gate_edges gate_rows gate_verdicts gate",
    "answers/gate/runs": "gate_edges gate_rows history gate_guide",
    "answers/gate/words": "gate_edges gate_rows gate_verdicts gate_terminal gate",
    "answers/gate/markdown": "gate_edges gate_rows gate_terminal gate",
    "answers/gate/judge": "gate_edges gate_rows gate_tables gate_verdicts gate",
    "answers/gate/decide": "gate_edges gate_verdicts gate",
    "answers/gate/limits": "gate_edges gate_rows gate_verdicts gate_terminal",
    "answers/gate/listing": "gate_edges gate_rows gate_tables gate_verdicts gate_terminal",
    "answers/gate/result": "gate_edges gate_rows gate_tables gate_verdicts gate",
}
"""For every module, the test files that belong to it, the quickest to notice a fault first.

A module in a folder is ``folder/module``, and so is a test file: ``folder/name`` is
tests/folder/test_name.py.
"""

FROZEN = {"bins/grid"}
"""Modules that have no loops, but whose constants are part of compiled code."""

COMPILED = {"answers/facts", "inference/kinds/proportions"}
"""Modules whose loops no other file calls: Numba compiles them anew with every fault."""

SENSELESS = re.compile(
    r"RemoveDecorator"  # most decorators compile a function, and nothing is compiled here
    r"|_(BitAnd|BitOr|BitXor|LShift|RShift|Invert)$"  # a float has no bits: always noticed
    r"|_(Is|IsNot|In|NotIn)$"  # always true or false, or an error
)
"""Kinds of faults that tell nothing about the tests."""


class BrokenTestsError(RuntimeError):
    """The tests of a module fail as it is: they tell nothing about faults."""


def main() -> None:
    """Draw faults, or take the survivors of the last run; try them and write the report."""
    how = _arguments()
    modules = how.modules or list(TESTS)
    BUILD.mkdir(parents=True, exist_ok=True)
    kept = _read_faults()
    started = time.monotonic()
    with ProcessPoolExecutor(how.jobs, initializer=_copy_project) as pool:
        runs = []
        for module in modules:
            again = None
            if how.again:
                again = [f for f in kept.get(module, []) if not f["noticed"]]
                if not again:
                    continue
            runs.append(pool.submit(_try_module, module, how.count, how.seed, again))
        broken = []
        for run in as_completed(runs):
            try:
                module, faults = run.result()
            except BrokenTestsError as error:  # the other modules go on
                broken.append(str(error))
                print(error, flush=True)
                continue
            kept[module] = _updated(kept.get(module, []), faults) if how.again else faults
            _write(kept)
            print(_line(module, kept[module]), f"{time.monotonic() - started:.0f} s", flush=True)
    for tree in BUILD.glob("tree-*"):
        shutil.rmtree(tree)
    print(_line("all", [fault for faults in kept.values() for fault in faults]))
    print(f"survivors: {BUILD / 'survivors.md'}")
    if broken:
        raise SystemExit(f"{len(broken)} modules could not be tried: their tests fail, see above")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="module", help=", ".join(TESTS))
    parser.add_argument("--count", type=int, default=15, help="faults per module (15)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (1)")
    parser.add_argument(
        "--jobs", type=int, default=1, help="number of modules tried at the same time (1)"
    )
    parser.add_argument(
        "--again", action="store_true", help="try only the faults that survived the last run"
    )
    how = parser.parse_args()
    unknown = [module for module in how.modules if module not in TESTS]
    if unknown:
        parser.error(f"TESTS lists no tests for {', '.join(unknown)}: add them")
    return how


def _try_module(
    module: str, count: int, seed: int, again: list[dict[str, Any]] | None
) -> tuple[str, list[dict[str, Any]]]:
    """Try a sample of faults of one module, or some faults once more."""
    path = PACKAGE / f"{module}.py"
    loops = "@compiled" in path.read_text() and module not in COMPILED
    plain = loops or module in FROZEN
    os.environ["NUMBA_DISABLE_JIT"] = "1" if plain else "0"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not slow"] if plain else []
    files = [_test_file(name) for name in TESTS[module].split()]
    # a fault that makes a loop endless is noticed by the clock
    limit = 15.0 + 4.0 * sum(_seconds_without_fault(plain, command, file) for file in files)
    command += files
    chosen = (
        _sample(path, count, f"{seed} {path.stem}") if again is None else list(map(_spec, again))
    )
    faults = []
    for spec in chosen:
        result = mutate_and_test([spec], " ".join(_quoted(command)), limit)
        faults.append(
            {
                "module": module,
                "operator": spec.operator_name,
                "occurrence": spec.occurrence,
                "start": list(spec.start_pos),
                "end": list(spec.end_pos),
                "noticed": result.test_outcome != TestOutcome.SURVIVED,
                "by_the_clock": result.output == "timeout",
                "change": _change(result.diff or ""),
            }
        )
    return module, faults


_KNOWN: dict[tuple[bool, str], float] = {}
"""How long the tests of a file take without a fault, in plain Python or not."""


def _test_file(name: str) -> str:
    """tests/test_name.py, or tests/folder/test_name.py for folder/name."""
    path = Path("tests", name)
    return str(path.with_name(f"test_{path.name}.py"))


def _seconds_without_fault(plain: bool, command: list[str], file: str) -> float:
    """Run the tests of a file once, as they are. Files that several modules share are run once."""
    if (plain, file) not in _KNOWN:
        started = time.monotonic()
        fine = subprocess.run([*command, file], check=False, capture_output=True, text=True)
        if fine.returncode not in (0, NO_TESTS):
            raise BrokenTestsError(f"{file} fails without any fault:\n{fine.stdout[-2000:]}")
        _KNOWN[plain, file] = time.monotonic() - started
    return _KNOWN[plain, file]


NO_TESTS = 5
"""pytest's exit code if all tests of a file are left out."""


def _quoted(command: list[str]) -> Iterator[str]:
    return (f"'{word}'" for word in command)


def _copy_project() -> None:
    """Copy what the tests need and work in the copy, where faults do no harm."""
    tree = BUILD / f"tree-{os.getpid()}"
    for name in ("src", "tests", "examples"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree)
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree / "src")
    # else Python may run old bytecode after a fault of the same length
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _sample(path: Path, count: int, seed: str) -> list[MutationSpec]:
    """One fault at each of ``count`` places of a module. The same seed gives the same faults."""
    with use_db("faults.sqlite", WorkDB.Mode.create) as database:
        init([path], database, {})
        specs = [spec for item in database.work_items for spec in item.mutations]
    quiet = list(_without_effect(path.read_text()))
    places: dict[tuple[int, int], list[MutationSpec]] = {}
    for spec in specs:
        at = tuple(spec.start_pos)
        seen = not any(low <= at < high for low, high in quiet)
        if seen and not SENSELESS.search(spec.operator_name):
            places.setdefault(at, []).append(spec)
    rng = random.Random(seed)
    chosen = rng.sample(sorted(places), min(count, len(places)))
    return [
        rng.choice(sorted(places[at], key=lambda s: (s.operator_name, s.occurrence)))
        for at in sorted(chosen)
    ]


def _without_effect(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Begin and end of type hints, cache sizes and ``strict=``: faults there change no answer."""
    for node in ast.walk(ast.parse(source)):
        found = [getattr(node, name, None) for name in ("annotation", "returns")]
        if isinstance(node, ast.keyword) and node.arg in ("strict", "maxsize"):
            found.append(node.value)
        for part in found:
            if isinstance(part, ast.expr) and part.end_lineno and part.end_col_offset:
                yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)


def _spec(fault: dict[str, Any]) -> MutationSpec:
    return MutationSpec(
        PACKAGE / f"{fault['module']}.py",
        fault["operator"],
        fault["occurrence"],
        tuple(fault["start"]),
        tuple(fault["end"]),
    )


def _change(diff: str) -> str:
    """The lines that a fault changes."""
    return "\n".join(line for line in diff.splitlines() if re.match(r"[+-](?!\+\+|--)|@@", line))


def _updated(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    tried = {(f["operator"], f["occurrence"]): f for f in new}
    return [tried.get((f["operator"], f["occurrence"]), f) for f in old]


def _read_faults() -> dict[str, list[dict[str, Any]]]:
    kept = BUILD / "faults.json"
    found: dict[str, list[dict[str, Any]]] = json.loads(kept.read_text()) if kept.exists() else {}
    return found


def _write(kept: dict[str, list[dict[str, Any]]]) -> None:
    """Write all faults for ``--again``, and the survivors for people."""
    (BUILD / "faults.json").write_text(json.dumps(kept, indent=1))
    lines = ["# Faults that no test noticed", ""]
    for module, faults in kept.items():
        lines += ["## " + _line(module, faults), ""]
        for fault in faults:
            if not fault["noticed"]:
                where = f"line {fault['start'][0]}, {fault['operator'].removeprefix('core/')}"
                lines += [where, "```diff", fault["change"], "```", ""]
    (BUILD / "survivors.md").write_text("\n".join(lines))


def _line(name: str, faults: list[dict[str, Any]]) -> str:
    noticed = sum(fault["noticed"] for fault in faults)
    slow = sum(fault.get("by_the_clock", False) for fault in faults)
    return f"{name}: {noticed} of {len(faults)} noticed ({noticed / max(1, len(faults)):.0%})" + (
        f", {slow} by the clock" if slow else ""
    )


if __name__ == "__main__":
    main()
