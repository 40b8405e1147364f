# The image of the arm64 virtual node (vnode/README.md), all in build/vnode-arm: a small Debian of that
# architecture, only unpacked; a kernel and an initramfs; the programs, cross-compiled. Sourced by setup.sh.
# shellcheck shell=bash

arm=build/vnode-arm
# What pinstudy and the guest's own scripts call; the kernel's package is found by its name.
arm_userland=(base-passwd bash busybox-static coreutils gawk grep hwloc-nox libc-bin libgomp1 libstdc++6
    linux-perf mount numactl procps python3 sed util-linux)

# Options of apt for arm64 with lists, state and cache of its own: this system's sources and keys are
# used, its packages and architectures are not touched.
arm_apt=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$root/$arm/apt/state"
    -o "Dir::State::status=$root/$arm/apt/state/status" -o "Dir::Cache=$root/$arm/apt/cache"
    -o "APT::Sandbox::User=$(id -un)")

# vnode_arm_image: what vnode/arm.py boots; fails, and says why, where that cannot be had.
vnode_arm_image() {
    local need key
    for need in qemu-arm dtc g++-arm; do
        if lacks "$need"; then
            say "goes on without the arm64 virtual node: it needs $need"
            return 1
        fi
    done
    arm_tree || return
    arm_programs
    key=$({ cat tools/vnode_arm.sh runners/vm/{vmlinux,boot_image}.py runners/vm/guest/init vnode/guest/start-arm.sh &&
        cat "$stamps/vnode-arm-tree"; } | digest)
    holds "$stamps/vnode-arm-image" "$key" && return
    arm_boot_files
    stamp "$stamps/vnode-arm-image" "$key"
}

# arm_tree: the kernel and the userland, unpacked. A tree that is there is kept, however new its
# packages may be by now.
arm_tree() {
    local key kernel package
    key=$(digest <<<"${arm_userland[*]}")
    holds "$stamps/vnode-arm-tree" "$key" && [ -d "$arm/tree" ] && return
    rm -rf "$arm/tree" "$arm/apt"
    mkdir -p "$arm"/apt/{state/lists,cache/archives}/partial "$arm/tree" ||
        fail "cannot write $root/$arm"
    : >"$arm/apt/state/status"
    # One list that fails does not matter as long as the packages are found.
    logged apt-get "${arm_apt[@]}" update || true
    kernel=$(needed_by linux-image-arm64 '^linux-image-[0-9]' "${arm_apt[@]}" | head -n 1)
    if [ -z "$kernel" ]; then
        say "goes on without the arm64 virtual node: apt offers no linux-image-arm64 (Debian)"
        return 1
    fi
    say "fetches an arm64 Debian for the virtual node: $kernel"
    { logged apt-get "${arm_apt[@]}" install -y --no-install-recommends --download-only "${arm_userland[@]}" &&
        (cd "$arm/apt/cache/archives" && logged_here apt-get "${arm_apt[@]}" download "$kernel"); } ||
        fail "cannot fetch the arm64 virtual node's packages (is the package server reachable?):" see-log
    for package in "$arm"/apt/cache/archives/*.deb; do
        logged dpkg-deb -x "$package" "$arm/tree" || fail "cannot unpack $package:" see-log
    done
    rm -rf "$arm/apt"
    # What their installation would do, as far as it matters here.
    for package in passwd group; do
        cp "$arm/tree/usr/share/base-passwd/$package.master" "$arm/tree/etc/$package"
    done
    ln -sf gawk "$arm/tree/usr/bin/awk"
    stamp "$stamps/vnode-arm-tree" "$key"
}

# arm_programs: with GCC only: Clang would need the arm64 libomp beside this machine's own.
arm_programs() {
    local key
    key=$({ sources_digest && aarch64-linux-gnu-g++ --version; } | digest)
    holds "$stamps/vnode-arm-programs" "$key" && return
    say "builds the programs for arm64"
    { logged cmake -S . -B "$arm/gcc" -D CMAKE_BUILD_TYPE=Release -D CMAKE_SYSTEM_NAME=Linux \
        -D CMAKE_SYSTEM_PROCESSOR=aarch64 -D CMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -D PINSTUDY_MARCH=armv8-a \
        -D PINSTUDY_BIN_DIR="$root/$arm/bin" -D PINSTUDY_TESTS=OFF &&
        logged cmake --build "$arm/gcc" --parallel "$(nproc)"; } ||
        fail "cannot build the programs for arm64:" see-log
    stamp "$stamps/vnode-arm-programs" "$key"
}

# arm_boot_files: kernel, initramfs, and the script that the guest starts with, which must be in its
# root file system because the checkout is not there yet.
arm_boot_files() {
    local modules busybox
    # Where they are depends on the distribution's release.
    modules=$(find "$arm"/tree/lib/modules "$arm"/tree/usr/lib/modules -mindepth 1 -maxdepth 1 2>/dev/null | head -n 1)
    busybox=$(find "$arm"/tree/bin/busybox "$arm"/tree/usr/bin/busybox 2>/dev/null | head -n 1)
    install -m 755 vnode/guest/start-arm.sh "$arm/tree/start-arm.sh"
    ln -sf tree/boot/"vmlinuz-${modules##*/}" "$arm/vmlinuz"
    logged .venv/bin/python -m runners.vm.boot_image "$modules" "$busybox" runners/vm/guest/init \
        "$arm/initramfs" virtio_blk crc32c_generic ext4 cpufreq_powersave cpufreq_dt ||
        fail "cannot make the arm64 virtual node's initramfs:" see-log
}
