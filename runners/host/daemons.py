"""Daemons known to change frequencies, masks or interrupts while a study measures."""

from __future__ import annotations

from collections.abc import Collection

from runners.host.processes import NAME_LENGTH, parse_task, read_stats
from runners.host.tree import Tree, Unavailable

# Process name -> the systemd unit that stops it. What each one does:
# intel_lpmd moves everything off the P-cores by cgroups and rewrites EPP; power-profiles-daemon,
# tuned, tuned-ppd, tlp-pd, auto-cpufreq, system76-power and cpufreqd set governors and EPP;
# thermald sets power limits; irqbalance moves interrupts; gamemoded sets governors for games. TLP
# without tlp-pd has no process: udev starts it when the power source changes.
UNITS = {
    name: name
    for name in (
        "intel_lpmd",
        "power-profiles-daemon",
        "tuned",
        "tuned-ppd",
        "thermald",
        "irqbalance",
        "tlp-pd",
        "auto-cpufreq",
        "cpufreqd",
    )
} | {"system76-power": "com.system76.PowerDaemon"}
# A service of the user's own session, which root's systemctl does not manage.
USER_UNITS = {"gamemoded": "gamemoded"}

_BY_COMM = {name[:NAME_LENGTH]: name for name in (*UNITS, *USER_UNITS)}


def find_daemons(tree: Tree) -> list[str] | Unavailable:
    """Return the names of the known daemons that run now, sorted.

    They are found by their processes' names, which the kernel cuts to 15 characters.
    """
    stats = read_stats(tree)
    if isinstance(stats, Unavailable):
        return stats
    tasks = (parse_task(text) for text in stats.values())
    found = {_BY_COMM[task.command] for task in tasks if task and task.command in _BY_COMM}
    if not found and 1 not in stats:
        return Unavailable("/proc hides other users' processes (hidepid)")
    return sorted(found)


def stop_commands(daemons: Collection[str]) -> str:
    """Return the shell's command line that stops these daemons until the next boot."""
    commands = []
    for command, units in (("sudo systemctl stop", UNITS), ("systemctl --user stop", USER_UNITS)):
        if named := [units[name] for name in daemons if name in units]:
            commands.append(" ".join([command, *named]))
    return " && ".join(commands)


def daemon_warning(daemons: Collection[str]) -> str | None:
    """Return one line about daemons that interfere, with the command that stops them, or None."""
    if not daemons:
        return None
    verb = "runs and changes" if len(daemons) == 1 else "run and change"
    return (
        f"warning: {', '.join(daemons)} {verb} frequencies, masks or interrupts while the study "
        f"measures; stop with: {stop_commands(daemons)}"
    )
