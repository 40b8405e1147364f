# The interpreter of the active Spack environment, which a checkout uses instead of its own environment
# and build; and the installation for other users: programs, Python tree and an environment below one
# prefix. Sourced by setup.sh.
# shellcheck shell=bash

# in_spack: whether there is a Spack environment, and it may be used.
in_spack() { [ -n "${SPACK_ENV-}" ] && [ -z "${PINSTUDY_NO_SPACK-}" ]; }

# spack_environment: prints that it is used, or stops with what it lacks: nothing is taken from
# elsewhere. Its interpreter is in its view, which may be in another place and is then on the PATH.
spack_environment() {
    local lacking
    interpreter=$SPACK_ENV/.spack-env/view/bin/python3
    [ -x "$interpreter" ] || interpreter=$(command -v python3) || interpreter=python3
    mapfile -t lacking < <(packages_lacking "$interpreter")
    [ -x "${interpreter%/*}/pinstudy-witness" ] || command -v pinstudy-witness >/dev/null ||
        lacking+=("the programs of pinstudy")
    [ ${#lacking[@]} = 0 ] ||
        fail "the active Spack environment $SPACK_ENV lacks $(joined "${lacking[@]}"): run \`spack install\` in it, or go without it (PINSTUDY_NO_SPACK=1)"
    say "uses the active Spack environment $SPACK_ENV"
}

# packages_lacking PYTHON: the packages that a study, its tables and its report need and this interpreter
# lacks, one a line.
packages_lacking() {
    "$1" -c 'import sys
from importlib.util import find_spec
modules = "click jinja2 matplotlib msgspec numpy pandas rich scipy tabulate yaml".split()
lacking = [name for name in modules if find_spec(name) is None]
if sys.version_info < (3, 10):
    lacking.append("Python 3.10 or newer")
for name in lacking:
    print(name)' 2>/dev/null || echo "a working python3"
}

# check_prefix: stops if PREFIX in the environment is no place to install to.
check_prefix() {
    local example="as in \`make $target PREFIX=/opt/pinstudy\`"
    [ -n "${PREFIX-}" ] || fail "says where with PREFIX=, $example"
    [ "${PREFIX#/}" != "$PREFIX" ] || fail "needs a PREFIX from the root on, $example, not $PREFIX"
    [ -z "${DESTDIR-}" ] || fail "knows no DESTDIR; packagers use \`cmake --install\` (docs/install.md)"
    PREFIX=$(realpath -m -- "$PREFIX")
    [ "$PREFIX" != "$(realpath -- "$root")" ] || fail "cannot have this checkout itself as PREFIX"
    tree=$PREFIX/lib/pinstudy
    # One line a file that was installed, below PREFIX.
    manifest=$tree/installed.txt
}

# check_march: stops if MARCH in the environment is no value of -march.
check_march() {
    [[ ${MARCH-native} =~ ^[A-Za-z0-9][A-Za-z0-9.+=_-]*$ ]] ||
        fail "needs a value of the compilers' -march as MARCH, such as x86-64-v3, not $MARCH"
}

# find_interpreter: the one that PINSTUDY_PYTHON names, or of the active Spack environment; none for
# an environment of the installation's own.
find_interpreter() {
    local lacking
    interpreter=${PINSTUDY_PYTHON-}
    if [ -z "$interpreter" ] && in_spack; then
        spack_environment
    elif [ -n "$interpreter" ]; then
        [ "${interpreter#/}" != "$interpreter" ] ||
            fail "needs PINSTUDY_PYTHON from the root on, not $interpreter"
        mapfile -t lacking < <(packages_lacking "$interpreter")
        [ ${#lacking[@]} = 0 ] || fail "cannot use $interpreter, which lacks $(joined "${lacking[@]}")"
    fi
}

# install_all: installs into PREFIX, and removes files that only an older installation has there.
install_all() {
    local build=build/gcc old=()
    umask 022 # readable for others
    { mkdir -p "$tree" && [ -w "$tree" ]; } 2>/dev/null ||
        fail "cannot write $PREFIX: install as somebody who may, or to another PREFIX"
    if [ "${MARCH-native}" = native ]; then
        programs
    else
        build=build/march-$MARCH/gcc
        programs_for "build/march-$MARCH" "$MARCH"
    fi
    [ ! -r "$manifest" ] || mapfile -t old <"$manifest"
    say "installs to $PREFIX"
    install_build "$build" >"$manifest.new"
    lacks clang || install_build "${build%gcc}clang" >>"$manifest.new"
    mv "$manifest.new" "$manifest" || fail "cannot write $manifest"
    printf '%s\n' "${old[@]}" | grep -vxF -f "$manifest" | remove_below_prefix
    environment_of_installation
    say "installed: $PREFIX/bin/pinstudy"
    [ "${MARCH-native}" != native ] ||
        say "the programs are for this node's CPU and may fail on others: MARCH=x86-64-v3 would serve most of x86-64"
}

# install_build FOLDER: installs a build, and prints its files, below PREFIX.
install_build() {
    logged cmake --install "$1" --prefix "$PREFIX" || fail "cannot install to $PREFIX:" see-log
    local file
    while read -r file || [ -n "$file" ]; do
        printf '%s\n' "${file#"$PREFIX"/}"
    done <"$1/install_manifest.txt"
}

# environment_of_installation: the interpreter of find_interpreter, or an environment of its own. The
# schema is written and modules are compiled now: later the tree may be read-only.
environment_of_installation() {
    local python=$interpreter
    venv=$tree/.venv
    if [ -n "$python" ]; then
        stamp "$tree/interpreter" "$python"
        rm -rf "$venv"
    else
        # Others cannot use an interpreter in a home folder, such as pyenv's.
        serves_others python3 || PATH=/usr/bin:$PATH
        python_environment requirements.txt
        python=$venv/bin/python
    fi
    serves_others "$python" ||
        say "others may not start $(real_python "$python"): give another one as PINSTUDY_PYTHON"
    logged "$python" -m tools.study_schema "$tree/configs/schema.json" ||
        fail "cannot write $tree/configs/schema.json:" see-log
    logged "$python" -m compileall -q "$tree"/{base,configs,runners,analysis,pinstudy} ||
        fail "cannot compile the modules in $tree:" see-log
}

real_python() { "$1" -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null; }

# serves_others PYTHON: whether all users who may enter PREFIX may start this interpreter.
serves_others() {
    local path
    path=$(real_python "$1")
    open_to_others "$path" || ! open_to_others "$tree"
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

# uninstall_all: removes the files of the manifest, and those that were made beside them.
uninstall_all() {
    [ -r "$manifest" ] || fail "finds no installation in $PREFIX (there is no $manifest)"
    [ -w "$tree" ] || fail "cannot write $PREFIX: uninstall as somebody who may"
    remove_below_prefix <"$manifest"
    rm -rf "$tree/.venv" "$tree/interpreter" "$tree/configs/schema.json"
    find "$tree" -name '*.pyc' -path '*/__pycache__/*' -delete
    rm "$manifest"
    find "$tree" "$PREFIX/share/doc/pinstudy" -depth -type d -empty -delete 2>/dev/null
    say "removed from $PREFIX"
}

# remove_below_prefix: removes the files on standard input; ignores lines that could lead elsewhere.
remove_below_prefix() {
    local file
    while read -r file; do
        case /$file/ in
            // | */../*) continue ;;
        esac
        rm -f "$PREFIX/$file" 2>/dev/null || fail "cannot write $PREFIX"
    done
}
