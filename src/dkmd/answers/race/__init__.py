"""Which of two commands is faster? They run in turns until that is decided."""

from dkmd.answers.race.racing import Racers, Rules, race
from dkmd.answers.race.result import Race

__all__ = ["Race", "Racers", "Rules", "race"]
