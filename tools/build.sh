# The Python environment, from the lock files; pinstudy in it, with its C++ programs by every compiler that
# is there (pip and scikit-build-core, which ask CMakeLists.txt); and the same below a prefix, for other
# users. Sourced by setup.sh.
# shellcheck shell=bash

venv=.venv
pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input)

# python_environment LOCK: installs the run-time packages, and then those of this file. All lock files
# name the same versions of shared packages, so the second only adds. An interrupted installation can
# leave a package that looks complete: the next one starts from an empty environment.
python_environment() {
    local python
    if [ -e "$venv/unfinished" ] || ! installed requirements.txt; then
        python=$(find_python) || fail "needs Python 3.10 to 3.15 with its module venv"
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
    logged "${pip[@]}" install --require-hashes -r "$1" ||
        fail "cannot install the Python packages of $1 (is the package index reachable?):" see-log
    stamp "$venv/${1%.txt}.stamp" "$(environment_key "$1")"
    rm "$venv/unfinished"
}

# editable LOCK [with-tests]: the environment of this file, and pinstudy in it: the modules of the checkout,
# and its programs in build/bin, with their tests in build/gcc and build/clang. A build with tests keeps them.
editable() {
    local tests=OFF errors=OFF key place
    python_environment "$1"
    python_environment requirements-build.txt
    [ -z "${2-}" ] && ! grep -qs '^PINSTUDY_TESTS:[A-Z]*=ON' build/gcc/CMakeCache.txt || tests=ON
    [ "${CI-}" != true ] || errors=ON
    # CMake remembers compilers and places. An interpreter that was replaced has lost the package.
    place="$root $(real_path g++) $(real_path clang++) $(real_path cmake)"
    key="$place $tests $(environment_key requirements-build.txt)"
    [ "$(head -n 1 build/gcc/place 2>/dev/null)" = "$place" ] || rm -rf build/gcc build/clang
    ! is_current "$venv/editable.stamp" "$key" || changed "$venv/editable.stamp" || return 0
    mkdir -p build/gcc && stamp build/gcc/place "$place" && : >"$venv/editable.begun"
    rm -f "$venv/editable.stamp"
    say "builds pinstudy and its programs: a minute on 2 CPUs, with their tests two"
    CXX=g++ logged "${pip[@]}" install --no-build-isolation --no-deps --no-index --editable . -C build-dir=build/gcc \
        -C "cmake.define.PINSTUDY_OTHER_DIR=$root/build/clang" -C "cmake.define.PINSTUDY_TESTS=$tests" \
        -C "cmake.define.PINSTUDY_WERROR=$errors" || fail "cannot build the programs:" see-log
    # Its time is that of the beginning: what has changed since then is built the next time.
    stamp "$venv/editable.stamp" "$key" && touch -r "$venv/editable.begun" "$venv/editable.stamp"
}

# changed STAMP: whether a file that the build reads is newer.
changed() {
    [ -n "$(find CMakeLists.txt CMakePresets.json pyproject.toml apps bin pinstudy/runners/witness tests/apps \
        -newer "$1" -print -quit)" ]
}

real_path() { stat -L -c '%n %s %Y' "$(command -v "$1")" 2>/dev/null; }

# programs_for FOLDER MARCH [TARGETS]: builds the programs into FOLDER/bin for CPUs of this -march. With
# targets only these, with GCC.
programs_for() {
    local cpus=" for -march=$2" options=("-DPINSTUDY_MARCH=$2" "-DPINSTUDY_BIN_DIR=$root/$1/bin" -DPINSTUDY_TESTS=OFF)
    what="the programs" watched=(CMakeLists.txt apps pinstudy/runners/witness)
    compile g++ "$1/gcc" "${3:-all}" -DCMAKE_CXX_COMPILER=g++ "${options[@]}"
    [ -n "${3-}" ] || lacks clang ||
        compile clang++ "$1/clang" all -DCMAKE_CXX_COMPILER=clang++ -DPINSTUDY_WITNESS=OFF "${options[@]}"
}

# compile COMPILER FOLDER TARGETS OPTION...: builds $what with CMake, unless nothing of "${watched[@]}" has
# changed. Starts from scratch for another compiler or place, because CMake remembers both, and after
# an interruption.
compile() {
    local compiler=$1 folder=$2 targets=$3 stamp=$2/built place status=0
    shift 3
    place="$root $(real_path "$compiler") $(real_path cmake)"
    if [ "$(head -n 1 "$stamp" 2>/dev/null)" != "$place" ]; then
        rm -rf "$folder"
    elif grep -qxF -e "all $*" -e "$targets $*" "$stamp" && [ -z "$(find "${watched[@]}" -newer "$stamp" -print -quit)" ]; then
        return
    fi
    { mkdir -p "$folder" && printf '%s\n' "$place" "$targets $*" >"$folder/begun"; } || fail "cannot write $root/$folder"
    rm -f "$stamp"
    say "builds $what${cpus-} with $compiler"
    read -r -a targets <<<"$targets"
    { logged cmake -B "$folder" "$@" &&
        logged cmake --build "$folder" --parallel "$(nproc)" --target "${targets[@]}"; } || status=1
    # The stamp has the time of the beginning: later changes are built the next time. A compiler's
    # error is no interruption; its stamp is older than all files.
    [ $status = 0 ] || touch -d @0 "$folder/begun"
    mv "$folder/begun" "$stamp"
    [ $status = 0 ] || fail "cannot build $what${cpus-} with $compiler:" see-log
}

# study_schema PYTHON: pinstudy/configs/schema.json, by which editors complete and explain a study's keys,
# unless it is newer than what it is made of.
study_schema() {
    local schema=pinstudy/configs/schema.json
    [ ! -e $schema ] || [ -n "$(find pinstudy/base pinstudy/configs share/schemas.py -name '*.py' -newer $schema -print -quit)" ] || return 0
    logged "$1" -m share.schemas || fail "cannot write $schema:" see-log
}

# install_below_prefix: a virtual environment in PREFIX, with the locked packages and a wheel of this
# checkout. Whatever else is below PREFIX stays.
install_below_prefix() {
    local python=${PINSTUDY_PYTHON-} module example="as in \`make install PREFIX=/opt/pinstudy\`"
    [[ ${PREFIX-} == /* ]] || fail "needs a PREFIX from the root on, $example${PREFIX+, not $PREFIX}"
    [[ ${MARCH-native} =~ ^[A-Za-z0-9][A-Za-z0-9.+=_-]*$ ]] ||
        fail "needs a value of the compilers' -march as MARCH, such as x86-64-v3, not $MARCH"
    [ -e "$PREFIX/pyvenv.cfg" ] || [ -z "$(ls -A -- "$PREFIX" 2>/dev/null)" ] ||
        fail "installs into a folder of its own, $example: $PREFIX has other files"
    umask 022 # readable for others
    { mkdir -p "$PREFIX" && [ -w "$PREFIX" ]; } 2>/dev/null ||
        fail "cannot write $PREFIX: install as somebody who may, or to another PREFIX"
    [ -n "$python" ] || python=$(find_python)
    say "builds a wheel for -march=${MARCH-native}, and installs it to $PREFIX"
    rm -rf build/wheel
    CXX=g++ logged "${pip[@]}" wheel --no-build-isolation --no-deps --no-index --wheel-dir build/wheel . \
        -C "cmake.define.PINSTUDY_MARCH=${MARCH-native}" || fail "cannot build a wheel:" see-log
    logged "$python" -m venv "$PREFIX" || fail "cannot make an environment in $PREFIX with $python:" see-log
    pip=("$PREFIX/bin/python" -m pip --disable-pip-version-check --no-input)
    logged "${pip[@]}" install --require-hashes -r requirements.txt ||
        fail "cannot install the Python packages (is the package index reachable?):" see-log
    logged "${pip[@]}" install --no-deps --no-index --force-reinstall build/wheel/*.whl ||
        fail "cannot install to $PREFIX:" see-log
    { mkdir -p "$PREFIX"/share/pinstudy/{bin,modulefiles/pinstudy} &&
        ln -sf ../../../bin/pinstudy "$PREFIX/share/pinstudy/bin/pinstudy" &&
        module=$(<share/modulefile.tcl) &&
        printf '%s\n' "${module//@PREFIX@/"$PREFIX"}" >"$PREFIX/share/pinstudy/modulefiles/pinstudy/$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)"; } ||
        fail "cannot write the module file below $PREFIX"
    say "installed: $PREFIX/bin/pinstudy; \`rm -r $(printf %q "$PREFIX")\` removes it"
    open_to_others "$("$PREFIX/bin/python" -c 'import os, sys; print(os.path.realpath(sys.executable))')" ||
        say "others may not start the interpreter of $PREFIX: give another one as PINSTUDY_PYTHON"
    [ "${MARCH-native}" != native ] ||
        say "the programs are for this node's CPU and may fail on others: MARCH=x86-64-v3 would serve most of x86-64"
}

# open_to_others PATH: whether all users may enter the folders of a path and its last part.
open_to_others() {
    local path=$1
    while [ -n "$path" ]; do
        case $(stat -L -c %A "$path") in
            *[xt]) path=${path%/*} ;;
            *) return 1 ;;
        esac
    done
}
