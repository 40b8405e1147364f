"""What QEMU is asked over its own protocol (QMP): the threads of its CPUs, and to start them.

The socket is one end of a pair whose other end QEMU inherits: none is in the file system.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping

ANSWER_LIMIT_S = 60.0


class QmpError(Exception):
    """QEMU did not answer as it should; says what happened."""


def start_cpus(line: socket.socket, place: Callable[[Mapping[int, int]], None]) -> None:
    """Let a QEMU that waits (-S) start its CPUs, once `place` has put their threads somewhere.

    `place` is given the host's threads by number of the virtual CPU. The socket is used up.
    """
    from qemu.qmp import QMPError

    try:
        asyncio.run(asyncio.wait_for(_start_cpus(line, place), ANSWER_LIMIT_S))
    except asyncio.TimeoutError:
        raise QmpError(f"QEMU did not answer within {ANSWER_LIMIT_S:g} s") from None
    # EOFError is what leaving a QEMU that has died raises.
    except (QMPError, OSError, EOFError, KeyError, TypeError) as error:
        raise QmpError(f"QEMU did not start its CPUs: {error}") from error


async def _start_cpus(line: socket.socket, place: Callable[[Mapping[int, int]], None]) -> None:
    from qemu.qmp import QMPClient

    client = QMPClient("pinstudy")
    # Its log is for those who debug the protocol.
    client.logger.disabled = True
    await client.connect(line)
    try:
        cpus = await client.execute("query-cpus-fast")
        assert isinstance(cpus, list)
        place({int(cpu["cpu-index"]): int(cpu["thread-id"]) for cpu in cpus})
        await client.execute("cont")
    finally:
        await client.disconnect()
