# The first step of set-up: system packages, where installing them is allowed, and the line for an
# administrator where it is not. Sourced by setup.sh.
# shellcheck shell=bash

as_root=()

# system_packages GROUP...: meets the needs of these groups as far as it can; stops without a
# required one. The stamp keeps what could not be met, for other steps, and so that it is said once.
# Root who works for somebody else writes no stamp, and begins anew as that user afterwards.
system_packages() {
    local key unmet allowed=no
    system_stamp=$stamps/system-$target
    # Nodes that share a file system have packages of their own; perf goes with the kernel.
    key=$({ cat "$needs_file" tools/needs.sh tools/packages.sh && echo "$*" && uname -nr && commands; } | digest)
    if [ -n "$for_caller" ]; then
        still_unmet "$key" || packages_for_caller "$@"
        PINSTUDY_ROOT_HAS_TRIED=1 as_caller "$BASH" tools/setup.sh "$target"
    fi
    still_unmet "$key" && return

    mapfile -t unmet < <(needs_for "$@" | unmet_needs)
    if [ ${#unmet[@]} -gt 0 ]; then
        if [ -n "${PINSTUDY_ROOT_HAS_TRIED-}" ]; then
            allowed=yes
        else
            may_install && allowed=yes
            get_packages "$allowed" "${unmet[@]}"
        fi
        mapfile -t unmet < <(printf '%s\n' "${unmet[@]}" | unmet_needs)
        report_unmet "${unmet[@]}"
    fi
    stamp "$system_stamp" "$(printf '%s\n' "$key" "$allowed" "${unmet[@]}")"
}

# packages_for_caller GROUP...: installs what is not met, with a log that is not in the checkout.
packages_for_caller() {
    local unmet log
    mapfile -t unmet < <(needs_for "$@" | unmet_needs)
    [ ${#unmet[@]} -gt 0 ] && may_install || return 0
    log=$(mktemp) || fail "cannot write to ${TMPDIR:-/tmp}"
    get_packages yes "${unmet[@]}"
    rm -f "$log"
}

# still_unmet KEY: whether the stamp is of this key, and what it lists, if anything, is what is
# still missing and still may not be installed.
still_unmet() {
    local stamped
    [ -r "$system_stamp" ] && mapfile -t stamped <"$system_stamp"
    [ "${stamped[0]-}" = "$1" ] || return 1
    [ ${#stamped[@]} -gt 2 ] || return 0
    [ "${stamped[1]}" = yes ] || ! may_install || return 1
    [ "$(printf '%s\n' "${stamped[@]:2}" | unmet_needs)" = "$(printf '%s\n' "${stamped[@]:2}")" ]
}

# commands: the paths of all that a need looks for on the PATH, as far as they are there.
commands() {
    # shellcheck disable=SC2046
    command -v $(awk '!/^#/ && NF { sub(/.*:/, "", $4); print $4 }' "$needs_file") || true
}

# lacks NEED: whether the first step could not meet it.
lacks() { grep -q "^$1 " "$system_stamp"; }

# report_unmet NEED LINE...: says what goes on without, and stops where nothing does.
report_unmet() {
    local line need must lost stop=""
    for line in "$@"; do
        read -r need _ must _ _ _ _ _ lost <<<"$line"
        if [ "$must" = required ]; then
            stop+="${stop:+, }$need"
        else
            say "goes on without $need: not available is $lost"
        fi
    done
    [ -z "$stop" ] || fail "cannot go on without $stop"
}

# may_install: whether packages may be installed without asking anybody for a password.
may_install() {
    [ -z "${PINSTUDY_NO_SYSTEM_PACKAGES-}" ] || return 1
    as_root=()
    [ "$(id -u)" = 0 ] && return
    as_root=(sudo -n)
    command -v sudo >/dev/null && sudo -n true 2>/dev/null
}

# get_packages ALLOWED NEED LINE...: installs what these needs name, or says how to.
get_packages() {
    local allowed=$1 family packages
    shift
    if ! family=$(os_family) || ! manager_of "$family" >/dev/null; then
        say "does not know this distribution's packages: please install what is missing below"
        return
    fi
    mapfile -t packages < <(printf '%s\n' "$@" | packages_of "$family")
    mapfile -t packages < <(offered "$family" "$allowed" "${packages[@]}")
    [ ${#packages[@]} -gt 0 ] || return
    if [ "$allowed" = yes ]; then
        say "installs system packages, for a minute or a few: ${packages[*]}"
        install_packages "$family" "${packages[@]}"
    else
        say "installs no system packages here; an administrator can, with this line:"
        printf '  sudo %s install -y %s\n' "$(manager_of "$family")" "${packages[*]}"
    fi
}

# manager_of FAMILY: the command that installs its packages; fails if this machine lacks it.
manager_of() {
    local manager=dnf
    case $1 in
        debian | ubuntu) manager=apt-get ;;
    esac
    command -v "$manager" >/dev/null && echo "$manager"
}

# offered FAMILY ALLOWED PACKAGE...: those that the configured repositories have, because one
# unknown name makes apt-get and dnf refuse all the others. On a machine whose lists are empty and
# may not be renewed nothing is known, and all are returned.
offered() {
    local family=$1 allowed=$2 known
    shift 2
    mapfile -t known < <(available "$family" "$@")
    if [ ${#known[@]} -lt $# ] && [ "$allowed" = yes ]; then
        more_packages "$family"
        mapfile -t known < <(available "$family" "$@")
    fi
    [ ${#known[@]} -gt 0 ] || known=("$@")
    printf '%s\n' "${known[@]}"
}

# available FAMILY PACKAGE...: those that the lists of the configured repositories have.
available() {
    local family=$1
    shift
    case $family in
        debian | ubuntu)
            LC_ALL=C apt-cache policy "$@" 2>/dev/null |
                awk '/^[^ ]/ { name = substr($1, 1, length($1) - 1) }
                     $1 == "Candidate:" && $2 != "(none)" { print name }'
            ;;
        *) dnf -q repoquery --qf '%{name}\n' "$@" 2>/dev/null | awk 'NF && !seen[$0]++' ;;
    esac
}

# more_packages FAMILY: renews apt's lists; dnf does that by itself, but on RHEL some packages are
# in EPEL. Its failure shows in what is then missing.
more_packages() {
    case $1 in
        debian | ubuntu) logged "${as_root[@]}" apt-get update ;;
        rhel) transaction rhel epel-release ;;
    esac || true
}

# install_packages FAMILY PACKAGE...: all at once; if that fails with new lists; if that fails each
# by itself, so that one that cannot be installed does not keep the others away. What is then missing
# is looked at afterwards.
install_packages() {
    local family=$1 package
    shift
    transaction "$family" "$@" && return
    more_packages "$family"
    transaction "$family" "$@" && return
    for package in "$@"; do
        transaction "$family" "$package" || true
    done
}

# transaction FAMILY PACKAGE...: asks nothing; a new machine that is just updating itself in the
# background is waited for.
transaction() {
    local family=$1
    shift
    case $family in
        debian | ubuntu)
            logged "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
                apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
            ;;
        *) logged "${as_root[@]}" dnf install -y --setopt=install_weak_deps=False "$@" ;;
    esac
}
