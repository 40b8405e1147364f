#!/usr/bin/env bash
# Sets pinstudy up in its checkout: system packages, Python environment, C++ build; and installs it.
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
# shellcheck source=tools/originals.sh
. tools/originals.sh
# shellcheck source=tools/install.sh
. tools/install.sh
# shellcheck source=tools/guest.sh
. tools/guest.sh

# only_one: waits for another set-up of this checkout. Some file systems cannot lock; there the user
# must avoid two set-ups at once.
only_one() {
    exec 9>build/setup.lock
    flock --nonblock 9 2>/dev/null && return
    say "waiting for another set-up of this checkout"
    flock 9 2>/dev/null || true
}

main() {
    target=${1:-setup}
    # Interpreters are looked up before the environment's variables are removed.
    case $target in
        setup) if in_spack; then spack_environment; fi ;;
        originals-for) studies_originals "${2-}" || return 0 && target=originals ;;
        install) check_prefix && check_march && find_interpreter ;;
        uninstall) check_prefix && uninstall_all && return ;;
    esac
    # Variables of an outer make would reach the makes that CMake starts; a module's PYTHONPATH
    # would hide the locked packages.
    unset MAKEFLAGS MFLAGS MAKELEVEL PYTHONPATH PYTHONHOME
    trap 'echo; fail "interrupted; the same command goes on"' INT TERM
    # An installation, and the needs of tests on a cluster, are root's own.
    case $target${PREFIX:+-to-prefix} in
        install* | originals-to-prefix | slurm*) ;;
        *) ! through_sudo || for_caller=yes ;;
    esac
    if [ -z "$for_caller" ]; then
        { mkdir -p "$stamps" && : >>"$log"; } || fail "cannot write $root/build"
        only_one
    fi
    case $target in
        setup)
            if in_spack; then
                system_packages run
                study_schema "$interpreter"
            else
                system_packages python build run
                python_and_programs requirements.txt
                study_schema "$venv/bin/python"
            fi
            ;;
        originals)
            if in_spack; then system_packages originals; else system_packages build originals; fi
            originals "${MARCH:-native}" "${PREFIX:-build/originals}/bin"
            ;;
        install)
            if [ -n "$interpreter" ]; then system_packages build run; else system_packages python build run; fi
            install_all
            ;;
        test)
            system_packages python build run test
            python_and_programs requirements-dev.txt "$(lacks GoogleTest || echo with-tests)"
            ;;
        bench | fidelity)
            if [ "$target" = bench ]; then system_packages python build run bench; else system_packages python build run bench originals; fi
            python_and_programs requirements-dev.txt
            [ "$target" = bench ] || fidelity
            ;;
        fuzz)
            system_packages python run
            python_environment requirements-dev.txt
            python_environment requirements-fuzz.txt
            ;;
        lint)
            system_packages python lint
            python_environment requirements-dev.txt
            ;;
        docs)
            system_packages python
            python_environment requirements-docs.txt
            ;;
        sanitize) system_packages build test sanitize ;;
        slurm)
            slurm_packages
            python_and_programs requirements-dev.txt
            ;;
        vm | vm-small)
            system_packages python build run vm
            python_and_programs requirements.txt
            bootable_kernel || guest_kernel
            emulated_programs
            ;;
        vnode | vnode-small)
            system_packages python build run vm vnode
            python_environment requirements-dev.txt
            vnode_image
            ;;
        vnode-arm)
            system_packages python build run vm vnode vnode-arm
            python_environment requirements-dev.txt
            vnode_arm_image
            ;;
        *) fail "knows setup, originals, install, uninstall, test, lint, docs, bench, fidelity, fuzz, sanitize, slurm, vm, vnode, vm-small, vnode-small and vnode-arm, not $target" ;;
    esac
    ! through_sudo || chown -hR "$SUDO_UID" build
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
