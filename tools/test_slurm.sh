#!/usr/bin/env bash
# Runs the tests on a Slurm of their own, after `tools/setup.sh slurm`. They mostly wait for Slurm:
# files of tests run side by side, each with clusters of its own, those that wait longest first.
#
# usage: tools/test_slurm.sh [pytest option]...
#   with options, one pytest runs those

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
# Those of a loaded module would hide the locked packages.
unset PYTHONPATH PYTHONHOME
at_once=4

pytest() { .venv/bin/python -m pytest -m slurm "$@"; }

# told FILE: runs the tests of a file, and prints all that they say at once.
told() {
    local said status=0
    said=$(pytest "$1" 2>&1) || status=1
    printf '%s\n' "$said"
    return $status
}

if [ $# -gt 0 ]; then
    pytest "$@"
    exit
fi

longest=(tests/slurm/test_{time_limit,lost_node,requeue,what_slurm_says}.py)
mapfile -t files < <(printf '%s\n' "${longest[@]}" tests/slurm/test_*.py | awk '!seen[$0]++')
status=0
for file in "${files[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge $at_once ]; do
        wait -n || status=1
    done
    told "$file" &
done
while [ "$(jobs -p | wc -l)" -gt 0 ]; do
    wait -n || status=1
done
exit $status
