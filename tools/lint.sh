#!/usr/bin/env bash
# Checks style and types, after `tools/setup.sh lint`. Runs all checks; fails if any of them fails.
# A checker of the system that is missing is said, and in CI a failure.

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
status=0

check() {
    echo "$1 ${2-}"
    "$@" || status=1
}

check_with_tool() {
    if command -v "$1" >/dev/null; then
        "$@" || status=1
    else
        echo "$1 is not installed: left out"
        [ "${CI-}" != true ] || status=1
    fi
}

check .venv/bin/python -m ruff check
.venv/bin/python -m ruff format --check || status=1
.venv/bin/python -m mypy || status=1
mapfile -t sources < <(find apps runners tests benchmarks -name '*.[ch]pp' | sort)
check_with_tool clang-format --dry-run -Werror "${sources[@]}"
check_with_tool shellcheck --external-sources bin/pinstudy .ci/run tools/{setup,test,lint,sanitize,bench,lock}.sh
exit $status
