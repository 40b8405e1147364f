"""Runs the host's requests inside the virtual node: one JSON object a line, in and out.

Standard library only; it runs on the guest's own Python. A request has `do`: `run` waits for a
command to end (`timeout` in seconds), `start` does not, `wait` waits for one that was started,
`kill` sends a signal to its process alone. Commands are lists, not shell lines. While the host
waits for an answer, it gets a sign of life every few seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

PORT = "pinstudy.agent"
ALIVE_EVERY_S = 5


class Job:
    """A started command; its output goes to unnamed files."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.output = tempfile.TemporaryFile()  # noqa: SIM115
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        user = request.get("user")
        as_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        self.process = subprocess.Popen(
            request["command"],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.errors,
            cwd=request.get("cwd"),
            env={**os.environ, **request.get("env", {})},
            start_new_session=True,
            **as_user,
        )

    def wait(self, timeout: float, alive: Callable[[], None]) -> dict[str, Any]:
        """Return its status and output; kill its whole session after `timeout` seconds."""
        end = time.monotonic() + timeout
        while timed_out := not self._ended_in(min(ALIVE_EVERY_S, end - time.monotonic())):
            if time.monotonic() >= end:
                os.killpg(self.process.pid, 9)
                self.process.wait()
                break
            alive()
        return {
            "status": self.process.returncode,
            "timed_out": timed_out,
            "output": _text(self.output),
            "errors": _text(self.errors),
        }

    def _ended_in(self, seconds: float) -> bool:
        try:
            self.process.wait(max(0, seconds))
        except subprocess.TimeoutExpired:
            return False
        return True


def answer(
    request: dict[str, Any], jobs: dict[int, Job], alive: Callable[[], None]
) -> dict[str, Any]:
    """Return the answer to a request; a failure to start a command is an answer as well."""
    try:
        match request["do"]:
            case "run":
                return Job(request).wait(request["timeout"], alive)
            case "start":
                job = Job(request)
                jobs[job.process.pid] = job
                return {"pid": job.process.pid}
            case "kill":
                jobs[request["pid"]].process.send_signal(request["signal"])
                return {}
            case "wait":
                return jobs.pop(request["pid"]).wait(request["timeout"], alive)
            case other:
                return {"error": f"the agent does not know {other}"}
    except (OSError, subprocess.SubprocessError) as error:
        return {"error": str(error)}


def port() -> str:
    """Return the device of the virtio-serial port that the host named."""
    for device in Path("/sys/class/virtio-ports").iterdir():
        if (device / "name").read_text(encoding="ascii").strip() == PORT:
            return f"/dev/{device.name}"
    raise SystemExit("virtual node: QEMU gave no port for the agent")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def main() -> None:
    """Serve until the host closes the port."""
    jobs: dict[int, Job] = {}
    with Path(port()).open("r+b", buffering=0) as line:

        def send(message: dict[str, Any]) -> None:
            text = json.dumps(message).encode() + b"\n"
            while text:
                text = text[line.write(text) :]

        def alive() -> None:
            send({"alive": True})

        send({"ready": os.uname().release})
        waiting = b""
        while received := line.read(65536):
            *requests, waiting = (waiting + received).split(b"\n")
            for request in requests:
                send(answer(json.loads(request), jobs, alive))


main()
