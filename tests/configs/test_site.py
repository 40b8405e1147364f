"""The keys of a site, and the texts that they may put into a shell script."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.errors import ConfigError, UserError
from pinstudy.configs.library import CONFIGS, load_site
from pinstudy.configs.load import parse_site
from pinstudy.configs.site import (
    BATCH_SYSTEMS,
    GovernorRule,
    OutputPatterns,
    Queue,
    Site,
    SystemCommands,
    is_script_word,
)
from tests.configs.shelves import site_with


def site_of(*lines: str) -> Site:
    return parse_site(site_with(*lines), "there.yaml")


def test_a_site_is_named_as_its_file_and_lets_pinstudy_set_governors() -> None:
    site = site_of("batch_system", "time_limit")

    assert (site.name, site.title, site.queue) == ("there", "Over there", None)
    assert site.governor == GovernorRule() == GovernorRule("pinstudy")
    for word in ("slurm", "nobody", "pinstudy"):
        assert site_of(f"governor: {word}").governor == GovernorRule(word)
    # A batch system needs its time limit, and no more.
    assert site_of().queue == Queue("slurm", 7200.0)
    with pytest.raises(ConfigError, match=r"5:1: nodes and features are both given"):
        site_of("nodes: n1", "features: hybrid")
    with pytest.raises(UserError, match="site 'nowhere' is not known"):
        load_site("nowhere")


def test_a_site_may_have_commands_that_set_governors() -> None:
    rule = site_of(
        "governor:\n  set: [sudo, set-governor, '{governor}', '{cpus}']\n"
        "  restore: sudo reset-governor {governor} {cpus}"
    ).governor

    assert rule.by == "command"
    assert rule.set == ("sudo", "set-governor", "{governor}", "{cpus}")
    assert rule.restore == ("sudo", "reset-governor", "{governor}", "{cpus}")


def test_another_batch_system_has_its_commands_as_lists_or_texts() -> None:
    queue = site_of(
        "batch_system:\n  submit: oarsub -n {name} {script}\n  poll: [oarstat, -s, -j, '{job}']\n"
        "  cancel: oardel {job}\n"
        "  patterns: {job: 'JOB_ID=(.+)', pending: Waiting, running: Running, ended: Terminated}"
    ).queue
    assert queue and queue.system == SystemCommands(
        submit=("oarsub", "-n", "{name}", "{script}"),
        poll=("oarstat", "-s", "-j", "{job}"),
        cancel=("oardel", "{job}"),
        patterns=OutputPatterns("JOB_ID=(.+)", "Waiting", "Running", "Terminated"),
    )


def test_all_keys_of_a_batch_system_are_read() -> None:
    text = """\
batch_system: pbs
queue: big
account: my_project@gpu
time_limit: 90 min
cpus: 64
nodes: [n1, rack2-n17.cluster]
modules: [gcc/13.2.0, PrgEnv-gnu]
spack_view: /opt/spack views/pinstudy
directives: ['-P x', --reservation=maintenance]
reserved_cpus: 0,32-33
most_at_once: 3
"""
    assert site_of(*text.splitlines()).queue == Queue(
        system="pbs",
        time_limit_s=5400.0,
        queue="big",
        account="my_project@gpu",
        cpus=64,
        nodes=("n1", "rack2-n17.cluster"),
        modules=("gcc/13.2.0", "PrgEnv-gnu"),
        spack_view="/opt/spack views/pinstudy",
        directives=("-P x", "--reservation=maintenance"),
        reserved_cpus=(0, 32, 33),
        most_at_once=3,
    )


VALUES = st.text(max_size=12) | st.sampled_from(["n1", "[a, b]", "{a: b}", "[[]]", "2 h", "'-x'"])


@given(
    st.dictionaries(
        st.sampled_from([*Queue.__dataclass_fields__, "engine", "batch_system", "title"]), VALUES
    )
)
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


def test_a_module_s_name_means_nothing_to_a_shell() -> None:
    name = "a/b.c_d@e+f-g:h=i"
    queue = site_of(f"modules: {name}").queue
    assert queue and queue.modules == (name,)
    echoed = subprocess.run(
        ["/bin/bash", "-c", f"echo {name}"], capture_output=True, text=True, check=True
    )
    assert echoed.stdout == f"{name}\n"


@pytest.mark.parametrize("system", BATCH_SYSTEMS)
def test_an_example_for_each_batch_system_is_right_with_what_it_leaves_out(
    system: str, tmp_path: Path
) -> None:
    queue = load_site(f"example-{system}").queue
    assert queue and queue.system == system
    assert bool(queue.nodes) != bool(queue.features)

    text = (CONFIGS / "sites" / f"example-{system}.yaml").read_text()
    # Only one of both is allowed.
    text = re.sub(r"\n# (nodes|features):.*", "", text)
    whole = tmp_path / "whole.yaml"
    whole.write_text(text.replace("\n# ", "\n", text.count("\n# ") - text.count("\n# Slurm sets")))
    assert load_site(str(whole)).queue
    by_commands = load_site("example-lsf").queue
    assert by_commands and by_commands.nodes
    assert isinstance(by_commands.system, SystemCommands)
    keys = {line.partition(":")[0] for line in whole.read_text().splitlines()}
    assert {"account", "modules", "directives"} & keys
