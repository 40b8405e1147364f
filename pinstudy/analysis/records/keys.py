"""What was run: what the cases of a table share, and what tells a case from others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from pinstudy.base.text import plural, team_in_words, team_label
from pinstudy.configs.settings import AS_IT_IS, NAMES, Settings

# What may run guests, as records and QEMU name it.
BY_KVM, EMULATED = "kvm", "tcg"
_RUN_BY = {BY_KVM: "on KVM", EMULATED: "emulated"}


class TableKey(NamedTuple):
    """What the cases of a table share; `number` is None where the source does not number tables.

    `ranks` is None of a program that no MPI launcher started, else `threads` are those of a rank.
    `region` is the part of the program that its rows tell of; None for whole runs. `vm_cpus` and
    `vm_memory_mib` are the guest's virtual CPUs and memory, and `vm_accelerator` is `kvm`, or `tcg`
    for an emulated one, whose times are not the node's; None without a guest.
    """

    number: int | None
    app: str
    build: str
    size: str
    ranks: int | None
    threads: int
    schedule: str
    wait_policy: str
    region: str | None = None
    vm_cpus: int | None = None
    vm_memory_mib: int | None = None
    vm_accelerator: str | None = None

    @property
    def threads_in_words(self) -> str:
        """How many threads there are: `8 threads`, `2 ranks of 4 threads`."""
        return team_in_words(self.ranks, self.threads)

    @property
    def threads_label(self) -> str:
        """How many threads there are, in short: `x8`, `2x4`."""
        return team_label(self.ranks, self.threads)

    @property
    def all_threads(self) -> int:
        """The threads of all processes."""
        return max(self.ranks or 0, 1) * self.threads

    @property
    def is_one_process(self) -> bool:
        """Whether the program is a single process, which no launcher of MPI started."""
        return self.ranks is None

    @property
    def is_emulated(self) -> bool:
        """Whether QEMU emulated the guest, so that its times are not the node's."""
        return self.vm_accelerator == EMULATED

    @property
    def guest_words(self) -> tuple[str, str, str]:
        """A guest's virtual CPUs, memory and what runs it, each empty where it is not known."""
        return (
            plural(self.vm_cpus, "vCPU") if self.vm_cpus else "",
            f"{self.vm_memory_mib} MiB" if self.vm_memory_mib else "",
            _RUN_BY.get(str(self.vm_accelerator), ""),
        )

    @property
    def guest_size(self) -> list[str]:
        """A guest's virtual CPUs and memory, as far as they are known."""
        return [word for word in self.guest_words[:2] if word]

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts tables; without number before numbered, without ranks before ranks.

        Whole runs come before their regions.
        """
        return tuple((value is not None, value) for value in self)


# What identifies a table; what identifies a row in it.
TABLE_KEYS = TableKey._fields[1:]
# Without them a case is no rank of MPI's, of a whole run, and of no guest; without any other key it
# is of no table.
OPTIONAL_KEYS = ("ranks", "region", "vm_cpus", "vm_memory_mib", "vm_accelerator")
ROW_KEYS = ("case_number", "mapping", "governor")
# Between the CPUs of two ranks, or two settings, in a cell; a table shows those of no more ranks.
SEPARATOR = " | "
MAX_RANKS_SHOWN = 8


def settings_in(values: Mapping[str, str]) -> Settings:
    """Return a record's settings in their order; those that only its pinstudy knows are last."""
    names = [*(name for name in NAMES if name in values), *(values.keys() - NAMES)]
    return Settings(tuple((name, values[name]) for name in names))


def settings_as_texts(settings: Settings) -> tuple[str, ...]:
    """Return settings as cells have them: `epp=power`."""
    return tuple(f"{name}={value}" for name, value in settings.pairs)


def cell_of_settings(settings: Settings) -> str | None:
    """Return settings as one cell has them: `epp=power | turbo=off`; None without any."""
    return SEPARATOR.join(settings_as_texts(settings)) or None


def settings_of_texts(texts: Iterable[str]) -> Settings:
    """Return the settings of such texts."""
    pairs = (text.partition("=")[::2] for text in texts)
    return settings_in({name: value.strip() for name, value in pairs})


class Placing(NamedTuple):
    """A mapping: its name, which CPUs it selects, and how it binds; None where it is unknown."""

    mapping: str
    selection: str | None
    binding: str | None


@dataclass(frozen=True)
class CaseKey:
    """What was run: a row of a table.

    `number` is the row's. `settings` are what the study asks for beside the governor. With
    `no_schedule` the program takes no loop schedule, and that of its table means nothing.

    `mpi` is the launcher of ranks, `ranks_by` how their mapping's CPUs were divided among them, and
    `rank_cpus` has the CPUs of each rank; None without ranks. `co_runner` names what ran beside the
    program, `co_runner_alone` is the case_id of that alone; None where nothing did.
    """

    case_id: str
    table: TableKey
    number: int
    mapping: str
    governor: str
    no_schedule: bool = False
    study: str | None = None
    node_id: str | None = None
    selection: str | None = None
    binding: str | None = None
    mechanism: str | None = None
    cpus: str | None = None
    engine: str | None = None
    vcpu_mapping: str | None = None
    vcpu_selection: str | None = None
    vcpu_binding: str | None = None
    vcpu_cpus: str | None = None
    algorithm: str | None = None
    mpi: str | None = None
    ranks_by: str | None = None
    rank_cpus: tuple[str, ...] | None = None
    co_runner: str | None = None
    co_runner_cpus: str | None = None
    co_runner_alone: str | None = None
    settings: Settings = AS_IT_IS

    @property
    def of_threads(self) -> Placing:
        """The mapping of the threads, in a guest that of its threads to virtual CPUs."""
        return Placing(self.mapping, self.selection, self.binding)

    @property
    def of_vcpus(self) -> Placing | None:
        """The mapping of a guest's virtual CPUs; None of a case on the node itself."""
        if not self.vcpu_mapping:
            return None
        return Placing(self.vcpu_mapping, self.vcpu_selection, self.vcpu_binding)

    @property
    def in_guest(self) -> bool:
        """Whether it ran in a guest, whose virtual CPUs have a mapping, too."""
        return bool(self.vcpu_mapping)

    @property
    def label(self) -> str:
        """The mapping as messages name it: `vCPUs pcores-pin, unpinned`."""
        return f"vCPUs {self.vcpu_mapping}, {self.mapping}" if self.in_guest else self.mapping

    @property
    def bindings(self) -> set[str | None]:
        """How the threads and, in a guest, its virtual CPUs are bound."""
        return {self.binding, self.vcpu_binding}

    @property
    def host_cpus(self) -> str | None:
        """The node's CPUs that it had, for readers: a guest's own are always the same ones."""
        return self.vcpu_cpus or self.shown_cpus

    @property
    def is_on_node(self) -> bool:
        """Whether it is one process on the node itself: nothing but its mapping places it."""
        return self.table.is_one_process and self.engine is None

    @property
    def where(self) -> tuple[object, ...]:
        """Where it ran and what started its ranks: what no mapping changes."""
        of_guest = self.table.vm_cpus, self.table.vm_memory_mib, self.table.vm_accelerator
        return self.table.ranks, self.mpi, self.engine, *of_guest

    @property
    def full_mapping(self) -> str:
        """The mapping, behind that of virtual CPUs where there are such: `pcores-pin/unpinned`."""
        return f"{self.vcpu_mapping}/{self.mapping}" if self.vcpu_mapping else self.mapping

    @property
    def guest(self) -> str:
        """The kind of guest in words, `a guest` or `an emulated guest`; empty on the node."""
        if not self.vcpu_mapping:
            return ""
        return "an emulated guest" if self.table.is_emulated else "a guest"

    @property
    def placing(self) -> Placing:
        """The mapping onto the node's CPUs: of the threads, or of the guest's virtual CPUs."""
        return self.of_vcpus or self.of_threads

    @property
    def configuration(self) -> tuple[object, ...]:
        """What a case shares with the baseline that it is compared with."""
        of_case = self.mpi, self.governor, self.co_runner, self.engine
        return self.study, self.node_id, self.table, *of_case

    @property
    def setting_words(self) -> str:
        """Its settings in words: `EPP power, EAS off`; empty where a study asks for none."""
        return self.settings.words

    @property
    def shown_cpus(self) -> str | None:
        """The CPUs of the mapping for readers, rank by rank where there are ranks: `0-1 | 4-5`."""
        if not self.rank_cpus:
            return self.cpus
        ranks = self.rank_cpus
        if len(ranks) > 1 and len(set(ranks)) == 1:
            return f"{ranks[0]} each"
        more = [f"{len(ranks) - MAX_RANKS_SHOWN} more"] if len(ranks) > MAX_RANKS_SHOWN else []
        return SEPARATOR.join([*ranks[:MAX_RANKS_SHOWN], *more])

    @property
    def divided_by(self) -> str | None:
        """How CPUs were divided among several ranks; None where each rank may use all of them."""
        return self.ranks_by if (self.table.ranks or 0) > 1 and self.binding != "none" else None

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts cases as tables have them."""
        return (*self.table.order, self.number, self.case_id)


# What a row says beside its numbers.
ROW_FACTS = tuple(field.name for field in fields(CaseKey))[6:]
