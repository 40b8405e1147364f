"""From a request and a node to its search: the program's files are read, and nothing is started.

A search's study is written once; it resumes with the candidates that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from base.errors import UserError
from base.files import write_atomically
from base.text import as_typed
from configs.app import kind_of
from configs.library import display_path, list_mappings, load_study
from configs.schema.document import read_bytes
from runners.advise.candidates import MAX_CANDIDATES, NodeContext, make_field
from runners.advise.program import Program, look_at
from runners.advise.reference import Reference, reference_of
from runners.advise.request import Request
from runners.advise.search import Search, choose_governors
from runners.advise.study_file import make_study_file, study_bytes, with_race
from runners.doctor.report import probe
from runners.study.machine import Machine

# The schedules that race against the reference's, where loops take theirs from OMP_SCHEDULE.
SCHEDULES = ("dynamic", "guided", "static")


def make_search(machine: Machine, request: Request, environment: Mapping[str, str]) -> Search:
    """Return the search for a request on a node, in the user's environment.

    The reference on a recorded node ignores that environment. Raises UserError for a request that
    the node cannot answer.
    """
    node = machine.node
    topology = node.topology
    _check_energy(machine, request)
    program = look_at(request.program, environment)
    has = environment if machine.live else {}
    reference = reference_of(program, request, has, len(topology.allowed))
    switch = machine.governors()
    governors = choose_governors(
        request.governors,
        node.cpufreq,
        topology.allowed,
        lambda governor, cpus: switch.problem(governor, cpus, node.cpufreq),
    )
    known = {mapping.name: mapping for mapping in list_mappings()}
    field = make_field(
        NodeContext(topology, machine.tools, known, program.runtime),
        reference.threads,
        request.threads,
        _schedules(program, request, reference),
        MAX_CANDIDATES // len(governors.governors),
    )
    file = make_study_file(request, program, reference, field, governors.governors, topology)
    return Search(request, program, reference, field, governors, file)


def _schedules(program: Program, request: Request, reference: Reference) -> list[str]:
    """Return the schedules that race, the reference's first."""
    others = request.schedules
    if others is None:
        others = () if program.loops == "no" else SCHEDULES
    first = reference.schedule
    # The default chunk is 1, but for static, where it is a share of all iterations (OpenMP 5.2,
    # section 11.5.3).
    same = first if kind_of(first) == "static" else first.removesuffix(",1")
    return [first, *(other for other in others if other not in (first, same))]


def _check_energy(machine: Machine, request: Request) -> None:
    """Raise UserError when the race needs energy, and energy cannot be measured here."""
    if request.of not in ("energy", "edp") or not machine.live:
        return
    (found,) = probe(machine.node, machine.live, ("energy",))
    if found.state != "ok":
        raise UserError(
            f"--objective {request.of}: energy cannot be measured here: {found.why}; see "
            "`pinstudy doctor`"
        )


def write_search(search: Search, results: Path, fresh: bool) -> tuple[Path, list[str]]:
    """Write the search's study, or keep the one that is there; return its path, and what to print.

    An earlier study keeps its candidates and gets the request's limits of time and runs; with
    `fresh` it is written anew. Raises ConfigError when the earlier file is no study, UserError when
    it does not race or there is nothing to race, StudyError when it cannot be written.
    """
    if search.size < 2:
        raise UserError(
            f"{search.request.program.name}: nothing races here, there is no other way to run it "
            "than as you start it; --plan says what was left out"
        )
    path, new = search.path(results), search.file
    if fresh or not path.exists():
        write_atomically(path, new.data)
        return path, []
    there = load_study(path)
    if there.race is None:
        raise UserError(
            f"{display_path(path)} does not race any more: somebody has edited it; go on with "
            f"`pinstudy run {as_typed(path)}`, or begin anew with --fresh"
        )
    if there.digest == search.study.digest:
        if there.race != search.study.race:
            write_atomically(path, new.data)
        return path, []
    told = [
        f"{display_path(path)} has other candidates than would be chosen now; it is continued with "
        "its own: --fresh chooses anew"
    ]
    rule = search.study.race
    if rule and (there.race.within_s, there.race.runs) != (rule.within_s, rule.runs):
        # load_study has accepted the file: it holds plain values only.
        document = yaml.safe_load(read_bytes(path))
        changed = with_race(document, new.document["repetitions"]["race"])
        write_atomically(path, study_bytes(changed, new.name, new.directory))
    return path, told
