#!/usr/bin/env bash
# Runs all tests, after `tools/setup.sh test`: pytest, then the programs' tests through CTest for
# every compiler they were built with. Fails if any of them fails, but runs all.
#
# usage: tools/test.sh [pytest option]...

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
# shellcheck source=tools/caller.sh
. tools/caller.sh
! through_sudo || as_caller "$BASH" tools/test.sh "$@"
# Those of a loaded module would hide the locked packages.
unset PYTHONPATH PYTHONHOME
status=0
background=""
kept=$(mktemp -d) || exit 2
trap 'kill $background 2>/dev/null; rm -rf "$kept"' EXIT
# What failed, and the first lines of why: pytest adds to it through tests/conftest.py.
export PINSTUDY_FAILED_TESTS=$kept/failed

# Tests of what only reckons and draws: two processes may run them at once. All others start studies,
# of which a node runs one at a time, or measure, and have the node to themselves.
drawing=(tests/analysis/report tests/analysis/figures tests/runners/race tests/runners/advise)
reckoning=(
    tests/analysis tests/configs tests/test_docs.py
    tests/tools_setup/test_{bin,locks,make_install,needs,packages,setup}.py
    tests/pinstudy/test_{compare,import,report,verdict}.py
)

# all_tests: what the process in the background says is shown when the other one has ended.
all_tests() {
    local failed=0
    trap 'exit 130' INT
    (exec .venv/bin/python -m pytest "${drawing[@]}") >"$kept/said" 2>&1 &
    background=$!
    echo "pytest, all that only reckons and draws"
    .venv/bin/python -m pytest "${reckoning[@]}" "${drawing[@]/#/--ignore=}" || failed=1
    wait "$background" || failed=1
    background=""
    cat "$kept/said"
    trap - INT
    echo "pytest, all others"
    .venv/bin/python -m pytest tests "${reckoning[@]/#/--ignore=}" "${drawing[@]/#/--ignore=}" \
        || failed=1
    return $failed
}

if [ $# -eq 0 ]; then
    all_tests || status=1
else
    .venv/bin/python -m pytest "$@" || status=1
fi

for preset in gcc clang; do
    if grep -qs '^PINSTUDY_TESTS:STRING=ON' "build/$preset/CMakeCache.txt"; then
        echo "CTest, preset $preset"
        ctest --preset "$preset" --label-exclude slow --parallel 2 || {
            status=1
            sed "s/^[0-9]*:/CTest, preset $preset: /" \
                "build/$preset/Testing/Temporary/LastTestsFailed.log" >>"$PINSTUDY_FAILED_TESTS"
        }
    else
        echo "CTest, preset $preset: left out, because GoogleTest or the compiler is missing"
        [ "${CI-}" != true ] || status=1
    fi
done
if [ -s "$PINSTUDY_FAILED_TESTS" ]; then
    echo "what failed:"
    head -n 60 "$PINSTUDY_FAILED_TESTS"
fi
exit $status
