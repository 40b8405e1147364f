# Functions for all parts of set-up: messages, the log, stamps, and sudo. Sourced by setup.sh, and by
# scripts that write in the checkout after it, for sudo.
# shellcheck shell=bash

say() { printf 'set-up: %s\n' "$*"; }

# fail MESSAGE [see-log]: stops, with see-log after the end of the failed command's output.
fail() {
    printf 'set-up: %s\n' "$1" >&2
    if [ "${2-}" = see-log ]; then
        tail -n 12 "$log" | sed 's/^/  | /' >&2
        printf 'set-up: the whole output is in %s\n' "$root/$log" >&2
    fi
    exit 2
}

# logged COMMAND...: runs it with its output in the log only, without the lock. In a subshell, because
# a trap of this shell would otherwise write to the log as well.
logged() {
    (printf '\n$ %s\n' "$*" && exec "$@") >>"$log" 2>&1 </dev/null 9>&-
}

# joined WORD...: the words with commas between them.
joined() {
    local words
    words=$(printf ', %s' "$@")
    echo "${words:2}"
}

digest() {
    local sum
    sum=$(sha256sum) && echo "${sum%% *}"
}

# is_current STAMP KEY: whether the step of this stamp is up to date.
is_current() { [ -r "$1" ] && [ "$(<"$1")" = "$2" ]; }

stamp() {
    { printf '%s\n' "$2" >"$1.new" && mv "$1.new" "$1"; } || fail "cannot write $(realpath -m -- "$1")"
}

# through_sudo: whether root works for another user, in a checkout that is not root's.
through_sudo() {
    [ "${SUDO_UID:-0}" != 0 ] && [ "$(id -u)" = 0 ] && [ "$(stat -c %u .)" != 0 ]
}

# as_caller COMMAND...: runs it in place of this script as the user who called sudo, who then owns the
# files that it makes in the checkout.
as_caller() {
    local name group home groups=--init-groups
    if ! [[ $SUDO_UID =~ ^[0-9]+$ && ${SUDO_GID-} =~ ^[0-9]+$ ]]; then
        echo "SUDO_UID and SUDO_GID in the environment are no numbers; unset them" >&2
        exit 2
    fi
    IFS=: read -r name _ _ group _ home _ < <(getent passwd "$SUDO_UID")
    [ -n "$name" ] || groups=--clear-groups
    exec setpriv --reuid="$SUDO_UID" --regid="${group:-$SUDO_GID}" "$groups" \
        env -u SUDO_UID -u SUDO_GID -u SUDO_USER -u SUDO_COMMAND \
        HOME="${home:-/}" USER="${name:-$SUDO_UID}" LOGNAME="${name:-$SUDO_UID}" "$@"
}
