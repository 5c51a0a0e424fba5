"""Text for terminals: tables that fit a width, and long lists cut with a count.

Plain text without colour. ``cells`` measures (also wide characters) and shortens, ``table`` fits
columns, and ``lists`` cuts lists. The command line adds colour and the width of the terminal.
"""

from dkmd.render.terminal.cells import padded, shortened, width_of
from dkmd.render.terminal.listing import Listing, cut, listing_of
from dkmd.render.terminal.lists import first_of, fitting_line, named
from dkmd.render.terminal.table import Column, Drop, Line, Shorten, fitted

__all__ = [
    "Column",
    "Drop",
    "Line",
    "Listing",
    "Shorten",
    "cut",
    "first_of",
    "fitted",
    "fitting_line",
    "listing_of",
    "named",
    "padded",
    "shortened",
    "width_of",
]
