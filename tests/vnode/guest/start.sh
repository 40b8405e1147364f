#!/bin/bash
# What the virtual node starts with, once the host's root file system is under it: file systems of
# its own where the host has some, the kept disk, then the agent. It never returns.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8

hostname vnode

# The programs of the checkout may use instructions that QEMU does not know.
checkout=$(realpath "${0%/*}/../../..")
mkdir -p "$checkout/build/bin"
mount --bind "$checkout/build/emulated/bin" "$checkout/build/bin"

# What the host has changed is not what this node has.
rm -rf /var/lib/pinstudy
mkdir -p /kept
[ ! -b /dev/vda ] || mount -t ext4 /dev/vda /kept || echo "virtual node: cannot mount the kept disk"

/usr/bin/python3 -I "${0%/*}/agent.py"
echo "virtual node: the agent ended, status $?"
echo o >/proc/sysrq-trigger
sleep 60
