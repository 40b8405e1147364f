#!/bin/bash
# The arm64 virtual node's first script, on its own root file system: mounts the checkout at its usual
# place, read-only with a writable layer in memory over it, the programs for arm64 in it, then the
# agent.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8

read -r line </proc/cmdline
checkout=${line#*pinstudy.checkout=}
checkout=${checkout%% *}

say() { echo "virtual node: $1"; }

busybox hostname vnode-arm
mkdir -p /changes "$checkout"
mount -t tmpfs tmpfs /changes
mkdir -p /changes/{lower,upper,work}
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=524288,cache=loose checkout /changes/lower ||
    say "cannot mount the checkout"
mount -t overlay -o lowerdir=/changes/lower,upperdir=/changes/upper,workdir=/changes/work overlay "$checkout" ||
    say "cannot lay a writable file system over the checkout"
mkdir -p "$checkout/build/bin"
mount --bind "$checkout/build/vnode-arm/bin" "$checkout/build/bin" || say "has no programs"

exec "$checkout/vnode/guest/serve.sh"
