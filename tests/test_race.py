"""``dkmd race``: two commands in turns until one is clearly faster."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from shell import ROOT, here

import dkmd
from dkmd.answers.race import Race, Racers, Rules, race
from dkmd.answers.race.result import Runs, measure
from dkmd.sources.commands.running import CommandError, Run, Runner

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(dkmd.__file__).parent / "answers" / "schema" / "answers.json").read_text())
)

pytestmark = pytest.mark.slow


class Pretended(Runner):
    """A runner that draws times in place of running anything."""

    times: Iterator[float]
    ran: list[str]

    def words(self, command: str) -> list[str]:
        return [command]

    def run(self, command: str) -> tuple[Run, str]:
        self.ran.append(command)
        if command == "fail":
            return Run(0.1, 0.0, 0.0, 3), "no such thing"
        factor, _, rest = command.partition(" ")
        wall = float(factor) * next(self.times)
        return Run(wall, 0.5 * wall, 0.1 * wall, 1 if rest == "badly" else 0), ""


def pretended(seed: int = 1, spread: float = 0.02) -> Pretended:
    """Times with a spread, and a load that changes from round to round."""
    runner = Pretended()
    rng = np.random.default_rng(seed)

    def times() -> Iterator[float]:
        while True:
            load = rng.lognormal(0.0, 0.5)
            for _ in range(2):
                yield 0.01 * load * rng.lognormal(0.0, spread)

    object.__setattr__(runner, "times", times())
    object.__setattr__(runner, "ran", [])
    return runner


def raced(first: str, second: str, runner: Pretended | None = None, **rules: Any) -> Race:
    return race(
        Racers((first, second), ("A", "B")),
        Rules(**{"seed": 3, "max_rounds": 400} | rules),
        runner or pretended(),
    )


def test_a_faster_command_is_found_with_its_amount() -> None:
    """1/1.05 of the time is 4.8% less."""
    answer = raced("1", "1.05")
    assert answer.verdict == "higher"
    assert answer.faster == "A"
    change, low, high = answer.change
    assert low < 0.05 < high
    assert change == pytest.approx(0.05, abs=0.02)
    assert answer.rounds < 60
    saved = 100 * change / (1 + change)
    assert answer.headline().startswith(f"A is {saved:.1f}% faster than B (")
    assert answer.headline().endswith(f"%), after {answer.rounds} rounds.")


def test_swapping_the_commands_turns_the_answer_around() -> None:
    one, two = raced("1", "1.1", seed=5), raced("1.1", "1", seed=6, runner=pretended(2))
    assert (one.faster, two.faster) == ("A", "B")
    assert one.headline().split(" (")[0].split(" is ")[1].startswith("9")
    assert two.headline().startswith("B is ")
    assert "% faster than A (" in two.headline()


def test_much_faster_is_told_as_a_factor() -> None:
    answer = raced("3.5", "1")
    assert answer.headline().startswith("B is 3.5")
    assert " times as fast as A (3." in answer.headline()


def test_the_same_within_a_margin_ends_the_race() -> None:
    answer = raced("1", "1.001", margin="2%")
    assert (answer.verdict, answer.faster, answer.decided) == ("equivalent", None, True)
    assert answer.headline().startswith(
        "A and B are EQUIVALENT within 2%: the time of the second differs"
    )
    assert answer.rounds < 200


def test_an_undecided_race_says_how_much_is_still_possible() -> None:
    answer = raced("1", "1.001", max_rounds=30)
    assert answer.rounds == 30
    assert not answer.decided
    assert answer.headline().startswith(
        "INCONCLUSIVE after 30 rounds: the time of B differs from that of A by "
    )
    few = raced("1", "1", max_rounds=4, min_rounds=2)
    assert few.headline().startswith("INCONCLUSIVE after 4 rounds: too few")


def test_processor_time_can_be_compared_in_place_of_wall_time() -> None:
    """The pretended runs use 60% of their wall time."""
    wall, cpu = raced("1", "1.05", pretended(4)), raced("1", "1.05", pretended(4), metric="cpu")
    assert cpu.change == pytest.approx(wall.change)
    assert cpu.headline().endswith(f"after {cpu.rounds} rounds of processor time.")
    assert measure(Run(3.0, 1.0, 0.5, 0), "cpu") == 1.5
    idle = raced("1", "0", metric="cpu", max_rounds=12)
    assert "12 rounds were too short to measure, and do not count" in idle.notes()
    assert not idle.decided


def test_races_end_at_their_limits() -> None:
    seconds = iter(range(1_000))
    answer = race(
        Racers(("1", "1"), ("A", "B")), Rules(max_time=40.0), pretended(),
        clock=lambda: float(next(seconds)),
    )  # fmt: skip
    assert answer.rounds < 40
    assert raced("1", "2", min_rounds=25).rounds == 25
    with pytest.raises(ValueError, match="--max-rounds 5 is less than --min-rounds 10"):
        Rules(max_rounds=5)
    with pytest.raises(ValueError, match="--max-time must be a positive number"):
        Rules(max_time=0.0)


def test_the_order_is_random_and_seeded_and_what_prepares_comes_before() -> None:
    orders = []
    for seed in (1, 1, 2):
        runner = pretended()
        race(
            Racers(("1", "1.0"), ("A", "B"), ("2", "3")),
            Rules(seed=seed, max_rounds=40, min_rounds=40, warmup=3), runner,
        )  # fmt: skip
        assert len(runner.ran) == 4 * 43
        pairs = list(zip(runner.ran[::2], runner.ran[1::2], strict=True))
        assert set(pairs) == {("2", "1"), ("3", "1.0")}
        firsts = [second for _, second in pairs[::2]]
        assert 10 < firsts.count("1") < 33
        orders.append(firsts)
    assert orders[0] == orders[1] != orders[2]


def test_equal_commands_are_seldom_called_different() -> None:
    """30 pretended races of 60 rounds, 4 or fewer at 5%: 98% of binomial draws."""
    wrong = sum(
        raced("1", "1", pretended(seed, 0.3), max_rounds=60, seed=seed).decided
        for seed in range(30)
    )
    assert wrong <= 4


def test_a_failure_ends_the_race_with_the_end_of_its_output() -> None:
    with pytest.raises(CommandError, match="command 'fail' ended with exit code 3 in round 1: no"):
        raced("1", "fail")
    with pytest.raises(CommandError, match="in the warm-up"):
        raced("1", "fail", warmup=1)
    with pytest.raises(CommandError, match="--prepare 'fail' ended"):
        race(Racers(("1", "1"), ("A", "B"), ("fail", "fail")), Rules(), pretended())
    answer = raced("1", "1.1 badly", ignore_failure=True)
    assert any(f"B failed in {answer.rounds} of" in note for note in answer.notes())


def test_notes_name_the_shell_and_a_slow_start() -> None:
    def sides(first: float, usual: float) -> Race:
        walls = [first, *(usual * (1.0 + 0.001 * (i % 7)) for i in range(20))]
        runs = tuple(Run(wall, 0.0, 0.0, 0) for wall in walls)
        return Race(
            (Runs("a", "A", runs), Runs("b", "B", runs)),
            raced("1", "1", max_rounds=20).result, 0.05, None, 1.0, "/bin/sh",
        )  # fmt: skip

    assert any("-N starts commands without a shell" in note for note in sides(0.001, 0.001).notes())
    assert not sides(0.1, 0.1).notes()
    slow = sides(0.3, 0.1).notes()
    assert len(slow) == 2
    assert "the first run of A was much slower" in slow[0]


def test_runs_are_measured() -> None:
    runner = Runner()
    run, tail = runner.run("sleep 0.05; echo out; echo err >&2; exit 4")
    assert 0.05 <= run.wall < 5.0
    assert run.user + run.system < run.wall
    assert (run.code, run.ended(), tail) == (4, "ended with exit code 4", "err")
    killed, _ = runner.run("kill -9 $$")
    assert killed.ended() == "was ended by SIGKILL"
    busy, _ = runner.run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
    assert busy.user > 0.0
    _, end = runner.run("seq 1 500 >&2; false")
    assert end.startswith("…")
    assert end.endswith("500")
    assert len(end) <= 401


def test_commands_do_not_inherit_ignored_signals() -> None:
    """Python ignores SIGPIPE. ``yes | head -1`` would end with an error message."""
    run, tail = Runner("bash -o pipefail").run("yes | head -1")
    assert (run.code, tail) == (141, "")


@pytest.mark.parametrize(
    ("shell", "command", "message"),
    [
        ("", "no-such-program -x", "there is no program 'no-such-program'"),
        ("", "cd /", "without a shell, aliases and built-ins are unknown"),
        ("", "echo 'open", "cannot split"),
        ("/bin/sh", "  ", "a command is empty"),
        ("/bin/no-shell", "true", "there is no program '/bin/no-shell'"),
    ],
)
def test_a_command_that_cannot_start_is_told(shell: str, command: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        Runner(shell).run(command)


def test_the_command_prints_the_answer_last_and_exports_for_hyperfine(tmp_path: Path) -> None:
    file = tmp_path / "race.json"
    words = ("race", "-N", "sleep 0.001", "sleep 0.3", "-n", "short", "-n", "long")
    done = here(*words, "--export-json", str(file), "--fail-if-slower", code=1)
    table, *_, last = done.stdout.rstrip().split("\n\n")
    assert table.splitlines()[1].startswith("short ")
    assert last.startswith("short is ")
    assert "times as fast as long" in last
    exported = json.loads(file.read_text())["results"]
    assert [each["command"] for each in exported] == ["sleep 0.001", "sleep 0.3"]
    keys = {"mean", "stddev", "median", "user", "system", "min", "max", "times", "exit_codes"}
    assert keys <= set(exported[0])
    assert "sleep 0.3 " in here("gate", str(file), str(file), code=None).stdout


def test_json_is_one_object() -> None:
    done = here("race", "-N", "true", "true", "--json", "--max-rounds", "12", code=None)
    answer = json.loads(done.stdout)
    SCHEMA.validate(answer)
    assert done.code == (0 if answer["decided"] else 3)
    assert len(answer["commands"][1]["times"]) == answer["rounds"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("true",), "needs two commands, each in quotes; got 1"),
        (("true", "true", "true"), "got 3"),
        (("true", "true", "-n", "one"), "give --command-name twice"),
        (("true", "true", "-p", "a", "-p", "b", "-p", "c"), "give --prepare once or twice"),
        (("true", "false"), "command 'false' ended with exit code 1 in round 1; it wrote nothing"),
        (("true", "true", "--margin", "3ms"), "--margin needs a percentage such as 2%, got 3ms"),
        (("true", "true", "--margin", "x%"), "margin"),
        (("true", "true", "--alpha", "2"), "alpha"),
        (("-N", "true", "nowhere"), "there is no program 'nowhere'"),
    ],
)
def test_wrong_words_are_told_in_one_line(words: tuple[str, ...], message: str) -> None:
    assert message in here("race", *words, code=2).stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_commands_and_shows_the_answer_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The second command waits for a process of its own, after some rounds."""
    monkeypatch.setattr("dkmd.cli._end_within", lambda seconds: None)  # it would end the tests
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    rounds, pid = tmp_path / "rounds", tmp_path / "pid"
    hang = f"echo >> {rounds}; [ $(wc -l < {rounds}) -lt 3 ] || {{ echo $$ > {pid}; sleep 60; }}"

    def interrupt() -> None:
        while not pid.exists() or not pid.read_text().strip():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=interrupt)
    sender.start()
    try:
        done = here("race", "true", hang, "-n", "A", "-n", "B", code=130)
    finally:
        signal.signal(signal.SIGINT, before)
    sender.join()
    assert "INCONCLUSIVE after 2 rounds" in done.stdout
    assert done.stderr == "dkmd: interrupted\n"
    assert not _running(int(pid.read_text()))


def _running(group: int) -> list[str]:
    """The processes of a group that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of_group) == group and state != "Z":
                found.append(stat.parent.name)
    return found


def test_the_page_shows_what_a_race_prints() -> None:
    """Times differ from run to run: the words must be the same."""
    text = (ROOT / "docs" / "race.md").read_text()
    ((command, shown),) = re.findall(r"^```console\n\$ (dkmd .*)\n((?:.*\n)*?)```$", text, re.M)
    printed = here(*shlex.split(command)[1:]).stdout

    def words(text: str) -> list[str]:
        """Without numbers, and without remarks about a busy machine."""
        parts = [part for part in text.split("\n\n") if not part.startswith("Watch out")]
        return re.sub(r"[\d.,]+ ?(?:[mµ]?s\b)?", "#", "\n\n".join(parts)).split()

    assert words(printed) == words(shown)
