"""Daemons that interfere with what a study measures, and the units of systemd that stop them."""

from __future__ import annotations

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
