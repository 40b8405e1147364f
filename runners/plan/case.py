"""A case: one row of a table, bound to this node, with everything that defines it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from base.cpulist import format_cpulist
from base.files import digest_of
from base.text import team_label
from configs.app import App, Build, Size
from configs.mapping import Mapping
from configs.settings import AS_IT_IS, Settings
from configs.variables import OMP_NUM_THREADS, SetVariable


@dataclass(frozen=True)
class Vcpus:
    """Where the host puts a guest's virtual CPUs: `cpus` are the host's, in the order of use.

    The guest has `count` virtual CPUs and `memory_mib` MiB of memory. `emulated` guests make cases
    of their own, so that a study that is resumed under KVM does not mix them.
    """

    mapping: Mapping
    cpus: tuple[int, ...]
    count: int
    memory_mib: int
    emulated: bool = False


@dataclass(frozen=True)
class Case:
    """App x build x size x threads x mapping x governor x settings x schedule, on this node.

    `table` counts the study's tables from 1 and `number` the rows within a table, both before
    anything is left out, so that #7 means the same on every node. `cpus` are in the order in which
    pinned threads take them; a CPU that two threads share occurs twice. With `vcpus` the case runs
    in a guest, and `cpus` are the guest's. `variables` are those that the study's files set.
    `places` are those that the mapping's name of places means here; `resources` is what a runtime
    that counts cores is asked for, such as `4c:intel_core`.

    An MPI program has `ranks` of `threads` each, and `rank_cpus` has the CPUs of each rank; without
    MPI there are 0.

    `regions` are those of the program's that are measured one by one. `co_runner` is the case of
    the co-runner as it is when it runs alone; None where nothing runs beside the program.
    """

    table: int
    number: int
    app: App
    build: Build
    size: Size
    threads: int
    mapping: Mapping
    mechanism: str | None
    cpus: tuple[int, ...]
    governor: str
    schedule: str
    wait_policy: str
    vcpus: Vcpus | None = None
    variables: tuple[SetVariable, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()
    resources: str = ""
    ranks: int = 0
    rank_cpus: tuple[tuple[int, ...], ...] = ()
    regions: tuple[str, ...] = ()
    co_runner: Case | None = None
    settings: Settings = AS_IT_IS

    @property
    def threads_by(self) -> tuple[str, ...]:
        """The variables that tell the program its thread count, or what else does."""
        return self.build.threads_by or self.app.threads_by or (OMP_NUM_THREADS,)

    @property
    def takes_schedule(self) -> bool:
        """Whether the program has loops that take the schedule of OMP_SCHEDULE."""
        return bool(self.app.schedules) and self.build.runtime not in ("none", "pthreads")

    @property
    def all_threads(self) -> int:
        """The threads of all ranks."""
        return max(self.ranks, 1) * self.threads

    @property
    def by_rank(self) -> tuple[Case, ...]:
        """The case as each rank has it; without MPI the case itself."""
        return tuple(map(self._of_rank, self.rank_cpus)) or (self,)

    def _of_rank(self, own: tuple[int, ...]) -> Case:
        """Return the case as a rank on these CPUs has it: a program of `threads`."""
        within = (tuple(cpu for cpu in place if cpu in own) for place in self.places)
        places = tuple(place for place in within if place)
        return replace(self, cpus=own, places=places, ranks=0, rank_cpus=())

    @property
    def host_cpus(self) -> tuple[int, ...]:
        """The CPUs of this node that the case uses, in the order of use."""
        return self.vcpus.cpus if self.vcpus else self.cpus

    @property
    def host_mask(self) -> tuple[int, ...]:
        """The CPUs of this node that the case uses, ascending."""
        return tuple(sorted(set(self.host_cpus)))

    @property
    def all_cpus(self) -> tuple[int, ...]:
        """The CPUs of this node that the case and its co-runner use, in the order of use."""
        both = self.host_cpus + (self.co_runner.host_cpus if self.co_runner else ())
        return tuple(dict.fromkeys(both)) if self.co_runner else both

    @property
    def shared_cpus(self) -> tuple[int, ...]:
        """The CPUs of this node that both the case and its co-runner use, ascending."""
        theirs = self.co_runner.host_cpus if self.co_runner else ()
        return tuple(sorted(set(self.host_cpus).intersection(theirs)))

    @property
    def guest_group(self) -> str:
        """The name of the guest boot that the case shares with others; empty without a guest."""
        return self.vcpus.mapping.name if self.vcpus else ""

    @property
    def mask(self) -> tuple[int, ...]:
        """The CPUs sorted: each thread's mask under `none` and `set`, their union under `pin`."""
        return tuple(sorted(set(self.cpus)))

    @cached_property
    def case_id(self) -> str:
        """A stable digest of what defines the case: 16 hexadecimal digits of a SHA-256."""
        fields = case_fields(self) | {"arguments": list(self.size.arguments)}
        # Cases without these keep their numbers of before the keys were known.
        if self.variables:
            fields["variables"] = {set_.name: set_.value for set_ in self.variables}
        if self.threads_by != (OMP_NUM_THREADS,):
            fields["threads_by"] = sorted(self.threads_by)
        if self.mapping.places:
            fields["places"] = self.mapping.places
        return digest_of(fields)

    @property
    def label(self) -> str:
        """A short name for progress lines and messages."""
        where = f"vCPUs {self.vcpus.mapping.name}, " if self.vcpus else ""
        team = team_label(self.ranks, self.threads)
        beside = f" beside {self.co_runner.program_label}" if self.co_runner else ""
        under = f", {words}" if (words := self.settings.words) else ""
        return (
            f"{self.build_label} {team} {where}{self.mapping.name} {self.governor}{under}{beside}"
        )

    @property
    def build_label(self) -> str:
        """A short name of the build and its size."""
        return f"{self.app.name}-{self.build.name} {self.size.name}"

    @property
    def program_label(self) -> str:
        """The name that the case has as a co-runner."""
        team = team_label(self.ranks, self.threads)
        return f"{self.build_label} {team} {self.mapping.name}"


@dataclass(frozen=True)
class SkippedCase:
    """A case that this node cannot run, and why."""

    case: Case
    reason: str

    @property
    def case_id(self) -> str:
        """A stable digest of the fields; without the size's arguments, unlike a case's own."""
        return digest_of(case_fields(self.case))


def case_fields(case: Case) -> dict[str, object]:
    """Return the fields that say which case a record belongs to (the record's group `case`)."""
    fields: dict[str, object] = {
        "app": case.app.name,
        "build": case.build.name,
        "size": case.size.name,
        "threads": case.threads,
        "mapping": case.mapping.name,
        "selection": case.mapping.selection,
        "binding": case.mapping.binding,
        "mechanism": case.mechanism,
        "cpus": format_cpulist(case.cpus),
        "governor": case.governor,
        "schedule": case.schedule,
        "wait_policy": case.wait_policy,
    }
    if asked := case.settings.asked:
        fields["settings"] = asked
    if case.ranks:
        fields |= {
            "ranks": case.ranks,
            "mpi": case.build.mpi,
            "rank_cpus": [format_cpulist(cpus) for cpus in case.rank_cpus],
        }
        fields |= {"ranks_by": case.mapping.ranks_by} if case.mapping.ranks_by else {}
    if case.co_runner:
        fields |= {
            "co_runner": case.co_runner.program_label,
            "co_runner_cpus": format_cpulist(case.co_runner.cpus),
            "co_runner_alone": case.co_runner.case_id,
        }
    if case.vcpus is None:
        return fields
    return fields | {
        "engine": "vm",
        "vm_cpus": case.vcpus.count,
        "vm_memory_mib": case.vcpus.memory_mib,
        "vm_accelerator": "tcg" if case.vcpus.emulated else "kvm",
        "vcpu_mapping": case.vcpus.mapping.name,
        "vcpu_selection": case.vcpus.mapping.selection,
        "vcpu_binding": case.vcpus.mapping.binding,
        "vcpu_cpus": format_cpulist(case.vcpus.cpus),
    }


def loop_fields(case: Case) -> dict[str, object]:
    """Return `no_schedule` for a program whose loops take none; it is no part of the identity."""
    return {} if case.takes_schedule else {"no_schedule": True}
