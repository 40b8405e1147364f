# The image of the virtual node (vnode/README.md): the guests' kernel (guest.sh), the test module that is
# built against its headers, and an initramfs, all in build/vnode. Sourced by setup.sh.
# shellcheck shell=bash

vnode=build/vnode

# vnode_image: what `vnode/node.py` boots.
vnode_image() {
    local key
    [ "$(uname -m)" = x86_64 ] || fail "the virtual node is an x86-64 one: $(uname -m) cannot build its module"
    mkdir -p "$vnode" || fail "cannot write $root/$vnode"
    guest_kernel
    emulated_programs
    key=$({ cat tools/vnode.sh runners/vm/{vmlinux,boot_image}.py runners/vm/guest/init vnode/module/* &&
        cat "$stamps/guest-kernel"; } | digest)
    if ! holds "$stamps/vnode-image" "$key"; then
        say "builds the virtual node"
        vnode_module
        vnode_boot_files "$guest/tree" "$vnode"
        stamp "$stamps/vnode-image" "$key"
    fi
    case $target in
        *-small) ;;
        *) vnode_other_kernel "$key" ;;
    esac
}

# vnode_other_kernel KEY: the same image with a kernel of another version, for what happens to a study
# when its node is updated. The module of the first one loads there, too: its symbols have versions.
vnode_other_kernel() {
    local key=$1 package tree=$vnode/other/tree
    holds "$stamps/vnode-other" "$key" && return
    package=$(other_kernel)
    [ -n "$package" ] || { say "apt offers no second kernel for the virtual node; its test is left out" && return; }
    say "fetches a second kernel for the virtual node: $package"
    rm -rf "$vnode/other"
    mkdir -p "$tree" || fail "cannot write $root/$vnode"
    { (cd "$vnode/other" && logged_here apt-get download "$package") &&
        logged dpkg-deb -x "$vnode"/other/*.deb "$tree"; } || fail "cannot fetch $package:" see-log
    vnode_boot_files "$tree" "$vnode/other"
    rm -rf "$tree" "$vnode"/other/*.deb
    stamp "$stamps/vnode-other" "$key"
}

# other_kernel: the package of the newest kernel of the guests' series that is not theirs.
other_kernel() {
    local own=$guest/tree/boot/vmlinuz-
    own=$(echo "$own"*-amd64)
    own=${own#"$guest/tree/boot/vmlinuz-"}
    LC_ALL=C apt-cache pkgnames "linux-image-${own%%-*}" 2>/dev/null |
        grep -Ex "linux-image-${own%%-*}-[0-9]+-amd64" | grep -vxF "linux-image-$own" | sort -V | tail -n 1
}

vnode_module() {
    local headers
    headers=$(find "$guest"/tree/usr/src -maxdepth 1 -name 'linux-headers-*-amd64' | head -n 1)
    rm -rf "$vnode/module"
    cp -r vnode/module "$vnode/module" || fail "cannot write $root/$vnode/module"
    { logged make -C "$headers" "M=$root/$vnode/module" modules &&
        logged strip --strip-debug "$vnode/module/pinstudy_vnode.ko"; } ||
        fail "cannot build the virtual node's kernel module:" see-log
    mv "$vnode/module/pinstudy_vnode.ko" "$vnode/pinstudy_vnode.ko"
    rm -rf "$vnode/module"
}

# vnode_boot_files TREE FOLDER: beside a guest's usual modules ext4, for the disk that outlives a power
# cut; it needs crc32c, which no module names.
vnode_boot_files() {
    local tree=$1 folder=$2
    logged .venv/bin/python -m runners.vm.vmlinux "$tree"/boot/vmlinuz-* "$folder/vmlinux" ||
        fail "cannot take the kernel out of its package:" see-log
    logged .venv/bin/python -m runners.vm.boot_image "$(module_tree "$tree")" "$(command -v busybox)" \
        runners/vm/guest/init "$folder/initramfs" virtio_blk crc32c_generic ext4 || fail "cannot make the virtual node's initramfs:" see-log
}

# module_tree TREE: the folder of the kernel's modules; where it is depends on the distribution's release.
module_tree() { find "$1"/lib/modules "$1"/usr/lib/modules -mindepth 1 -maxdepth 1 2>/dev/null | head -n 1; }
