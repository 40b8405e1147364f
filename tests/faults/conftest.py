"""Studies of these tests take the node's only lock."""

from __future__ import annotations

from tests.pinstudy.conftest import alone_on_the_node, without_reports

__all__ = ["alone_on_the_node", "without_reports"]
