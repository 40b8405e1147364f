#!/usr/bin/env bash
# Runs all tests, after `tools/setup.sh test`: pytest's, and the programs' tests through CTest for
# every compiler they were built with. Fails if any of them fails, but runs all.
#
# usage: tools/test.sh [pytest option]...

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
# shellcheck source=tools/common.sh
. tools/common.sh
! through_sudo || as_caller "$BASH" tools/test.sh "$@"
# Those of a loaded module would hide the locked packages.
unset PYTHONPATH PYTHONHOME
status=0
declare -A running=()
kept=$(mktemp -d) || exit 2
trap 'kill "${running[@]}" 2>/dev/null; rm -rf "$kept"' EXIT
trap 'exit 130' INT
# What failed, and the first lines of why: pytest adds to it through tests/conftest.py.
export PINSTUDY_FAILED_TESTS=$kept/failed

# Most tests wait half of their time: for a program that naps, for a process that starts. More
# workers than that, and those on a node of many CPUs start all of its programs at once.
workers=$(($(nproc) * 2))
((workers <= 8)) || workers=8
# A node measures one study at a time, and only root can give each worker a node of its own.
unshare --net --mount --pid --fork --mount-proc true 2>/dev/null || workers=0

# The kernel tells of births in its first network namespace only, and workers have others
# (tests/support/isolation.py).
births=(tests/runners/execution/test_self_placed.py tests/runners/execution/test_execute.py)

# start NAME COMMAND...: runs it in the background; `finish NAME` shows what it says.
start() {
    (exec "${@:2}") >"$kept/$1" 2>&1 &
    running[$1]=$!
}

# finish NAME: waits for what was started, if it was.
finish() {
    [ -n "${running[$1]-}" ] || return 0
    local failed=0
    wait "${running[$1]}" || failed=1
    unset "running[$1]"
    cat "$kept/$1"
    return $failed
}

# start_programs: their teams sleep for most of the time, and so leave the CPUs to other tests.
start_programs() {
    local preset
    for preset in gcc clang; do
        if grep -qs '^PINSTUDY_TESTS:STRING=ON' "build/$preset/CMakeCache.txt"; then
            start "$preset" ctest --preset "$preset" --label-exclude slow --parallel 2
        else
            echo "CTest, preset $preset: left out, because GoogleTest or the compiler is missing"
            [ "${CI-}" != true ] || status=1
        fi
    done
}

# failed_cases PRESET: the programs that failed, and the cases of GoogleTest's that failed in them or
# were never told to have ended.
failed_cases() {
    local logs=build/$1/Testing/Temporary
    sed "s/^[0-9]*:/CTest, preset $1: /" "$logs/LastTestsFailed.log"
    awk -v preset="$1" '
        function over() { if (name != "") print "CTest, preset " preset ": " program ", " name; name = "" }
        /^[0-9]+\/[0-9]+ Test: / { over(); program = $3 }
        /^\[ RUN / { name = $4 }
        /^\[ +(OK|SKIPPED) / { name = "" }
        /^\[  FAILED / { over() }
        END { over() }' "$logs/LastTest.log"
}

if [ $# -eq 0 ]; then
    start births .venv/bin/python -m pytest "${births[@]}"
    start_programs
    .venv/bin/python -m pytest --numprocesses $workers --dist worksteal --durations 30 \
        tests "${births[@]/#/--ignore=}" || status=1
else
    .venv/bin/python -m pytest "$@" || status=1
    start_programs
fi
finish births || status=1
for preset in gcc clang; do
    finish "$preset" || {
        status=1
        failed_cases "$preset" >>"$PINSTUDY_FAILED_TESTS"
    }
done
if [ -s "$PINSTUDY_FAILED_TESTS" ]; then
    echo "what failed:"
    head -n 60 "$PINSTUDY_FAILED_TESTS"
fi
exit $status
