"""The gate in CI: the action, the GitLab job and the shell recipe, parsed and really run.

Nothing here uses a network. Steps that install or upload are checked, not run.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "gate_ci.md").read_text()
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {s.get("id", "upload"): s for s in ACTION["runs"]["steps"]}


def _block(language: str, number: int = 0) -> str:
    """A block of code of the page."""
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return blocks[number]


GITHUB, GITLAB = (yaml.safe_load(_block("yaml", n)) for n in (0, 1))
SHELL = _block("sh")


class Ran(NamedTuple):
    """What one run of the action's gate left behind."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


def _bash(
    script: str, folder: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script as GitHub runs ``shell: bash``."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
        check=False,
    )


def _act(folder: Path, python: str = sys.executable, **inputs: str) -> Ran:
    """Run the gate step of the action, with expressions replaced as GitHub replaces them."""
    given = {name: str(about.get("default", "")) for name, about in ACTION["inputs"].items()}
    given |= inputs
    known = {f"inputs.{name}": value for name, value in given.items()}
    known["steps.install.outputs.python"] = python
    env = {
        name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known[found[1]], text)
        for name, text in STEPS["gate"]["env"].items()
    }
    places = {name: folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for place in places.values():
        place.write_text("")
    env |= {name: str(place) for name, place in places.items()} | {"RUNNER_TEMP": str(folder)}
    done = _bash(STEPS["gate"]["run"], folder, env)
    outputs = dict(line.split("=", 1) for line in places["GITHUB_OUTPUT"].read_text().splitlines())
    summary = places["GITHUB_STEP_SUMMARY"].read_text()
    return Ran(done.returncode, done.stdout + done.stderr, outputs, summary)


def _lines(time: float, count: int = 10) -> str:
    noise = [1.0 + 0.002 * ((7 * i) % 5) for i in range(count)]
    return "".join(f"BenchmarkSort 1 {time * each:.3f} ns/op\n" for each in noise)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.txt").write_text(_lines(100.0))
    (tmp_path / "same.txt").write_text(_lines(100.1))
    (tmp_path / "slow one.txt").write_text(_lines(150.0))
    (tmp_path / "few.txt").write_text(_lines(150.0, count=1))
    return tmp_path


@pytest.mark.parametrize(
    ("current", "code", "outcome"),
    [
        ("same.txt", 0, "passed"),
        ("slow one.txt", 1, "failed"),
        ("few.txt", 3, "inconclusive"),
        ("none.txt", 2, "error"),
    ],
)
def test_the_action_keeps_the_exit_code_and_names_the_outcome(
    folder: Path, current: str, code: int, outcome: str
) -> None:
    ran = _act(folder, reference="main.txt", current=current)
    assert (ran.code, ran.outputs["outcome"]) == (code, outcome), ran.log
    if outcome == "error":
        assert "no verdict (exit code 2)" in ran.summary
        assert "none.txt" in ran.log
        assert "page" not in ran.outputs
    else:
        assert outcome.upper() in ran.summary
        assert ran.summary in ran.log
        assert "<!doctype html>" in Path(ran.outputs["page"]).read_text()[:200].lower()


def test_options_of_the_action_reach_the_gate(folder: Path) -> None:
    loose = _act(folder, reference="main.txt", current="slow one.txt", margin="60%")
    assert (loose.code, loose.outputs["outcome"]) == (0, "passed")
    few = _act(folder, reference="main.txt", current="few.txt", arguments="--inconclusive=pass\n\n")
    assert (few.code, few.outputs["outcome"]) == (0, "inconclusive")


def test_the_history_and_every_argument_are_words_of_their_own(folder: Path) -> None:
    """A stand-in for Python writes down the words that it is given."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {shlex.quote(str(folder / "words"))}\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    _act(
        folder, str(python), reference="main.txt", current="--help", history="runs/*.json",
        arguments="--alpha=0.01\n--by=a b",
    )  # fmt: skip
    words = (folder / "words").read_text().splitlines()
    assert words[:5] == ["-m", "dkmd", "gate", "--margin", "5%"]
    at = words.index("--history")
    assert words[at:] [:7] == [
        "--history", "runs/*.json", "--alpha=0.01", "--by=a b", "--", "main.txt", "--help",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["reference", "current", "margin", "history", "arguments"])
def test_no_input_of_the_action_runs_as_code(folder: Path, name: str) -> None:
    attack = "x$(touch caught)`touch caught`\"; touch caught; '\n; touch caught #"
    inputs = {"reference": "main.txt", "current": "same.txt", name: attack}
    assert _act(folder, **inputs).code != 0
    assert not (folder / "caught").exists()


def test_no_script_of_the_action_has_an_expression_in_it() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        if "run" in step:
            assert step["shell"] == "bash"


def test_the_action_says_what_it_takes_and_gives() -> None:
    assert ACTION["runs"]["using"] == "composite"
    required = {name for name, about in ACTION["inputs"].items() if about.get("required")}
    assert required == {"reference", "current"}
    for about in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert about["description"]
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert rows == [*ACTION["inputs"], *ACTION["outputs"]]
    used = re.findall(r"\$\{\{ (.*?) \}\}", json.dumps(ACTION))
    inputs = {name for word in used for name in re.findall(r"inputs\.(\w+)", word)}
    assert inputs == set(ACTION["inputs"])
    assert {w for w in used if w.startswith("steps.")} == {
        "steps.install.outputs.python", "steps.gate.outputs.outcome", "steps.gate.outputs.page",
    }  # fmt: skip


def test_the_action_installs_its_own_checkout_into_an_environment_of_its_own(
    tmp_path: Path,
) -> None:
    """With a stand-in for Python, whose environment is another stand-in that writes words down."""
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi\n'
        f'printf "%s " "$@" >> {shlex.quote(str(tmp_path / "words"))}\n'
    )
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    output = tmp_path / "output"
    env = {
        "DKMD_PYTHON": str(python), "DKMD_SOURCE": "/the action", "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
    }  # fmt: skip
    assert set(STEPS["install"]["env"]) == {"DKMD_PYTHON", "DKMD_SOURCE"}
    done = _bash(STEPS["install"]["run"], tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert output.read_text() == f"python={tmp_path}/dkmd/bin/python\n"
    words = (tmp_path / "words").read_text()
    assert words.startswith(f"-m venv {tmp_path}/dkmd ")
    assert words.endswith("/the action ")


def test_the_page_is_uploaded_whatever_the_verdict() -> None:
    upload = STEPS["upload"]
    assert upload["uses"].startswith("actions/upload-artifact@v")
    assert upload["if"].startswith("always()")
    assert upload["with"]["path"] == "${{ steps.gate.outputs.page }}"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of a branch, twice as slow as main, whose origin is a folder beside it."""
    origin, work, tools = (tmp_path / name for name in ("origin", "work", "tools"))
    for made in (origin, tools):
        made.mkdir()
    dkmd = tools / "dkmd"
    dkmd.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dkmd "$@"\n')
    dkmd.chmod(0o755)
    script = """
        git init --quiet --initial-branch=main .
        git config user.email ci@example.com; git config user.name ci
        printf '%s\n' '#!/bin/sh' 'echo "BenchmarkSort 1 $(cat time).$(date +%N) ns/op"' > benchmark
        chmod +x benchmark; echo 100 > time
        git add .; git commit --quiet -m main
        git clone --quiet . "$WORK"
        cd "$WORK"
        git config user.email ci@example.com; git config user.name ci
        git checkout --quiet -b branch; echo 200 > time; git commit --quiet -am slower
    """
    done = _bash(script, origin, {"WORK": str(work), "GIT_CONFIG_GLOBAL": os.devnull})
    assert done.returncode == 0, done.stderr
    return work


def _with_tools(checkout: Path) -> dict[str, str]:
    return {"PATH": f"{checkout.parent / 'tools'}{os.pathsep}{os.environ['PATH']}"}


def test_the_recipe_for_any_ci_runs_as_printed(checkout: Path) -> None:
    env = _with_tools(checkout)
    done = subprocess.run(
        ["sh", "-c", SHELL], cwd=checkout, env=os.environ | env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "a benchmark is worse: see gate.html" in done.stdout
    assert "FAILED" in (checkout / "gate.md").read_text()
    assert (checkout / "gate.html").exists()
    assert not (checkout.parent / "main").exists()
    for made in ("main.txt", "branch.txt", "gate.html", "gate.md"):
        (checkout / made).unlink()
    (checkout / "time").write_text("100\n")
    done = subprocess.run(
        ["sh", "-c", SHELL], cwd=checkout, env=os.environ | env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no benchmark is worse" in done.stdout


def test_the_job_for_gitlab_runs_as_printed(checkout: Path) -> None:
    (job,) = GITLAB.values()
    install, *commands = job["script"]
    assert install == "pip install --quiet dkmd"
    done = _bash("\n".join(commands), checkout, _with_tools(checkout))
    assert done.returncode == 1, done.stderr
    assert all((checkout / path).exists() for path in job["artifacts"]["paths"])
    assert job["artifacts"]["when"] == "always"
    assert job["allow_failure"] == {"exit_codes": 3}


def test_the_workflow_for_github_measures_and_uses_the_action(checkout: Path) -> None:
    steps = GITHUB["jobs"]["gate"]["steps"]
    (measure,) = (step["run"] for step in steps if "worktree" in step.get("run", ""))
    (use,) = (step for step in steps if "/dkmd@" in step.get("uses", ""))
    assert set(use["with"]) <= set(ACTION["inputs"])
    done = _bash(measure, checkout)
    assert done.returncode == 0, done.stderr
    ran = _act(checkout, **use["with"])
    assert (ran.code, ran.outputs["outcome"]) == (1, "failed")
    told = next(step for step in steps if "the gate says" in step.get("run", ""))
    assert told["env"]["OUTCOME"] == "${{ steps.gate.outputs.outcome }}"
    assert all("${{" not in step.get("run", "") for step in steps)
