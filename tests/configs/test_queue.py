"""What a site says of its batch system, and what a user is told of a wrong one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import ConfigError
from configs.library import CONFIGS, load_site
from configs.load import parse_site
from configs.site import BATCH_SYSTEMS, Queue, is_script_word

SITE = """\
title: Over there
engine: slurm
time_limit: 2 h
"""


def queue_of(text: str) -> Queue:
    queue = parse_site(text.encode(), "there.yaml").queue
    assert queue
    return queue


def mistakes(text: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        parse_site(text.encode(), "there.yaml")
    return str(refused.value).splitlines()


def test_a_site_without_an_engine_has_no_queue() -> None:
    assert parse_site(b"title: Over there\n", "there.yaml").queue is None


def test_an_engine_needs_its_time_limit_and_no_more() -> None:
    assert queue_of(SITE) == Queue("slurm", 7200.0)


def test_all_keys_of_a_batch_system_are_told() -> None:
    text = """\
title: Over there
engine: pbs
queue: big
account: my_project@gpu
time_limit: 90 min
cpus: 64
nodes: [n1, rack2-n17.cluster]
features: hybrid
modules: [gcc/13.2.0, PrgEnv-gnu]
spack_view: /opt/spack views/pinstudy
directives: ['-P x', --reservation=maintenance]
reserved_cpus: 0,32-33
most_at_once: 3
"""
    assert queue_of(text) == Queue(
        system="pbs",
        time_limit_s=5400.0,
        queue="big",
        account="my_project@gpu",
        cpus=64,
        nodes=("n1", "rack2-n17.cluster"),
        features=("hybrid",),
        modules=("gcc/13.2.0", "PrgEnv-gnu"),
        spack_view="/opt/spack views/pinstudy",
        directives=("-P x", "--reservation=maintenance"),
        reserved_cpus=(0, 32, 33),
        most_at_once=3,
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("queue: a b", "'a b' is not the name of a queue or partition"),
        ("queue: '-x'", "'-x' is not the name of a queue"),
        ("account: a;b", "'a;b' is not the name of an account"),
        ("nodes: [n1, '$(reboot)']", "there.yaml:4:13: '$(reboot)' is not the name of a node"),
        ("nodes: 'n[1-2]'", "is not the name of a node"),
        ("nodes: [n1, n1]", "there.yaml:4:13: 'n1' is repeated"),
        ("features: a&b", "is not the name of a feature"),
        ('features: "a\\nb"', "is not the name of a feature"),
        ("modules: [gcc, 'a b']", "there.yaml:4:16: 'a b' is not the name of a module"),
        ("modules: [-f]", "'-f' is not the name of a module"),
        ("spack_view: views/pinstudy", "is not the absolute path of a Spack view: it begins with"),
        ("spack_view: /a:/b", "has no colon"),
        ("directives: reservation=x", "it begins with -"),
        ('directives: "-x\\nrm -rf"', "is not an option of the batch system"),
        ("directives: ['-x \"a']", "has a quote that is not closed"),
        ("reserved_cpus: 3-1", "there.yaml:4:16: '3-1' is not a list of CPUs"),
        ("reserved_cpus: ''", "is not a list of CPUs"),
        ("most_at_once: 0", "a whole number from 1 to"),
        ("cpus: 0", "a whole number from 1 to"),
        ("cpus: 99999", "a whole number from 1 to 8192"),
    ],
)
def test_values_that_cannot_stand_in_a_script_are_refused(line: str, said: str) -> None:
    (problem,) = mistakes(SITE + line + "\n")
    assert problem.startswith("there.yaml:4:")
    assert said in problem


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("2", "has no unit"),
        ("59 s", "'59 s' is not a time of a minute or more, such as 30 min or 2 h"),
        ("32000 h", "at most 31 days"),
        ("[1 h]", "a list is not a time of a minute or more"),
    ],
)
def test_a_time_limit_has_its_unit_and_bounds(limit: str, said: str) -> None:
    (problem,) = mistakes(SITE.replace("2 h", limit))
    assert problem.startswith("there.yaml:3:13: ")
    assert said in problem


@pytest.mark.parametrize(
    "line", ["queue: big", "time_limit: 1 h", "cpus: 4", "nodes: n1", "most_at_once: 2"]
)
def test_keys_of_a_batch_system_without_its_name_are_a_mistake(line: str) -> None:
    place = f"there.yaml:2:{line.index(': ') + 3}"
    assert f"{place}: 'engine' is missing; expected an engine (slurm, pbs, lsf, flux)" in mistakes(
        f"title: t\n{line}\n"
    )


def test_a_misspelt_engine_is_the_only_mistake() -> None:
    (problem,) = mistakes(SITE.replace("slurm", "slrum"))
    assert "there.yaml:2:9: engine 'slrum' is not known; did you mean 'slurm'?" in problem


def test_an_engine_that_is_no_word_is_a_mistake() -> None:
    (problem,) = mistakes(SITE.replace("slurm", "[slurm]"))
    assert problem.startswith("there.yaml:2:9: a list is not an engine")


@pytest.mark.parametrize("engine", BATCH_SYSTEMS)
def test_what_an_engine_needs_is_told_at_its_name(engine: str) -> None:
    told = mistakes(f"title: t\nengine: {engine}\n")
    limit = "there.yaml:2:9: 'time_limit' is missing; expected a time of a minute or more"
    assert any(line.startswith(limit) for line in told)
    needs_cpus = f"there.yaml:2:9: engine {engine} needs the key 'cpus', how many CPUs one node has"
    assert (needs_cpus in told) == (engine in ("pbs", "lsf"))


VALUES = st.text(max_size=12) | st.sampled_from(["n1", "[a, b]", "{a: b}", "[[]]", "2 h", "'-x'"])


@given(st.dictionaries(st.sampled_from([*Queue.__dataclass_fields__, "engine", "title"]), VALUES))
def test_whatever_a_site_holds_there_is_a_site_or_its_mistakes(keys: dict[str, str]) -> None:
    text = "".join(f"{key}: {value}\n" for key, value in keys.items())
    try:
        parse_site(text.encode(errors="replace"), "there.yaml")
    except ConfigError as error:
        assert all(str(problem).startswith("there.yaml:") for problem in error.problems)


@given(st.text(max_size=20) | st.from_regex(r"[a-z0-9][ -~]{0,6}"))
def test_a_word_for_a_script_is_one_word_of_the_shell(text: str) -> None:
    if is_script_word(text):
        assert text.isascii()
        assert not set(text) & set(" \t\n'\"\\$`&|;<>()[]{}*?!#~%^=:,/+")
        assert not text.startswith("-")


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
def test_there_is_an_example_for_each_batch_system(system: str) -> None:
    site = load_site(f"example-{system}")
    assert site.queue
    assert site.queue.system == system
    assert bool(site.queue.nodes) != bool(site.queue.features)


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
def test_what_an_example_leaves_out_is_right_as_well(system: str, tmp_path: Path) -> None:
    text = (CONFIGS / "sites" / f"example-{system}.yaml").read_text()
    assert text.startswith("# ")
    whole = tmp_path / "whole.yaml"
    whole.write_text(text.replace("\n# ", "\n", text.count("\n# ") - text.count("\n# Slurm sets")))
    keys = [line.partition(":")[0] for line in whole.read_text().splitlines() if ":" in line]
    assert load_site(str(whole)).queue
    assert {"account", "modules", "directives"} & set(keys)


def test_a_module_s_name_means_nothing_to_a_shell() -> None:
    name = "a/b.c_d@e+f-g:h=i"
    assert queue_of(f"{SITE}modules: {name}\n").modules == (name,)
    echoed = subprocess.run(
        ["/bin/bash", "-c", f"echo {name}"], capture_output=True, text=True, check=True
    )
    assert echoed.stdout == f"{name}\n"
