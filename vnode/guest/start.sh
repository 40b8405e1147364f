#!/bin/bash
# The virtual node's first script above the host's root file system: mounts programs that it can run
# and its own state, then starts the agent.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8

hostname vnode

# The programs of the checkout may use instructions that QEMU does not know.
checkout=$(realpath "${0%/*}/../..")
mkdir -p "$checkout/build/bin"
mount --bind "$checkout/build/emulated/bin" "$checkout/build/bin"

# The host's journals of changed settings do not apply to this node.
rm -rf /var/lib/pinstudy

exec "${0%/*}/serve.sh"
