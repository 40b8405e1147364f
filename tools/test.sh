#!/usr/bin/env bash
# Runs all tests, after `tools/setup.sh test`: pytest, then the programs' tests through CTest for
# every compiler they were built with. Fails if any of them fails, but runs all.
#
# usage: tools/test.sh [pytest option]...

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
# Those of a loaded module would hide the locked packages.
unset PYTHONPATH PYTHONHOME
status=0

.venv/bin/python -m pytest "$@" || status=1

for preset in gcc clang; do
    if grep -qs '^PINSTUDY_TESTS:STRING=ON' "build/$preset/CMakeCache.txt"; then
        echo "CTest, preset $preset"
        ctest --preset "$preset" --label-exclude slow --parallel 2 || status=1
    else
        echo "CTest, preset $preset: left out, because GoogleTest or the compiler is missing"
        [ "${CI-}" != true ] || status=1
    fi
done
exit $status
