#!/usr/bin/env bash
# Builds the programs with the sanitizers and runs their fast tests, after
# `tools/setup.sh sanitize`: address and undefined behaviour together, threads apart, since the two
# cannot be in one program. Runs both; fails if any of them fails.
#
# usage: tools/sanitize.sh [address|thread]...

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
[ $# -gt 0 ] || set -- address thread
status=0

for sanitizer in "$@"; do
    preset=sanitize-$sanitizer
    log=build/$preset.log
    echo "builds with the $sanitizer sanitizer (log: $log)"
    if cmake --preset "$preset" >"$log" 2>&1 &&
        cmake --build --preset "$preset" --parallel "$(nproc)" >>"$log" 2>&1; then
        ctest --preset "$preset" || status=1
    else
        tail -n 20 "$log" >&2
        status=1
    fi
done
exit $status
