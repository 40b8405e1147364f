"""The clusters that tests share; each is started when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.slurm.cluster import Cluster, cluster


@pytest.fixture(scope="session")
def usual_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm")) as made:
        yield made


@pytest.fixture
def slurm(usual_cluster: Cluster) -> Iterator[Cluster]:
    """Give a cluster of three idle nodes, which other tests may have used before."""
    usual_cluster.wait_for_nodes()
    yield usual_cluster
    for job in usual_cluster.live_jobs():
        usual_cluster.run("scancel", job)
    usual_cluster.wait_for_jobs()
