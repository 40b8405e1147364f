#!/usr/bin/env bash
# Sets pinstudy up in its checkout: system packages, Python environment, programs; or below a PREFIX.
#
# usage: tools/setup.sh [TARGET]
#        tools/setup.sh originals-for STUDY
#   TARGET is a target of the Makefile, by default setup, for a study; with -small, for the tests that
#   continuous integration runs; originals-for: sets up the originals if this study, a name or a file,
#   has one of them as an app
#
# Each step leaves a stamp, written last and renamed into place: a step whose stamp still holds is
# skipped, one that was interrupted is done again.
# Environment: PINSTUDY_NO_SYSTEM_PACKAGES=1 installs no system packages; PINSTUDY_NO_SPACK=1 uses no
# active Spack environment; PREFIX, MARCH, PINSTUDY_PYTHON: docs/install.md.

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
root=$PWD
log=build/setup.log
stamps=build/stamps
# Whether root only installs system packages, and then continues as the user who called sudo.
for_caller=""
# shellcheck source=tools/common.sh
. tools/common.sh
# shellcheck source=tools/packages.sh
. tools/packages.sh
# shellcheck source=tools/build.sh
. tools/build.sh
# shellcheck source=apps/originals/obtain.sh
. apps/originals/obtain.sh
# shellcheck source=vnode/images.sh
. vnode/images.sh

# only_one: waits for another set-up of this checkout. Some file systems cannot lock; there the user
# must avoid two set-ups at once.
only_one() {
    exec 9>build/setup.lock
    flock --nonblock 9 2>/dev/null && return
    say "waiting for another set-up of this checkout"
    flock 9 2>/dev/null || true
}

# in_spack: whether there is a Spack environment, and it may be used.
in_spack() { [ -n "${SPACK_ENV-}" ] && [ -z "${PINSTUDY_NO_SPACK-}" ]; }

# spack_environment: prints that it is used, or stops with what it lacks: nothing is taken from
# elsewhere. Its interpreter is in its view, which may be in another place and is then on the PATH.
spack_environment() {
    local lacking
    interpreter=$SPACK_ENV/.spack-env/view/bin/python3
    [ -x "$interpreter" ] || interpreter=$(command -v python3) || interpreter=python3
    mapfile -t lacking < <({ "$interpreter" -c 'import sys
from importlib.util import find_spec
modules = "click jinja2 matplotlib msgspec numpy pandas rich scipy tabulate yaml".split()
print(*(name for name in modules if find_spec(name) is None), sep="\n")' 2>/dev/null || echo "a working python3"; } | sed '/^$/d')
    [ -x "${interpreter%/*}/pinstudy-witness" ] || command -v pinstudy-witness >/dev/null ||
        lacking+=("the programs of pinstudy")
    [ ${#lacking[@]} = 0 ] ||
        fail "the active Spack environment $SPACK_ENV lacks $(joined "${lacking[@]}"): run \`spack install\` in it, or go without it (PINSTUDY_NO_SPACK=1)"
    say "uses the active Spack environment $SPACK_ENV"
}

# parts_of TARGET: the parts of needs.txt that a target needs.
parts_of() {
    case $1 in
        setup | install) echo python build run ;;
        originals) echo build originals ;;
        test) echo python build run test ;;
        bench) echo python build run bench ;;
        fidelity) echo python build run bench originals ;;
        fuzz) echo python run ;;
        lint) echo python lint ;;
        docs) echo python ;;
        sanitize) echo build test sanitize ;;
        slurm) echo python build run slurm ;;
        vm | vm-small) echo python build run vm ;;
        vnode | vnode-small) echo python build run vm vnode ;;
        vnode-arm) echo python build run vm vnode vnode-arm ;;
        *) fail "knows setup, originals, install, test, lint, docs, bench, fidelity, fuzz, sanitize, slurm, vm, vnode, vm-small, vnode-small and vnode-arm, not $1" ;;
    esac
}

# meet TARGET: what it needs beside system packages.
meet() {
    case $1 in
        setup) editable requirements.txt && study_schema "$venv/bin/python" ;;
        originals) originals "${MARCH:-native}" "${PREFIX:-build/originals}/bin" ;;
        install) python_environment requirements-build.txt && install_below_prefix ;;
        test) editable requirements-dev.txt "$(lacks GoogleTest || echo with-tests)" ;;
        bench | slurm) editable requirements-dev.txt ;;
        fidelity) editable requirements-dev.txt && fidelity ;;
        fuzz) python_environment requirements-dev.txt && python_environment requirements-fuzz.txt ;;
        lint) python_environment requirements-dev.txt ;;
        docs) python_environment requirements-docs.txt ;;
        sanitize) ;;
        vm | vm-small)
            editable requirements.txt
            bootable_kernel || guest_kernel
            emulated_programs
            ;;
        vnode | vnode-small) editable requirements-dev.txt && vnode_image ;;
        vnode-arm) editable requirements-dev.txt && vnode_arm_image ;;
    esac
}

main() {
    local parts made
    target=${1:-setup}
    # Interpreters are looked up before the environment's variables are removed.
    case $target in
        setup) ! in_spack || spack_environment ;;
        originals-for) studies_originals "${2-}" || return 0 && target=originals ;;
    esac
    read -r -a parts < <(parts_of "$target") && [ ${#parts[@]} -gt 0 ] || exit 2
    # Variables of an outer make would reach the makes that CMake starts; a module's PYTHONPATH
    # would hide the locked packages.
    unset MAKEFLAGS MFLAGS MAKELEVEL PYTHONPATH PYTHONHOME
    trap 'echo; fail "interrupted; the same command goes on"' INT TERM
    # An installation, and the needs of tests on a cluster, are root's own.
    case $target${PREFIX:+-to-prefix} in
        install* | originals-to-prefix | slurm) ;;
        *) ! through_sudo || for_caller=yes ;;
    esac
    if [ -z "$for_caller" ]; then
        { mkdir -p "$stamps" && : >>"$log"; } || fail "cannot write $root/build"
        only_one
    fi
    if [ "$target" = slurm ]; then
        slurm_packages "${parts[@]}"
    elif in_spack && [ "$target" = setup ]; then
        system_packages run
        study_schema "$interpreter"
        return
    elif in_spack && [ "$target" = originals ]; then
        system_packages originals
    else
        system_packages "${parts[@]}"
    fi
    meet "$target"
    # What root has made in another's checkout to install from it is that user's.
    through_sudo || return 0
    for made in build "$venv"; do
        [ ! -e "$made" ] || chown -hR "$SUDO_UID" "$made"
    done
}

# fidelity: the originals, and builds of all programs with instructions that valgrind knows.
fidelity() {
    local march=""
    [ "$(uname -m)" != x86_64 ] || march=x86-64-v3
    originals native build/originals/bin
    programs_for build/fidelity "$march"
    originals "$march" build/fidelity/bin
}

main "$@"
