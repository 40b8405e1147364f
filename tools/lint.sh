#!/usr/bin/env bash
# Checks style and types, after `tools/setup.sh lint`. Runs all checks; fails if any of them fails.
# A missing checker of the system is reported, and fails in CI.

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
# shellcheck source=tools/common.sh
. tools/common.sh
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

# same_bounds: whether the recipe has the version bounds of pyproject.toml; only Spack can check the rest.
# shellcheck disable=SC2317
same_bounds() {
    diff <(sed -nE 's/.*depends_on\("(py-)?([a-z0-9-]+)@([0-9.]+):"\).*/\2>=\3/p' \
        spack_repo/pinstudy/packages/pinstudy/package.py | sort) \
        <(sed -nE '/^dependencies = \[/,/^\]/s/.*"([A-Za-z0-9-]+>=[0-9.]+)".*/\L\1/p
            s/^requires-python = "(>=[0-9.]+)".*/python\1/p' pyproject.toml | sort)
}

# bounded_size: whether the tracked lines without data are no more than pyproject.toml allows. The number may
# rise in a commit that says why.
# shellcheck disable=SC2317
bounded_size() {
    local most lines
    most=$(sed -n 's/^most-lines = //p' pyproject.toml)
    lines=$(git ls-files -z -- . ':!cards' ':!tests/data' ':!requirements*.txt' ':!*__snapshots__*' ':!*.csv' \
        ':!*.png' ':!*.xz' | xargs -0 cat 2>/dev/null | wc -l)
    [ "$lines" -le "$most" ] || {
        echo "$lines tracked lines without data, at most $most are allowed (most-lines in pyproject.toml):" \
            "delete what is no longer used, or raise the number in a commit that says why"
        return 1
    }
}

mapfile -t cpp < <(find apps include pinstudy tests benchmarks -name '*.[ch]pp' -o -name 'pinstudy.h' | sort)

check "Python, rules" python -m ruff check
check "Python, format" python -m ruff format --check
check "Python, types" python -m mypy
check "Python, imports" lint-imports --no-cache
check "Spack bounds" same_bounds
check "size" bounded_size
check "C++, format" clang-format --dry-run -Werror "${cpp[@]}"
check "shell" shellcheck --external-sources bin/pinstudy .ci/run \
    tools/setup.sh tools/test.sh tools/lint.sh tools/sanitize.sh tools/lock.sh tests/test_spack.sh \
    pinstudy/runners/vm/guest/init pinstudy/runners/vm/guest/start.sh vnode/guest/*.sh tests/slurm/first_process.sh \
    tests/tools_setup/clean_root.sh pinstudy/analysis/artifact/reproduce.sh
exit $status
