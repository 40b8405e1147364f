# The image of the virtual node (docs/vnode.md): the guests' kernel (guest.sh), the test module that is
# built against its headers, and an initramfs, all in build/vnode. Sourced by setup.sh.
# shellcheck shell=bash

vnode=build/vnode

# vnode_image: what `tests/vnode` boots.
vnode_image() {
    local key
    [ "$(uname -m)" = x86_64 ] || fail "the virtual node is an x86-64 one: $(uname -m) cannot build its module"
    mkdir -p "$vnode" || fail "cannot write $root/$vnode"
    guest_kernel
    emulated_programs
    key=$({ cat tools/vnode.sh runners/vm/{vmlinux,initramfs}.py runners/vm/guest/init tests/vnode/module/* &&
        cat "$stamps/guest-kernel"; } | digest)
    holds "$stamps/vnode-image" "$key" && return
    say "builds the virtual node"
    vnode_module
    vnode_boot_files
    stamp "$stamps/vnode-image" "$key"
}

vnode_module() {
    local headers
    headers=$(find "$guest"/tree/usr/src -maxdepth 1 -name 'linux-headers-*-amd64' | head -n 1)
    rm -rf "$vnode/module"
    cp -r tests/vnode/module "$vnode/module" || fail "cannot write $root/$vnode/module"
    { logged make -C "$headers" "M=$root/$vnode/module" modules &&
        logged strip --strip-debug "$vnode/module/pinstudy_vnode.ko"; } ||
        fail "cannot build the virtual node's kernel module:" see-log
    mv "$vnode/module/pinstudy_vnode.ko" "$vnode/pinstudy_vnode.ko"
    rm -rf "$vnode/module"
}

# vnode_boot_files: beside a guest's usual modules ext4, for the disk that outlives a power cut; it
# needs crc32c, which no module names.
vnode_boot_files() {
    logged .venv/bin/python -m runners.vm.vmlinux "$guest"/tree/boot/vmlinuz-* "$vnode/vmlinux" ||
        fail "cannot take the kernel out of its package:" see-log
    logged .venv/bin/python -m runners.vm.initramfs "$(module_tree)" "$(command -v busybox)" \
        runners/vm/guest/init "$vnode/initramfs" virtio_blk crc32c_generic ext4 || fail "cannot make the virtual node's initramfs:" see-log
}

# module_tree: the folder of the kernel's modules; where it is depends on the distribution's release.
module_tree() { find "$guest"/tree/lib/modules "$guest"/tree/usr/lib/modules -mindepth 1 -maxdepth 1 2>/dev/null | head -n 1; }
