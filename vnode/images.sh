# What guests boot and run: a kernel of the distribution, only unpacked in build/guest, nothing of it
# installed; the programs once more, for a CPU that QEMU emulates; and the images of the virtual nodes
# (vnode/README.md) in build/vnode and build/vnode-arm. Sourced by setup.sh.
# shellcheck shell=bash

guest=build/guest
vnode=build/vnode
arm=build/vnode-arm
# Options of apt, for packages of another architecture than this machine's.
apt=()

# bootable_kernel: whether there is a kernel that guests can boot, this machine's own or a fetched one.
bootable_kernel() { .venv/bin/python -m pinstudy.runners.vm.host >/dev/null 2>&1; }

# guest_kernel: Debian's current kernel and its headers, unpacked. A tree that is there is kept, however
# new a kernel there may be.
guest_kernel() {
    local packages
    [ -e "$stamps/guest-kernel" ] && [ -d "$guest/tree" ] && return
    mapfile -t packages < <(kernel_packages)
    [ ${#packages[@]} -gt 2 ] || { family=debian more_packages && mapfile -t packages < <(kernel_packages); }
    [ ${#packages[@]} -gt 2 ] ||
        fail "has no kernel for guests: apt offers no linux-image-amd64 and linux-headers-amd64 (Debian)"
    say "fetches a kernel for guests: ${packages[0]}"
    unpacked "$guest/tree" "${packages[@]}"
    # The headers name each other by where they would be installed.
    sed -i "s|/usr/src/|$root/$guest/tree/usr/src/|" "$guest"/tree/usr/src/linux-headers-*/Makefile
    stamp "$stamps/guest-kernel" "${packages[*]}"
}

# kernel_packages: the packages of the kernel and its headers; less than that if apt does not know them.
kernel_packages() {
    local image headers
    image=$(needed_by linux-image-amd64 '^linux-image-[0-9]' | head -n 1)
    headers=$(needed_by linux-headers-amd64 '^linux-headers-[0-9]' | head -n 1)
    # A package of headers that belongs to another version would build a module that does not load.
    [ "${image#linux-image-}" = "${headers#linux-headers-}" ] || return
    printf '%s\n' "$image" "$headers"
    needed_by "$headers" '^linux-(headers|kbuild)-'
}

# needed_by PACKAGE PATTERN: the packages whose name matches, of those that it depends on.
needed_by() {
    LC_ALL=C apt-cache "${apt[@]}" depends "$1" 2>/dev/null |
        awk -v pattern="$2" '$1 == "Depends:" && $2 ~ pattern { print $2 }'
}

# unpacked TREE PACKAGE...: fetches these packages, and unpacks them and what lies in TREE.packages.
unpacked() {
    local tree=$1 package
    shift
    rm -rf "$tree"
    mkdir -p "$tree" "$tree.packages" || fail "cannot write $root/$tree"
    downloaded "$tree.packages" "$@" || { family=debian more_packages && downloaded "$tree.packages" "$@"; } ||
        fail "cannot fetch $* (is the package server reachable?):" see-log
    for package in "$tree.packages"/*.deb; do
        logged dpkg-deb -x "$package" "$tree" || fail "cannot unpack $package:" see-log
    done
    rm -rf "$tree.packages"
}

downloaded() {
    local log=$root/$log folder=$1
    shift
    (cd "$folder" && logged apt-get "${apt[@]}" download "$@")
}

# emulated_programs: the programs for a CPU that QEMU emulates: those in build/bin are for this machine's
# own, and the originals, where there are any. For the small targets only what their tests start.
emulated_programs() {
    local march=x86-64-v2 only=""
    [ "${target%-small}" = "$target" ] || only="pinstudy-witness mandelbrot-libgomp yardstick-pthreads"
    programs_for build/emulated "$march" "$only"
    [ ! -d build/originals/bin ] || originals "$march" build/emulated/bin
}

# vnode_image: what `vnode/node.py` boots: the guests' kernel, the test module that is built against its
# headers, and an initramfs; unless it is small, also with a kernel of another version, for what happens
# to a study when its node is updated. The module of the first loads there, too: its symbols have versions.
vnode_image() {
    local key package
    [ "$(uname -m)" = x86_64 ] || fail "the virtual node is an x86-64 one: $(uname -m) cannot build its module"
    mkdir -p "$vnode" || fail "cannot write $root/$vnode"
    guest_kernel
    emulated_programs
    key=$(image_key vnode/module/* "$stamps/guest-kernel")
    if ! is_current "$stamps/vnode-image" "$key"; then
        say "builds the virtual node"
        vnode_module
        kernel "$guest/tree" "$vnode"
        stamp "$stamps/vnode-image" "$key"
    fi
    [ "$target" = vnode ] && ! is_current "$stamps/vnode-other" "$key" || return 0
    package=$(other_kernel)
    [ -n "$package" ] || { say "apt offers no second kernel for the virtual node; its test is left out" && return; }
    say "fetches a second kernel for the virtual node: $package"
    unpacked "$vnode/other/tree" "$package"
    kernel "$vnode/other/tree" "$vnode/other"
    rm -rf "$vnode/other/tree"
    stamp "$stamps/vnode-other" "$key"
}

# image_key FILE...: of what an image is made of.
image_key() { cat vnode/images.sh pinstudy/runners/vm/{vmlinux,boot_image}.py pinstudy/runners/vm/guest/init "$@" | digest; }

# other_kernel: the package of the newest kernel of the guests' series that is not theirs.
other_kernel() {
    local own=$guest/tree/boot/vmlinuz-
    own=$(echo "$own"*-amd64)
    own=${own#"$guest/tree/boot/vmlinuz-"}
    LC_ALL=C apt-cache pkgnames "linux-image-${own%%-*}" 2>/dev/null |
        grep -Ex "linux-image-${own%%-*}-[0-9]+-amd64" | grep -vxF "linux-image-$own" | sort -V | tail -n 1
}

vnode_module() {
    local headers built=$vnode/module
    headers=$(find "$guest"/tree/usr/src -maxdepth 1 -name 'linux-headers-*-amd64' | head -n 1)
    rm -rf "$built"
    { cp -r vnode/module "$built" && logged make -C "$headers" "M=$root/$built" modules &&
        logged strip --strip-debug "$built/pinstudy_vnode.ko" && mv "$built/pinstudy_vnode.ko" "$vnode"; } ||
        fail "cannot build the virtual node's kernel module:" see-log
    rm -rf "$built"
}

# kernel TREE FOLDER: takes the kernel out of its package, and makes an initramfs.
kernel() {
    logged .venv/bin/python -m pinstudy.runners.vm.vmlinux "$1"/boot/vmlinuz-* "$2/vmlinux" ||
        fail "cannot take the kernel out of its package:" see-log
    initramfs "$1" "$2" "$(command -v busybox)"
}

# initramfs TREE FOLDER BUSYBOX MODULE...: beside a guest's usual modules and these ext4, for the disk
# that outlives a power cut; it needs crc32c, which no module names.
initramfs() {
    logged .venv/bin/python -m pinstudy.runners.vm.boot_image "$(module_tree "$1")" "$3" pinstudy/runners/vm/guest/init "$2/initramfs" \
        virtio_blk crc32c_generic ext4 "${@:4}" || fail "cannot make the initramfs of $2:" see-log
}

# module_tree TREE: the folder of the kernel's modules; where it is depends on the distribution's release.
module_tree() { find "$1"/lib/modules "$1"/usr/lib/modules -mindepth 1 -maxdepth 1 2>/dev/null | head -n 1; }

# What pinstudy and the arm64 guest's own scripts call; the kernel's package is found by its name.
arm_userland=(base-passwd bash busybox-static coreutils gawk grep hwloc-nox libc-bin libgomp1 libstdc++6
    linux-perf mount numactl procps python3 sed util-linux)

# vnode_arm_image: what vnode/arm.py boots: a small Debian of that architecture, a kernel and an initramfs,
# and the programs, cross-compiled with GCC only: Clang would need the arm64 libomp beside this machine's
# own. Says why where that cannot be had.
vnode_arm_image() {
    local need key modules
    for need in qemu-arm dtc g++-arm; do
        ! lacks "$need" || { say "goes on without the arm64 virtual node: it needs $need" && return; }
    done
    arm_tree || return 0
    arm_packages
    what="the programs" watched=(CMakeLists.txt apps pinstudy/runners/witness)
    compile aarch64-linux-gnu-g++ "$arm/gcc" all -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_SYSTEM_NAME=Linux \
        -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DPINSTUDY_MARCH=armv8-a "-DPINSTUDY_BIN_DIR=$root/$arm/bin" -DPINSTUDY_TESTS=OFF
    key=$(image_key vnode/guest/start-arm.sh "$stamps/vnode-arm-tree")
    is_current "$stamps/vnode-arm-image" "$key" && return
    # The guest starts with this script, when the checkout is not there yet.
    install -m 755 vnode/guest/start-arm.sh "$arm/tree/start-arm.sh"
    modules=$(module_tree "$arm/tree")
    ln -sf tree/boot/"vmlinuz-${modules##*/}" "$arm/vmlinuz"
    initramfs "$arm/tree" "$arm" "$(find "$arm"/tree/bin/busybox "$arm"/tree/usr/bin/busybox 2>/dev/null | head -n 1)" \
        cpufreq_powersave cpufreq_dt
    stamp "$stamps/vnode-arm-image" "$key"
}

# arm_packages: those with compiled parts for the guest's Python; what else pinstudy needs there comes from the
# checkout's environment.
arm_packages() {
    local key locked python version
    locked=$(sed -nE '/^(msgspec|numpy|scipy)==/,/[^\\]$/p' requirements.txt)
    python=$(find "$arm"/tree/usr/bin -name 'python3.[0-9]*' -printf '%f\n' | head -n 1)
    version=${python#python}
    key=$(digest <<<"$version $locked")
    is_current "$stamps/vnode-arm-packages" "$key" && [ -d "$arm/python" ] && return
    rm -rf "$arm/python"
    printf '%s\n' "$locked" >"$arm/requirements.txt"
    logged "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --require-hashes --no-deps \
        --only-binary=:all: --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 \
        --platform manylinux_2_27_aarch64 --python-version "$version" \
        --target "$arm/python" -r "$arm/requirements.txt" ||
        fail "cannot install packages for the arm64 virtual node (is the package index reachable?):" see-log
    stamp "$stamps/vnode-arm-packages" "$key"
}

# arm_tree: the kernel and the userland, unpacked, by an apt with lists, state and cache of its own: this
# system's sources and keys are used, its packages and architectures are not touched.
arm_tree() {
    local key kernel package apt=(-o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o "Dir::State=$root/$arm/apt/state" -o "Dir::State::status=$root/$arm/apt/state/status"
        -o "Dir::Cache=$root/$arm/apt/cache" -o "Dir::Cache::archives=$root/$arm/tree.packages"
        -o "APT::Sandbox::User=$(id -un)")
    key=$(digest <<<"${arm_userland[*]}")
    is_current "$stamps/vnode-arm-tree" "$key" && [ -d "$arm/tree" ] && return
    rm -rf "$arm/tree.packages" "$arm/apt"
    mkdir -p "$arm"/apt/state/lists/partial "$arm"/apt/cache "$arm/tree.packages/partial" || fail "cannot write $root/$arm"
    : >"$arm/apt/state/status"
    # One list that fails does not matter as long as the packages are found.
    logged apt-get "${apt[@]}" update || true
    kernel=$(needed_by linux-image-arm64 '^linux-image-[0-9]' | head -n 1)
    [ -n "$kernel" ] ||
        { say "goes on without the arm64 virtual node: apt offers no linux-image-arm64 (Debian)" && return 1; }
    say "fetches an arm64 Debian for the virtual node: $kernel"
    logged apt-get "${apt[@]}" install -y --no-install-recommends --download-only "${arm_userland[@]}" ||
        fail "cannot fetch the arm64 virtual node's packages (is the package server reachable?):" see-log
    unpacked "$arm/tree" "$kernel"
    rm -rf "$arm/apt"
    # What their installation would do, as far as it matters here.
    for package in passwd group; do
        cp "$arm/tree/usr/share/base-passwd/$package.master" "$arm/tree/etc/$package"
    done
    ln -sf gawk "$arm/tree/usr/bin/awk"
    stamp "$stamps/vnode-arm-tree" "$key"
}
