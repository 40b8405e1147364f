# Set-up that was started through sudo in a user's own checkout: root installs the system packages and
# writes nothing there, all else is done as the user. Sourced by setup.sh, and by what writes in the
# checkout after it.
# shellcheck shell=bash

# through_sudo: whether root works for somebody else, in a checkout that is not root's.
through_sudo() {
    [ "${SUDO_UID:-0}" != 0 ] && [ "$(id -u)" = 0 ] && [ "$(stat -c %u .)" != 0 ]
}

# as_caller COMMAND...: takes the place of this script, as the user who called sudo.
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
