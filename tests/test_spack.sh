#!/usr/bin/env bash
# Tries docs/spack.md with a real Spack, in a copy of the checkout that is then removed.
#
# usage: SPACK_ROOT=DIR tests/test_spack.sh
#
# First all is concretized from sources, audited, and installed with --fake: nothing is built. Then the
# environments are installed for real, tested, and used from their views, in another folder. Packages
# of this machine are externals: found by Spack, or in a site file if Spack has no detection for them;
# the Python packages come from a virtual environment with Spack's newest versions.
#
# Spack's own settings are those in SPACK_ROOT/etc/spack, without those of user and system. Packages that
# are not installed here are fetched and built. Environment: SPACK_PYTHON as ever; PINSTUDY_SPACK_BUILD="likwid …"
# are packages to build although they are installed; PINSTUDY_SPACK_KEEP=1 keeps the folder.

set -u
cd "${BASH_SOURCE[0]%/*}/.." || exit 2
spack=${SPACK_ROOT-}/bin/spack
if [ -z "${SPACK_ROOT-}" ] || [ ! -x "$spack" ]; then
    echo "test-spack: give the folder of a Spack: make test-spack SPACK_ROOT=DIR" >&2
    exit 2
fi
spack=$(realpath "$spack")
to_build=${PINSTUDY_SPACK_BUILD-} keep=${PINSTUDY_SPACK_KEEP-}
# No variables of another Spack, of a virtual environment, or of make.
for name in $(compgen -e); do
    case $name in
        SPACK_ENV* | SPACK_LD* | PYTHON* | VIRTUAL_ENV* | PINSTUDY_* | MAKE* | CMAKE_*) unset "$name" ;;
    esac
done
work=$(mktemp -d "${TMPDIR:-/tmp}/pinstudy-spack-XXXXXX") || exit 2
checkout=$work/checkout two=$work/two others=$work/others elsewhere="$work/another folder" log=$work/log output=""
mkdir "$checkout" "$elsewhere"
export SPACK_SYSTEM_CONFIG_PATH=$work/none SPACK_USER_CACHE_PATH=$work/cache PINSTUDY_NO_SYSTEM_PACKAGES=1
trap 'exit 143' TERM INT
trap '[ -n "$keep" ] && echo "test-spack: all of it is in $work" || rm -rf "$work"' EXIT

fail() {
    printf 'test-spack: %s\n' "$1" >&2
    exit 1
}

# step TITLE COMMAND...: runs it for an hour at most, outside the checkout; its output is then in $output. If it
# fails, stops with the end of the output.
step() {
    local title=$1 begun=$SECONDS status=0
    shift
    printf '%s …' "$title"
    (cd "$elsewhere" && exec timeout --kill-after 10 3600 "$@") >"$log" 2>&1 </dev/null || status=$?
    output=$(<"$log")
    echo " $((SECONDS - begun)) s"
    [ $status = 0 ] || fail "$title: exit status $status
  \$ $*
$(tail -n 60 "$log" | sed 's/^/  | /')"
}

# activated TITLE ENVIRONMENT COMMAND...: a step in the environment, activated by `spack env activate`.
activated() {
    local title=$1 environment=$2
    shift 2
    # shellcheck disable=SC2016
    step "$title" bash -c 'eval "$("$1" env activate --sh "$2")" && shift 2 && exec "$@"' bash "$spack" "$environment" "$@"
}

# settings NAME: separate stores and folders for the next steps, and the compilers of this machine.
settings() {
    export SPACK_USER_CONFIG_PATH=$work/$1
    mkdir "$work/$1"
    cat >"$work/$1/config.yaml" <<END
config:
  install_tree: {root: $work/$1-spack/store}
  build_stage: [$work/$1-spack/stage]
  test_stage: $work/$1-spack/test
  source_cache: $work/sources
  misc_cache: $work/misc
  build_jobs: 2
END
    step "compilers ($1)" "$spack" compiler find --scope user
}

# external SPEC PREFIX [MORE]: an entry of the site file.
external() {
    local name=${1%%@*}
    case " $to_build " in *" ${name%% *} "*) return ;; esac
    printf '  %s:\n    externals: [{spec: %s, prefix: %s%s}]\n    buildable: false\n' "${name%%[~+]*}" "$1" "$2" "${3-}"
}

# site: packages of this machine that `spack external find` does not know, as a packages.yaml.
site() {
    local found name python version prefix=$work/python
    echo "packages:"
    found=$(likwid-pin --version 2>/dev/null | grep -Eom1 '[0-9]+\.[0-9.]+') && external "likwid@$found" /usr
    found=$(sed -n 's/.*CLI11_VERSION "\([0-9.]*\)".*/\1/p' /usr/include/CLI/Version.hpp 2>/dev/null)
    [ -z "$found" ] || external "cli11@$found" /usr
    found=$(pkg-config --modversion gtest 2>/dev/null) && external "googletest@$found" /usr
    found=$(pkg-config --modversion nlohmann_json 2>/dev/null) && external "nlohmann-json@$found" /usr
    # In Debian and Ubuntu the path has the version.
    found=$(find /usr/lib/llvm-*/lib/libomp.so.5 2>/dev/null | sort -V | tail -n 1)
    name=${found#/usr/lib/llvm-}
    [ -z "$found" ] || external "llvm-openmp@${name%%/*}" "${found%/lib/*}"
    version=$("$prefix/bin/python3" -c 'import platform; print(platform.python_version())')
    external "python@$version" "$prefix"
    # Spack 1.0 knows no such key, and finds the interpreter of the same prefix by itself.
    python=", dependencies: [{spec: python@$version, deptypes: [build, run]}]"
    case $spack_version in 1.0.*) python="" ;; esac
    "$prefix/bin/python3" -m pip list --format freeze | while IFS='=' read -r name _ version; do
        name=$(tr '[:upper:]_' '[:lower:]-' <<<"$name")
        # pip installs without extras; a spec without variants has the default ones.
        [ "$name" != pandas ] || version+="~excel~parquet~performance"
        case " $python_names " in *" $name "*) external "py-$name@$version" "$prefix" "$python" ;; esac
    done
}

# expect_programs ENVIRONMENT NAME...: fails unless pinstudy in it finds them.
expect_programs() {
    local environment=$1 name
    shift
    activated apps "$environment" pinstudy apps --json
    for name in "$@"; do
        grep -q "/$name\"" "$log" || fail "pinstudy in the environment $environment does not find $name"
    done
}

# expect_good_records RESULTS: fails unless all runs are ok.
expect_good_records() {
    local statuses
    statuses=$(cat "$1"/*/*/records/*.jsonl | grep -o '"status": *"[^"]*"' | sort -u | tr -d ' ')
    [ "$statuses" = '"status":"ok"' ] || fail "not all runs are ok in $1: $statuses"
}

# Tracked files and those that git does not ignore: no builds.
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$checkout" 2>"$log"
[ -e "$checkout/spack.yaml" ] || fail "cannot copy the checkout: $(<"$log")"
python_names=$(sed -n 's/.*depends_on("py-\([a-z0-9-]*\)@.*/\1/p' "$checkout/spack_repo/pinstudy/packages/pinstudy/package.py" | tr '\n' ' ')

# From sources: nothing is built, and nothing installed is used.
settings plain
step version "$spack" --version
spack_version=$output
echo "  Spack $output"
case $output in 0.*) fail "Spack 1.0 or newer is needed" ;; esac
step "audit of the recipes" "$spack" -e "$checkout" audit packages pinstudy pinstudy-apps
step "audit of the settings" "$spack" -e "$checkout" audit configs
if command -v gfortran >/dev/null; then
    step "concretization from sources" "$spack" -e "$checkout" concretize --force
    step "fake installation" "$spack" -e "$checkout" install --fake
    rm -r "$checkout/.spack-env" "$checkout/spack.lock"
    step "environment of others' programs" "$spack" env create -d "$others" "$checkout/pinstudy/configs/spack/workloads.yaml"
    step "concretization of others' programs" "$spack" -e "$others" concretize
    step "fake installation of others' programs" "$spack" -e "$others" install --fake
else
    echo "concretization from sources: left out, because gfortran is not installed"
fi

# Real installations, with the packages of this machine.
settings real
requirements=()
for name in $python_names; do
    step "newest version of py-$name" "$spack" versions --safe "py-$name"
    newest=$(grep -Eom1 '^ *[0-9][0-9.]*' <<<"$output") || fail "Spack has no py-$name"
    requirements+=("$name<=${newest// /}")
done
step "virtual environment" python3 -m venv "$work/python"
# spack.yaml holds matplotlib back.
step "Python packages" "$work/python/bin/python3" -m pip install --quiet "${requirements[@]}" 'matplotlib<3.11'
site >"$checkout/spack-site.yaml"
known=()
for name in cmake gmake hwloc; do
    case " $to_build " in *" $name "*) ;; *) known+=("$name") ;; esac
done
step "externals" "$spack" external find --scope user --not-buildable "${known[@]}"
sed -n 's/.*externals: \[{\(spec: [^,}]*\).*/  external: \1/p; s/^ *- \(spec: .*\)/  external: \1/p' "$checkout/spack-site.yaml" "$work/real/packages.yaml"
step "concretization" "$spack" -e "$checkout" concretize --force
step "installation" "$spack" -e "$checkout" install --show-log-on-error --test=root
step "tests of what is installed" "$spack" -e "$checkout" test run pinstudy

# As a user. Status 1 of doctor means that something cannot be measured here, as in most guests.
activated doctor "$checkout" bash -c 'pinstudy doctor || [ $? = 1 ]'
expect_programs "$checkout" lu-libgomp lulesh-serial lulesh2.0 lu-ompscr-libgomp
cat >"$work/trial.yaml" <<'END'
# A little of everything that the view has.
title: trial of an installation by Spack
apps:
  - {app: lu, builds: [libgomp], sizes: n500, threads: [1, 2]}
  - {app: lulesh-llnl, builds: [site], sizes: s10, threads: [1]}
mappings: [unpinned]
governors: current
repetitions: 2
END
activated study "$checkout" pinstudy run "$work/trial.yaml"
expect_good_records "$elsewhere/results"
activated "make study" "$checkout" make -C "$checkout" study STUDY="$work/trial.yaml"
expect_good_records "$checkout/results"

# libomp in the place of libgomp by LD_LIBRARY_PATH, which only runpath allows.
step libomp "$spack" -e "$checkout" location -i llvm-openmp
mkdir "$work/alias"
find "${output##*$'\n'}" -name libomp.so -exec ln -s {} "$work/alias/libgomp.so.1" \;
activated libgomp "$checkout" env OMP_DISPLAY_ENV=true lu-libgomp 100
usual=$(grep -m1 _OPENMP "$log")
activated "libomp in its place" "$checkout" env OMP_DISPLAY_ENV=true "LD_LIBRARY_PATH=$work/alias" lu-libgomp 100
swapped=$(grep -m1 _OPENMP "$log")
[ "${usual:-$swapped}" != "${swapped:-$usual}" ] || fail "the OpenMP runtime was not swapped: $usual $swapped"

if command -v clang++ >/dev/null; then
    step "second environment" "$spack" env create -d "$two" "$checkout/pinstudy/configs/spack/two-compilers.yaml"
    cp "$checkout/spack-site.yaml" "$two"
    step "concretization with two compilers" "$spack" -e "$two" concretize
    step "installation with two compilers" "$spack" -e "$two" install --show-log-on-error
    expect_programs "$two" lu-serial lu-libgomp lu-libomp lu-ompscr-libgomp
    PATH=$PATH:$two/.spack-env/llvm/bin expect_programs "$two" lu-ompscr-libomp
    activated plan "$two" pinstudy plan quick
    for name in gcc llvm; do
        activated "lulesh by $name" "$two" "$two/.spack-env/$name/bin/lulesh2.0" -s 5
    done
else
    echo "two compilers: left out, because clang is not installed"
fi
echo "test-spack: everything worked"
