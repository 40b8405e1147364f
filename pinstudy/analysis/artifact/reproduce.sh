#!/bin/sh
# Makes the tables and verdicts of this folder again from its records, and compares them byte by byte.
#
#   ./reproduce.sh                                 with pinstudy on the PATH
#   PINSTUDY=/path/to/bin/pinstudy ./reproduce.sh
#
# It needs neither the node that was measured nor a network, and changes nothing here. Exit status: 0 if
# all bytes are the same, 1 if one differs, 2 if nothing could be made.
set -u
made_by=@version@

fail() {
    echo "reproduce.sh: $1" >&2
    exit 2
}

called=${PINSTUDY:-pinstudy}
pinstudy=$(command -v -- "$called") || fail "there is no $called: install pinstudy $made_by, or name it: PINSTUDY=/path/to/bin/pinstudy"
case $pinstudy in
    /*) ;;
    *) pinstudy=$PWD/$pinstudy ;;
esac
cd -- "$(dirname -- "$0")" || exit 2
here=$(pwd -P)
version=$("$pinstudy" --version | sed -n '1s/.* //p')
[ -n "$version" ] || fail "$called does not start"
echo "made by pinstudy $made_by; made again by pinstudy $version ($pinstudy)"
[ "$version" = "$made_by" ] || echo "these are two versions: where bytes differ, try $made_by"

status=0
if command -v sha256sum >/dev/null; then
    sha256sum --check --quiet SHA256SUMS || {
        echo "DIFFERS: a file is not as SHA256SUMS has it"
        status=1
    }
else
    echo "not checked: SHA256SUMS, for want of sha256sum"
fi

again=$(mktemp -d) || fail "no temporary folder"
trap 'rm -rf "$again"' EXIT
trap 'exit 130' INT TERM HUP
# By the name of the link, texts that name the command have the same name everywhere.
{ mkdir "$again/bin" && ln -s "$pinstudy" "$again/bin/pinstudy" && cp -R results "$again/"; } ||
    fail "$again cannot be written"
cd "$again" || exit 2
PATH=$again/bin:$PATH
unset PINSTUDY_RESULTS

# make ARGUMENT...: a command of pinstudy, whose output is shown only if it fails.
make() {
    pinstudy "$@" >"$again/output" 2>&1 || {
        cat "$again/output" >&2
        fail "pinstudy $* failed"
    }
}

# compare FILE
compare() {
    if cmp -s "$here/$1" "$1"; then
        echo "same      $1"
    else
        status=1
        echo "DIFFERS   $1"
        diff "$here/$1" "$1" | head -n 20
    fi
}

# again FOLDER
again() {
    for file in tables.md tables.csv tables.tex verdict.md; do
        rm -f "$1/$file"
    done
    make tables "$1"@tables@
    make verdict "$1"@verdict@
    for file in tables.md tables.csv tables.tex verdict.md; do
        compare "$1/$file"
    done
}

for folder in results/*/*; do
    again "$folder"
done
[ "$status" = 0 ] && echo "all tables and verdicts are the same, byte for byte"
exit "$status"
