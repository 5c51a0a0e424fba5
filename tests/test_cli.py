"""The installed command in a separate process: files in, words or JSON out, exit codes."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shell import COMMAND, INTERRUPTIBLE, ROOT, Done, answer_in, here, run

import dkmd
from dkmd import compare

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

DATA = ROOT / "examples" / "data"
SCHEMA = json.loads(
    (Path(dkmd.__file__).parent / "answers" / "schema" / "answers.json").read_text()
)
BEFORE, AFTER = str(DATA / "latency_before.csv"), str(DATA / "latency_after.csv")


def answer(*words: str, by: Callable[..., Done] = here, **options: Any) -> dict[str, Any]:
    """The JSON of a run, checked against the schema."""
    document: dict[str, Any] = json.loads(by(*words, "--json", **options).stdout)
    jsonschema.validate(document, SCHEMA)
    return document


def test_the_answer_comes_last_in_words() -> None:
    shown = run("compare", BEFORE, AFTER, "--column", "latency_ms").stdout
    lines = shown.splitlines()
    assert re.fullmatch(
        r"latency_ms is HIGHER in latency_after.csv than in latency_before.csv: "
        r"typically \+\d\.\d\d ms \(95% interval \+\d\.\d\d to \+\d\.\d\d\), \+\d\.\d\d%\. "
        r"p = \de-\d\d, n = 1,000 and 1,000\.",
        answer_in(shown),
    )
    assert [line.split()[0] for line in lines[1:5]] == ["values", "median", "shift", "spread"]
    assert any(line.startswith("+inf") for line in lines)
    quiet = here("compare", BEFORE, AFTER, "-q").stdout.splitlines()
    assert quiet == [answer_in(shown)]


@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "json", "ndjson", "parquet", "feather", "npy", "txt", "csv.gz"]
)
def test_every_format_gives_what_its_values_give(suffix: str, tmp_path: Path) -> None:
    samples = {}
    for name, shift in (("a", 0.0), ("b", 2.0)):
        values = np.random.default_rng(int(shift)).normal(100.0 + shift, 5.0, 200).round(3)
        samples[name] = values
        path, frame = tmp_path / f"{name}.{suffix}", pd.DataFrame({"x y": values})
        if suffix in ("csv", "csv.gz", "tsv"):
            frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
        elif suffix in ("json", "ndjson"):
            frame.to_json(path, orient="records", lines=suffix == "ndjson", double_precision=15)
        elif suffix == "npy":
            np.save(path, values)
        elif suffix == "txt":
            np.savetxt(path, values, fmt="%.3f")
        else:
            getattr(frame, f"to_{suffix}")(path)
    found = answer("compare", f"a.{suffix}", f"b.{suffix}", cwd=tmp_path)
    expected = json.loads(compare(samples["a"], samples["b"]).to_json())
    for key in ("shift", "shift_interval", "pvalue", "statistic", "relative_shift", "verdict"):
        assert found[key] == expected[key]


def test_levels_of_a_table_are_compared() -> None:
    flights = str(DATA / "flights.parquet")
    words = ("compare", flights, "-c", "dep_delay", "--by", "origin", "--groups", "date")
    one = answer(*words, "--reference", "JFK", "--current", "EWR")
    assert (one["verdict"], one["current"]["label"]) == ("higher", "EWR")
    several = answer(*words, "--reference", "JFK")
    assert [c["key"] for c in several["comparisons"]] == ["EWR", "LGA"]


def test_drift_names_what_changed_and_what_was_skipped() -> None:
    tables = [str(DATA / f"flights_{month}.parquet") for month in ("january", "july")]
    document = answer("drift", *tables, "--margin", "0.1sd", by=run)
    assert document["comparisons"][0]["key"] == "dep_delay"
    categories = {each["key"]: each for each in document["comparisons"] if "levels" in each}
    assert categories["carrier"]["changed"] == ["category"]
    shown = here("drift", *tables, "-c", "dep_delay", "-c", "arr_delay").stdout
    assert answer_in(shown).startswith("2 of 2 columns shifted")


def test_a_summary_stands_for_its_data(tmp_path: Path) -> None:
    made = answer("summarize", BEFORE, "-o", "reference.dkmd", cwd=tmp_path, by=run)
    assert (made["size"], made["plus_inf"]) == (1000, 4)
    later = answer("compare", "reference.dkmd", AFTER, cwd=tmp_path)
    assert later["shift"] == pytest.approx(answer("compare", BEFORE, AFTER)["shift"], rel=1e-4)
    here("summarize", AFTER, "-o", "new.dkmd", "--like", "reference.dkmd", cwd=tmp_path)
    both = answer("compare", "reference.dkmd", "new.dkmd", cwd=tmp_path)
    assert both["shift"] == pytest.approx(later["shift"], rel=1e-12)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new.dkmd", "reference.dkmd"]
    percent = answer("compare", "reference.dkmd", AFTER, "--margin", "3%", cwd=tmp_path)
    assert percent["verdict"] == "higher"
    (tmp_path / "bad.dkmd").write_text("no")
    assert "not a dkmd summary" in here("compare", "bad.dkmd", AFTER, cwd=tmp_path, code=2).stderr


def test_a_summary_is_compared_with_its_own_column(tmp_path: Path) -> None:
    flights = [str(DATA / f"flights_{month}.parquet") for month in ("january", "july")]
    for name, flight in zip(("old.dkmd", "new.dkmd"), flights, strict=True):
        like = [] if name == "old.dkmd" else ["--like", "old.dkmd"]
        here("summarize", flight, "-c", "dep_delay", "-o", name, *like, cwd=tmp_path)
    for current in (flights[1], "new.dkmd"):
        found = answer("compare", "old.dkmd", current, cwd=tmp_path)
        assert found["name"] == "dep_delay"
    refused = here("compare", "old.dkmd", flights[1], "-c", "distance", cwd=tmp_path, code=2)
    assert "'dep_delay', not of 'distance'" in refused.stderr
    here("summarize", str(DATA / "before.txt"), "-o", "plain.dkmd", cwd=tmp_path)
    plain = answer("compare", "plain.dkmd", AFTER, "-c", "latency_ms", cwd=tmp_path)
    assert plain["name"] == "latency_ms"
    here("summarize", BEFORE, "-o", "ms.dkmd", cwd=tmp_path)
    both = answer("compare", "ms.dkmd", "ms.dkmd", cwd=tmp_path)
    assert (both["name"], both["unit"]) == ("latency_ms", "ms")


def test_other_statistics_come_as_json_too(tmp_path: Path) -> None:
    found = answer("compare", BEFORE, AFTER, "--peers")
    expected = compare(*(pd.read_csv(path) for path in (BEFORE, AFTER))).peers()
    assert [o["name"] for o in found["peers"]] == [o.name for o in expected.rows]
    assert [o["pvalue"] for o in found["peers"]][3] == expected.rows[3].pvalue
    here("summarize", BEFORE, "-o", "a.dkmd", cwd=tmp_path)
    refused = here("compare", "a.dkmd", AFTER, "--peers", cwd=tmp_path, code=2)
    assert "need the single values" in refused.stderr
    levels = ("-c", "dep_delay", "--by", "origin", "--reference", "JFK")
    several = here("compare", str(DATA / "flights.parquet"), *levels, "--peers", code=2)
    assert "one comparison" in several.stderr


def test_standard_input_is_one_number_a_line() -> None:
    numbers = (DATA / "after.txt").read_text()
    before = str(DATA / "before.txt")
    piped = answer("compare", before, "-", stdin=numbers, by=run)
    assert piped["shift"] == answer("compare", before, str(DATA / "after.txt"))["shift"]
    assert "row 2: 'x'" in run("compare", before, "-", stdin="1\nx\n", code=2).stderr
    assert "once" in here("compare", "-", "-", code=2).stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("compare", "none.csv", "odd.csv"), "no file none.csv"),
        (("compare", "empty.csv", "odd.csv"), "0 bytes"),
        (("compare", "odd.csv"), "two files"),
        (("compare", "odd.csv", "odd.csv"), "several numeric columns"),
        (("compare", "odd.csv", "odd.csv", "-c", "x", "--by", "word"), "--by needs one table"),
        (("drift", "odd.csv", "odd.csv", "--groups", "nope"), "odd.csv has no column 'nope'"),
        (("drift", "odd.csv", "odd.csv", "--margin", "many"), "dkmd: margin must be"),
        (("compare", "odd.csv", "odd.csv", "-c", "nothing"), "no column 'nothing'"),
        (("compare", "odd.csv", "odd.csv", "-c", "x", "--margin", "many"), "margin"),
        (("compare", "odd.csv", "odd.csv", "-c", "x", "--alpha", "2"), "alpha"),
        (("compare", "odd.csv", "-c", "x", "--by", "word"), "which level"),
        (("compare", "*.none", "odd.csv"), "no file matches"),
        (("compare", "folder", "odd.csv"), "no data file"),
        (("plan", "odd.csv", "-c", "x"), "--shift"),
        (("summarize", "odd.csv", "-c", "x", "-o", "wrong.txt"), ".dkmd"),
        (("compare", "--nothing"), "nothing"),
        (("nothing",), "nothing"),
    ],
)
def test_bad_input_is_one_clear_line(words: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("x,y,word\n1,2,a\n3,4,b\n5,6,c\n")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "folder").mkdir()
    assert expected in here(*words, cwd=tmp_path, code=2).stderr


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("plan", "x.csv", "--column=one", "-c", "two"), "--column/-c"),
        (("compare", "x.csv", "--by", "a", "--by", "b"), "--by"),
        (("compare", "--where", "a", "--where", "b"), "--where"),
        (("drift", "x.csv", "x.csv", "--margin", "1", "--margin", "2"), "--margin"),
        (("gate", "x", "y", "--worse", "higher", "--worse", "lower"), "--worse"),
        (("gate", "x", "y", "--report", "a", "--report", "b"), "--report"),
        (("plan", "x.csv", "-n", "3", "-n", "4"), "-n"),
        (("summarize", "x.csv", "-o", "a.dkmd", "--out", "b.dkmd"), "--out/-o"),
        (("reproduce", "--seed", "1", "--seed", "2"), "--seed"),
    ],
)
def test_an_option_that_is_given_twice_is_refused(words: tuple[str, ...], option: str) -> None:
    """Otherwise one of the two would be lost silently."""
    assert here(*words, code=2).stderr == f"dkmd: {option} was given 2 times: give it once\n"


def test_lists_and_flags_may_be_given_twice() -> None:
    tables = [str(DATA / f"flights_{month}.parquet") for month in ("january", "july")]
    shown = here("drift", *tables, "-c", "dep_delay", "-c", "arr_delay", "-q", "--quiet").stdout
    assert shown.startswith("2 of 2 columns")


def test_bad_files_end_the_process_with_2(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    lines = ["50000,oops" if i == 50_000 else f"{i},{i / 2}" for i in range(60_000)]
    (tmp_path / "far.csv").write_text("id,lag\n" + "\n".join(lines))
    far = run("compare", "far.csv", "far.csv", "-c", "lag", cwd=tmp_path, code=2).stderr
    assert far == "dkmd: far.csv, column 'lag', row 50,001: 'oops' is not a number\n"
    for name, expected in (("empty.csv", "0 bytes"), ("none.csv", "no file")):
        assert expected in here("compare", name, name, cwd=tmp_path, code=2).stderr
    assert "nothing" in here("nothing", code=2).stderr


def test_odd_names_globs_and_too_little_data(tmp_path: Path) -> None:
    odd = 'p "95"; DROP TABLE x --'
    for name in ("1.csv", "2.csv"):
        pd.DataFrame({odd: [1.0, 2.0, 4.0], "z": 1.0}).to_csv(tmp_path / name, index=False)
    found = answer("compare", "*.csv", "1.csv", "-c", odd, cwd=tmp_path)
    assert (found["name"], found["reference"]["size"]) == (odd, 6)
    (tmp_path / "nan.txt").write_text("nan\nnan\n")
    assert (
        "cannot be compared" in here("compare", "nan.txt", "nan.txt", cwd=tmp_path, code=3).stdout
    )
    for name, content in (("rows.csv", "a,b\n"), ("row.csv", "a\n"), ("gone.csv", "a,b\n,\n,\n")):
        (tmp_path / name).write_text(content)
        for command in ("compare", "drift"):
            done = here(command, name, name, cwd=tmp_path, code=3)
            assert re.search("no rows|no values|are missing", done.stdout + done.stderr)
    assert "has no rows" in here("compare", "rows.csv", "row.csv", cwd=tmp_path, code=3).stdout


def test_files_from_elsewhere_are_read_by_the_command(tmp_path: Path) -> None:
    """Latin-1, Windows line ends, a folder of files, and the types of Parquet."""
    folder = tmp_path / "days"
    folder.mkdir()
    for day, offset in ((1, 0), (2, 50)):
        lines = ["größe;ort", *(f"{offset + i}.5;Köln" for i in range(50))]
        (folder / f"{day}.csv").write_bytes("\r\n".join(lines).encode("latin-1"))
    odd = {
        "price": pa.array([None, *(Decimal(i) / 2 for i in range(1, 100))]),
        "when": pa.array(range(100), pa.timestamp("us")),
    }
    pq.write_table(pa.table(odd), tmp_path / "odd.parquet")
    found = answer("compare", "days", "days/2.csv", cwd=tmp_path)
    assert (found["name"], found["reference"]["size"], found["current"]["size"]) == (
        "größe", 100, 50
    )  # fmt: skip
    prices = answer("compare", "odd.parquet", "odd.parquet", cwd=tmp_path)
    assert (prices["name"], prices["shift"], prices["reference"]["nan"]) == ("price", 0.0, 1)
    dates = answer("compare", "odd.parquet", "odd.parquet", "-c", "when", cwd=tmp_path)
    assert (dates["dates"], dates["shift"], dates["unit"]) == (True, 0.0, "s")


def test_colour_is_for_terminals_only() -> None:
    words = ("compare", BEFORE, AFTER)
    plain = here(*words).stdout
    assert "\x1b" not in plain
    with patch.dict(os.environ, FORCE_COLOR="1"):
        assert "\x1b[1m" in here(*words).stdout
    with patch.dict(os.environ, FORCE_COLOR="1", NO_COLOR="1"):
        assert "\x1b[33m" not in here(*words).stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_signs_that_an_encoding_lacks_are_spelled_out(encoding: str, tmp_path: Path) -> None:
    rows = "".join(f"{i % 7},{i}\n" for i in range(50))
    (tmp_path / "a.csv").write_text(f"größe,→\n{rows}")
    (tmp_path / "b.csv").write_text("größe,→\n" + "".join(f"{i % 7 - 9},\n" for i in range(50)))
    words = [str(COMMAND), "drift", "a.csv", "b.csv"]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    for more in ([], ["--json"]):
        done = subprocess.run(
            [*words, *more], cwd=tmp_path, env=environment, capture_output=True, check=True
        )
        shown = done.stdout.decode(encoding)
        if more:
            document = json.loads(shown)
            assert document["comparisons"][0]["key"] == "größe"
            assert list(document["skipped"]) == ["→"]
        else:
            assert "-9.00" in shown
            assert "missing: 0.0% -> 100.0%" in shown
            assert "?" not in shown.replace("gr??e", "")


def test_version_loads_nothing() -> None:
    code = "import atexit, sys; sys.argv = ['dkmd', '--version']; from dkmd.cli import main; "
    code += "atexit.register(lambda: print(*sys.modules)); main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, modules = done.stdout.splitlines()
    assert version == f"dkmd {dkmd.__version__}"
    assert not {"numpy", "numba", "typer", "rich", "duckdb"} & set(modules.split())


def _loaded_by(*words: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    code = f"import atexit, sys; sys.argv = {['dkmd', *words]!r}; from dkmd.cli import main; "
    code += "atexit.register(lambda: print(*sys.modules)); main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 3), done.stderr
    return set(done.stdout.splitlines()[-1].split())


SLOW_TO_IMPORT = {"pandas", "ibis", "sqlglot", "dask", "scipy.stats", "matplotlib", "jinja2"}


def test_small_files_are_compared_without_loading_much() -> None:
    """The command should answer within a second, and all of these are slow to import."""
    loaded = _loaded_by("compare", BEFORE, AFTER, "--quiet")
    assert "duckdb" in loaded
    assert not SLOW_TO_IMPORT & loaded


def test_a_gate_of_benchmark_files_loads_no_reader_of_tables() -> None:
    files = (str(DATA.parent / "bench" / f"pyperf-{build}.json") for build in ("main", "branch"))
    loaded = _loaded_by("gate", *files)
    assert "numba" in loaded
    tables = {"duckdb", "pyarrow", "narwhals", "dkmd.sources.loading", "dkmd.sources.files.table"}
    assert not (SLOW_TO_IMPORT | tables) & loaded


def test_completion_offers_the_commands() -> None:
    done = run(
        _DKMD_COMPLETE="complete_bash", COMP_WORDS="dkmd ", COMP_CWORD="1",
        _TYPER_COMPLETE_ARGS="dkmd ",
    )  # fmt: skip
    assert {"compare", "drift", "plan", "summarize"} <= set(done.stdout.split())
    module = [sys.executable, "-m", "dkmd", "--help"]
    shown = subprocess.run(module, capture_output=True, text=True, check=True).stdout
    assert "--install-completion" in shown


COMMANDS = (
    "compare", "drift", "gate", "plan", "summarize", "reproduce", "watch", "race",
)  # fmt: skip


def _examples(command: str) -> str:
    """The examples in the text of a --help."""
    examples = re.split(r"Examples?:\n", here(command, "--help").stdout)[1]
    return examples.partition("\n\n")[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help_work(command: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    joined = re.sub(r" *\\?\n(?! *dkmd)\s+", " ", _examples(command))
    found = [shlex.split(line) for line in joined.splitlines()]
    assert found
    assert all(words[0] == "dkmd" for words in found)
    left_out = ("--connect", "reproduce")  # these need a missing database, or minutes of work
    for _, *words in (words for words in found if not set(left_out) & set(words)):
        # both shipped branches are worse; a race on a busy machine may not be decided
        code = {"gate": 1, "race": None}.get(command, 0)
        stop = words.index(">") if ">" in words else len(words)
        assert here(*words[:stop], cwd=tmp_path, code=code).stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help_can_be_pasted_into_a_shell(command: str) -> None:
    lines = _examples(command).splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        assert line.strip().startswith("dkmd ") != before.endswith(" \\")


def test_numbers_are_not_rounded_in_json() -> None:
    found = answer("compare", BEFORE, AFTER)
    frames = [pd.read_csv(path) for path in (BEFORE, AFTER)]
    expected = compare(*frames)
    assert found["shift"] == expected.shift
    assert found["current"]["plus_inf"] == 9
    assert math.isclose(found["pvalue"], expected.pvalue, rel_tol=0.0)


def test_without_words_the_help_is_shown() -> None:
    assert "summarize" in here().stdout
    assert "give two files" in here("compare", code=2).stderr


def _interrupted_while_reading(folder: Path) -> int:
    """The exit code of a run that is interrupted once it has opened its file."""
    words = [*INTERRUPTIBLE, "summarize", "x.csv", "-o", "x.dkmd"]
    with subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        opened = Path(f"/proc/{process.pid}/fd")
        while process.poll() is None:
            with suppress(OSError):  # descriptors come and go
                if any(fd.readlink().name == "x.csv" for fd in opened.iterdir()):
                    process.send_signal(signal.SIGINT)
                    break
        process.communicate()
    return process.returncode


def test_an_interrupted_run_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(map(str, range(2_000_000))))
    assert _interrupted_while_reading(tmp_path) == 130
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_an_interrupt_is_heard_where_the_shell_ignores_it(tmp_path: Path) -> None:
    """The tests may run in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        test_an_interrupted_run_leaves_no_file(tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "URL", "x.csv"),
        ("drift", "URL", "URL"),
        ("drift", "a", "b", "URL"),
        ("gate", "URL", "x.json"),
        ("summarize", "URL", "-o", "x.dkmd"),
    ],
)
def test_a_password_in_the_wrong_place_is_not_repeated(words: tuple[str, ...]) -> None:
    url = "postgresql://me:s3cret@host/db"
    answer = here(*(url if word == "URL" else word for word in words), code=2)
    assert "s3cret" not in answer.stderr + answer.stdout


def test_a_partitioned_table_is_read_from_its_folder(tmp_path: Path) -> None:
    for build, center in ((41, 100.0), (42, 110.0)):
        folder = tmp_path / f"build={build}"
        folder.mkdir()
        values = np.random.default_rng(build).normal(center, 5.0, 200)
        pd.DataFrame({"v": values}).to_parquet(folder / "part.parquet")
    words = ("--by", "build", "--reference", "41", "--current", "42")
    assert "HIGHER" in here("compare", str(tmp_path), "-c", "v", *words).stdout


def test_a_file_that_is_not_there_is_named_without_numbers() -> None:
    message = here("compare", "gone.dkmd", AFTER, code=2).stderr
    assert message.startswith("dkmd: there is no file gone.")
    assert "Errno" not in message


def test_a_drift_without_a_single_p_value_exits_with_3(tmp_path: Path) -> None:
    (tmp_path / "same.csv").write_text("a,b\n" + "1,2\n" * 30)
    (tmp_path / "some.csv").write_text("a,b\n" + "".join(f"1,{i % 7}\n" for i in range(30)))
    for words in ((), ("--json",), ("--quiet",)):
        here("drift", "same.csv", "same.csv", *words, cwd=tmp_path, code=3)
        here("drift", "some.csv", "some.csv", *words, cwd=tmp_path, code=0)
    here("compare", "same.csv", "same.csv", "-c", "a", cwd=tmp_path, code=3)
    levels = "".join(f"{v},{by}\n" for by, v in (("x", 1), ("y", 1), ("z", 2)) for _ in range(9))
    (tmp_path / "levels.csv").write_text(f"v,by\n{levels}3,z\n")
    here("compare", "levels.csv", "--by", "by", "--reference", "x", cwd=tmp_path, code=0)


def test_a_missing_package_is_told_with_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "x.arrow").write_bytes(b"ARROW1")
    with patch.dict(sys.modules, {"pyarrow": None}):
        message = here("compare", "x.arrow", "x.arrow", cwd=tmp_path, code=2).stderr
    assert message == "dkmd: Arrow files need pyarrow: pip install pyarrow\n"
