#!/usr/bin/env bash
# Runs tests again and again under load: a busy loop for each CPU, or LOOPS loops. A test that depends
# on time fails sooner or later. Fails if any test did.
#
# usage: TIMES=20 LOOPS=2 tools/test_flaky.sh [pytest option or test]...

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
times=${TIMES:-20}
failed=0
loops=()
trap '[ ${#loops[@]} -eq 0 ] || kill "${loops[@]}" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

for ((loop = 0; loop < ${LOOPS:-$(nproc)}; loop++)); do
    # The loop ends with this shell.
    (while kill -0 $$ 2>/dev/null; do :; done) &
    loops+=($!)
done
for ((time = 1; time <= times; time++)); do
    echo "$time of $times, $failed failed so far"
    tools/test.sh "$@" || failed=$((failed + 1))
done
echo "$failed of $times failed beside ${#loops[@]} loops"
[ "$failed" -eq 0 ]
