#!/usr/bin/env bash
# Builds the programs with the sanitizers (address and undefined behaviour together, threads by
# themselves) and runs their fast tests, after `tools/setup.sh sanitize`. Runs all, and fails if
# any of them fails.
#
# usage: tools/sanitize.sh [APP]    only this app's tests (lu, for example), which takes a fifth of
#                                   the time

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
# shellcheck source=tools/common.sh
. tools/common.sh
! through_sudo || as_caller "$BASH" tools/sanitize.sh "$@"
unset MAKEFLAGS MFLAGS MAKELEVEL
app=${1-}
status=0

build() {
    cmake --preset "$1" && make --directory "build/$1${app:+/tests/apps/$app}" --jobs "$(nproc)"
}

for preset in sanitize-address sanitize-thread; do
    log=build/$preset.log
    echo "builds $preset (log: $log)"
    if build "$preset" >"$log" 2>&1; then
        ctest --preset "$preset" --tests-regex "^${app:+$app-}" || status=1
    else
        tail -n 20 "$log" >&2
        status=1
    fi
done
exit $status
