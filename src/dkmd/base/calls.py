"""How an answer was asked for, so that it can be asked again: in Python and at a shell.

A ``Call`` keeps paths and options as they were given. Data in memory has no name here: it
appears as ``reference``, ``current`` or ``table``, and nothing is invented.
"""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

from dkmd.base.secrets import without_password

FLAGS = ("column", "by", "reference", "current", "margin", "groups", "worse", "alpha")
"""Options that the command line has too, under the same names."""

SEVERAL = {"columns": "--column", "table": "--table"}
"""Options that are given there once for each value."""


@dataclass(frozen=True)
class Call:
    """A function of the package, the paths it was given (None: data in memory) and its options.

    Examples
    --------
    >>> call = Call("compare", ("before.csv", "after today.csv"), {"margin": "2%"})
    >>> print(call.python())
    dkmd.compare('before.csv', 'after today.csv', margin='2%')
    >>> print(call.command())
    dkmd compare before.csv 'after today.csv' --margin 2%
    """

    function: str
    sources: tuple[str | None, ...]
    options: Mapping[str, Any]

    def python(self) -> str:
        """The call in Python."""
        names = self._names()
        given = [
            repr(path) if path is not None else name
            for path, name in zip(self.sources, names, strict=True)
        ]
        if self.function == "gate":
            return self._gate(given)
        options = [f"{key}={_written(key, value)}" for key, value in self.options.items()]
        return f"dkmd.{self.function}({', '.join([*given, *options])})"

    def command(self) -> str | None:
        """The same at a shell; None where the data is in memory or an option has no flag."""
        words = ["dkmd", self.function]
        for path in self.sources:
            if path is None:
                return None
            words += [path] if "table" not in self.options else ["--connect", path]
        for key, value in self.options.items():
            if key in SEVERAL:
                several = [value] if isinstance(value, str) else value
                words += [word for each in several for word in (SEVERAL[key], each)]
            elif key in FLAGS and isinstance(value, str | int | float):
                words += [f"--{key}", str(value)]
            else:
                return None
        return shlex.join(words)

    def in_memory(self) -> list[str]:
        """The names that stand for data, and for options, which are not written out."""
        sources = zip(self.sources, self._names(), strict=True)
        options = (key for key, value in self.options.items() if not _is_plain(value))
        return [*(name for path, name in sources if path is None), *options]

    def of_row(self, name: str) -> Call:
        """The call for one row of a table: a level, or a column of a drift."""
        if self.function == "drift":
            kept = {key: value for key, value in self.options.items() if key != "columns"}
            return Call("compare", self.sources, {"column": name} | kept)
        if "by" in self.options:
            return replace(self, options={**self.options, "current": name})
        return self

    def read_from(self, paths: tuple[str, ...], **options: str | None) -> Call:
        """The same call of what was read from files, with the options that said how."""
        given = {key: value for key, value in options.items() if value is not None}
        return replace(self, sources=paths, options=given | dict(self.options))

    def _names(self) -> tuple[str, ...]:
        return ("table",) if len(self.sources) == 1 else ("reference", "current")

    def _gate(self, given: list[str]) -> str:
        """Benchmarks are loaded first, with the options that say how a table holds them."""
        loading = {k: v for k, v in self.options.items() if k in ("column", "by", "groups")}
        judging = {k: v for k, v in self.options.items() if k not in loading}
        how = "".join(f", {key}={_written(key, value)}" for key, value in loading.items())
        sides = [
            f"load_benchmarks({name}{how})" if path is not None else name
            for path, name in zip(self.sources, given, strict=True)
        ]
        options = [f"{key}={_written(key, value)}" for key, value in judging.items()]
        names = "gate, load_benchmarks" if None not in self.sources else "gate"
        return f"from dkmd.answers.gate import {names}\ngate({', '.join([*sides, *options])})"


def _written(key: str, value: Any) -> str:
    """A value as Python; what is no plain value goes by the name of its option."""
    if isinstance(value, float):
        return repr(float(value))  # NumPy's floats are floats, but write themselves differently
    return repr(value) if _is_plain(value) else key


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return len(value) <= 100 and all(isinstance(item, str | int | float) for item in value)
    return value is None or isinstance(value, str | int | float)


class Answer(Protocol):
    """An answer that remembers how it was asked for."""

    def with_call(self, call: Call) -> Self:
        """The same answer with this call."""


P = ParamSpec("P")
A = TypeVar("A")

_SOURCES = ("samples", "reference", "current")
_NO_OPTIONS = ("advance",)


def recorded(function: Callable[P, A]) -> Callable[P, A]:
    """Let the answers of a function remember how it was called."""
    signature = inspect.signature(function)

    @wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> A:
        answer = function(*args, **kwargs)
        given = signature.bind(*args, **kwargs).arguments
        call = _call(function.__name__, given, signature)
        return cast(A, cast(Answer, answer).with_call(call))

    return asked


def _call(name: str, given: Mapping[str, Any], signature: inspect.Signature) -> Call:
    """Sources first; with ``by``, reference and current are levels, and so are options."""
    levels = given.get("by") is not None
    sources = list(given.get("samples", ()))
    if not levels:
        sources += [given[k] for k in ("reference", "current") if given.get(k) is not None]
    skipped = {*_NO_OPTIONS, *(_SOURCES if not levels else _SOURCES[:1])}
    options = {
        key: value
        for key, value in sorted(given.items(), key=lambda item: _place(item[0]))
        if key not in skipped and not _is_default(value, signature.parameters[key].default)
    }
    return Call(name, tuple(_path(source) for source in sources), options)


def _place(option: str) -> int:
    """Options that say what is compared come first."""
    return FLAGS.index(option) if option in FLAGS else len(FLAGS)


def _path(source: Any) -> str | None:
    if not isinstance(source, str | os.PathLike):
        return None
    return without_password(os.fspath(source))


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (_is_plain(value) and bool(value == default))
