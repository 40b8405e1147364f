#!/bin/bash
# What the virtual node starts with, once the host's root file system is under it: the programs that
# it can run, a state of its own, then the agent.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8

hostname vnode

# The programs of the checkout may use instructions that QEMU does not know.
checkout=$(realpath "${0%/*}/../..")
mkdir -p "$checkout/build/bin"
mount --bind "$checkout/build/emulated/bin" "$checkout/build/bin"

# What the host has changed is not what this node has.
rm -rf /var/lib/pinstudy

exec "${0%/*}/serve.sh"
