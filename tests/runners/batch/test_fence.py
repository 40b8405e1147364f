"""Of all attempts in a slot only the newest goes on, whatever clocks say."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from base.errors import StudyError
from runners.batch.worker import Fence


def claim(folder: Path) -> int:
    return Fence(folder).claim_next("slot")


def test_generations_of_a_slot_count_from_one(tmp_path: Path) -> None:
    fence = Fence(tmp_path / "fence")
    assert fence.newest_of_all() == {}
    assert [fence.claim_next("slot") for _ in range(3)] == [1, 2, 3]
    assert fence.claim_next("other") == 1
    assert fence.newest_of_all() == {"slot": 3, "other": 1}


def test_claims_at_the_same_time_get_different_generations(tmp_path: Path) -> None:
    with ProcessPoolExecutor(8) as pool:
        taken = list(pool.map(claim, [tmp_path] * 64))
    assert sorted(taken) == list(range(1, 65))


def test_the_newest_generation_is_not_a_matter_of_clocks(tmp_path: Path) -> None:
    fence = Fence(tmp_path)
    fence.claim_next("slot")
    fence.claim_next("slot")
    # The newer attempt's node has a clock that is a year behind.
    os.utime(tmp_path / "slot.g0002", (0, 0))
    assert fence.newest_of_all() == {"slot": 2}


@pytest.mark.parametrize("generation", ["999999999", "999999500"])
def test_a_planted_generation_that_none_can_follow_is_named(
    tmp_path: Path, generation: str
) -> None:
    (tmp_path / f"slot.g{generation}").touch()
    with pytest.raises(StudyError, match=rf"^{tmp_path}/slot\.g{generation}: no worker has"):
        Fence(tmp_path).claim_next("slot")
    assert Fence(tmp_path).claim_next("other") == 1


@pytest.mark.parametrize(
    "generation", ["9" * 20, "9" * 240, "-001", "\u0661\u0662\u0663\u0664", "+0001"]
)
def test_what_is_no_generation_claims_nothing(tmp_path: Path, generation: str) -> None:
    (tmp_path / f"slot.g{generation}").touch()
    assert Fence(tmp_path).claim_next("slot") == 1


def test_a_slot_whose_name_begins_as_anothers_is_another(tmp_path: Path) -> None:
    fence = Fence(tmp_path)
    fence.claim("split-a-w001", 7)
    fence.claim("split-a.g-w001", 9)
    assert fence.newest_of_all() == {"split-a-w001": 7, "split-a.g-w001": 9}


class LateListing(Fence):
    """A fence on a network file system whose listings are from before the first claim."""

    def newest_of_all(self) -> dict[str, int]:
        return {}


def test_a_claim_that_is_not_listed_yet_is_not_taken_again(tmp_path: Path) -> None:
    fence = LateListing(tmp_path)
    assert [fence.claim_next("slot") for _ in range(3)] == [1, 2, 3]


def test_files_of_others_are_no_claims(tmp_path: Path) -> None:
    for name in ("slot.gxxxx", "slot.g1", ".slot.g0009.tmp", "slot"):
        (tmp_path / name).touch()
    assert Fence(tmp_path).newest_of_all() == {}


def test_a_folder_that_cannot_be_read_is_an_error_and_no_permission_to_go_on(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    fence = Fence(tmp_path / "file")
    with pytest.raises(StudyError, match="cannot be read"):
        fence.newest_of_all()
    with pytest.raises(StudyError):
        fence.claim_next("slot")
