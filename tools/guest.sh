# What guests boot and run: a kernel of the distribution, only unpacked in build/guest, nothing of it
# installed; and the programs once more, for a CPU that QEMU emulates. Sourced by setup.sh.
# shellcheck shell=bash

guest=build/guest

# bootable_kernel: whether there is a kernel that guests can boot, this machine's own or a fetched one.
bootable_kernel() { .venv/bin/python -m runners.vm.host >/dev/null 2>&1; }

# guest_kernel: Debian's current kernel and its headers, unpacked. A tree that is
# there is kept, however new a kernel there may be.
guest_kernel() {
    local packages package
    [ -e "$stamps/guest-kernel" ] && [ -d "$guest/tree" ] && return
    mapfile -t packages < <(kernel_packages)
    [ ${#packages[@]} -gt 2 ] || { more_packages debian && mapfile -t packages < <(kernel_packages); }
    [ ${#packages[@]} -gt 2 ] ||
        fail "has no kernel for guests: apt offers no linux-image-amd64 and linux-headers-amd64 (Debian)"
    say "fetches a kernel for guests: ${packages[0]}"
    rm -rf "$guest"
    mkdir -p "$guest/tree" "$guest/packages" || fail "cannot write $root/$guest"
    fetch_packages "${packages[@]}" || { more_packages debian && fetch_packages "${packages[@]}"; } ||
        fail "cannot fetch the packages of the guests' kernel (is the package server reachable?):" see-log
    for package in "$guest"/packages/*.deb; do
        logged dpkg-deb -x "$package" "$guest/tree" || fail "cannot unpack $package:" see-log
    done
    rm -rf "$guest/packages"
    # The headers name each other by where they would be installed.
    sed -i "s|/usr/src/|$root/$guest/tree/usr/src/|" "$guest"/tree/usr/src/linux-headers-*/Makefile
    stamp "$stamps/guest-kernel" "${packages[*]}"
}

# kernel_packages: the packages of the kernel and its headers; less than that if apt does not know
# them.
kernel_packages() {
    local image headers
    image=$(needed_by linux-image-amd64 '^linux-image-[0-9]' | head -n 1)
    headers=$(needed_by linux-headers-amd64 '^linux-headers-[0-9]' | head -n 1)
    # A package of headers that belongs to another version would build a module that does not load.
    [ "${image#linux-image-}" = "${headers#linux-headers-}" ] || return
    printf '%s\n' "$image" "$headers"
    needed_by "$headers" '^linux-(headers|kbuild)-'
}

# needed_by PACKAGE PATTERN OPTION...: the packages whose name matches, of those that it depends on;
# the options are apt's.
needed_by() {
    local package=$1 pattern=$2
    shift 2
    LC_ALL=C apt-cache "$@" depends "$package" 2>/dev/null |
        awk -v pattern="$pattern" '$1 == "Depends:" && $2 ~ pattern { print $2 }'
}

fetch_packages() (cd "$guest/packages" && logged_here apt-get download "$@")

# logged_here: as logged, from another folder.
logged_here() { log=$root/$log logged "$@"; }

# emulated_programs: the programs for a CPU that QEMU emulates: those in build/bin are for this
# machine's own, and the originals, where there are any. For the small targets only what their tests
# start.
emulated_programs() {
    local march=x86-64-v2 only=()
    case $target in
        *-small) only=(pinstudy-witness mandelbrot-libgomp) ;;
    esac
    programs_for build/emulated "$march" "${only[@]}"
    [ ! -d build/originals/bin ] ||
        .venv/bin/python -m tools.originals --march "$march" --into build/emulated/bin 9>&- || exit
}
