"""Options that are given twice: an error, because one of the values would be lost."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class OnceCommand(TyperCommand):
    """A command whose options may be given only once, except flags and lists."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reject a repeated option, then parse as usual."""
        if not ctx.resilient_parsing:  # completion parses an unfinished line
            self._refuse_repeated(ctx, args)
        return super().parse_args(ctx, args)

    def _refuse_repeated(self, ctx: Any, args: list[str]) -> None:
        given: list[Any] = self.make_parser(ctx).parse_args(list(args))[2]
        for option in given:
            once = option.param_type_name == "option" and not (option.multiple or option.is_flag)
            if once and given.count(option) > 1:
                raise ValueError(
                    f"{'/'.join(option.opts)} was given {given.count(option)} times: give it once"
                )
