#!/bin/sh
# What a guest of the engine vm starts with, once the host's root file system is under it: pinstudy's
# own runner. pinstudy.python=FILE on the kernel's line is its interpreter. It never returns: the
# kernel panics when its first process ends, and QEMU ends then.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8

# shellcheck disable=SC2013 # it is words that are wanted
for word in $(cat /proc/cmdline); do
    case $word in
        pinstudy.python=*) python=${word#*=} ;;
    esac
done
cd "${0%/*}/../../.." || exit 1
exec "$python" -B -m runners.vm.agent
