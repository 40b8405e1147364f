#!/usr/bin/env bash
# Runs tests again and again beside load: a busy loop for each CPU, unless LOOPS says how many. A
# test whose outcome depends on how long something takes fails sooner or later. Fails if any did.
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
    # Does not outlive this shell, however that ends.
    (while kill -0 $$ 2>/dev/null; do :; done) &
    loops+=($!)
done
for ((time = 1; time <= times; time++)); do
    echo "$time of $times, $failed failed so far"
    tools/test.sh "$@" || failed=$((failed + 1))
done
echo "$failed of $times failed beside ${#loops[@]} loops"
[ "$failed" -eq 0 ]
