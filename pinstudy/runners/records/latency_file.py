"""The file `latency.json`: how long each pair of CPUs needed to hand a cache line over."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, field

from pinstudy.base.decoding import Cpu, Text
from pinstudy.runners.records.node_file import TopologyTable

# All pairs of that many CPUs, with two runs of 30 samples each, take some 300 MB.
MAX_CPUS = 1024
MAX_PAIRS = MAX_CPUS * (MAX_CPUS - 1) // 2
MAX_ADDRESSES = 64

Method = Literal["cas", "store"]
ALL: Final = "all"
REPRESENTATIVE: Final = "representative"
GIVEN: Final = "given"
PlanName = Literal["all", "representative", "given"]
# A second for one transfer is no latency of any machine, nor is a picosecond.
Nanoseconds = Annotated[float, Meta(ge=1e-3, le=1e9)]
Pair = tuple[Cpu, Cpu]
_Many = Annotated[int, Meta(ge=1, le=2**62)]


class PingPong(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a pair, from a CPU to another: its samples, and how often it was switched out.

    An imported run has one sample, a mean, and nothing else is known of it.
    """

    from_cpu: Cpu = field(name="from")
    to_cpu: Cpu = field(name="to")
    address: Annotated[int, Meta(ge=0, lt=MAX_ADDRESSES)] | None = None
    round_trips: _Many | None = None
    one_way_ns: Annotated[list[Nanoseconds], Meta(min_length=1, max_length=10_000)]
    switched: Annotated[int, Meta(ge=0, le=2**62)] | None = None


class MeasuredPair(Struct, frozen=True):
    """A pair of CPUs and its runs, in the order in which they were made."""

    cpus: Pair
    runs: Annotated[tuple[PingPong, ...], Meta(min_length=1, max_length=2 * MAX_ADDRESSES)]

    def __post_init__(self) -> None:
        """Raise ValueError for a CPU that is paired with itself, and for runs of other CPUs."""
        check_pair(self.cpus)
        for at, run in enumerate(self.runs):
            if {run.from_cpu, run.to_cpu} != set(self.cpus):
                a, b = self.cpus
                raise ValueError(f"runs[{at}]: expected from and to to be CPUs {a} and {b}")


class LeftOutPair(Struct, frozen=True):
    """A pair that was to be measured and was not, and why."""

    cpus: Pair
    reason: Text

    def __post_init__(self) -> None:
        """Raise ValueError for a CPU that is paired with itself."""
        check_pair(self.cpus)


def check_pair(cpus: Pair) -> None:
    """Raise ValueError for a CPU that is paired with itself."""
    if cpus[0] == cpus[1]:
        raise ValueError(f"cpus: expected two different CPUs, found {cpus[0]} twice")


class LatencyFile(Struct, omit_defaults=True, kw_only=True):
    """What was measured, how, and on which node; what is None has its reason in `unavailable`.

    `imported` is the file of another tool that it is from. Then `topology` may have a reason, too:
    it names CPUs and declared kinds only.

    `samples_least`, `precision` and `seed` are those of runners.latency.measure.LatencySettings;
    `pairs_of_node` is how many pairs of CPUs the node has.
    """

    schema: Literal[1]
    kind: Literal["latency"]
    node_id: Text
    node_digest: Text = ""
    boot_id: Text | None = None
    imported: Text | None = None
    started_at: Text | None = None
    method: Method | None = None
    plan: PlanName
    pairs_of_node: _Many
    samples_least: int | None = None
    precision: float | None = None
    seed: int | None = None
    addresses: Annotated[int, Meta(ge=1, le=MAX_ADDRESSES)] | None = None
    topology: TopologyTable
    versions: dict[str, str] = {}
    governor: Text | None = None
    built_with: Text | None = None
    unavailable: dict[str, Text] = {}
    pairs: Annotated[list[MeasuredPair], Meta(max_length=MAX_PAIRS)]
    left_out: Annotated[list[LeftOutPair], Meta(max_length=MAX_PAIRS)]
    interrupted: bool = False
    elapsed_s: float | None = None

    def __post_init__(self) -> None:
        """Raise ValueError where a measurement by pinstudy does not say how it was made."""
        for name in ("started_at", "method", "addresses"):
            if self.imported is None and getattr(self, name) is None:
                raise ValueError(f"{name}: expected it of what pinstudy measured")
