"""Several columns in one comparison, and columns with very many levels."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS
from scipy import stats
from shell import answer_in, here

import dkmd
from dkmd import Comparisons, compare

pytestmark = pytest.mark.slow  # files and engines: plain Python would only make them wait

SCHEMA = json.loads(
    (Path(dkmd.__file__).parent / "answers" / "schema" / "answers.json").read_text()
)


def _two() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(1)
    old = pd.DataFrame(rng.normal(size=(400, 3)), columns=["one", "two", "three"])
    new = pd.DataFrame(rng.normal(size=(300, 3)), columns=["one", "two", "three"])
    return old.assign(word="x"), new.assign(two=new["two"] + 0.5, word="x")


def test_several_columns_share_one_family_and_keep_their_order() -> None:
    old, new = _two()
    found = compare(old, new, column=["two", "one"])
    assert isinstance(found, Comparisons)
    assert list(found) == ["two", "one"]
    alone = {name: compare(old, new, column=name) for name in found}
    pvalues = [alone[name].pvalue for name in found]
    pvalues += [f.pvalue for name in found for f in alone[name].findings]
    family = stats.false_discovery_control(pvalues)
    assert [found[name].adjusted_pvalue for name in found] == pytest.approx(list(family[:2]))
    assert found["two"].shift == alone["two"].shift
    assert found.shifted == ["two"]
    assert found.headline().startswith("1 of 2 columns shifted")
    assert found["one"].call is not None
    assert found["one"].call.options == {"column": "one"}
    jsonschema.validate(json.loads(found.to_json()), SCHEMA)


def test_one_column_in_a_list_is_a_mapping_of_one() -> None:
    old, new = _two()
    assert list(compare(old, new, column=["one"])) == ["one"]


def test_a_column_that_cannot_be_compared_is_an_error() -> None:
    old, new = _two()
    with pytest.raises(ValueError, match="has no column 'four'"):
        compare(old, new, column=["one", "four"])
    with pytest.raises(ValueError, match="column 'one' is named twice"):
        compare(old, new, column=["one", "one"])
    with pytest.raises(ValueError, match="needs at least one name"):
        compare(old, new, column=[])
    with pytest.raises(ValueError, match="column 'three' was not compared: it is not in"):
        compare(old, new.drop(columns="three"), column=["one", "three"])
    with pytest.raises(TypeError, match="groups is the name of a column"):
        compare(old, new, column=["one", "two"], groups=(old["word"], new["word"]))  # type: ignore[call-overload]


def test_the_command_answers_for_several_columns(tmp_path: Path) -> None:
    old, new = _two()
    old.to_csv(tmp_path / "old.csv", index=False)
    new.to_csv(tmp_path / "new.csv", index=False)
    words = ["compare", "old.csv", "new.csv", "-c", "one", "-c", "two"]
    shown = here(*words, "--report", "page.html", cwd=tmp_path).stdout
    assert answer_in(shown).startswith("1 of 2 columns shifted")
    assert {line.split()[0] for line in shown.splitlines()[1:3]} == {"one", "two"}
    page = (tmp_path / "page.html").read_text()
    assert "dkmd compare old.csv new.csv -c one -c two" in page
    found = compare(tmp_path / "old.csv", tmp_path / "new.csv", column=["one", "two"])
    assert found.call is not None
    assert (found.call.command() or "").endswith("--column one --column two")
    told = json.loads(here(*words, "--json", cwd=tmp_path).stdout)
    jsonschema.validate(told, SCHEMA)
    assert [one["key"] for one in told["comparisons"]] == ["one", "two"]
    assert "--peers needs one comparison" in here(*words, "--peers", code=2, cwd=tmp_path).stderr


def test_several_columns_at_levels_are_named_by_both() -> None:
    rng = np.random.default_rng(2)
    long = pd.DataFrame({"k": np.repeat(["a", "b", "c"], 100), "v": rng.normal(size=300)})
    long["w"] = rng.normal(size=300) + (long["k"] == "c")
    two = compare(long, column=["v", "w"], by="k", reference="a", current="c")
    assert list(two) == ["v", "w"]
    found = compare(long, column=["v", "w"], by="k", reference="a")
    assert list(found) == ["v, b", "v, c", "w, b", "w, c"]
    assert found.shifted == ["w, c"]
    call = found["w, c"].call
    assert call is not None
    assert (call.options["column"], call.options["current"]) == ("w", "c")


def _many() -> pa.Table:
    """A reference of 200 rows, and 30 levels: number k has k rows, its name grows backwards."""
    sizes = {"reference": 200, **{f"level {99 - k}": k for k in range(1, 31)}}
    levels = np.repeat([*sizes], [*sizes.values()])
    values = np.random.default_rng(3).normal(size=levels.size)
    order = np.random.default_rng(4).permutation(levels.size)
    return pa.table({"v": values[order], "k": levels[order]})


@pytest.mark.parametrize("keeper", [*KEEPERS, *CSV])
def test_the_most_frequent_levels_are_kept_wherever_data_are(
    keeper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = (KEEPERS | CSV)[keeper](_many(), tmp_path, monkeypatch)
    seen = []
    found = compare(
        kept, column="v", by="k", reference="reference", most_levels=3,
        advance=lambda name, done, total: seen.append((name, done, total)),
    )  # fmt: skip
    assert isinstance(found, Comparisons)
    assert list(found) == ["level 69", "level 70", "level 71"]
    assert [one.current.size for one in found.values()] == [30, 29, 28]
    assert seen == [("level 69", 0, 3), ("level 70", 1, 3), ("level 71", 2, 3)]
    assert found.left_out == ("k", 27, 3)
    assert found.notes()[0].startswith(
        "only the 3 most frequent levels of k are compared; 27 rarer levels were left out"
    )
    assert found.to_dict()["left_out"] == {"by": "k", "levels": 27, "kept": 3}


def test_all_levels_can_be_had_and_few_are_never_cut() -> None:
    def of(most: int | None = 100) -> Comparisons:
        found = compare(_many(), column="v", by="k", reference="reference", most_levels=most)
        assert isinstance(found, Comparisons)
        return found

    assert len(of(most=None)) == 30
    assert of(most=None).left_out is None
    assert len(of()) == 30
    assert len(of(most=30)) == 30
    assert list(of(most=1)) == ["level 69"]  # still a mapping, which says what is left out
    one = of(most=29)
    assert one.notes()[0].startswith("only the 29 most frequent levels of k are compared; 1 rarer")
    with pytest.raises(ValueError, match="most_levels must be at least 1"):
        of(most=0)


def test_the_command_says_what_it_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"v": rng.normal(size=3000), "k": np.arange(3000) % 150})
    table.to_parquet(tmp_path / "t.parquet")
    words = ["compare", "t.parquet", "-c", "v", "--by", "k", "--reference", "0"]
    shown = here(*words, "--report", "page.html", cwd=tmp_path).stdout
    assert "No clear change in 100 comparisons" in shown
    told = " ".join(shown.split())
    assert "only the 100 most frequent levels of k are compared; 49 rarer levels were" in told
    assert "49 rarer levels of k" in (tmp_path / "page.html").read_text()
    document = json.loads(here(*words, "--most-levels", "2", "--json", cwd=tmp_path).stdout)
    jsonschema.validate(document, SCHEMA)
    assert document["left_out"] == {"by": "k", "levels": 147, "kept": 2}
    assert "0 of 149 shifted" in here(*words, "--all-levels", cwd=tmp_path).stdout


def test_kinds_of_several_columns_are_given_by_name() -> None:
    rng = np.random.default_rng(6)
    old, new = (
        pd.DataFrame({"paid": rng.random(n) < 0.3, "spent": rng.exponential(size=n)})
        for n in (300, 400)
    )
    found = compare(old, new, column=["paid", "spent"], kind={"spent": "count"})
    assert [one.kind for one in found.values()] == ["yes/no", "count"]
    every = compare(old, new, column=["paid", "spent"], kind="amount")
    assert [one.kind for one in every.values()] == ["amount", "amount"]
    with pytest.raises(ValueError, match="kind names column 'other', which is not compared"):
        compare(old, new, column=["paid", "spent"], kind={"other": "count"})
