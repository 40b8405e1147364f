"""The digest follows what a study asks for and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.configs.asked import APP_LU, ASKED, sha256
from tests.configs.shelves import LU, STUDY, study_of

DIGEST = study_of(STUDY).digest


def with_app(app: dict[str, Any]) -> dict[str, Any]:
    """Return what the study asks for with another app."""
    (choice,) = ASKED["apps"]
    return ASKED | {"apps": [choice | {"app": sha256(app)}]}


def test_a_digest_is_a_sha_256_in_hexadecimal() -> None:
    assert len(DIGEST) == 64
    assert set(DIGEST) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: A study", "# a comment\ntitle: 'Another title'"),
        ("[performance]", "  performance"),
        ("repetitions: 10\n", "warmup: 1\nrepetitions: 10\n"),
    ],
)
def test_comments_titles_and_defaults_that_are_written_out_change_nothing(
    old: str, new: str
) -> None:
    assert study_of(STUDY.replace(old, new)).digest == DIGEST


def test_what_a_study_leaves_out_is_its_default_written_out() -> None:
    text = STUDY.replace("governors: [performance]\n", "").replace("wait_policy: passive\n", "")
    study = study_of(text)

    assert (study.governors, study.wait_policies) == (("current",), ("passive",))
    assert study.digest == study_of(STUDY.replace("performance", "current")).digest


def test_a_better_estimate_changes_nothing() -> None:
    apps = {"lu": LU.replace(b"10 ms", b"30 ms")}

    assert study_of(STUDY, apps).digest == DIGEST


def test_how_often_cases_are_run_changes_nothing() -> None:
    assert study_of(STUDY.replace("repetitions: 10", "repetitions: 11")).digest == DIGEST


def test_what_is_done_beside_an_apps_runs_changes_nothing() -> None:
    assert study_of(STUDY, {"lu": LU + b"c2c: true\n"}).digest == DIGEST


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("passive", "active"),
        ("[scheduler, pcores-pin]", "[pcores-pin, scheduler]"),
        ("[serial]", "[libgomp]"),
        ("repetitions: 10\n", "repetitions: 10\nseed: 2\n"),
    ],
)
def test_asking_for_something_else_changes_the_digest(old: str, new: str) -> None:
    assert study_of(STUDY.replace(old, new)).digest != DIGEST


def test_another_command_of_an_app_changes_the_digest() -> None:
    apps = {"lu": LU.replace(b"'100'", b"'101'")}

    assert study_of(STUDY, apps).digest != DIGEST


def test_a_metric_may_be_named_as_a_key_that_changes_no_digest() -> None:
    metrics = b"metrics: {runs: {pattern: 'runs: (\\d+)', unit: '1'}}\n"
    five, six = (
        {"lu": LU.replace(b"10 ms", b"10 ms, expect: {runs: %d}" % runs) + metrics}
        for runs in (5, 6)
    )

    assert study_of(STUDY, five).digest != study_of(STUDY, six).digest


def test_how_a_result_is_checked_is_asked_for() -> None:
    by_pattern = {"lu": LU + b"check: {pattern: ^done}\n"}
    by_command = {"lu": LU + b"check: {pattern: ^done, command: [./verify.sh, out.txt]}\n"}
    by_another = {"lu": LU + b"check: {pattern: ^done, command: [./verify.sh, more.txt]}\n"}

    digests = {study_of(STUDY, apps).digest for apps in (by_pattern, by_command, by_another)}

    assert len(digests) == 3
    check = APP_LU["check"] | {"pattern": "^done"}
    assert study_of(STUDY, by_pattern).digest == sha256(with_app(APP_LU | {"check": check}))


def test_a_digest_is_that_of_the_canonical_json() -> None:
    assert sha256(ASKED) == DIGEST


def test_mappings_of_an_entry_and_latency_are_asked_for() -> None:
    own = STUDY.replace("    threads: [1]\n", "    threads: [1]\n    mappings: scheduler\n")
    own = own.replace("mappings: [scheduler, pcores-pin]\n", "")

    assert study_of(own).digest != DIGEST
    assert study_of(STUDY + "latency: all\n").digest != DIGEST
