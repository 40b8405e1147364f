# The second and third step of set-up: the Python environment, from the lock files, and the C++ programs,
# with every compiler that is there; and the schema of studies. Sourced by setup.sh.
# shellcheck shell=bash

# Where the environment is; make install has one at another place.
venv=.venv

# python_and_programs LOCK [with-tests]: both steps at the same time; the result of one is kept when the
# other fails. The Python step has a process group of its own, which Ctrl-C here ends.
python_and_programs() {
    local lock=$1 python status=0
    shift
    set -m
    log=build/setup-python.log python_environment "$lock" &
    python=$!
    set +m
    # shellcheck disable=SC2064
    trap "kill -- -$python 2>/dev/null" EXIT
    (programs "$@") || status=$?
    wait $python || status=$?
    trap - EXIT
    [ $status -le 128 ] || fail "interrupted; the same command goes on"
    [ $status = 0 ] || exit 2
}

# python_environment LOCK: installs the run-time packages, and then those of this file. Both lock files
# name the same versions of shared packages, so the second only adds. An interrupted installation can
# leave a package that looks complete: the next one starts from an empty environment.
python_environment() {
    local python
    if [ -e "$venv/unfinished" ] || ! installed requirements.txt; then
        python=$(find_python) || fail "needs Python 3.10 to 3.14 with its module venv"
        # The stamps go first, so that a half-removed environment never counts.
        rm -f "$venv"/*.stamp
        rm -rf "$venv"
        say "makes the Python environment $venv with $python"
        logged "$python" -m venv "$venv" || fail "cannot make $venv with $python:" see-log
        install_locked requirements.txt
    fi
    installed "$1" || install_locked "$1"
}

# installed LOCK: whether all packages of this file are installed for the environment's interpreter,
# which an upgrade of the distribution can replace.
installed() { is_current "$venv/${1%.txt}.stamp" "$(environment_key "$1")"; }

environment_key() {
    digest <"$1"
    "$venv/bin/python" -I -S -c 'import os, sys; print("%d.%d" % sys.version_info[:2], os.uname().machine)' 2>/dev/null
}

install_locked() {
    : >"$venv/unfinished" || fail "cannot write $(realpath -m -- "$venv")"
    say "installs the Python packages of $1: half a minute, more over a slow network"
    logged "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --require-hashes -r "$1" ||
        fail "cannot install the Python packages of $1 (is the package index reachable?):" see-log
    stamp "$venv/${1%.txt}.stamp" "$(environment_key "$1")"
    rm "$venv/unfinished"
}

# programs [with-tests]: with GCC and, if Clang has its OpenMP library, with Clang. A folder that
# was built with tests keeps them. Without the option CMake would build tests wherever it finds GoogleTest.
programs() {
    local preset tests
    for preset in gcc clang; do
        tests=OFF
        [ -z "${1-}" ] && ! grep -qs '^PINSTUDY_TESTS:[A-Z]*=ON' "build/$preset/CMakeCache.txt" || tests=ON
        compile_preset "$preset" "build/$preset" all "-DPINSTUDY_TESTS=$tests"
    done
}

# programs_for FOLDER MARCH [TARGETS]: builds the programs into FOLDER/bin for CPUs of this -march. With
# targets only these, with GCC.
programs_for() {
    local cpus=" for -march=$2" options=("-DPINSTUDY_MARCH=$2" "-DPINSTUDY_BIN_DIR=$root/$1/bin" -DPINSTUDY_TESTS=OFF)
    compile_preset gcc "$1/gcc" "${3:-all}" "${options[@]}"
    [ -n "${3-}" ] || compile_preset clang "$1/clang" all "${options[@]}"
}

# compile_preset PRESET FOLDER TARGETS OPTION...: our own programs; arm64 cross-compiles with GCC.
compile_preset() {
    local preset=$1 what="the programs" takes=": a minute on 2 CPUs, with their tests two" watched=(CMakeLists.txt CMakePresets.json apps runners/witness tests/apps)
    shift
    case $preset in
        gcc) compile g++ "$@" --preset gcc ;;
        clang) lacks clang || compile clang++ "$@" --preset clang ;;
        arm64)
            compile aarch64-linux-gnu-g++ "$@" --preset gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
                -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64
            ;;
    esac
}

# compile COMPILER FOLDER TARGETS OPTION...: builds $what with CMake, unless nothing of "${watched[@]}" has
# changed. Starts from scratch for another compiler or place, because CMake remembers both, and after
# an interruption.
compile() {
    local compiler=$1 folder=$2 targets=$3 stamp=$2/built place status=0
    shift 3
    place="$root $(stat -L -c '%n %s %Y' "$(command -v "$compiler")" "$(command -v cmake)" | tr '\n' ' ')"
    if [ "$(head -n 1 "$stamp" 2>/dev/null)" != "$place" ]; then
        rm -rf "$folder"
    elif grep -qxF -e "all $*" -e "$targets $*" "$stamp" && [ -z "$(find "${watched[@]}" -newer "$stamp" -print -quit)" ]; then
        return
    fi
    { mkdir -p "$folder" && printf '%s\n' "$place" "$targets $*" >"$folder/begun"; } || fail "cannot write $root/$folder"
    rm -f "$stamp"
    say "builds $what${cpus-} with $compiler${takes-}"
    read -r -a targets <<<"$targets"
    { logged cmake -B "$folder" "$@" &&
        logged cmake --build "$folder" --parallel "$(nproc)" --target "${targets[@]}"; } || status=1
    # The stamp has the time of the beginning: later changes are built the next time. A compiler's
    # error is no interruption; its stamp is older than all files.
    [ $status = 0 ] || touch -d @0 "$folder/begun"
    mv "$folder/begun" "$stamp"
    [ $status = 0 ] || fail "cannot build $what${cpus-} with $compiler:" see-log
}

# study_schema PYTHON: configs/schema.json, by which editors complete and explain a study's keys, unless it
# is newer than what it is made of.
study_schema() {
    local schema=configs/schema.json
    [ ! -e $schema ] || [ -n "$(find base configs tools/study_schema.py -name '*.py' -newer $schema -print -quit)" ] || return 0
    logged "$1" -m tools.study_schema || fail "cannot write $schema:" see-log
}
