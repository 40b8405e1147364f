"""A shelf with apps and mappings, and a study, an app and a site to put other lines into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinstudy.base.errors import ConfigError, UserError
from pinstudy.base.text import unknown_word
from pinstudy.configs.app import App
from pinstudy.configs.load import parse_app, parse_mappings, parse_site, parse_study
from pinstudy.configs.study import Study

MISTAKES = Path(__file__).with_name("mistakes")

LU = b"""\
# An app
title: LU
builds:
  serial: {program: lu-serial, runtime: none}
  libgomp: {program: lu-libgomp, runtime: libgomp}
sizes:
  small: {arguments: '100', estimate: 10 ms}
  large: {arguments: [-q, '2000'], quiet: yes}
schedules: [static, dynamic]
default_schedule: 'static,1'
"""
# The same with metrics.
RATED = (
    LU
    + b"""\
metrics:
  rate: {pattern: 'Rate: ([0-9.]+)', unit: Gflop/s}
  steps: {pattern: 'Steps: ([0-9]+)', unit: '1'}
"""
)
MAPPINGS = b"""\
mappings:
  unpinned: {selection: all, binding: none}
  pcores-set: {selection: pcores, binding: set}
  pcores-pin: {selection: pcores, binding: pin}
"""
STUDY = """\
title: A study
apps:
  - app: lu
    builds: [serial]
    sizes: [small]
    threads: [1]
mappings: [unpinned, pcores-pin]
governors: [performance]
repetitions: 10
wait_policy: passive
"""
SITE = """\
title: Over there
batch_system: slurm
time_limit: 2 h
"""
# A study's keys for a guest, and for nodes of a batch system.
GUEST = "engine: vm\nvm: {cpus: 8, memory: 16 GiB}\nvcpu_mapping: [unpinned, pcores-set]"
NODES = "engine: batch\nbatch: {site: there}"


def study_with(*lines: str, base: str = STUDY) -> str:
    """Return the study with these lines in the place of the same keys' lines, or at its end.

    A line with only a key removes it. Text after a line's first newline is kept.
    """
    text = base.splitlines()
    for line in lines:
        key, has_value, _ = line.partition(":")
        for at, old in enumerate(text):
            inner = old.lstrip(" -")
            if inner.startswith(f"{key}:"):
                text[at : at + 1] = [old.removesuffix(inner) + line] if has_value else []
                break
        else:
            text += [line] if has_value else []
    return "\n".join([*text, ""])


def app_with(*lines: str, base: bytes = LU) -> bytes:
    """Return the app `lu` with these lines, as study_with puts them."""
    return study_with(*lines, base=base.decode()).encode()


def site_with(*lines: str) -> bytes:
    """Return the site with these lines, as study_with puts them."""
    return study_with(*lines, base=SITE).encode()


def study_of(text: str, apps: dict[str, bytes] | None = None) -> Study:
    """Return the study of a YAML text; its apps and mappings are in no file."""
    files = {"lu": LU} | (apps or {})

    def find_app(name: str) -> App:
        if name not in files:
            raise UserError(unknown_word("app", name, files))
        return parse_app(files[name], f"apps/{name}.yaml")

    mappings = parse_mappings(MAPPINGS, "mappings.yaml")
    return parse_study(text.encode(), "x.yaml", find_app, mappings)


def mistakes(text: str, apps: dict[str, bytes] | None = None) -> list[str]:
    """Return the lines that a user sees for a study with mistakes, without the file's name."""
    return _refusal(lambda: study_of(text, apps), "x.yaml:")


def mistakes_of_app(data: bytes) -> list[str]:
    """Return the same for an app."""
    return _refusal(lambda: parse_app(data, "lu.yaml"), "lu.yaml:")


def mistakes_of_site(data: bytes) -> list[str]:
    """Return the same for a site."""
    return _refusal(lambda: parse_site(data, "there.yaml"), "there.yaml:")


def table_of_mistakes(what: str) -> list[Any]:
    """Return the cases of a file of `mistakes/`: lines, and the messages for them, if any."""
    table = []
    for case in (MISTAKES / f"{what}.txt").read_text(encoding="utf-8").splitlines():
        put, is_case, expected = case.partition(" => ")
        if is_case:
            lines = put.replace("\u21b5", "\n").split(" + ")
            table.append(pytest.param(lines, expected.removeprefix("nothing"), id=put))
    return table


def _refusal(parse: Callable[[], object], file: str) -> list[str]:
    try:
        parse()
    except ConfigError as error:
        return [line.removeprefix(file) for line in str(error).splitlines()]
    return []
