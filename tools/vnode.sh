# The image of the virtual node (docs/vnode.md): a kernel of the distribution, the test module that
# is built against its headers, and an initramfs, all in build/vnode. Sourced by setup.sh. The
# kernel's packages are only unpacked there; nothing of them is installed.
# shellcheck shell=bash

vnode=build/vnode

# vnode_image: what `tests/vnode` boots.
vnode_image() {
    local key
    [ "$(uname -m)" = x86_64 ] || fail "the virtual node is an x86-64 one: $(uname -m) cannot build its module"
    mkdir -p "$vnode" || fail "cannot write $root/$vnode"
    kernel_tree
    vnode_programs gcc g++
    lacks clang || vnode_programs clang clang++ -D PINSTUDY_WITNESS=OFF
    key=$({ cat tools/vnode.sh tests/vnode/{vmlinux,initramfs}.py tests/vnode/guest/init tests/vnode/module/* &&
        cat "$stamps/vnode-tree"; } | digest)
    holds "$stamps/vnode-image" "$key" && return
    say "builds the virtual node"
    vnode_module
    vnode_boot_files
    stamp "$stamps/vnode-image" "$key"
}

# kernel_tree: Debian's current kernel, its headers and a static busybox, unpacked. A tree that is
# there is kept, however new a kernel there may be.
kernel_tree() {
    local packages package
    [ -e "$stamps/vnode-tree" ] && [ -d "$vnode/tree" ] && return
    mapfile -t packages < <(kernel_packages)
    [ ${#packages[@]} -gt 3 ] || { more_packages debian && mapfile -t packages < <(kernel_packages); }
    [ ${#packages[@]} -gt 3 ] ||
        fail "cannot make the virtual node: apt offers no linux-image-amd64 and linux-headers-amd64 (Debian)"
    say "fetches a kernel for the virtual node: ${packages[0]}"
    rm -rf "$vnode/tree" "$vnode/packages"
    mkdir -p "$vnode/tree" "$vnode/packages" || fail "cannot write $root/$vnode"
    fetch_packages "${packages[@]}" || { more_packages debian && fetch_packages "${packages[@]}"; } ||
        fail "cannot fetch the packages of the virtual node's kernel (is the package server reachable?):" see-log
    for package in "$vnode"/packages/*.deb; do
        logged dpkg-deb -x "$package" "$vnode/tree" || fail "cannot unpack $package:" see-log
    done
    rm -rf "$vnode/packages"
    # The headers name each other by where they would be installed.
    sed -i "s|/usr/src/|$root/$vnode/tree/usr/src/|" "$vnode"/tree/usr/src/linux-headers-*/Makefile
    stamp "$stamps/vnode-tree" "${packages[*]}"
}

# kernel_packages: the packages of the kernel, its headers, and busybox; less than that if apt does
# not know them.
kernel_packages() {
    local image headers
    image=$(needed_by linux-image-amd64 '^linux-image-[0-9]' | head -n 1)
    headers=$(needed_by linux-headers-amd64 '^linux-headers-[0-9]' | head -n 1)
    # A package of headers that belongs to another version would build a module that does not load.
    [ "${image#linux-image-}" = "${headers#linux-headers-}" ] || return
    printf '%s\n' "$image" "$headers" busybox-static
    needed_by "$headers" '^linux-(headers|kbuild)-'
}

# needed_by PACKAGE PATTERN: the packages whose name matches, of those that it depends on.
needed_by() {
    LC_ALL=C apt-cache depends "$1" 2>/dev/null |
        awk -v pattern="$2" '$1 == "Depends:" && $2 ~ pattern { print $2 }'
}

fetch_packages() (cd "$vnode/packages" && logged_here apt-get download "$@")

# logged_here: as logged, from another folder.
logged_here() { log=$root/$log logged "$@"; }

# vnode_programs NAME COMPILER OPTION...: the programs once more, for a CPU that QEMU emulates: those
# in build/bin are for this machine's own.
vnode_programs() {
    local name=$1 compiler=$2 key
    shift 2
    key=$(sources_digest)
    holds "$stamps/vnode-$name" "$key" && return
    say "builds the programs for the virtual node with $compiler"
    { logged cmake -S . -B "$vnode/$name" -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER="$compiler" \
        -D PINSTUDY_MARCH=x86-64-v2 -D PINSTUDY_BIN_DIR="$root/$vnode/bin" -D PINSTUDY_TESTS=OFF "$@" &&
        logged cmake --build "$vnode/$name" --parallel "$(nproc)"; } ||
        fail "cannot build the programs for the virtual node with $compiler:" see-log
    stamp "$stamps/vnode-$name" "$key"
}

vnode_module() {
    local headers
    headers=$(find "$vnode"/tree/usr/src -maxdepth 1 -name 'linux-headers-*-amd64' | head -n 1)
    rm -rf "$vnode/module"
    cp -r tests/vnode/module "$vnode/module" || fail "cannot write $root/$vnode/module"
    { logged make -C "$headers" "M=$root/$vnode/module" modules &&
        logged strip --strip-debug "$vnode/module/pinstudy_vnode.ko"; } ||
        fail "cannot build the virtual node's kernel module:" see-log
    mv "$vnode/module/pinstudy_vnode.ko" "$vnode/pinstudy_vnode.ko"
    rm -rf "$vnode/module"
}

vnode_boot_files() {
    local busybox
    busybox=$(find "$vnode/tree" -path '*/bin/busybox' | head -n 1)
    logged .venv/bin/python tests/vnode/vmlinux.py "$vnode"/tree/boot/vmlinuz-* "$vnode/vmlinux" ||
        fail "cannot take the kernel out of its package:" see-log
    logged .venv/bin/python tests/vnode/initramfs.py "$(module_tree)" "$busybox" \
        tests/vnode/guest/init "$vnode/initramfs" || fail "cannot make the virtual node's initramfs:" see-log
}

# module_tree: the folder of the kernel's modules; where it is depends on the distribution's release.
module_tree() { find "$vnode"/tree/lib/modules "$vnode"/tree/usr/lib/modules -mindepth 1 -maxdepth 1 2>/dev/null | head -n 1; }
