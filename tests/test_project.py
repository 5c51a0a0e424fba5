"""What the project promises about itself: a light import, and a version that is one."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dkmd

ROOT = Path(__file__).parent.parent


def _loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    words = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def test_importing_dkmd_loads_one_module_of_its_own_and_of_others_none() -> None:
    """So it costs some milliseconds, whatever the machine: no NumPy, no Numba, no SciPy."""
    more = _loaded("import dkmd") - _loaded("pass")
    assert {name for name in more if name.split(".")[0] not in sys.stdlib_module_names} == {"dkmd"}
    assert len(more) < len(_loaded("import numpy") - _loaded("pass")) / 2


def test_functions_keep_their_names_when_their_modules_are_imported() -> None:
    code = "import dkmd.exact, dkmd.riemann, dkmd.population, dkmd.compare, dkmd; "
    code += "print(*(callable(getattr(dkmd, name)) for name in dkmd.__all__ if name != 'peers'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"True"}
    assert set(dkmd.__all__) <= set(dir(dkmd))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dkmd.nothing  # type: ignore[attr-defined]


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


def test_every_module_that_gets_faults_is_there_with_its_tests() -> None:
    """``make mutants`` is not part of a check: a module that moved would be noticed late."""
    tree = ast.parse((ROOT / "scripts" / "mutants.py").read_text())
    named = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("TESTS", "FROZEN", "COMPILED")
    }
    tests = {f"tests/test_{name}.py" for names in named["TESTS"].values() for name in names.split()}
    modules = {f"src/dkmd/{module}.py" for modules in named.values() for module in modules}
    assert [path for path in sorted(tests | modules) if not (ROOT / path).is_file()] == []


def test_the_changelog_knows_this_version() -> None:
    assert re.search(
        rf"^## {re.escape(dkmd.__version__)}", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
