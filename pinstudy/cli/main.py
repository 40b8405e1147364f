"""The command group: loads a command's module on use, and shows errors in one line each."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType

import click

from pinstudy.base import PINSTUDY, VERSION
from pinstudy.base.command import STOPPING
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.folders import OpenFolder, PlantedLinkError
from pinstudy.base.text import printable, unknown_word
from pinstudy.cli.options import FORMER_OPTIONS
from pinstudy.cli.streams import lost_reason, prepare_streams
from pinstudy.runners.host.privileges import (
    TEMPORARY_VARIABLES,
    User,
    drop_privileges,
    give_up_root,
)

# Each command's module of pinstudy.cli.commands, in the groups and the order of `pinstudy --help`.
GROUPS = {
    "Study": {
        "studies": "study",
        "plan": "study",
        "run": "study",
        "advise": "advise",
        "demo": "demo",
        "apps": "study",
        "mappings": "study",
    },
    "Results": {
        "results": "results",
        "verdict": "results",
        "tables": "tables",
        "runs": "results",
        "figures": "figures",
        "trace": "results",
        "report": "results",
        "compare": "results",
        "history": "results",
        "card": "results",
        "artifact": "artifact",
        "import": "results",
    },
    "Node": {
        "doctor": "node",
        "topology": "node",
        "look": "look",
        "prove": "node",
        "latency": "latency",
        "tune": "node",
        "restore": "node",
        "snapshot": "node",
    },
    "Batch": {"submit": "batch", "status": "batch", "cancel": "batch", "worker": "batch"},
}
COMMANDS = {name: module for commands in GROUPS.values() for name, module in commands.items()}
# These go on measuring when stdout cannot be written.
_MEASURING = ("run", "advise", "demo", "latency", "prove", "worker")
# These read the kernel's files, set governors or start perf. No other asks root's part.
_USING_NODE = (
    *("topology", "studies", "plan", "run", "advise", "demo", "tune", "restore"),
    *("latency", "mappings", "doctor", "look", "prove", "snapshot", "worker"),
)

INTERRUPTED_STATUS = 130

_CITE = f"To cite: The maintainers of pinstudy, pinstudy {VERSION}; as BibTeX: docs/cite.md"


class LazyGroup(click.Group):
    """A click group that imports a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load the module of a command that the table names."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"pinstudy.cli.commands.{COMMANDS[cmd_name]}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Report an unknown command with the nearest known one, unless a shell completes."""
        unknown = args and args[0] not in COMMANDS and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:
            raise click.UsageError(unknown_word("command", args[0], COMMANDS), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by group, each with the whole first sentence of its help."""
        column = max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            rows = [
                (name.ljust(column), command.get_short_help_str(1000))
                for name, command in commands
                if command
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="'pinstudy COMMAND --help' tells more of each.",
)
@click.version_option(
    VERSION, prog_name="pinstudy", message=f"%(prog)s, version %(version)s\n{_CITE}"
)
@click.pass_context
def group(ctx: click.Context) -> None:
    """To pin or not to pin?

    Measures, on the node in front of you, which thread mapping and governor give an OpenMP
    program the best time and energy.
    """
    if ctx.invoked_subcommand != "restore":
        from pinstudy.runners.settings.recovery import restore_after_crash

        for line in restore_after_crash(Path("/")):
            click.echo(f"pinstudy: {printable(line)}", err=True)
    if ctx.invoked_subcommand not in _USING_NODE:
        give_up_root()


_A_MOMENT_S = 0.01

# Errors that are no fault of pinstudy, wherever they come up: a full or failing disk, a folder that
# is gone or may not be entered, a limit of the user.
_HOST_ERRORS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.ESTALE),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP),
    *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _stop_later(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise an interruption again where Python would only print and ignore it."""
    if unraisable.exc_type is KeyboardInterrupt:
        signal.signal(signal.SIGALRM, _stop)
        signal.setitimer(signal.ITIMER_REAL, _A_MOMENT_S)
    else:
        sys.__unraisablehook__(unraisable)


def main() -> None:
    """Run the command line.

    The exit status is 2 for a user's mistake, 1 for a failed study, 130 when it was stopped. A
    command may have others, which its page tells.
    """
    prepare_streams("".join(sys.argv[1:2]) in _MEASURING)
    sys.unraisablehook = _stop_later
    try:
        for number in STOPPING:
            # nohup(1) and others start a program with signals ignored, and they stay so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _stop)
        _run()
    except KeyboardInterrupt:
        # The second interruption, while the first was being handled.
        sys.exit(INTERRUPTED_STATUS)
    finally:
        # Nothing is left to stop, and Python would end with a traceback.
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)
        # Python remembers an interruption of exec(), which dataclasses call, and would end by
        # SIGINT whatever the status; the next exec() clears that.
        with suppress(MemoryError, SystemError):
            exec("")


def _serve(requests: int, answers: socket.socket, asking: int, user: User) -> None:
    from pinstudy.runners.root.server import serve

    serve(requests, answers, asking, user)


def _run() -> None:
    try:
        drop_privileges(_serve)
        _check_temporary_folders()
        group.main(standalone_mode=False)
        if why := lost_reason("stdout"):
            raise StudyError(
                f"stdout could not be written ({why}); all that was measured is kept, "
                f"`{PINSTUDY} tables` and `{PINSTUDY} verdict` show it again"
            )
    except click.ClickException as error:
        _show(error)
        sys.exit(2)
    except UserError as error:
        click.echo(f"pinstudy: {printable(str(error))}", err=True)
        sys.exit(error.exit_status)
    except (KeyboardInterrupt, click.Abort):
        click.echo("pinstudy: stopped", err=True)
        sys.exit(INTERRUPTED_STATUS)
    except BrokenPipeError:
        # `pinstudy ... | head`: the reader has closed the pipe.
        _drop_output()
        sys.exit(1)
    except OSError as error:
        if error.errno not in _HOST_ERRORS:
            raise
        _drop_output()
        with suppress(OSError):
            click.echo(f"pinstudy: {printable(_message(error))}", err=True)
        sys.exit(1)
    except (MemoryError, ImportError) as error:
        # The dynamic loader says so when a library's import finds no room (glibc, dl-load.c).
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        click.echo(
            "pinstudy: there is not enough memory (`ulimit -v` shows a limit); all that was "
            "measured is kept",
            err=True,
        )
        sys.exit(1)


def _show(error: click.ClickException) -> None:
    if renamed := _renamed(error):
        click.echo(f"pinstudy: {renamed}", err=True)
    else:
        error.show()


def _renamed(error: click.ClickException) -> str:
    """Return what an unknown option is called now; empty for one that never was an option."""
    if not isinstance(error, click.NoSuchOption) or not error.ctx:
        return ""
    before = error.option_name
    now = FORMER_OPTIONS.get(str(error.ctx.command.name), {}).get(before)
    return f"`{before}` is `{now}` now" if now else ""


def _check_temporary_folders() -> None:
    """Raise UserError when another user's link leads to the folder of temporary files."""
    for name in TEMPORARY_VARIABLES:
        try:
            OpenFolder(Path(os.environ.get(name, "/"))).close()
        except PlantedLinkError as error:
            raise UserError(f"${name}: {error}") from None
        except OSError:
            # It is not used then.
            continue


def _drop_output() -> None:
    """Send stdout to /dev/null: Python would fail again when it flushes it at the end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is None:
        # As getcwd(2) has it; what takes a path names it.
        return "the working directory is not there any more: start pinstudy in another one"
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    return f"{where}{error.strerror or error}"
