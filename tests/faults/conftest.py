"""Studies of these tests take the node's lock, of which there is one."""

from __future__ import annotations

from tests.pinstudy.conftest import alone_on_the_node, without_reports

__all__ = ["alone_on_the_node", "without_reports"]
