#!/usr/bin/env bash
# Checks style and types, after `tools/setup.sh lint`. Runs all checks; fails if any of them fails.
# A checker of the system that is missing is said, and in CI a failure.

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
# shellcheck source=tools/caller.sh
. tools/caller.sh
! through_sudo || as_caller "$BASH" tools/lint.sh "$@"
export PATH="$PWD/.venv/bin:$PATH"
status=0

# check NAME COMMAND...
check() {
    echo "lint: $1"
    shift
    if ! command -v "$1" >/dev/null; then
        echo "$1 is not installed: left out"
        [ "${CI-}" != true ] || status=1
    else
        "$@" || status=1
    fi
}

mapfile -t cpp < <(find apps runners tests benchmarks -name '*.[ch]pp' | sort)

check "Python, rules" python -m ruff check
check "Python, format" python -m ruff format --check
check "Python, types" python -m mypy
check "Python, imports" lint-imports --no-cache
check "Spack bounds" python -m tools.spack_bounds
check "C++, format" clang-format --dry-run -Werror "${cpp[@]}"
check "shell" shellcheck --external-sources bin/pinstudy .ci/run \
    tools/setup.sh tools/test.sh tools/lint.sh tools/sanitize.sh tools/lock.sh \
    runners/vm/guest/init runners/vm/guest/start.sh vnode/guest/*.sh tests/slurm/first_process.sh
exit $status
