# The active Spack environment, which a checkout uses instead of an environment and a build of its
# own. Sourced by setup.sh.
# shellcheck shell=bash

# in_spack: whether there is one, and it may be used.
in_spack() { [ -n "${SPACK_ENV-}" ] && [ -z "${PINSTUDY_NO_SPACK-}" ]; }

# spack_python: its interpreter: that of its view, which may be elsewhere and then is on the PATH.
spack_python() {
    local python=$SPACK_ENV/.spack-env/view/bin/python3
    [ -x "$python" ] || python=$(command -v python3) || python=python3
    echo "$python"
}

# spack_environment: says that it is used, or stops and says what it lacks: what it has not is not
# taken from elsewhere.
spack_environment() {
    local python lacking
    python=$(spack_python)
    mapfile -t lacking < <(packages_lacking "$python")
    [ -x "${python%/*}/pinstudy-witness" ] || command -v pinstudy-witness >/dev/null ||
        lacking+=("the programs of pinstudy")
    if [ ${#lacking[@]} -gt 0 ]; then
        fail "the active Spack environment $SPACK_ENV lacks $(joined "${lacking[@]}"): run \`spack install\` in it, or go without it (PINSTUDY_NO_SPACK=1)"
    fi
    say "uses the active Spack environment $SPACK_ENV"
}
