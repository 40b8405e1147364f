#!/usr/bin/env bash
# Renews the lock files from pyproject.toml: the newest versions for every supported Python, with
# the hashes of all their files, and without the address of any index.

set -eu
cd "${BASH_SOURCE[0]%/*}/.."
command -v uv >/dev/null || { echo "needs uv (a tool of maintainers only) on the PATH" >&2; exit 2; }

lock() {
    uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --upgrade \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@"
}

# pandas 3 needs Python 3.11 and has another string type: one major version serves every Python but the
# newest, for which there is no pandas 2.
limits=$(mktemp)
trap 'rm "$limits"' EXIT
printf '%s\n' 'pandas<3; python_version < "3.15"' 'pandas-stubs<3' >"$limits"

lock --constraints "$limits" pyproject.toml --output-file requirements.txt
lock --constraints "$limits" --group dev --constraints requirements.txt --output-file requirements-dev.txt
lock --group build --constraints requirements.txt --output-file requirements-build.txt
lock --group fuzz --output-file requirements-fuzz.txt
lock --group docs --constraints requirements.txt --constraints requirements-dev.txt --output-file requirements-docs.txt
