"""The clusters that tests share; each is started when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.slurm.cluster import Cluster, cluster
from tests.slurm.cluster_files import Shape


@pytest.fixture(scope="session")
def usual_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture(scope="session")
def binding_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm"), Shape(affinity=True)) as running:
        yield running


@pytest.fixture
def slurm(usual_cluster: Cluster) -> Iterator[Cluster]:
    """Give a cluster of three idle nodes, which other tests may have used before."""
    yield from _idle(usual_cluster)


@pytest.fixture
def bound_slurm(binding_cluster: Cluster) -> Iterator[Cluster]:
    """Give such a cluster that binds jobs to the CPUs that it gives them."""
    yield from _idle(binding_cluster)


def _idle(cluster: Cluster) -> Iterator[Cluster]:
    cluster.wait_for_nodes()
    yield cluster
    cluster.end_jobs()
