"""The workers of a study at a site: on which nodes they run, and which blocks each makes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from base.errors import UserError
from base.text import plural
from configs.site import Queue, Site
from configs.study import SPLIT, Spread, Study
from runners.node.node import safe_name


@dataclass(frozen=True)
class Wanted:
    """The options of the command line; None for those that are not given."""

    how: str | None = None
    nodes: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    workers: int | None = None


@dataclass(frozen=True)
class Worker:
    """One worker: its node or feature, and the blocks that it makes (empty for all of them)."""

    number: int
    node: str | None = None
    feature: str | None = None
    blocks: tuple[int, ...] = ()

    @property
    def target(self) -> str:
        """The requested node: `node n1`, `feature hybrid` or `any node`."""
        if self.node:
            return f"node {self.node}"
        return f"feature {self.feature}" if self.feature else "any node"

    @property
    def slot(self) -> str:
        """The name under which a newer worker for the same target fences this one."""
        return safe_name(self.target)


def spread_of(study: Study, site: Site, queue: Queue, wanted: Wanted) -> Spread:
    """Return how the study is spread: by the command line, else the study, else the site.

    Raises UserError for settings that do not fit together.
    """
    asked = study.spread if study.spread else Spread(site.name)
    if wanted.nodes is not None or wanted.features is not None:
        asked = replace(asked, nodes=wanted.nodes or (), features=wanted.features or ())
    how = wanted.how or asked.how
    if wanted.workers is not None:
        asked = replace(asked, workers=wanted.workers)
    asked = replace(asked, site=site.name, how=how)
    given = [key for key in ("nodes", "features", "workers") if getattr(asked, key)]
    for _, problem in Spread.contradictions(vars(asked), given):
        raise UserError(f"--spread {how}: {problem}")
    if how == SPLIT:
        return _split(study, asked)
    if asked.nodes or asked.features:
        return asked
    return replace(asked, nodes=queue.nodes, features=() if queue.nodes else queue.features)


def _split(study: Study, asked: Spread) -> Spread:
    if asked.workers is None:
        raise UserError("split needs the number of nodes to divide the study over: --workers N")
    if study.precision:
        raise UserError(
            f"study {study.name} repeats its cases until they are known precisely enough, which "
            "one node alone can decide: use --spread per-node, or a fixed number of repetitions"
        )
    if study.race:
        raise UserError(
            f"study {study.name} is a race, whose blocks one node alone can make: use --spread "
            "per-node"
        )
    if study.latency:
        raise UserError(
            f"study {study.name} measures latencies, which are a node's own: use --spread per-node"
        )
    return asked


def per_node_workers(spread: Spread) -> tuple[Worker, ...]:
    """Return a worker for each node or feature; one for any node where none is named."""
    targets = [Worker(0, node=node) for node in dict.fromkeys(spread.nodes)]
    targets += [Worker(0, feature=feature) for feature in dict.fromkeys(spread.features)]
    return numbered(targets or [Worker(0)])


def numbered(workers: Iterable[Worker]) -> tuple[Worker, ...]:
    """Return the workers with numbers from 0."""
    return tuple(replace(worker, number=number) for number, worker in enumerate(workers))


def split_workers(spread: Spread, blocks: Sequence[int]) -> tuple[Worker, ...]:
    """Return workers that take these blocks in turn; at most one worker a block."""
    many = min(spread.workers or 1, len(blocks))
    feature = spread.features[0] if spread.features else None
    return tuple(
        Worker(number, feature=feature, blocks=tuple(blocks[number::many]))
        for number in range(many)
    )


def blocks_left(study: Study, case_ids: Collection[str], done: Collection[object]) -> list[int]:
    """Return the repetitions that some case still lacks.

    `done` has the keys (case_id, warm-up or not, repetition) of the runs that were made.
    """
    return [
        block
        for block in range(1, study.repetitions + 1)
        if any((case_id, False, block) not in done for case_id in case_ids)
    ]


def pool_of(site: Site) -> str:
    """Return the name of a site's pool, the interchangeable nodes that divide a study."""
    return f"split-{safe_name(site.name)}"


def describe_spread(spread: Spread, workers: Sequence[Worker]) -> str:
    """Return in a line how the study is spread."""
    if spread.how == SPLIT:
        blocks = plural(sum(len(worker.blocks) for worker in workers), "block")
        on = f" with feature {workers[0].feature}" if workers and workers[0].feature else ""
        return f"split: {blocks} divided over {plural(len(workers), 'node')}{on}"
    return f"per-node: the whole study on {', '.join(worker.target for worker in workers)}"
