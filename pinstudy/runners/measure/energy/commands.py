"""Meters that commands read: the board's controller by IPMI (DCMI), and a site's own command.

Redfish has no client here: a site's command such as curl reads it, with the site's certificates and
passwords, and `pattern` picks the watts of its answer.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from pinstudy.base.command import run
from pinstudy.base.reading import Unavailable, known
from pinstudy.base.text import one_line, shown
from pinstudy.configs.site import METER_UNITS, EnergyRule
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.energy.sampled import FoundMeter

DCMI = ("ipmitool", "dcmi", "power", "reading")
COMMAND = "command"
# In /dev, the kernel's door to the controller (ipmitool(1), interface open).
_DEVICE = "ipmi0"
# IPMI DCMI 1.5, 6.6.1, Get Power Reading: the current power, whole watts; controllers renew it
# about every second.
_DCMI_WATTS = re.compile(r"^\s*Instantaneous power reading:\s*([0-9]{1,6}) Watts", re.MULTILINE)
_DCMI_STATE = re.compile(r"^\s*Power reading state is:\s*(\S+)", re.MULTILINE)
_DCMI_UPDATE_S = 1.0
# A controller that is busy takes about a second.
LIMIT_S = 5.0
_WORDS: Mapping[str, str] = {"LC_ALL": "C"}
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)


def find_dcmi(root: Path, ipmitool: str | None, environment: Mapping[str, str]) -> list[FoundMeter]:
    """Return the node's controller as a meter; none where the kernel has no door to it.

    `ipmitool` is that program's path, None where it is not installed.
    """
    tree = Tree(root)
    if _DEVICE not in (known(tree.names("/dev")) or ()):
        return []
    words = (ipmitool or DCMI[0], *DCMI[1:])
    read = partial(read_dcmi, words, {**environment, **_WORDS})
    problem = grant = ""
    if ipmitool is None:
        problem, grant = "ipmitool is not installed", "install ipmitool"
    elif not tree.live:
        problem = "not tried: the node is a recorded tree"
    elif isinstance(tried := read(), Unavailable):
        problem = tried.reason
        if not tree.writable(f"/dev/{_DEVICE}"):
            # Who may write to the device may switch the node off.
            grant = "let a command of the site's file read it by sudo (docs/energy-meters.md)"
    return [FoundMeter("dcmi", "system", read, "W", _DCMI_UPDATE_S, 1.0, "", problem, grant)]


def read_dcmi(command: Sequence[str], environment: Mapping[str, str]) -> float | Unavailable:
    """Return the watts of a `dcmi power reading`."""
    text = _printed(command, environment)
    if isinstance(text, Unavailable):
        return text
    watts, state = _DCMI_WATTS.search(text), _DCMI_STATE.search(text)
    called = f"`{shlex.join(command)}`"
    if watts is None:
        return Unavailable(f"{called} printed no power: {one_line(text) or 'nothing'}")
    if state is not None and state[1] != "activated":
        return Unavailable(f"{called}: power reading is {state[1]}")
    return float(watts[1])


def command_meter(rule: EnergyRule, environment: Mapping[str, str]) -> FoundMeter:
    """Return the meter that a site's command reads; the command is tried."""
    assert rule.command and rule.unit and rule.scope
    unit, factor = METER_UNITS[rule.unit]
    variables = {**environment, **_WORDS}
    read = partial(read_command, rule.command, rule.pattern, factor, variables)
    tried = read()
    return FoundMeter(
        COMMAND,
        rule.scope,
        read,
        "J" if unit == "J" else "W",
        rule.update_s,
        label=Path(rule.command[0]).name,
        problem=tried.reason if isinstance(tried, Unavailable) else "",
    )


def read_command(
    command: Sequence[str], pattern: str | None, factor: float, environment: Mapping[str, str]
) -> float | Unavailable:
    """Return what a command prints, times `factor`."""
    text = _printed(command, environment)
    if isinstance(text, Unavailable):
        return text
    match = re.search(pattern, text, re.MULTILINE) if pattern else None
    word = (match[1] or "" if match else "") if pattern else text.strip()
    if _NUMBER.fullmatch(word) and math.isfinite(number := float(word)) and number >= 0:
        return number * factor
    where = f", in which {pattern!r} finds no number of 0 or more" if pattern else ""
    expected = "" if pattern else "; expected a number of 0 or more alone, or a `pattern`"
    return Unavailable(f"`{shlex.join(command)}` printed {shown(one_line(text))}{where}{expected}")


def _printed(command: Sequence[str], environment: Mapping[str, str]) -> str | Unavailable:
    result = run(command, LIMIT_S, environment=environment)
    return Unavailable(result.error) if result.failed else result.stdout
