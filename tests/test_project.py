"""What the project promises about itself: a light import, and a version that is one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dkmd

ROOT = Path(__file__).parent.parent


def _seconds_to_import(modules: str) -> float:
    """In a fresh interpreter."""
    code = f"import time; t = time.perf_counter(); import {modules}; print(time.perf_counter() - t)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)


def test_importing_dkmd_loads_nothing_heavy() -> None:
    code = "import sys, dkmd; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {
        "numba",
        "scipy.stats",
        "scipy.special",
        "pandas",
        "matplotlib",
        "narwhals",
        "duckdb",
        "ibis",
    }
    assert not heavy & set(loaded)


def test_functions_keep_their_names_when_their_modules_are_imported() -> None:
    code = "import dkmd.exact, dkmd.riemann, dkmd.population, dkmd.compare, dkmd; "
    code += "print(*(callable(getattr(dkmd, name)) for name in dkmd.__all__ if name != 'peers'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"True"}
    assert set(dkmd.__all__) <= set(dir(dkmd))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dkmd.nothing  # type: ignore[attr-defined]


@pytest.mark.slow
def test_importing_dkmd_costs_no_more_than_numpy_and_numba() -> None:
    """The best of ten runs each, in turn, so that a busy moment of the machine meets both."""
    pairs = [(_seconds_to_import("dkmd"), _seconds_to_import("numpy, numba")) for _ in range(10)]
    ours, theirs = (min(times) for times in zip(*pairs, strict=True))
    assert ours <= theirs + 0.1


def test_a_missing_browser_is_asked_for_by_name(tmp_path: Path) -> None:
    """Without root nothing is installed: the script says what to install."""
    for tool in ("bash", "dirname"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "id").chmod(0o755)
    script = [tmp_path / "bash", ROOT / "tests" / "browser" / "install.sh"]
    done = subprocess.run(
        script, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "install the packages 'chromium npm'" in done.stderr


def test_the_changelog_knows_this_version() -> None:
    assert re.search(
        rf"^## {re.escape(dkmd.__version__)}", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
