# Which needs of needs.txt this machine does not meet, and the packages that would meet them.
# Sourced by setup.sh; nothing here changes the machine.
# shellcheck shell=bash

needs_file=${BASH_SOURCE[0]%/*}/needs.txt
os_release=${PINSTUDY_OS_RELEASE:-/etc/os-release}

# os_family: the column of needs.txt for this distribution; fails for an unknown one. Derivatives
# are recognised by ID_LIKE, which has the nearest relative first (os-release(5)).
os_family() (
    ID="" ID_LIKE=""
    # shellcheck disable=SC1090
    [ ! -r "$os_release" ] || . "$os_release"
    for word in $ID $ID_LIKE; do
        case $word in
            debian | ubuntu | fedora | rhel) echo "$word" && return 0 ;;
            centos) echo rhel && return 0 ;;
        esac
    done
    return 1
)

# needs_for GROUP...: the lines of needs.txt for these groups.
needs_for() {
    awk -v groups=" $* " '!/^#/ && NF > 8 && index(groups, " " $2 " ")' "$needs_file"
}

# unmet_needs: of the lines on standard input, those that this machine does not meet.
unmet_needs() {
    local line probe
    while read -r line; do
        read -r _ _ _ probe _ <<<"$line"
        is_met "$probe" </dev/null || printf '%s\n' "$line"
    done
}

# packages_of FAMILY: the packages that the needs on standard input name, one a line.
packages_of() {
    awk -v family="$1" -v kernel="$(uname -r)" '
        BEGIN { split("debian ubuntu fedora rhel", families); for (i in families) column[families[i]] = i + 4 }
        { gsub(/,/, "\n", $column[family]); gsub(/\{kernel\}/, kernel, $column[family]); print $column[family] }
    ' | awk '!seen[$0]++'
}

# is_met PROBE: whether the machine has it; the kinds of probe are described in needs.txt.
is_met() {
    local name=${1#*:}
    case $1 in
        command:*) command -v "$name" >/dev/null ;;
        runs:*) "$name" --version >/dev/null 2>&1 ;;
        header:*) has_header "$name" ;;
        python) find_python >/dev/null ;;
        openmp:*) links "$name" -std=c++20 -fopenmp ;;
        latex:*) command -v pdflatex >/dev/null && kpsewhich "$name.sty" >/dev/null ;;
        browser:*) find_browser >/dev/null ;;
        sanitizer:*) links "$name" -fsanitize=address,undefined && links "$name" -fsanitize=thread ;;
        *) return 1 ;;
    esac
}

# find_python: the first interpreter that the lock files serve and that can make environments.
find_python() {
    local python
    for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        if "$python" -c 'import ensurepip, sys, venv
sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
            command -v "$python" && return
        fi
    done
    return 1
}

# find_browser: Chromium by the names of the distributions, or Chrome, which is the same to a test.
find_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

# links COMPILER OPTION...: whether a small program compiles and links with these options. OpenMP is
# asked for a function of its library, because a compiler may have the header without the library.
links() {
    local output status=0
    output=$(mktemp) || return 1
    printf '%s\n' '#ifdef _OPENMP' '#include <omp.h>' 'int main() { return omp_get_max_threads() < 1; }' \
        '#else' 'int main() {}' '#endif' | "$@" -x c++ - -o "$output" 2>/dev/null || status=1
    rm -f "$output"
    return $status
}

# has_header FILE: whether a C++ compiler finds it, or a prefix that CMake is told of has it.
has_header() {
    local prefix
    printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | g++ -E -x c++ - >/dev/null 2>&1 && return
    local IFS=:
    for prefix in ${CMAKE_PREFIX_PATH-}; do
        [ -e "$prefix/include/$1" ] && return
    done
    return 1
}
