"""Tries the Spack environments with a real Spack, in a copy of the checkout that is then removed.

usage: SPACK_ROOT=DIR python -m tools.test_spack

First all is concretized from sources, audited, and installed with --fake: nothing is built. Then
the environments are installed for real, with what this machine has as externals (a site file that
is written for it; the Python packages come from a virtual environment with Spack's versions),
tested, and used from their views, in another folder.

Spack's own settings are those in SPACK_ROOT/etc/spack; those of user and system are left out. What
is not installed here is fetched and built. Environment: SPACK_PYTHON as ever;
PINSTUDY_SPACK_BUILD="likwid …" are packages to build although they are installed;
PINSTUDY_SPACK_KEEP=1 keeps the folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.spack_trial.externals import plain_environment
from tools.spack_trial.steps import FailedStepError, Steps
from tools.spack_trial.trial import Trial

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the trial; return 0, 1 for a failed step, 2 without a Spack."""
    given = os.environ.get("SPACK_ROOT")
    spack = Path(given or "", "bin", "spack").absolute()
    if not given or not os.access(spack, os.X_OK):
        print(
            "test-spack: give the folder of a Spack: make test-spack SPACK_ROOT=DIR",
            file=sys.stderr,
        )
        return 2
    # Not to leave a Spack behind that goes on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = Path(tempfile.mkdtemp(prefix="pinstudy-spack-"))
    try:
        _copy_checkout(work / "checkout")
        (work / "logs").mkdir()
        environment = plain_environment() | {
            "SPACK_DISABLE_LOCAL_CONFIG": "1",
            "SPACK_USER_CACHE_PATH": str(work / "cache"),
        }
        trial = Trial(spack, work, Steps(work / "logs", environment))
        trial.concretize_from_sources()
        trial.install_the_environment()
        trial.use_the_view()
        trial.install_with_two_compilers()
    except FailedStepError as error:
        print(f"test-spack: {error}", file=sys.stderr)
        return 1
    finally:
        if os.environ.get("PINSTUDY_SPACK_KEEP"):
            print(f"test-spack: all of it is in {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    print("test-spack: everything worked")
    return 0


def _copy_checkout(target: Path) -> None:
    """Copy what git knows or would know, so that nothing that was built comes along."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True, timeout=60)
    for name in done.stdout.decode().split("\0"):
        source = ROOT / name
        if name and source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)


if __name__ == "__main__":
    sys.exit(main())
