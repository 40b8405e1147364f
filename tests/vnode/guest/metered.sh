#!/bin/bash
# usage: metered.sh LOOPS: keeps a CPU busy between two readings of the module's own counter.

total=/sys/module/pinstudy_vnode/parameters/package_total_uj
echo "first $(<$total)"
for ((i = 0; i < $1; i++)); do :; done
echo "last $(<$total)"
