from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import ConfigError, UserError
from configs.library import load_site
from configs.site import GovernorRule


def site_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "there.yaml"
    path.write_text(text)
    return path


def test_a_site_is_named_as_its_file_and_lets_pinstudy_set_governors(tmp_path: Path) -> None:
    site = load_site(str(site_of(tmp_path, "title: Over there\n")))
    assert (site.name, site.title, site.governor) == ("there", "Over there", GovernorRule())
    assert site.governor.by == "pinstudy"


def test_a_site_may_have_a_command(tmp_path: Path) -> None:
    text = """\
title: Over there
governor:
  set: [sudo, set-governor, '{governor}', '{cpus}']
  restore: sudo reset-governor {governor} {cpus}
"""
    rule = load_site(str(site_of(tmp_path, text))).governor
    assert rule.by == "command"
    assert rule.set == ("sudo", "set-governor", "{governor}", "{cpus}")
    assert rule.restore == ("sudo", "reset-governor", "{governor}", "{cpus}")


@pytest.mark.parametrize("word", ["slurm", "nobody", "pinstudy"])
def test_a_site_may_name_who_sets_governors(tmp_path: Path, word: str) -> None:
    site = load_site(str(site_of(tmp_path, f"title: t\ngovernor: {word}\n")))
    assert site.governor == GovernorRule(word)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("governor: slurm\n", "there.yaml:1:1: 'title' is missing"),
        ("title: t\ngovernor: slrm\n", "there.yaml:2:11: who sets governors 'slrm' is not known"),
        ("title: t\ngovernor: {set: [a]}\n", "{governor} is nowhere in the command"),
        ("title: t\ngovernor: {set: []}\n", "the command is empty"),
        ("title: t\ngovernor: {restore: [a]}\n", "'set' is missing"),
        ("title: t\nqeue: big\n", "there.yaml:2:1: key 'qeue' is not known here; did you mean"),
        ("name: here\ntitle: t\n", "site 'here' stands in a file named 'there'"),
    ],
)
def test_mistakes_are_told_with_their_places(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_site(str(site_of(tmp_path, text)))
    assert expected in str(refused.value)


def test_an_unknown_site_is_a_users_mistake() -> None:
    with pytest.raises(UserError, match="site 'nowhere' is not known"):
        load_site("nowhere")
