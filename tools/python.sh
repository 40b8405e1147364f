# The second step of set-up: the private Python environment, from the lock files. Sourced by
# setup.sh.
# shellcheck shell=bash

# Where the environment is; make install has one at another place.
venv=.venv

# python_environment LOCK FILE: installs the run-time packages into it, and then those of this
# file. Both lock files name the same version of what they share, so the second only adds.
python_environment() {
    if [ -e "$venv/unfinished" ] || ! installed requirements.txt; then
        new_environment
        install_locked requirements.txt
    fi
    installed "$1" || install_locked "$1"
}

installed() { holds "$venv/${1%.txt}.stamp" "$(environment_key "$1")"; }

environment_key() { echo "$(digest <"$1") $(python_version "$venv/bin/python")"; }

# python_version PYTHON: its version and machine, or nothing if it does not start (a distribution's
# upgrade replaces the interpreter that an environment points to).
python_version() {
    "$1" -I -S -c 'import os, sys; print("%d.%d" % sys.version_info[:2], os.uname().machine)' 2>/dev/null
}

# new_environment: an empty one. The stamps go first, so that a half-removed one never counts.
new_environment() {
    local python
    python=$(find_python) || fail "needs Python 3.10 to 3.14 with its module venv"
    rm -f "$venv"/*.stamp
    rm -rf "$venv"
    say "makes the Python environment $venv with $python"
    logged "$python" -m venv "$venv" || fail "cannot make $venv with $python:" see-log
}

# install_locked LOCK FILE: an installation that was interrupted can leave a package that looks
# whole; the marker makes the next set-up start from an empty environment.
install_locked() {
    : >"$venv/unfinished" || fail "cannot write $(realpath -m -- "$venv")"
    say "installs the Python packages of $1: half a minute, more over a slow network"
    logged "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
        --require-hashes -r "$1" ||
        fail "cannot install the Python packages of $1 (is the package index reachable?):" see-log
    stamp "$venv/${1%.txt}.stamp" "$(environment_key "$1")"
    rm "$venv/unfinished"
}

# packages_lacking PYTHON: what a study, its tables and its report need and this interpreter lacks,
# one a line.
packages_lacking() {
    "$1" -c 'import sys
from importlib.util import find_spec
modules = "click jinja2 matplotlib numpy pandas rich scipy tabulate yaml".split()
lacking = [name for name in modules if find_spec(name) is None]
if sys.version_info < (3, 10):
    lacking.append("Python 3.10 or newer")
for name in lacking:
    print(name)' 2>/dev/null || echo "a working python3"
}
