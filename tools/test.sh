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
# A loaded module's paths would hide the locked packages.
unset PYTHONPATH PYTHONHOME
# A worker finds the tests in 7 s of CPU time instead of 25 where pytest has rewritten their
# assertions before. Kept in build/, also where the environment wants no bytecode beside sources.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$PWD/build/pycache
status=0
declare -A running=()
logs=$(mktemp -d) || exit 2
trap 'kill "${running[@]}" 2>/dev/null; rm -rf "$logs"' EXIT
trap 'exit 130' INT
# Failed tests with the first lines of the reasons; tests/conftest.py appends to it.
export PINSTUDY_FAILED_TESTS=$logs/failed

# Most tests wait half of their time: for a program that sleeps, for a process that starts. Programs
# that work until they were looked at work for longer where more than two tests share a CPU. More
# than 8 workers would start too many programs of a node with many CPUs at once.
workers=$(($(nproc) * 2))
((workers <= 8)) || workers=8

# Temporary files in memory, where programs may start there: to make files on a disk, and to wait until
# they are there, took a third of all time. A container has 64 MB there, unless it was given more.
memory=/dev/shm
if [ -z "${TMPDIR-}" ] && (($(df --output=avail "$memory" 2>/dev/null | tail -n 1) > 3000000)) && probe=$(mktemp --tmpdir="$memory" 2>/dev/null); then
    cp "$(type -P true)" "$probe" && chmod +x "$probe" && "$probe" 2>/dev/null && export TMPDIR=$memory
    rm -f "$probe"
fi

# start NAME COMMAND...: runs it in the background; `finish NAME` shows its output.
start() {
    (exec "${@:2}") >"$logs/$1" 2>&1 &
    running[$1]=$!
}

# finish NAME: waits for a started command, if there is one.
finish() {
    [ -n "${running[$1]-}" ] || return 0
    local failed=0
    wait "${running[$1]}" || failed=1
    unset "running[$1]"
    cat "$logs/$1"
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

# failed_cases PRESET: the failed programs, and their cases of GoogleTest that failed or never ended.
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
    # What starts below makes the folder, too.
    rewritten=yes
    [ -d "$PYTHONPYCACHEPREFIX" ] || rewritten=""
    start_programs
    # All workers at once would each rewrite them.
    [ -n "$rewritten" ] || .venv/bin/python -m pytest --collect-only --quiet tests >/dev/null
    .venv/bin/python -m pytest --numprocesses $workers --dist worksteal --durations 30 tests ||
        status=1
else
    .venv/bin/python -m pytest "$@" || status=1
    start_programs
fi
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
