"""A study's digest depends on its runs and on nothing else."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tests.configs.shelves import GUEST, LU, NODES, RATED, STUDY, app_with, study_of, study_with


def sha256(study: dict[str, Any]) -> str:
    text = json.dumps(study, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# The study of shelves.py with its defaults, written out by hand: no titles,
# summaries, estimates, the file's place, and keys without a value. The app is there by its digest.
APP_LU: dict[str, Any] = {
    "name": "lu",
    "builds": {
        "serial": {"name": "serial", "program": "lu-serial", "runtime": "none"},
        "libgomp": {"name": "libgomp", "program": "lu-libgomp", "runtime": "libgomp"},
    },
    "sizes": {
        "small": {"name": "small", "arguments": ["100"], "quiet": False, "expect": {}},
        "large": {"name": "large", "arguments": ["-q", "2000"], "quiet": True, "expect": {}},
    },
    "arguments": ["{size}"],
    "metrics": [],
    "check": {"stream": "stdout", "command": []},
    "schedules": ["static", "dynamic"],
    "default_schedule": "static,1",
    "limit_s": 600.0,
}
UNPINNED = {"name": "unpinned", "selection": "all", "binding": "none"}
PCORES_SET = {"name": "pcores-set", "selection": "pcores", "binding": "set"}
PCORES_PIN = {"name": "pcores-pin", "selection": "pcores", "binding": "pin"}
CHOICE: dict[str, Any] = {
    "app": sha256(APP_LU),
    "builds": [APP_LU["builds"]["serial"]],
    "sizes": [APP_LU["sizes"]["small"]],
    "threads": [1],
    "schedules": [],
    "oversubscribe": False,
}
ASKED: dict[str, Any] = {
    "name": "x",
    "apps": [CHOICE],
    "mappings": [UNPINNED, PCORES_PIN],
    "vcpu_mappings": [],
    "governors": ["performance"],
    "warmup": 1,
    "order": "randomised-blocks",
    "seed": 1,
    "wait_policies": ["passive"],
    "collect": ["perf", "energy"],
    "events": [],
}
ASKED_OF_GUEST = {
    "vm": {"cpus": 8, "memory_mib": 16384},
    "vcpu_mappings": [UNPINNED, PCORES_SET],
}
CHECK = APP_LU["check"] | {"pattern": "^done"}


def digest(*lines: str, app: bytes = LU) -> str:
    return study_of(study_with(*lines), {"lu": app}).digest


def test_a_digest_is_the_sha_256_of_the_canonical_json() -> None:
    assert digest() == sha256(ASKED)
    assert digest(GUEST) == sha256(ASKED | ASKED_OF_GUEST)
    choice = CHOICE | {"app": sha256(APP_LU | {"check": CHECK})}
    assert digest(app=app_with("check: {pattern: ^done}")) == sha256(ASKED | {"apps": [choice]})


RULE = "repetitions: {decide: {first: 5, max: 50}}"


@pytest.mark.parametrize(
    ("some", "same"),
    [
        ("title: A study", "title: 'Another title' # a comment"),
        ("governors: [performance]", "governors:   performance"),
        ("governors: current", "governors"),
        ("wait_policy: runtime-default", "wait_policy"),
        ("title: A study", "warmup: 1"),
        ("repetitions: 10", "repetitions: 11"),
        ("engine: local", NODES),
        ("engine: local", "engine: batch\nbatch: {site: here, spread: split, workers: 4}"),
        ("idle_power: 10 s", "idle_power: {duration: 10000 ms}"),
        (GUEST, GUEST.replace("16 GiB", "16384MiB")),
        (RULE, RULE.replace("50", "51")),
        (RULE, "repetitions: 10"),
    ],
)
def test_another_spelling_and_what_changes_no_run_are_the_same_study(some: str, same: str) -> None:
    assert digest(some) == digest(same)


@pytest.mark.parametrize(
    "line", ["small: {arguments: '100', estimate: 30 ms}", "c2c: true", "obtain: make originals"]
)
def test_what_changes_no_run_of_an_app_is_the_same_study(line: str) -> None:
    assert digest(app=app_with(line)) == digest()


def test_asking_for_something_else_is_another_study() -> None:
    others = [
        "title: A study",
        "wait_policy: active",
        "mappings: [pcores-pin, unpinned]",
        "builds: [libgomp]",
        "seed: 2",
        "mappings: unpinned",
        "latency: all",
        "idle_power: 10 s",
        "idle_power: 11 s",
        "idle_power: {duration: 10 s, every: 50}",
        "temperature_gate: {within: 5 K, limit: 2 min}",
        "temperature_gate: {within: 6 K, limit: 2 min}",
        GUEST,
        GUEST.replace("cpus: 8", "cpus: 4"),
        GUEST.replace("16 GiB", "8 GiB"),
        GUEST.replace("[unpinned, pcores-set]", "[pcores-set, unpinned]"),
        GUEST.replace("[unpinned, pcores-set]", "[unpinned]"),
    ]
    assert len({digest(line, app=RATED) for line in others}) == len(others)
    # An entry's own mappings count as well.
    assert study_of(STUDY.replace("mappings:", "    mappings:")).digest != digest()


def test_what_is_better_of_a_metric_changes_no_run() -> None:
    asked = RATED.replace(b"unit: Gflop/s", b"unit: Gflop/s, better: higher")

    assert asked != RATED
    assert digest(app=asked) == digest(app=RATED)
    assert digest(app=RATED.replace(b"Gflop/s", b"Mflop/s")) != digest(app=RATED)


def test_another_command_or_check_of_an_app_is_another_study() -> None:
    runs = "metrics: {runs: {pattern: 'runs: (\\d+)', unit: '1'}}"
    apps = [
        app_with("small: {arguments: '101'}"),
        app_with("check: {pattern: ^done}"),
        app_with("check: {pattern: ^done, command: [./verify.sh, out.txt]}"),
        app_with("check: {pattern: ^done, command: [./verify.sh, more.txt]}"),
        # A metric may be named as a key that changes no digest.
        app_with("small: {arguments: '100', expect: {runs: 5}}", runs),
        app_with("small: {arguments: '100', expect: {runs: 6}}", runs),
    ]
    assert len({digest(app=app) for app in [LU, *apps]}) == len(apps) + 1
