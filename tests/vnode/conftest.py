"""The guests that tests of the virtual node share: one at a time, booted when first needed.

A test whose guest stops answering is run once more with a new one, and the end of pytest's report
says so; a second time it fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.tools import missing, need_tool
from vnode.arm import BigLittle
from vnode.commands import without_pandas
from vnode.node import KEPT, NotReadyError, VirtualNode, new_disk
from vnode.shape import Shape

USUAL = Shape()
# They begin first, so that no worker is left with a long one while the others have ended.
LONGEST = ("test_mappings", "test_kinds", "test_advise")


class Guests:
    """Provides guests by shape and CPU share, one at a time."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._current: VirtualNode | None = None

    def get(self, shape: Shape | BigLittle, e_share: float | None = None) -> VirtualNode:
        """Return a guest that is up: the current one, if it has this shape and answers."""
        current = self._current
        if current and (current.shape, current.e_share) == (shape, e_share) and current.answers():
            return current
        return self.boot(shape, e_share)

    def boot(self, shape: Shape | BigLittle, e_share: float | None = None) -> VirtualNode:
        """Return a new guest with an empty disk; it is the current one from now on."""
        self.close()
        need_tool(shape.qemu)
        if not (shape.image / "initramfs").exists():
            missing("the virtual node is not built: `make test-vnode` builds it")
        folder = self._factory.mktemp("guest")
        node = VirtualNode(shape, folder, new_disk(folder / "disk"), e_share)
        self._current = node
        node.boot()
        return node

    def replace(self) -> Path:
        """Boot the current guest anew, with an empty disk; return the console of the old one."""
        node = self._current
        assert node
        node.power_cut()
        hung = len(list(node.folder.glob("hung-*"))) + 1
        old_console = node.console.rename(node.folder / f"hung-{hung}-console.log")
        new_disk(node.folder / "disk")
        node.boot()
        return old_console

    def end_started(self) -> None:
        """End the commands that were started in the current guest, if it answers."""
        with suppress(OSError, NotReadyError):
            if self._current:
                self._current.end_started()

    def close(self) -> None:
        """End the current guest."""
        if self._current:
            self._current.power_cut()
        self._current = None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


_HUNG = pytest.StashKey[list[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test, and once more if its guest stops answering."""
    guests = pyfuncitem.funcargs.get("guests")
    if not isinstance(guests, Guests):
        return None
    parameters = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in parameters}
    try:
        pyfuncitem.obj(**arguments)
    except NotReadyError:
        console = guests.replace()
        hung = pyfuncitem.config.stash.setdefault(_HUNG, [])
        hung.append(f"{pyfuncitem.nodeid}: run once more; the console is kept in {console}")
        pyfuncitem.obj(**arguments)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests whose guests hung, also those that passed."""
    if hung := terminalreporter.config.stash.get(_HUNG, []):
        terminalreporter.section("guests that stopped answering", red=True, bold=True)
        for line in hung:
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guests]:
    shared = Guests(tmp_path_factory)
    try:
        yield shared
    finally:
        shared.close()


@pytest.fixture
def boot(guests: Guests) -> Callable[[Shape], VirtualNode]:
    """Give a function that returns a guest of a shape, which other tests may have used."""

    def booted(shape: Shape) -> VirtualNode:
        return _fresh(guests.get(shape))

    return booted


@pytest.fixture
def node(guests: Guests) -> VirtualNode:
    """Give the guest with two P-cores with SMT and four E-cores, its settings as after a boot."""
    return _fresh(guests.get(USUAL))


@pytest.fixture
def records_only(node: VirtualNode) -> Iterator[None]:
    """Let studies in the guest end without tables, as on a compute node without pandas."""
    with without_pandas(node):
        yield


@pytest.fixture(autouse=True)
def _no_leftovers(request: pytest.FixtureRequest) -> Iterator[None]:
    """End the commands that a failed test left running in a guest that the next test uses.

    It replaces the fixture of this name in tests/conftest.py, which would end the shared guest.
    """
    yield
    if "guests" in request.fixturenames:
        request.getfixturevalue("guests").end_started()


# The defaults of the test module, and those of its policies after a boot.
ENERGY_RANGE_UJ = 262143328850
IDLE_MW = 10000
_AS_AFTER_A_BOOT = f"""
rm -rf {KEPT}/[!l]*
for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do echo 1 >$cpu; done
echo 2 >/proc/sys/kernel/perf_event_paranoid
for policy in /sys/devices/system/cpu/cpufreq/policy*; do
    cat $policy/cpuinfo_min_freq >$policy/scaling_min_freq
    cat $policy/cpuinfo_max_freq >$policy/scaling_max_freq
    echo powersave >$policy/scaling_governor
    echo balance_performance >$policy/energy_performance_preference
done
"""


def _fresh(node: VirtualNode) -> VirtualNode:
    node.shell(_AS_AFTER_A_BOOT)
    node.set_parameters(energy_range_uj=ENERGY_RANGE_UJ, idle_mw=IDLE_MW)
    return node
