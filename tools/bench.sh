#!/usr/bin/env bash
# Runs all benchmarks, after `tools/setup.sh bench`: the harness's and the tables', then the programs'
# for every compiler they were built with. Fails if any of them fails, but runs all. The tables' need
# 13 GB free where temporary files go (TMPDIR) for a million records, and leave these out without.

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
shopt -s nullglob
status=0

for benchmark in benchmarks/*.py; do
    echo "$benchmark"
    PYTHONPATH=. .venv/bin/python "$benchmark" || status=1
done

for benchmark in build/{gcc,clang}/benchmarks/apps/bench-*; do
    echo "$benchmark"
    "$benchmark" || status=1
done
exit $status
