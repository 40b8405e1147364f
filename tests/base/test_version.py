from __future__ import annotations

import re

from base import VERSION
from tests.support.tools import ROOT


def test_the_version_is_that_of_the_project() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "(.+)"$', project, re.MULTILINE)[1] == VERSION  # type: ignore[index]
