"""What the project promises: a light import, files of a readable size, a consistent version."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dkmd

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dkmd"


def _loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    words = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def test_importing_dkmd_loads_one_module_of_its_own_and_nothing_heavy() -> None:
    """So the import takes some milliseconds on any machine: no NumPy, no Numba, no SciPy."""
    more = _loaded("import dkmd") - _loaded("pass")
    others = {name.split(".")[0] for name in more} - sys.stdlib_module_names
    assert others == {"dkmd", "lazy_loader"}
    assert {name for name in more if name.startswith("dkmd")} == {"dkmd"}
    assert len(more) < len(_loaded("import numpy") - _loaded("pass")) / 2


def test_a_comparison_loads_scipy_stats_only_when_peers_are_asked_for() -> None:
    compared = "import dkmd; answer = dkmd.compare([1.0, 2.0, 4.0], [3.0, 5.0, 8.0, 9.0])"
    assert "scipy.stats" not in _loaded(f"{compared}; str(answer)")
    assert "scipy.stats" in _loaded(f"{compared}; answer.peers()")


def test_every_public_name_is_imported_on_first_use() -> None:
    code = "import dkmd; print(*(callable(getattr(dkmd, name)) for name in dkmd.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split().count("False") == 1  # dkmd.peers is a module
    assert set(dkmd.__all__) <= set(dir(dkmd))
    with pytest.raises(AttributeError, match="dkmd attribute nothing"):
        _ = dkmd.nothing  # type: ignore[attr-defined]


def test_no_public_name_is_the_name_of_a_package_or_module_beside_it() -> None:
    """Importing ``dkmd.compare`` the module would replace ``dkmd.compare`` the function."""
    beside = {path.stem for path in SOURCE.iterdir()}
    assert not beside & set(dkmd.__all__)


def test_imports_point_down_without_exceptions() -> None:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    (layers,) = rules["contracts"]
    named = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    assert named == packages
    assert "ignore_imports" not in layers


MOST_LINES, MOST_BODY_LINES = 450, 60


def _modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    long = {p.name: n for p in _modules() if (n := len(p.read_text().splitlines())) > MOST_LINES}
    assert not long


def test_no_function_is_longer_than_a_screen() -> None:
    """Without signature and docstring. Ruff counts branches: twelve at most."""
    long = {}
    for path in _modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not _is_compiled(node):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > MOST_BODY_LINES:
                    long[f"{path.stem}.{node.name}"] = lines
    assert not long


def _is_compiled(node: ast.FunctionDef) -> bool:
    return any(isinstance(by, ast.Name) and by.id == "compiled" for by in node.decorator_list)


def test_a_missing_browser_is_asked_for_by_name(tmp_path: Path) -> None:
    """Without root nothing is installed. The script says what to install."""
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
    named_tests = {Path(name) for names in named["TESTS"].values() for name in names.split()}
    tests = {str("tests" / path.with_name(f"test_{path.name}.py")) for path in named_tests}
    modules = {f"src/dkmd/{module}.py" for modules in named.values() for module in modules}
    assert [path for path in sorted(tests | modules) if not (ROOT / path).is_file()] == []


def test_the_changelog_knows_this_version() -> None:
    assert re.search(
        rf"^## {re.escape(dkmd.__version__)}", (ROOT / "CHANGELOG.md").read_text(), re.M
    )


def test_the_paper_is_cited_with_both_authors() -> None:
    """As its title page names them, in its order."""
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"family-names: (\w+)\n +given-names: (\w+)", citation) == [
        ("Zhong", "Shijie"),
        ("Fu", "Jiangfeng"),
    ]
    assert "Shijie Zhong and Jiangfeng Fu" in (ROOT / "README.md").read_text()
