"""docs/gate.md: its jobs are run, its settings are read, and what it says about the suite holds."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from shell import COMMAND, ROOT, here

from dkmd.answers.gate import gate, load_benchmarks, load_runs, read_histories
from dkmd.answers.gate.listing import GIVE_WAY, MOST
from dkmd.answers.gate.result import VERDICTS
from dkmd.cli.gate_settings import KEYS, read_settings
from dkmd.render.terminal import Drop

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

PAGE = (ROOT / "docs" / "gate.md").read_text()
SUITE = ROOT / "examples" / "bench" / "suite"
UNCHANGED = {"sort", "hash", "startup"}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A copy of the suite, because the job writes into it."""
    return Path(shutil.copytree(SUITE, tmp_path / "suite"))


def test_the_commands_of_the_job_run_as_they_are_printed(suite: Path) -> None:
    commands = re.findall(r"^    (dkmd .*)$", PAGE, re.M)
    assert len(commands) == 2
    script = "\n".join(commands).replace("dkmd ", f"{COMMAND} ")
    done = subprocess.run(
        ["bash", "-c", script], cwd=suite, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr  # the branch is worse
    assert len(read_histories([str(suite / "history.json")])) == 14 + 3
    assert (suite / "gate.md").read_text().startswith("**✗ FAILED**")
    assert (suite / "gate.html").read_text().endswith("</html>\n")


def test_the_settings_of_the_page_are_read(suite: Path) -> None:
    text = re.findall(r"^```toml\n(.*?)^```", PAGE, re.M | re.S)
    (suite / "pyproject.toml").write_text(text[0])
    settings = read_settings(suite / "pyproject.toml")
    assert (settings.margin, settings.missing, settings.inconclusive) == ("4%", "fail", "pass")
    assert list(settings.rules) == ["startup", "*_throughput", "test_sort[*]"]
    done = here("gate", "main-1.json", "branch-1.json", cwd=suite, code=1)
    assert "settings from pyproject.toml" in done.stdout
    rows = re.findall(r"^\| `(\w+)` \| ", PAGE, re.M)
    assert tuple(rows) == KEYS


def test_the_cache_of_the_page_is_a_step() -> None:
    (step,) = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)[0])
    assert step["with"]["path"] == "history.json"
    assert step["with"]["key"].startswith(step["with"]["restore-keys"])


def test_runs_and_the_history_end_the_false_alarm() -> None:
    main, branch = (sorted(map(str, SUITE.glob(f"{side}-*.json"))) for side in ("main", "branch"))
    one = gate(load_benchmarks(main[0]), load_benchmarks(branch[0]), margin="4%")
    assert UNCHANGED & set(one.named("worse"))
    several = gate(load_runs(*main), load_runs(*branch), margin="4%")
    past = read_histories([str(SUITE / "history.json")])
    trusted = gate(load_runs(*main), load_runs(*branch), margin="4%", history=past)
    for found in (several, trusted):
        assert found.named("worse") == ["parse"]
        assert found.named("better") == ["render"]
        assert set(found.named("same")) <= UNCHANGED
    assert set(trusted.named("same")) == UNCHANGED  # three runs alone are too noisy for one of them


def test_the_suite_is_what_its_script_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("make_suite", ROOT / "examples/make_suite.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "FOLDER", tmp_path / "suite")
    script.main()
    for path in SUITE.iterdir():
        assert (tmp_path / "suite" / path.name).read_text() == path.read_text(), path.name


def test_the_order_of_the_page_is_that_of_the_code() -> None:
    told = re.search(r"Rows come in this order: (.*?)\.", PAGE)
    assert told is not None
    assert tuple(told[1].split(", ")) == VERDICTS
    assert MOST == 10
    dropped = [step.keys for step in GIVE_WAY if isinstance(step, Drop)]
    assert dropped == [("p",), ("n",), ("reference", "current"), ("interval",)]
