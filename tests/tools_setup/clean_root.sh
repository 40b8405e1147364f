#!/usr/bin/env bash
# Runs set-up on a root of its own, for test_clean_root.py: this machine's, as a layer that is written to
# memory, without two packages. usage: clean_root.sh CHECKOUT; in a mount namespace of its own, as root.

set -eu
layers=$(mktemp -d)
mount -t tmpfs tmpfs "$layers"
mkdir "$layers/upper" "$layers/work" "$layers/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$layers/upper,workdir=$layers/work" "$layers/root"
mount -t proc proc "$layers/root/proc"
mount --bind /dev "$layers/root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$layers/root/tmp"
mkdir -p "$layers/root/tmp/checkout"
(cd "$1" && cp -r --parents tools apps/originals/obtain.sh vnode/images.sh "$layers/root/tmp/checkout")
# shellcheck disable=SC2016
exec chroot "$layers/root" bash -c '
cd /tmp/checkout
useradd somebody
chown -R somebody .
dpkg --purge --force-depends make lz4 >/dev/null 2>&1
by_sudo() { SUDO_UID=$(id -u somebody) SUDO_GID=$(id -g somebody) tools/setup.sh sanitize 2>&1; }
echo "forbidden:"
PINSTUDY_NO_SYSTEM_PACKAGES=1 by_sudo || echo "status $?"
echo "allowed:"
by_sudo || echo "status $?"
echo "again:"
by_sudo || echo "status $?"
echo "of others than somebody:"
find . ! -user somebody
echo "commands:"
command -v make lz4
'
