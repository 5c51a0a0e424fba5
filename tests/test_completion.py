"""What shells are offered: columns, files by kind; --help in full."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import here, run

from dkmd.cli.completion import benchmark_files, columns, data_files

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, a benchmark file, a hidden file and a script."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data.csv").write_text("lag_ms,load,name\n1,2,x\n")
    (tmp_path / "data.json").write_text("[]")
    (tmp_path / "data.py").write_text("")
    (tmp_path / ".data.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_are_offered_by_kind(folder: Path) -> None:
    assert data_files("d") == ["data/", "data.csv", "data.json"]
    assert data_files(f"{folder}/data.c") == [f"{folder}/data.csv"]
    assert benchmark_files("data.") == ["data.csv", "data.json"]
    assert data_files(".d") == [".data.csv"]
    assert data_files("nowhere/x") == []


@pytest.mark.parametrize("line", ["COMP_WORDS", "_TYPER_COMPLETE_ARGS"])
def test_columns_of_the_files_so_far_are_offered(
    folder: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv(line, "dkmd compare data.csv gone.csv --column l")
    assert columns("l") == ["lag_ms", "load"]
    assert columns("") == ["lag_ms", "load", "name"]
    monkeypatch.setenv(line, "dkmd compare data.py 'open")
    assert columns("") == []


def test_a_shell_gets_completions(folder: Path) -> None:
    shown = run(
        cwd=folder,
        _DKMD_COMPLETE="complete_bash",
        COMP_WORDS="dkmd compare data.csv -c la",
        COMP_CWORD="4",
    )
    assert shown.stdout.split() == ["lag_ms"]


@pytest.mark.parametrize("words", [(), ("compare",), ("gate",), ("history", "show")])
def test_h_is_help(words: tuple[str, ...]) -> None:
    assert here(*words, "-h").stdout == here(*words, "--help").stdout


def test_summaries_of_commands_are_not_cut() -> None:
    shown = here("--help").stdout
    assert "..." not in shown.partition("Commands:")[2]
    assert shown.count("?") >= 4
