from __future__ import annotations

import pytest

from base.errors import UserError
from configs.site import BATCH_SYSTEMS
from runners.batch.systems.registry import open_system


def test_there_is_an_interface_for_each_batch_system_of_a_site() -> None:
    assert len({type(open_system(name)) for name in BATCH_SYSTEMS}) == len(BATCH_SYSTEMS)


def test_another_batch_system_is_a_users_mistake() -> None:
    with pytest.raises(UserError, match="'slrum' is not known; did you mean 'slurm'"):
        open_system("slrum")
