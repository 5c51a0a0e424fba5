"""``dkmd watch``: alarms, decisions, malformed lines, signals, checkpoints that survive kills."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from shell import COMMAND, Done, here

import dkmd
from dkmd.answers.watch import Input, Question, TooManyBadError, Watching, watch_arms, watch_stream
from dkmd.answers.watch import watching as module
from dkmd.answers.watch.events import Event
from dkmd.answers.watch.trace import FIRST_LENGTH, MOST, StretchTrace
from dkmd.bins.grid import Grid
from dkmd.cli.status_line import StatusLine
from dkmd.sources.streams import lines as line_module
from dkmd.sources.streams.places import Place

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(dkmd.__file__).parent / "answers" / "schema" / "answers.json").read_text())
)

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for more lines."""
    monkeypatch.setattr(line_module, "MOMENT", 0.002)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 values about 100 with a spread of 10."""
    path = tmp_path_factory.mktemp("reference") / "reference.csv"
    rng = np.random.default_rng(4)
    path.write_text("ms\n" + "".join(f"{v:.3f}\n" for v in rng.normal(100, 10, 2_000)))
    return path


def moved(n: int = 900, at: int = 500, by: float = 12.0) -> list[str]:
    """Lines of a stream that moves in the middle."""
    rng = np.random.default_rng(8)
    values = rng.normal(100, 10, n)
    values[at:] += by
    return [f"{value:.3f}" for value in values]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def objects(done: Done) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for each in found:
        SCHEMA.validate(each)
    return found


def test_a_stream_that_moves_alarms_once_with_direction_amount_and_beginning(
    reference: Path, tmp_path: Path
) -> None:
    log = write(tmp_path / "a.log", moved())
    done = here("watch", str(reference), str(log))
    first, *others = done.stdout.split("\n\n")[0].splitlines()
    assert first.startswith("HIGHER by +1")
    assert "since about value 50" in first
    assert "noticed at value 5" in first
    assert all(line.startswith("still HIGHER: alarm ") for line in others)
    assert "in 1 incident in 900 values" in done.stdout
    assert "HIGHER" in done.stdout.splitlines()[-1] or "false alarms" in done.stdout


def test_json_has_all_alarms_of_an_incident(reference: Path, tmp_path: Path) -> None:
    lines = [json.dumps({"ms": float(value), "host": "a"}) for value in moved()]
    log = write(tmp_path / "a.jsonl", lines)
    *alarms, last = objects(here("watch", str(reference), str(log), "--field", "ms", "--json"))
    assert len(alarms) == last["alarms"] > 4
    assert [each["alarm"] for each in alarms] == list(range(1, len(alarms) + 1))
    assert {each["incident"] for each in alarms} == {1} == {last["incidents"]}
    assert {each["direction"] for each in alarms} == {"higher"}
    first = alarms[0]
    assert first["line"] == first["at"]
    assert 480 <= first["began"]["low"] <= first["began"]["estimate"] <= 520
    assert first["interval"][0] < 12.0 < first["interval"][1]
    assert (last["values"], last["malformed"], last["kind"]) == (900, 0, "stream")


def test_the_text_tells_fewer_and_fewer_alarms_of_one_incident(
    reference: Path, tmp_path: Path
) -> None:
    log = write(tmp_path / "a.log", moved(3_000, at=0))
    told = here("watch", str(reference), str(log)).stdout.split("\n\n")[0].splitlines()
    numbers = [int(line.split("alarm ")[1].split()[0]) for line in told[1:]]
    assert numbers == [2**k for k in range(1, len(numbers) + 1)]
    assert len(numbers) >= 4


def test_no_alarm_is_told_with_what_to_expect(reference: Path, tmp_path: Path) -> None:
    log = write(tmp_path / "a.log", moved(400, at=400))
    done = here("watch", str(reference), str(log), "--arl", "20000")
    assert done.stdout == "No alarm in 400 values. At most 0.020 false alarms are expected.\n"


def test_the_likely_field_is_that_of_the_reference(reference: Path, tmp_path: Path) -> None:
    rows = ["time,ms,size", *(f"{i},{value},7" for i, value in enumerate(moved()))]
    log = write(tmp_path / "a.csv", rows)
    *alarms, last = objects(here("watch", str(reference), str(log), "--json"))
    assert alarms[0]["line"] == alarms[0]["at"] + 1  # the header
    assert last["lines"] == 901


def test_standard_input_is_read_as_it_comes(
    reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, begin = os.pipe()
    sender = threading.Thread(target=lambda: os.write(begin, "\n".join(moved(5_000)).encode()))
    sender.start()
    with os.fdopen(end) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        done = here("watch", str(reference), "-", "--stop-at-alarm", code=1)
    sender.join()
    os.close(begin)
    assert done.stdout.startswith("HIGHER by ")


@pytest.mark.parametrize(
    ("by", "options", "code", "words"),
    [
        (12.0, (), 1, "is HIGHER than reference.csv: +1"),
        (12.0, ("--worse", "lower"), 0, "is HIGHER"),
        (12.0, ("--worse", "higher"), 1, "is HIGHER"),
        (-12.0, (), 1, "is LOWER"),
        (0.0, ("--margin", "5"), 0, "are EQUIVALENT within 5"),
        (0.0, ("--margin", "5%"), 0, "are EQUIVALENT within 5%"),
        (-5.0, ("--margin", "5", "--worse", "higher"), 0, "is not worse than reference.csv by"),
        (0.0, (), 3, "INCONCLUSIVE"),
    ],
)
def test_a_question_that_is_decided_exits_like_the_gate(
    reference: Path, tmp_path: Path, by: float, options: tuple[str, ...], code: int, words: str
) -> None:
    log = write(tmp_path / "new.log", moved(900, at=0, by=by))
    given = ("watch", str(reference), str(log), "--until-decided", *options)
    *events, last = objects(here(*given, "--json", code=code))
    assert words in last["headline"]
    assert len(events) == (code != 3)
    assert last["result"]["n_y"] == 2_000


def arms(n: int, by: float) -> list[str]:
    rng = np.random.default_rng(6)
    rows = ["arm,ms,size"]
    for _ in range(n):
        arm = rng.choice(["A", "B", "C"], p=[0.4, 0.5, 0.1])
        rows.append(f"{arm},{rng.normal(100, 10) + by * (arm == 'B'):.3f},{rng.random():.3f}")
    return rows


def test_two_arms(tmp_path: Path) -> None:
    log = write(tmp_path / "a.csv", arms(2_000, 3.0))
    options = ("--by", "arm", "--reference", "A", "--current", "B", "-c", "ms")
    done = here("watch", str(log), *options)
    told, summary = done.stdout.split("\n\n", 1)
    assert told.startswith("B is HIGHER than A: +")
    assert "Watch out: 1" in summary
    assert "values of other arms were skipped" in " ".join(summary.split())
    event, last = objects(here("watch", str(log), *options, "--json"))
    rows = [line.split(",") for line in log.read_text().splitlines()[1:]]
    assert last["result"]["n_x"] == sum(arm == "B" for arm, *_ in rows)
    assert last["result"]["n_y"] == sum(arm == "A" for arm, *_ in rows)
    assert last["other_arms"] == sum(arm == "C" for arm, *_ in rows)
    assert event["n_x"] + event["n_y"] < 1_500
    assert last["result"]["shift"] == pytest.approx(3.0, abs=1.0)


def test_malformed_lines_are_named_and_counted(reference: Path, tmp_path: Path) -> None:
    lines = moved(300, at=300)
    for i in range(0, 300, 40):
        lines[i] = f"oops{i}"
    log = write(tmp_path / "a.log", ["# numbers", *lines])
    done = here("watch", str(reference), str(log))
    assert "dkmd: watch out: line 2: 'oops0' is not a number; it is skipped" in done.stderr
    assert len(done.stderr.splitlines()) == 5
    assert "8 malformed lines were skipped: line 2:" in " ".join(done.stdout.split())
    assert "and 3 more" in " ".join(done.stdout.split())
    failed = here("watch", str(reference), str(log), "--max-bad", "3", "-q", code=2, answered=True)
    assert "8 malformed lines are more than --max-bad 3; the last is line 282" in failed.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-",), "give a reference and a stream"),
        (("{ref}", "a", "b"), "give a reference and a stream (or --by); got 3"),
        (("-", "{ref}"), "the reference must be a file"),
        (("{ref}", "nothing.log"), "there is no file nothing.log"),
        (("{ref}", "-", "--follow"), "--follow needs a file"),
        (("{ref}", "-", "--reference", "A"), "need --by"),
        (("{ref}", "--by", "arm"), "--by needs --reference ARM and --current ARM"),
        (("{ref}", "{ref}", "--margin", "3%"), "a detector needs a number in data units"),
        (("{ref}", "{ref}", "-c", "other"), "has no field 'other': it has 'ms'"),
        (("{ref}", "{ref}", "--until-decided", "--stop-at-alarm"), "no alarms to stop at"),
        (("{ref}", "{ref}", "--worse", "higher"), "--worse decides the exit code"),
        (("{ref}", "{ref}", "--arl", "0"), "arl must be"),
        (("{ref}", "{ref}", "--report", "nowhere/a.html"), "there is no folder nowhere"),
    ],
)
def test_wrong_words_are_told_in_one_line(
    reference: Path, words: tuple[str, ...], message: str
) -> None:
    done = here("watch", *(word.format(ref=reference) for word in words), code=2)
    assert message in done.stderr


def question_of(reference: Path, log: Path, state: Path | None, traced: bool = False) -> Watching:
    given = Input(state=state, traced=traced)
    return watch_stream(str(reference), str(log), False, Question(arl=500.0), given)


def silently(watching: Watching) -> list[Event]:
    """Run to the end; the alarms."""
    found: list[Event] = []
    watching.run(found.append, lambda bad: None, lambda: False)
    return found


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small pieces, and a checkpoint after each."""
    monkeypatch.setattr(module, "EVERY", 0.0)
    monkeypatch.setattr(line_module, "PIECE", 100)


def state_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def killed(opened: Callable[[], Watching], checkpoints: int, seconds: float) -> bool:
    """Watch in a child of this process, and kill it a moment after some checkpoints."""
    progress, report = os.pipe()
    child = os.fork()
    if not child:

        class Reporting(Watching):
            """Tells of each checkpoint."""

            def save(self) -> None:
                super().save()
                os.write(report, b".")

        try:
            watching = opened()
            watching.__class__ = Reporting
            silently(watching)
        finally:
            os._exit(0)
    os.close(report)
    while checkpoints > 0 and os.read(progress, 1):  # nothing: the child has ended
        checkpoints -= 1
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.close(progress)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.usefixtures("small_steps")
def test_kills_at_random_moments_count_every_value_once(reference: Path, tmp_path: Path) -> None:
    """Children of this process are really killed. Meanwhile the file grows and is renamed."""
    rng = np.random.default_rng(12)
    log, state = tmp_path / "a.log", tmp_path / "state"
    written = moved(3_000, at=1_500)
    log.write_text("")
    sent = kills = rotations = 0
    saved = tmp_path / "reference.dkmd"  # a child of a process with threads must not use DuckDB
    here("summarize", str(reference), "-o", str(saved), "-q")
    silently(question_of(saved, write(tmp_path / "b.log", written[:50]), None))  # compiled
    while sent < len(written):
        take = int(rng.integers(50, 250))
        with log.open("a") as file:
            file.writelines(f"{line}\n" for line in written[sent : sent + take])
        sent += take
        moment = int(rng.integers(0, 30)), float(rng.uniform(0.0, 0.01))
        kills += killed(lambda: question_of(saved, log, state), *moment)
        if state.exists() and rng.random() < 0.5:
            place = Place.from_dict(state_of(state)["place"])
            if place.inode == log.stat().st_ino:  # one name back is found, two are not
                log.rename(tmp_path / "a.log.1")
                log.write_text("")
                rotations += 1
    silently(question_of(saved, log, state))
    assert kills > 5
    assert rotations > 1
    whole, undisturbed = tmp_path / "c.log", tmp_path / "whole"
    silently(question_of(saved, write(whole, written), undisturbed))
    kept, expected = state_of(state), state_of(undisturbed)
    for each in (kept, expected):  # it belongs to the last batch, and kills change the batches
        del each["machine"]["detector"]["drift_detected"]
    assert kept["machine"]["detector"] == expected["machine"]["detector"]
    assert kept["machine"]["incidents"]["alarms"] == expected["machine"]["incidents"]["alarms"] > 0
    assert kept["tally"]["values"] == expected["tally"]["values"] == 3_000


def by_arm(log: Path, given: Input) -> Watching:
    return watch_arms(str(log), "arm", ("A", "B"), Question(field="ms"), given)


@pytest.mark.usefixtures("small_steps")
def test_a_killed_question_goes_on_to_the_same_answer(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    log = write(tmp_path / "a.csv", arms(1_500, 1.0))
    state = tmp_path / "state"
    kills = 0
    while not (state.exists() and state_of(state)["tally"]["lines"] == 1_501):
        moment = int(rng.integers(20, 60)), float(rng.uniform(0.0, 0.01))
        kills += killed(lambda: by_arm(log, Input(state=state)), *moment)
    again, alone = by_arm(log, Input(state=state)), by_arm(log, Input())
    silently(again)
    silently(alone)
    assert again.tally == alone.tally
    monitors = [each.machine.monitor for each in (again, alone)]  # type: ignore[attr-defined]
    assert monitors[0].sizes == monitors[1].sizes
    assert monitors[0].result.interval == pytest.approx(monitors[1].result.interval, rel=1e-9)
    assert kills > 1


def test_pieces_of_a_file_do_not_change_how_a_question_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of the same values in other batches differ by rounding only."""
    log, frames = write(tmp_path / "a.csv", arms(900, 0.0)), []
    for piece in (70, 1_000, 1 << 20):
        monkeypatch.setattr(line_module, "PIECE", piece)
        watching = by_arm(log, Input())
        silently(watching)
        frames.append(watching.machine.document()["monitor"]["frame"])
    assert frames[0] == pytest.approx(frames[2], rel=1e-12)
    assert frames[1] == pytest.approx(frames[2], rel=1e-12)


def test_the_command_survives_a_kill(reference: Path, tmp_path: Path) -> None:
    """The installed command, with --follow: killed after its first checkpoint, then run again."""
    log, state = write(tmp_path / "a.log", moved(700)), tmp_path / "state"
    words = [str(COMMAND), "watch", str(reference), str(log), "--state", str(state), "--json"]
    with subprocess.Popen([*words, "--follow"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["alarm"] == 1
        while not state.exists():
            time.sleep(0.01)
        process.kill()
    with log.open("a") as file:
        file.writelines(f"{line}\n" for line in moved(900)[700:])
    *_, last = objects(here(*words[1:]))
    assert (last["lines"], last["values"]) == (900, 900)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_with_the_summary_and_the_state(
    reference: Path, tmp_path: Path, number: int
) -> None:
    log, state = write(tmp_path / "a.log", moved()), tmp_path / "state"

    def end() -> None:
        while not state.exists():  # the checkpoint of the first alarm
            time.sleep(0.005)
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    sender = threading.Thread(target=end)
    sender.start()
    done = here("watch", str(reference), str(log), "--follow", "--state", str(state))
    sender.join()
    assert "in 900 values" in done.stdout
    assert state_of(state)["tally"]["values"] == 900
    assert signal.getsignal(number) == before


def test_a_checkpoint_belongs_to_its_question(reference: Path, tmp_path: Path) -> None:
    log, state = write(tmp_path / "a.log", moved(60)), tmp_path / "state"
    words = ("watch", str(reference), str(log), "--state", str(state))
    here(*words)
    assert "No alarm in 60 values" in here(*words).stdout  # nothing new
    other = here(*words, "--arl", "2000", code=2).stderr
    assert "belongs to another question: --arl was 10000.0 and is 2000.0 now" in other
    changed = write(tmp_path / "reference.csv", moved(200))
    found = here("watch", str(changed), *words[2:], code=2).stderr
    assert "the content of the reference has changed" in found
    content = state.read_bytes()
    for damaged, message in (
        (content[:-9], "truncated or damaged"),
        (b"text", "is not a checkpoint of dkmd watch"),
        (gzip.compress(b'{"format": "dkmd-watch", "version": 3}'), "install a newer dkmd"),
        (gzip.compress(b'{"format": "dkmd-watch", "version": 1}'), "Delete it to start anew"),
    ):
        state.write_bytes(damaged)
        assert message in here(*words, code=2).stderr


def test_too_many_malformed_lines_keep_the_checkpoint(reference: Path, tmp_path: Path) -> None:
    log, state = write(tmp_path / "a.log", ["1", "x", "y"]), tmp_path / "state"
    watching = watch_stream(
        str(reference), str(log), False, Question(), Input(state=state, max_bad=1)
    )
    with pytest.raises(TooManyBadError, match="2 malformed lines"):
        silently(watching)
    assert state_of(state)["tally"]["bad"] == 2


def test_correlated_neighbours_are_a_warning(reference: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    noise = np.convolve(rng.normal(0, 10, 2_000), np.full(2, 2**-0.5))
    log = write(tmp_path / "a.log", [f"{100 + each:.3f}" for each in noise])
    done = here("watch", str(reference), str(log), "--arl", "1e6")
    assert "Watch out: neighbouring values have a correlation of 0." in done.stdout


def test_stretches_cover_the_whole_stream_in_bounded_memory() -> None:
    trace = StretchTrace(Grid(0.0, 1.0))
    rng = np.random.default_rng(1)
    total = 0
    for size in rng.integers(1, 3_000, 60):
        trace.add(rng.normal(size=size))
        total += int(size)
        assert sum(stretch.size for stretch in trace.stretches) == total
        assert len(trace.stretches) <= MOST
        assert all(stretch.size == trace.length for stretch in trace.stretches[:-1])
    assert trace.length > FIRST_LENGTH


@pytest.mark.parametrize("decide", [False, True])
def test_the_page_shows_the_stream_over_time(reference: Path, tmp_path: Path, decide: bool) -> None:
    log, page = write(tmp_path / "a.log", moved()), tmp_path / "watch.html"
    words = (
        "watch",
        str(reference),
        str(log),
        "--report",
        str(page),
        "--state",
        str(tmp_path / "s"),
    )
    code = 1 if decide else 0
    here(*words, *(["--until-decided"] if decide else []), code=code)
    text = page.read_text()
    assert text.count("<svg") == 1
    assert "<td>higher</td>" in text or decide
    assert ("decided" in text) is decide
    here(*words, *(["--until-decided"] if decide else []), code=code)  # from the checkpoint alone
    assert page.read_text().count("<path") == text.count("<path") > 5


def test_the_status_line_needs_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    StatusLine().show(lambda: "nothing")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    line = StatusLine()
    line.show(lambda: "12 values\x1b[31m")
    line.show(lambda: "too soon")
    line.clear()
    assert capsys.readouterr().err == "\r\x1b[K12 values\\x1b[31m\r\x1b[K"
    StatusLine(quiet=True).show(lambda: "nothing")
    assert capsys.readouterr().err == ""


def test_questions_differ_by_their_first_option() -> None:
    first = Question(field="ms")
    assert first.difference(first.to_dict()) == ""
    other = replace(first, margin=2.0)
    assert first.difference(other.to_dict()) == "--margin was 2.0 and is None now"


def test_long_names_of_fields_are_shortened_in_errors(tmp_path: Path) -> None:
    rows = "".join(json.dumps({f"{'x' * 300}{i}": 1 for i in range(30)}) + "\n" for _ in range(3))
    (tmp_path / "x.json").write_text(rows)
    (tmp_path / "old.txt").write_text("".join(f"{i}\n" for i in range(100)))
    done = here("watch", "old.txt", "x.json", code=2, cwd=tmp_path)
    assert "say which field to watch" in done.stderr
    assert len(done.stderr) < 2_000
