"""Reads the threads of QEMU's CPUs over QEMU's own protocol (QMP), and starts the CPUs.

The socket is one end of a pair; QEMU inherits the other end, so no socket is in the file system.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping

ANSWER_LIMIT_S = 60.0


class QmpError(Exception):
    """QEMU gave no answer or a wrong one; the message says what happened."""


def start_cpus(line: socket.socket, place: Callable[[Mapping[int, int]], None]) -> None:
    """Start the CPUs of a QEMU that waits (-S), after `place` has placed their threads.

    `place` gets the host's threads by number of the virtual CPU. The socket cannot be used again.
    """
    from qemu.qmp import QMPError

    try:
        asyncio.run(asyncio.wait_for(_start_cpus(line, place), ANSWER_LIMIT_S))
    except asyncio.TimeoutError:
        raise QmpError(f"QEMU did not answer within {ANSWER_LIMIT_S:g} s") from None
    # Disconnecting from a QEMU that has died raises EOFError.
    except (QMPError, OSError, EOFError, KeyError, TypeError) as error:
        raise QmpError(f"QEMU did not start its CPUs: {error}") from error


async def _start_cpus(line: socket.socket, place: Callable[[Mapping[int, int]], None]) -> None:
    from qemu.qmp import QMPClient

    client = QMPClient("pinstudy")
    # The log only serves to debug the protocol.
    client.logger.disabled = True
    await client.connect(line)
    try:
        cpus = await client.execute("query-cpus-fast")
        assert isinstance(cpus, list)
        place({int(cpu["cpu-index"]): int(cpu["thread-id"]) for cpu in cpus})
        await client.execute("cont")
    finally:
        await client.disconnect()
