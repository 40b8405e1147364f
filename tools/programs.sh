# The third step of set-up: the C++ programs, with every compiler that is there. Sourced by setup.sh.
# shellcheck shell=bash

# programs OPTION...: builds the presets gcc and, if Clang has its OpenMP library, clang. The options
# are given to CMake, which remembers them: what was once built with tests is so again.
programs() {
    local sources
    sources=$(sources_digest)
    build gcc g++ "$sources" "$@"
    lacks clang || build clang clang++ "$sources" "$@"
}

# build PRESET COMPILER SOURCES OPTION...: nothing if all that matters is as it was; from scratch for
# another compiler or place, because CMake remembers both, and after an interruption.
build() {
    local preset=$1 compiler=$2 sources=$3 directory=build/$1 stamp=$stamps/build-$1 place key
    shift 3
    place="$root $(stat -L -c '%n %s %Y' "$(command -v "$compiler")" "$(command -v cmake)")"
    key=$(printf '%s\n' "$place" "$sources" "$(options "$directory" "$@")")
    holds "$stamp" "$key" && return
    if [ -e "$directory/unfinished" ] || ! holds "$stamps/place-$preset" "$place"; then
        rm -rf "$directory"
    fi
    { mkdir -p "$directory" && : >"$directory/unfinished"; } || fail "cannot write $root/$directory"
    stamp "$stamps/place-$preset" "$place"
    say "builds the programs with $compiler: a minute on 2 CPUs, with their tests two"
    # Without a word about them, CMake would build tests wherever it finds GoogleTest.
    [ $# -gt 0 ] || [ -e "$directory/CMakeCache.txt" ] || set -- -D PINSTUDY_TESTS=OFF
    # A compiler's error is no interruption: make removes what it did not finish.
    { logged cmake --preset "$preset" "$@" &&
        logged cmake --build --preset "$preset" --parallel "$(nproc)"; } ||
        { rm "$directory/unfinished" && fail "cannot build the programs with $compiler:" see-log; }
    rm "$directory/unfinished"
    stamp "$stamp" "$(printf '%s\n' "$place" "$sources" "$(options "$directory")")"
}

# programs_for FOLDER MARCH [PROGRAM...]: builds the programs, all or only these, once more in this
# folder of build/, for the CPUs that the value of -march says; FOLDER/bin has them.
programs_for() {
    local folder=$1 march=$2 program by_gcc="" by_clang=""
    shift 2
    for program in "$@"; do
        case $program in
            *-libomp) by_clang+=" $program" ;;
            *) by_gcc+=" $program" ;;
        esac
    done
    # Without names it is all programs, of each compiler.
    [ $# -gt 0 ] && [ -z "$by_gcc" ] || programs_for_by "$folder" "$march" gcc g++ "$by_gcc"
    [ $# -gt 0 ] && [ -z "$by_clang" ] || lacks clang || programs_for_by "$folder" "$march" clang clang++ "$by_clang" \
        -D PINSTUDY_WITNESS=OFF -D PINSTUDY_PYTHON_TREE=OFF
}

# programs_for_by FOLDER MARCH NAME COMPILER PROGRAMS OPTION...: what is built holds for its parts.
programs_for_by() {
    local folder=$1 march=$2 name=$3 compiler=$4 label=${1#build/}-$3 place key only
    read -r -a only <<<"$5"
    shift 5
    place="$root $(stat -L -c '%n %s %Y' "$(command -v "$compiler")" "$(command -v cmake)")"
    key="$place $(sources_digest)"
    holds "$stamps/$label" "$key" && return
    [ ${#only[@]} -eq 0 ] || key+=" ${only[*]}"
    holds "$stamps/$label" "$key" && return
    holds "$stamps/place-$label" "$place" || rm -rf "${folder:?}/$name"
    stamp "$stamps/place-$label" "$place"
    say "builds the programs for -march=$march with $compiler"
    { logged cmake -S . -B "$folder/$name" -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER="$compiler" \
        -D PINSTUDY_MARCH="$march" -D PINSTUDY_BIN_DIR="$root/$folder/bin" -D PINSTUDY_TESTS=OFF "$@" &&
        logged cmake --build "$folder/$name" --parallel "$(nproc)" --target "${only[@]:-all}"; } ||
        fail "cannot build the programs for -march=$march with $compiler:" see-log
    stamp "$stamps/$label" "$key"
}

# options BUILD DIRECTORY [-D NAME=ON]...: the optional parts that it is built with, or shall be.
options() {
    local cache=$1/CMakeCache.txt name
    shift
    for name in PINSTUDY_TESTS; do
        case "$* $(grep "^$name:" "$cache" 2>/dev/null)" in
            *"$name=ON"* | *"$name:"*=ON) echo "$name" ;;
        esac
    done
}

# sources_digest: of all files that the build reads.
sources_digest() {
    find CMakeLists.txt CMakePresets.json apps runners/witness tests/apps -type f \
        \( -name '*.[ch]pp' -o -name 'CMake*' -o -name '*.cmake' -o -name '*.in' \) -print0 2>/dev/null |
        sort -z | xargs -0 sha256sum | digest
}
