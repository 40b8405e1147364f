"""Values that are given as options of a command: the one line about a bad one names its option."""

from __future__ import annotations

from base.errors import UserError
from base.text import shown
from base.units import parse_duration, parse_share


def share_option(option: str, text: str) -> float:
    """Return the share that an option gives; raises UserError when it is none."""
    try:
        share = parse_share(text)
    except ValueError as error:
        raise UserError(f"{option}: {error}") from None
    if share is None:
        raise UserError(f"{option} {shown(text)}: no percentage; expected one such as 1%")
    return share


def time_option(option: str, text: str | None) -> float | None:
    """Return the seconds that an option gives; raises UserError when it is no duration."""
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UserError(f"{option} {shown(text)} {error}") from None
