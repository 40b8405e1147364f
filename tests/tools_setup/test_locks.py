"""The lock files: exact versions, with hashes, from wherever a site gets its packages."""

from __future__ import annotations

import re

import pytest

from tests.support.tools import ROOT

LOCKS = [
    *("requirements.txt", "requirements-dev.txt"),
    *("requirements-docs.txt", "requirements-fuzz.txt", "requirements-build.txt"),
]


def requirements(lock: str) -> list[str]:
    """Return the lock file's requirements, each with its hashes, in one line."""
    return (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_one_version_with_hashes(lock: str) -> None:
    exact = re.compile(r"[a-z0-9-]+==[0-9][a-z0-9.]*( ; [^\\]*?)?( +--hash=sha256:[0-9a-f]{64})+ *")
    for line in requirements(lock):
        assert exact.fullmatch(line), line


@pytest.mark.parametrize("lock", LOCKS)
def test_no_address_of_an_index_is_named(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    for word in ("://", "index", "find-links", "trusted-host"):
        assert word not in text


@pytest.mark.parametrize(("first", "added"), [(0, 1), (0, 2), (1, 2), (0, 4), (1, 4)])
def test_two_lock_files_agree_on_what_they_share(first: int, added: int) -> None:
    versions: dict[str, set[str]] = {}
    for line in requirements(LOCKS[first]):
        versions.setdefault(line.partition("==")[0], set()).add(line.split()[0])
    for line in requirements(LOCKS[added]):
        name = line.partition("==")[0]
        if name in versions:
            assert line.split()[0] in versions[name]
