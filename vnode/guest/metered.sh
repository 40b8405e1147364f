#!/bin/bash
# usage: metered.sh SECONDS: keeps a CPU busy between two readings of the module's own counter.

total=/sys/module/pinstudy_vnode/parameters/package_total_uj
echo "first $(<$total)"
while ((SECONDS < $1)); do :; done
echo "last $(<$total)"
