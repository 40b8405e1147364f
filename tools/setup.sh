#!/usr/bin/env bash
# Sets pinstudy up in its checkout: system packages, Python environment, C++ build; and installs it.
#
# usage: tools/setup.sh [setup|originals|install|uninstall|test|lint|docs|bench|fidelity|fuzz|sanitize|slurm|vm|
#                        vm-small|vnode|vnode-small|vnode-arm]
#        tools/setup.sh originals-for STUDY
#   what to set up for: a study (setup, if nothing is said), or another target of the Makefile; with
#   -small, what continuous integration runs of its tests; originals-for: if this study, a name or a
#   file, has one of the originals as an app
#
# Each step leaves a stamp with a digest of all that it depended on, written last and renamed into
# place: a step whose stamp still holds is skipped, one that was interrupted is done again.
# Environment: PINSTUDY_NO_SYSTEM_PACKAGES=1 installs no system packages; PINSTUDY_NO_SPACK=1 uses no
# active Spack environment; PREFIX, MARCH, PINSTUDY_PYTHON: docs/install.md.

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
root=$PWD
log=build/setup.log
stamps=build/stamps
# Whether root only installs system packages here, and hands on to the user who called sudo.
for_caller=""

# shellcheck source=tools/caller.sh
. tools/caller.sh
# shellcheck source=tools/needs.sh
. tools/needs.sh
# shellcheck source=tools/packages.sh
. tools/packages.sh
# shellcheck source=tools/python.sh
. tools/python.sh
# shellcheck source=tools/programs.sh
. tools/programs.sh
# shellcheck source=tools/originals.sh
. tools/originals.sh
# shellcheck source=tools/slurm.sh
. tools/slurm.sh
# shellcheck source=tools/active_spack.sh
. tools/active_spack.sh
# shellcheck source=tools/install.sh
. tools/install.sh
# shellcheck source=tools/guest.sh
. tools/guest.sh
# shellcheck source=tools/vnode.sh
. tools/vnode.sh
# shellcheck source=tools/vnode_arm.sh
. tools/vnode_arm.sh

say() { printf 'set-up: %s\n' "$*"; }

# fail MESSAGE [see-log]: stops, if wanted with the end of what the failed command said.
fail() {
    printf 'set-up: %s\n' "$1" >&2
    if [ "${2-}" = see-log ]; then
        tail -n 12 "$log" | sed 's/^/  | /' >&2
        printf 'set-up: the whole output is in %s\n' "$root/$log" >&2
    fi
    exit 2
}

# logged COMMAND...: what it says goes to the log only; it does not inherit the lock. In a subshell,
# because a trap of this shell would otherwise write to the log as well.
logged() {
    (printf '\n$ %s\n' "$*" && exec "$@") >>"$log" 2>&1 </dev/null 9>&-
}

# joined WORD...: the words with commas between them.
joined() {
    local words
    words=$(printf ', %s' "$@")
    echo "${words:2}"
}

digest() {
    local sum
    sum=$(sha256sum) && echo "${sum%% *}"
}

# holds STAMP KEY: whether the step that wrote this stamp need not be done again.
holds() { [ -r "$1" ] && [ "$(<"$1")" = "$2" ]; }

stamp() {
    { printf '%s\n' "$2" >"$1.new" && mv "$1.new" "$1"; } || fail "cannot write $(realpath -m -- "$1")"
}

# only_one: waits while another set-up of this checkout is at work. Not every file system can lock;
# where it cannot, two set-ups at once are the user's to avoid.
only_one() {
    exec 9>build/setup.lock
    flock --nonblock 9 2>/dev/null && return
    say "waiting for another set-up of this checkout"
    flock 9 2>/dev/null || true
}

# python_and_programs LOCK FILE OPTION...: the second and the third step, beside each other; what one of
# them has done is kept when the other fails. A process group of its own is what Ctrl-C here ends.
python_and_programs() {
    local lock=$1 python status=0
    shift
    set -m
    log=build/setup-python.log python_environment "$lock" &
    python=$!
    set +m
    # shellcheck disable=SC2064
    trap "kill -- -$python 2>/dev/null" EXIT
    (programs "$@") || status=$?
    wait $python || status=$?
    trap - EXIT
    [ $status -le 128 ] || fail "interrupted; the same command goes on"
    [ $status = 0 ] || exit 2
}

main() {
    target=${1:-setup}
    # What is asked of an interpreter is asked before the environment's variables are taken away.
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
    case $target in
        install | slurm) ;; # are root's own
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
            else
                system_packages python build run
                python_and_programs requirements.txt
            fi
            ;;
        originals) originals ;;
        install)
            if [ -n "$interpreter" ]; then
                system_packages build run
            else
                system_packages python build run
            fi
            install_all
            ! through_sudo || chown -hR "$SUDO_UID" build
            ;;
        test)
            system_packages python build run test
            if lacks GoogleTest; then set --; else set -- -D PINSTUDY_TESTS=ON; fi
            python_and_programs requirements-dev.txt "$@"
            ;;
        bench)
            system_packages python build run bench
            python_and_programs requirements-dev.txt
            ;;
        fidelity)
            system_packages python build run bench originals
            python_and_programs requirements-dev.txt
            originals
            portable_programs
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
            vnode_arm_image || true
            ;;
        *) fail "knows setup, originals, install, uninstall, test, lint, docs, bench, fidelity, fuzz, sanitize, slurm, vm, vnode, vm-small, vnode-small and vnode-arm, not $target" ;;
    esac
}

main "$@"
