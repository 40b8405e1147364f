"""A user's process that asks root's part whatever a test wants, as a hostile one would."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.ordinary_user import NOBODY, open_folder, users_pinstudy
from tests.support.tools import need_tool

# Asks for each line of JSON, [request, fields], and prints the answer. The request `raw` sends the
# bytes of its field `data`, `file` sends an open file, `keep` starts a process that inherits the
# pipe of requests.
_ASKING = """
import json, os, socket, subprocess, sys
sys.path[0] = sys.argv[1]
from base.errors import UserError
from runners.host import privileges
from runners.root.server import serve
privileges.drop_privileges(serve)
helper = privileges.root_helper()
for line in sys.stdin:
    request, fields = json.loads(line)
    try:
        if request == "file":
            socket.send_fds(helper._answers, [b"x"], [0])
        elif request == "keep":
            os.set_inheritable(helper._requests, True)
            kept = subprocess.Popen(["sleep", "60"], close_fds=False, stdout=subprocess.DEVNULL)
            answer = {"pid": kept.pid}
        elif request == "raw":
            os.write(helper._requests, bytes.fromhex(fields["data"]))
            answer = {"sent": True}
        else:
            answer, received = helper.ask(request, **fields)
            if received is not None:
                content = os.pread(received, 1 << 20, 0).decode(errors="replace")
                answer = answer | {"content": content, "owner": os.fstat(received).st_uid}
    except (OSError, UserError) as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
"""


class Asker:
    """A process of the user nobody with root's part; `folder` is one of nobody's."""

    def __init__(
        self, checkout: Path, folder: Path, enter: Sequence[str] = (), **variables: str
    ) -> None:
        """`enter` is the command that enters the namespaces of a node."""
        self.folder = folder
        self._process = subprocess.Popen(
            [*enter, checkout / ".venv/bin/python", "-c", _ASKING, checkout],
            env={"PATH": os.environ["PATH"], "SUDO_UID": str(NOBODY)} | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def pid(self) -> int:
        """The process number."""
        return self._process.pid

    def ask(self, request: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the answer to a request, or its `error`."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([request, fields]) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def refusal(self, request: str, **fields: Any) -> str:  # noqa: ANN401
        """Return why a request is not answered."""
        answer = self.ask(request, **fields)
        return str(answer.get("error") or answer.get("problem"))

    def sleeper(self, user: int = NOBODY) -> int:
        """Return the number of a process of a user, nobody by default."""
        rights: dict[str, Any] = {"user": user, "group": user, "extra_groups": ()}
        started = subprocess.Popen(["sleep", "300"], **rights)
        self._started.append(started)
        return started.pid

    def perf(self, **changes: object) -> dict[str, Any]:
        """Ask for a perf that counts a process of nobody's, but for these fields."""
        rest = {"cat": False, "enabled": True, "recording": False}
        fields = {"command": self.stat("task-clock:u"), "target": ["-p", str(self.sleeper())]}
        return self.ask("perf", **{**fields, **rest, **changes})

    def stat(self, events: str) -> list[str]:
        """Return the command of a perf that counts these events."""
        perf = self.ask("program", name="perf")["path"]
        return [perf, "stat", "-x", ";", "-o", "{output}", "-e", events]

    def kill(self) -> None:
        """Kill the process that asks."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process and what was started for it."""
        assert self._process.stdin and self._process.stdout
        self.kill()
        for process in self._started:
            process.kill()
            process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def checkout() -> Iterator[Path]:
    with open_folder() as folder:
        yield users_pinstudy(folder).parents[1]


@pytest.fixture
def asker(checkout: Path) -> Iterator[Asker]:
    need_tool("perf")
    with open_folder() as folder:
        own = folder / "own"
        own.mkdir()
        os.chown(own, NOBODY, NOBODY)
        asking = Asker(checkout, own)
        try:
            yield asking
        finally:
            asking.close()
