"""From a request and a node to its search: the program is looked at, and nothing is started."""

from __future__ import annotations

from collections.abc import Mapping

from base.errors import UserError
from configs.library import list_mappings
from configs.schema.schedules import kind_of
from runners.advise.candidates import MOST_CANDIDATES, Ground, make_field
from runners.advise.governors import choose_governors
from runners.advise.program import Program, look_at
from runners.advise.reference import Reference, reference_of
from runners.advise.request import Request
from runners.advise.search import Search
from runners.advise.study_file import make_study_file
from runners.doctor.report import probe
from runners.study.machine import Workplace

# What races beside the reference's schedule, where loops take one.
SCHEDULES = ("dynamic", "guided", "static")


def make_search(workplace: Workplace, request: Request, environment: Mapping[str, str]) -> Search:
    """Return the search for a request on a node, in the environment that its user has.

    A recorded node's users have none. Raises UserError for a request that the node cannot answer.
    """
    node = workplace.node
    topology = node.topology
    _check_energy(workplace, request)
    program = look_at(request.program, environment)
    has = environment if workplace.live else {}
    reference = reference_of(program, request, has, len(topology.allowed))
    switch = workplace.governors()
    governors = choose_governors(
        request.governors,
        node.cpufreq,
        topology.allowed,
        lambda governor, cpus: switch.why_not(governor, cpus, node.cpufreq),
    )
    known = {mapping.name: mapping for mapping in list_mappings()}
    field = make_field(
        Ground(topology, workplace.tools, known, program.runtime),
        reference.threads,
        request.threads,
        _schedules(program, request, reference),
        MOST_CANDIDATES // len(governors.governors),
    )
    file = make_study_file(request, program, reference, field, governors.governors, topology)
    return Search(request, program, reference, field, governors, file)


def _schedules(program: Program, request: Request, reference: Reference) -> list[str]:
    """Return the schedules that race, the reference's first."""
    others = request.schedules
    if others is None:
        others = () if program.loops == "no" else SCHEDULES
    first = reference.schedule
    # Without a chunk these take one iteration at a time, static ones a share of all (OpenMP 5.2,
    # section 11.5.3).
    same = first if kind_of(first) == "static" else first.removesuffix(",1")
    return [first, *(other for other in others if other not in (first, same))]


def _check_energy(workplace: Workplace, request: Request) -> None:
    """Refuse a race for what cannot be measured here."""
    if request.of not in ("energy", "edp") or not workplace.live:
        return
    (found,) = probe(workplace.node.root, workplace.live, ("energy",))
    if found.state != "ok":
        raise UserError(
            f"--objective {request.of}: energy cannot be measured here: {found.why}; see "
            "`pinstudy doctor`"
        )
