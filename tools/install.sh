# Interpreters that others made: of the active Spack environment, which a checkout uses instead of an
# environment and a build of its own; and installing for others: programs, Python tree and an environment
# below one prefix. Sourced by setup.sh.
# shellcheck shell=bash

# in_spack: whether there is a Spack environment, and it may be used.
in_spack() { [ -n "${SPACK_ENV-}" ] && [ -z "${PINSTUDY_NO_SPACK-}" ]; }

# spack_environment: says that it is used, or stops and says what it lacks: what it has not is not taken
# from elsewhere. Its interpreter is that of its view, which may be elsewhere and then is on the PATH.
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

# packages_lacking PYTHON: what a study, its tables and its report need and this interpreter lacks,
# one a line.
packages_lacking() {
    "$1" -c 'import sys
from importlib.util import find_spec
modules = "click jinja2 matplotlib numpy pandas rich scipy tabulate yaml".split()
lacking = [name for name in modules if find_spec(name) is None]
if sys.version_info < (3, 10):
    lacking.append("Python 3.10 or newer")
for name in lacking:
    print(name)' 2>/dev/null || echo "a working python3"
}

# check_prefix: stops where PREFIX in the environment is no place to install to.
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

# check_march: stops where MARCH in the environment is no word for a compiler.
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

# install_all: installs into PREFIX. What an older installation has there and this one has not is
# removed.
install_all() {
    local build=build/gcc old=()
    umask 022 # others are to read it
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

# install_build FOLDER: installs what was built there, and prints its files, below PREFIX.
install_build() {
    logged cmake --install "$1" --prefix "$PREFIX" || fail "cannot install to $PREFIX:" see-log
    local file
    while read -r file || [ -n "$file" ]; do
        printf '%s\n' "${file#"$PREFIX"/}"
    done <"$1/install_manifest.txt"
}

# environment_of_installation: the interpreter that was found, or an environment of its own. Modules
# are compiled now: later nobody may write there.
environment_of_installation() {
    local python=$interpreter
    venv=$tree/.venv
    if [ -n "$python" ]; then
        stamp "$tree/interpreter" "$python"
        rm -rf "$venv"
    else
        # One of a home's own, as pyenv has, would be of no use to others.
        serves_others python3 || PATH=/usr/bin:$PATH
        python_environment requirements.txt
        python=$venv/bin/python
    fi
    serves_others "$python" ||
        say "others may not start $(real_python "$python"): give another one as PINSTUDY_PYTHON"
    logged "$python" -m compileall -q "$tree"/{base,configs,runners,analysis,pinstudy} ||
        fail "cannot compile the modules in $tree:" see-log
}

real_python() { "$1" -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null; }

# serves_others PYTHON: whether all who may enter PREFIX may start this interpreter.
serves_others() {
    local path
    path=$(real_python "$1")
    open_to_others "$path" || ! open_to_others "$tree"
}

# open_to_others PATH: whether everybody may enter the folders on the way and what is there.
open_to_others() {
    local path=$1
    while [ -n "$path" ]; do
        case $(stat -L -c %A "$path") in
            *[xt]) path=${path%/*} ;;
            *) return 1 ;;
        esac
    done
}

# uninstall_all: removes what the manifest names, and what was made beside it.
uninstall_all() {
    [ -r "$manifest" ] || fail "finds no installation in $PREFIX (there is no $manifest)"
    [ -w "$tree" ] || fail "cannot write $PREFIX: uninstall as somebody who may"
    remove_below_prefix <"$manifest"
    rm -rf "$tree/.venv" "$tree/interpreter"
    find "$tree" -name '*.pyc' -path '*/__pycache__/*' -delete
    rm "$manifest"
    find "$tree" "$PREFIX/share/doc/pinstudy" -depth -type d -empty -delete 2>/dev/null
    say "removed from $PREFIX"
}

# remove_below_prefix: removes the files on standard input; a line that could lead elsewhere is none.
remove_below_prefix() {
    local file
    while read -r file; do
        case /$file/ in
            // | */../*) continue ;;
        esac
        rm -f "$PREFIX/$file" 2>/dev/null || fail "cannot write $PREFIX"
    done
}
