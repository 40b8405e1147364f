# The first step of set-up: the needs of needs.txt that this machine lacks are installed if that is
# allowed; if not, the line for an administrator is printed. Sourced by setup.sh.
# shellcheck shell=bash

needs_file=tools/needs.txt
as_root=()

# system_packages PART...: meets the needs of these parts as far as it can; stops without a required one.
# The stamp keeps the unmet needs, so that they are reported once. Root who works for another user writes
# none, and starts again as that user.
system_packages() {
    local key allowed=no before unmet log=$log
    system_stamp=$stamps/system-$target
    # Nodes that share a file system have different packages; perf belongs to the kernel.
    key=$({ cat "$needs_file" tools/packages.sh && echo "$*" && uname -nr && commands; } | digest)
    before=$(tail -n +3 "$system_stamp" 2>/dev/null)
    if [ "$(head -n 1 "$system_stamp" 2>/dev/null)" = "$key" ] && [ "$(still_unmet <<<"$before")" = "$before" ] &&
        { [ -z "$before" ] || [ "$(sed -n 2p "$system_stamp")" = yes ] || ! may_install; }; then
        [ -z "$for_caller" ] || as_caller env PINSTUDY_ROOT_HAS_TRIED=1 "$BASH" tools/setup.sh "$target"
        return
    fi
    unmet=$(lacking "$@")
    if [ -n "$unmet" ] && [ -z "${PINSTUDY_ROOT_HAS_TRIED-}" ]; then
        [ -z "$for_caller" ] || log=$(mktemp)
        if may_install; then allowed=yes; fi
        [ "$allowed$for_caller" = noyes ] || get_packages "$allowed" "$unmet"
        [ -z "$for_caller" ] || rm -f "$log"
    fi
    [ -z "$for_caller" ] || as_caller env PINSTUDY_ROOT_HAS_TRIED=1 "$BASH" tools/setup.sh "$target"
    [ -z "${PINSTUDY_ROOT_HAS_TRIED-}" ] || allowed=yes
    unmet=$(still_unmet <<<"$unmet")
    report_unmet <<<"$unmet"
    stamp "$system_stamp" "$key"$'\n'"$allowed"$'\n'"$unmet"
}

# commands: the paths of the commands that needs look for, if they are on the PATH.
commands() {
    # shellcheck disable=SC2046
    command -v $(awk '!/^#/ && NF { sub(/.*:/, "", $4); print $4 }' "$needs_file") || true
}

# lacks NEED: whether this step could not meet it.
lacks() { grep -q "^$1 " "$system_stamp"; }

# report_unmet: reports what is missing without the needs on standard input; stops if one is required.
report_unmet() {
    local need must lost stop=()
    while read -r need _ must _ _ _ _ _ lost; do
        if [ "$must" = required ]; then
            stop+=("$need")
        elif [ -n "$need" ]; then
            say "goes on without $need: not available is $lost"
        fi
    done
    [ ${#stop[@]} = 0 ] || fail "cannot go on without $(joined "${stop[@]}")"
}

# lacking PART...: the lines of needs.txt for these parts that this machine does not meet.
lacking() { awk -v parts=" $* " '!/^#/ && index(parts, " " $2 " ")' "$needs_file" | still_unmet; }

# still_unmet: the needs on standard input that this machine does not meet.
still_unmet() {
    local line probe
    while read -r line; do
        read -r _ _ _ probe _ <<<"$line"
        [ -z "$line" ] || is_met "$probe" </dev/null || printf '%s\n' "$line"
    done
}

# is_met PROBE: whether the machine has it; the kinds of probe are described in needs.txt.
is_met() {
    local name=${1#*:}
    case $1 in
        command:*) command -v "$name" >/dev/null ;;
        runs:*) "$name" --version >/dev/null 2>&1 ;;
        header:*) compiles g++ "#include <$name>" -E || in_prefix "include/$name" ;;
        python) find_python >/dev/null ;;
        # A compiler may have the header of OpenMP without its library.
        openmp:*) compiles "$name" $'#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }' -std=c++20 -fopenmp ;;
        sanitizer:*) compiles "$name" 'int main() {}' -fsanitize=address,undefined && compiles "$name" 'int main() {}' -fsanitize=thread ;;
        latex:*) command -v pdflatex >/dev/null && kpsewhich "$name.sty" >/dev/null ;;
        # Chromium by the names of the distributions, or Chrome, which is the same to a test.
        browser:*) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
        *) return 1 ;;
    esac >/dev/null
}

# in_prefix FILE: whether a prefix of CMAKE_PREFIX_PATH has it.
in_prefix() {
    local prefix IFS=:
    for prefix in ${CMAKE_PREFIX_PATH-}; do
        [ ! -e "$prefix/$1" ] || return 0
    done
    return 1
}

# compiles COMPILER TEXT OPTION...: whether a small program of this text compiles and links.
compiles() {
    local compiler=$1 text=$2 output status=0
    shift 2
    output=$(mktemp) || return 1
    "$compiler" "$@" -x c++ - -o "$output" <<<"$text" 2>/dev/null || status=1
    rm -f "$output"
    return $status
}

# find_python: the first interpreter that the lock files support and that can make environments.
find_python() {
    local python
    for python in python3 python3.15 python3.14 python3.13 python3.12 python3.11 python3.10; do
        if "$python" -c 'import ensurepip, sys, venv
sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 15))' 2>/dev/null; then
            command -v "$python" && return
        fi
    done
    return 1
}

# may_install: whether packages may be installed without a password.
may_install() {
    [ -z "${PINSTUDY_NO_SYSTEM_PACKAGES-}" ] || return 1
    as_root=()
    [ "$(id -u)" = 0 ] && return
    as_root=(sudo -n)
    command -v sudo >/dev/null && sudo -n true 2>/dev/null
}

# os_family: the column of needs.txt for this distribution; nothing for an unknown one. Derivatives are
# recognised by ID_LIKE, which has the nearest relative first (os-release(5)).
os_family() (
    ID="" ID_LIKE=""
    # shellcheck disable=SC1090
    . "${PINSTUDY_OS_RELEASE:-/etc/os-release}" 2>/dev/null
    for word in $ID $ID_LIKE; do
        case $word in
            debian | ubuntu | fedora | rhel) echo "$word" && return ;;
            centos) echo rhel && return ;;
        esac
    done
)

# packages_of FAMILY: the packages that the needs on standard input name, each once.
packages_of() {
    # The columns are named as families are.
    # shellcheck disable=SC2034
    while read -r _ _ _ _ debian ubuntu fedora rhel _; do
        tr , '\n' <<<"${!1//\{kernel\}/$(uname -r)}"
    done | awk '!seen[$0]++'
}

# get_packages ALLOWED NEEDS: installs the packages of these needs, or prints the command. A package that
# fails does not stop the others; the caller checks what is missing afterwards.
get_packages() {
    local allowed=$1 family manager=dnf wanted offered package
    family=$(os_family)
    case $family in debian | ubuntu) manager=apt-get ;; esac
    if [ -z "$family" ] || ! command -v "$manager" >/dev/null; then
        say "does not know this distribution's packages: please install what is missing below"
        return
    fi
    mapfile -t wanted < <(packages_of "$family" <<<"$2")
    # One unknown name makes apt-get and dnf refuse all the others.
    mapfile -t offered < <(available "${wanted[@]}")
    if [ ${#offered[@]} -lt ${#wanted[@]} ] && [ "$allowed" = yes ]; then
        more_packages
        mapfile -t offered < <(available "${wanted[@]}")
    fi
    # Empty lists know no package.
    [ ${#offered[@]} -gt 0 ] || offered=("${wanted[@]}")
    if [ "$allowed" = no ]; then
        say "installs no system packages here; an administrator can, with this line:"
        printf '  sudo %s install -y %s\n' "$manager" "${offered[*]}"
        return
    fi
    say "installs system packages, for a minute or a few: ${offered[*]}"
    transaction "${offered[@]}" || { more_packages && transaction "${offered[@]}"; } ||
        for package in "${offered[@]}"; do transaction "$package"; done
}

# available PACKAGE...: the packages that the configured repositories have.
available() {
    if [ "$manager" = dnf ]; then
        dnf -q repoquery --qf '%{name}\n' "$@" 2>/dev/null | awk 'NF && !seen[$0]++'
    else
        LC_ALL=C apt-cache policy "$@" 2>/dev/null |
            awk '/^[^ ]/ { name = substr($1, 1, length($1) - 1) } $1 == "Candidate:" && $2 != "(none)" { print name }'
    fi
}

# more_packages: renews apt's lists; dnf does that by itself, but on RHEL some packages are in EPEL.
more_packages() {
    case $family in
        debian | ubuntu) logged "${as_root[@]}" apt-get update ;;
        rhel) transaction epel-release ;;
    esac || true
}

# transaction PACKAGE...: installs them without questions; waits for a new machine's automatic updates.
transaction() {
    if [ "$manager" = dnf ]; then
        logged "${as_root[@]}" dnf install -y --setopt=install_weak_deps=False "$@"
    else
        logged "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
            apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
    fi
}

# slurm_packages: the tests start daemons of their own. Daemons of newly installed packages are stopped
# and disabled; an administrator's are left alone.
slurm_packages() {
    local absent=() brought=() service
    for service in munge slurmctld slurmd slurmdbd; do
        command -v "${service/%munge/munged}" >/dev/null || absent+=("$service")
    done
    system_packages "$@"
    for service in "${absent[@]}"; do
        ! command -v "${service/%munge/munged}" >/dev/null || brought+=("$service")
    done
    if [ ${#brought[@]} -gt 0 ] && command -v systemctl >/dev/null; then
        logged "${as_root[@]}" systemctl disable --now "${brought[@]}" || true
    fi
}
