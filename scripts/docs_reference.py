"""The reference pages of the site, from the code: commands, Python names, JSON documents."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any

import typer.main

from dkmd.cli.app import app

ROOT = Path(__file__).parent.parent.resolve()
SCHEMA = ROOT / "src" / "dkmd" / "answers" / "schema" / "answers.json"
STUB = ROOT / "src" / "dkmd" / "__init__.pyi"

GROUPS = {
    "answers": ("Answers", "Comparisons of samples, columns and tables, in words and numbers."),
    "inference": ("Tests", "The tests behind the answers, called like those of `scipy.stats`."),
    "planning": ("Planning", "How many values does a change need?"),
    "sequential": ("Watching", "Answers that hold while data arrive."),
    "matrices": ("Matrices", "Many rows and columns at once."),
    "sources": ("Sources", "Data where they are kept, as summaries."),
    "bins": ("Summaries", "A sample in a few kB."),
    "statistic": ("Statistic", "The witness function and the estimators."),
    "adapters": ("Assertions and adapters", "dkmd inside other tools."),
    "base": ("Errors", "What can be caught. All are `ValueError`s."),
}
"""The pages of the Python reference, by the package that a public name comes from."""

ADAPTERS = ("evidently.register", "scikit.TwoSampleDrift", "river.DkmdDrift")
"""Names of adapters that are not public names of dkmd, because they need other tools."""


def python_pages() -> dict[str, str]:
    """A page of Python names for each group. Every public name is on one of them."""
    pages: dict[str, list[str]] = {group: [] for group in GROUPS}
    for module, name in public_names():
        package = module.split(".")[0]
        group = "planning" if module.endswith(".planning") else package
        pages.setdefault(group, []).append(f"::: dkmd.{name}")
    adapters = ROOT / "src" / "dkmd" / "adapters"
    pages["adapters"] += [
        f"::: dkmd.adapters.{name}"
        for name in ADAPTERS
        if (adapters / f"{name.split('.', maxsplit=1)[0]}.py").exists()
    ]
    return {
        f"python_{group}.md": _page(*GROUPS.get(group, (group.title(), "")), names)
        for group, names in pages.items()
        if names
    }


def public_names() -> Iterator[tuple[str, str]]:
    """The module, seen from dkmd, and the name of everything that the stub file exports."""
    for line in ast.parse(STUB.read_text()).body:
        if isinstance(line, ast.ImportFrom):
            for alias in line.names:
                yield line.module or "", alias.asname or alias.name


def _page(title: str, words: str, parts: Iterable[str]) -> str:
    return "\n\n".join([f"# {title}", *filter(None, [words]), *parts]) + "\n"


def command_line() -> dict[str, str]:
    """The page of all commands: what ``--help`` says, as tables."""
    top: Any = typer.main.get_command(app)
    parts = list(_command(top, "dkmd", 2))
    words = (
        "This page says what `dkmd --help` and `dkmd COMMAND --help` say. It is written from the "
        "commands themselves. [JSON and exit codes](json.md) has what they print for programs."
    )
    return {"command_line.md": _page("Command line", words, parts)}


def _command(command: Any, name: str, level: int) -> Iterator[str]:
    """A heading, the usage, the help and the options of a command; then its subcommands."""
    below: Mapping[str, Any] = getattr(command, "commands", {})
    context = command.context_class(command, info_name=name)
    if name != "dkmd":
        yield f"{'#' * level} `{name}`"
        usage = command.get_usage(context).removeprefix("Usage: ")
        yield f"```\n{' '.join(usage.replace('{', '').replace('}', '').split())}\n```"
        words, examples = _help(command.help or "")
        yield words
        if examples:
            yield f"```\n{examples}\n```"
    for what in ("argument", "option"):
        own = [p for p in command.params if p.param_type_name == what]
        records = [p.get_help_record(context) for p in own if p.name != "help"]
        rows = [(_spelled(of), _words(words)) for of, words in filter(None, records)]
        if rows:
            yield _table((what, "meaning"), rows)
    for word, sub in below.items():
        yield from _command(sub, f"{name} {word}", level if name == "dkmd" else level + 1)


def _help(text: str) -> tuple[str, str]:
    """The paragraphs of a help text, and its examples, one command per line."""
    words, _, rest = cleandoc(text).partition("\b\nExamples:\n")
    examples = cleandoc(rest).replace("\\\n", " ").splitlines()
    lines = [f"$ {' '.join(example.split())}" for example in examples if example.strip()]
    return words.replace("\b", "").strip(), "\n".join(lines)


def _spelled(record: str) -> str:
    """An option's spellings as code; of an argument, its name without its type."""
    if record.startswith("-"):
        return f"`{record}`".replace("<", "").replace(">", "").replace("|", "\\|")
    return f"`{record.split(' <', maxsplit=1)[0]}`"


def _words(help_: str) -> str:
    """The help of an option in a cell of a table."""
    return " ".join(help_.replace("[required]", "").replace("|", "\\|").split())


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def json_documents() -> dict[str, str]:
    """The page of JSON documents and exit codes: fixed words, then the schema as tables."""
    schema = json.loads(SCHEMA.read_text())
    parts_of, shown = schema["$defs"], [ref["$ref"].split("/")[-1] for ref in schema["oneOf"]]
    parts = [(ROOT / "docs" / "json.md").read_text().strip()]
    parts += [_document(name, parts_of[name], 3) for name in shown]
    parts.append("## Parts of documents\n\nSeveral documents share these.")
    rest = [n for n in parts_of if n not in shown and "properties" in parts_of[n]]
    parts += [_document(name, parts_of[name], 3) for name in rest]
    return {"json.md": "\n\n".join(parts) + "\n"}


def _document(name: str, part: Mapping[str, Any], level: int) -> str:
    """One object of the schema as a table of its fields."""
    fields = part.get("properties", {})
    title = fields.get("format", {}).get("const", name)
    required = set(part.get("required", ()))
    rows = (
        (f"`{field}`{'' if field in required else ' (optional)'}", _kind(rule), _meaning(rule))
        for field, rule in fields.items()
    )
    words = part.get("description", "")
    table = _table(("field", "holds", "meaning"), rows)
    return "\n\n".join(filter(None, [f"{'#' * level} `{title}`", words, table]))


def _kind(rule: Mapping[str, Any]) -> str:
    """What a field holds, in a few words."""
    if "const" in rule:
        return f"`{json.dumps(rule['const'])}`"
    if "enum" in rule:
        return ", ".join(f"`{json.dumps(value)}`" for value in rule["enum"])
    if "$ref" in rule:
        return str(rule["$ref"]).rsplit("/", maxsplit=1)[-1].replace("_", " ")
    for words in ("anyOf", "oneOf"):
        if words in rule:
            return " or ".join(_kind(each) for each in rule[words])
    return _typed(rule, rule.get("type", "any value"))


def _typed(rule: Mapping[str, Any], kind: Any) -> str:
    """A field of a JSON type."""
    if kind == "array":
        return f"list of {_kind(rule.get('items', {}))}" if rule.get("items") else "list"
    if kind == "object" and isinstance(rule.get("additionalProperties"), dict):
        return f"object of {_kind(rule['additionalProperties'])}"
    if kind == "object" and rule.get("properties"):
        return "object: " + ", ".join(f"`{field}`" for field in rule["properties"])
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _meaning(rule: Mapping[str, Any]) -> str:
    return str(rule.get("description", "")).replace("|", "\\|")
