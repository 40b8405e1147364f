"""A shelf with a few apps and mappings, and studies to put mistakes into."""

from __future__ import annotations

from base.errors import ConfigError, UserError
from base.text import unknown_word
from configs.app import App
from configs.load import parse_app, parse_mappings, parse_study
from configs.study import Study

LU = b"""\
# An app
title: LU
variants:
  serial: {program: lu-serial, runtime: none}
  libgomp: {program: lu-libgomp, runtime: libgomp}
sizes:
  small: {arguments: '100', estimate: 10 ms}
  large: {arguments: [-q, '2000'], quiet: yes}
schedules: [static, dynamic]
default_schedule: 'static,1'
"""

MAPPINGS = b"""\
mappings:
  scheduler: {selection: all, binding: none}
  pcores-set: {selection: pcores, binding: set}
  pcores-pin: {selection: pcores, binding: pin}
"""

STUDY = """\
title: A study
apps:
  - app: lu
    variants: [serial]
    sizes: [small]
    threads: [1]
mappings: [scheduler, pcores-pin]
governors: [performance]
repetitions: 10
wait_policy: passive
"""


def study_of(text: str, apps: dict[str, bytes] | None = None) -> Study:
    """Return the study of a YAML text; its apps and mappings are in no file."""
    files = {"lu": LU} | (apps or {})

    def find_app(name: str) -> App:
        if name not in files:
            raise UserError(unknown_word("app", name, files))
        return parse_app(files[name], f"apps/{name}.yaml")

    known = parse_mappings(MAPPINGS, "mappings.yaml")
    return parse_study(text.encode(), "x.yaml", find_app, known)


def mistakes(text: str, apps: dict[str, bytes] | None = None) -> list[str]:
    """Return the lines that a user sees for a study with mistakes."""
    try:
        study_of(text, apps)
    except ConfigError as error:
        return str(error).splitlines()
    return []
