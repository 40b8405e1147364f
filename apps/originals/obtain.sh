# The programs that the published study ran, of which apps/lulesh, apps/mandelbrot and apps/lu are
# independent implementations: LULESH 2.0 and OmpSCR's Mandelbrot and LU. Their sources are fetched at a
# pinned revision, or taken from a folder; they are built as black boxes (apps/originals) and are never
# part of the project. PROGRAM.build beside each program describes its sources and build; runs are recorded
# with it. Sourced by setup.sh.
# shellcheck shell=bash

sources=build/originals
# Name, version, author, address, commit, git's id of the tree of the files at that commit, licence, files.
# shellcheck disable=SC2034
{
    LULESH=(LULESH 2.0.3 "LLNL, " https://github.com/LLNL/LULESH 3e01c40b3281aadb7f996525cdd4a3354f6d3801
        e19e40f536022b39924a70d5b56992653792a6c4
        "BSD-3-Clause with a notice of the Department of Energy, LLNL-CODE-461231"
        lulesh-comm.cc lulesh-init.cc lulesh-util.cc lulesh-viz.cc lulesh.cc lulesh.h lulesh_tuple.h)
    OMPSCR=(OmpSCR 2.0 "" https://github.com/utpalbora/OmpSCR_v2.0 d277761f6fdc22cfcb52893385cbb802d592d729
        075363fa7866d949a4738002584aecfe3a94dcb0
        "GPL-2.0-or-later, its common files LGPL-2.1-or-later"
        applications/c_LUreduction/c_lu.c applications/c_Mandelbrot/c_mandel.c common/ompscrCommon.c
        common/wtime.c include/OmpSCR.h include/wtime.h)
}

# studies_originals STUDY: whether a study, a name or a file, has one of them as an app.
studies_originals() {
    local file=$1
    [ -f "$file" ] || file=pinstudy/configs/studies/$1.yaml
    grep -qsE 'app: *(lulesh-llnl|mandelbrot-ompscr|lu-ompscr)\b' "$file"
}

# originals MARCH FOLDER: builds them into a folder, unless they are there. A compiler's programs are only
# replaced if all of them could be built.
originals() {
    local march=$1 into=$2 what="the originals" compiler built description program watched=(apps/originals apps/cmake)
    obtain LULESH
    obtain OMPSCR
    for compiler in g++ clang++; do
        if ! command -v "$compiler" >/dev/null; then
            say "$compiler is not installed: not available are its builds of the originals"
            continue
        fi
        built=$sources/${march:-default}-$compiler
        compile "$compiler" "$built" all -S apps/originals "-DCMAKE_CXX_COMPILER=$compiler" \
            "-DCMAKE_C_COMPILER=$(sed 's/clang++/clang/; s/g++/gcc/' <<<"$compiler")" "-DPINSTUDY_MARCH=$march" \
            "-DLULESH=$root/$sources/LULESH" "-DOMPSCR=$root/$sources/OMPSCR"
        mkdir -p "$into" || fail "cannot write $into"
        for description in "$built"/bin/*.build; do
            program=${description##*/} program=${program%.build}
            cmp -s "$description" "$into/$program.build" && cmp -s "${description%.build}" "$into/$program" && continue
            # The description is removed first and copied last.
            { rm -f "$into/$program.build" && cp -p "${description%.build}" "$into/.$program" &&
                mv "$into/.$program" "$into/$program" && cp -p "$description" "$into/$program.build"; } || fail "cannot write $into"
        done
    done
}

# obtain ORIGINAL: brings its files up to date in build/originals/ORIGINAL, from the folder that
# ORIGINAL_SOURCE names (a checkout, a plain folder or a bare repository), from an earlier download, or
# from its public repository. Git only writes files that change, so that CMake sees what to build.
obtain() {
    local folder=${1}_SOURCE store=$root/$sources/$1.git from revision="" tree entries problem
    local -n original=$1
    local name=${original[0]} author=${original[2]} url=${original[3]} commit=${original[4]} files=("${original[@]:7}")
    # Git's variables of the caller are for another repository.
    unset "${!GIT_@}"
    folder=${!folder-} from=$folder watched+=("$sources/$1" "$sources/$1.origin")
    { mkdir -p "$sources/$1" && git init --quiet --bare "$store"; } 2>>"$log" || fail "cannot write $root/$sources"
    local -x GIT_TERMINAL_PROMPT=0 GIT_DIR=$store GIT_WORK_TREE=$root/$sources/$1
    if [ -z "$folder" ] && tree=$(git rev-parse --verify --quiet refs/pinstudy); then
        checked_out "$tree" && return
    fi
    if [ -z "$folder" ]; then
        from=$url revision=$commit
        say "fetches $name from $url (${original[6]})"
        problem=$(fetch "$url" "$commit" 2>&1) && entries=$(git ls-tree -r "$commit" -- "${files[@]}")
        [ -n "$problem" ] || [ "$(tree_of "$entries")" = "${original[5]}" ] || problem="its server gave something else"
        [ -z "$problem" ] ||
            fail "cannot fetch $name from $url ($(head -n 1 <<<"$problem")); name a folder that has it (make originals $1_SOURCE=DIR), or study pinstudy's own programs (make study STUDY=paper-own)"
    elif [ -d "$folder/objects" ] && [ -f "$folder/HEAD" ]; then
        revision=$(in_bare "$folder" rev-parse --verify --quiet "$commit^{commit}") ||
            revision=$(in_bare "$folder" rev-parse --verify --quiet "HEAD^{commit}") || fail "$folder: has no commit"
        entries=$(in_bare "$folder" ls-tree -r "$revision" -- "${files[@]}")
        [ "$(wc -l <<<"$entries")" = ${#files[@]} ] || fail "$folder: revision ${revision:0:7} lacks some of ${files[*]}; expected $url"
        cut -d ' ' -f 3 <<<"$entries" | cut -f 1 | in_bare "$folder" pack-objects -q --stdout | git unpack-objects -q
    else
        [ -d "$folder" ] || fail "$1_SOURCE: $folder is no folder"
        entries=$(entries_of "$folder" "${files[@]}" 2>&1) ||
            fail "$1_SOURCE: ${entries##*$'\n'}; expected a checkout of $url, or a bare clone of it"
    fi
    tree=$(tree_of "$entries")
    checked_out "$tree" || fail "cannot write $GIT_WORK_TREE"
    git update-ref refs/pinstudy "$tree"
    if [ "$tree" = "${original[5]}" ]; then
        name+=" ${original[1]}@part@ ($author${commit:0:7})" revision=$commit
    else
        name+="@part@ (${author}tree ${tree:0:7}, not the pinned revision ${commit:0:7})"
        say "$folder is not ${original[0]} at the pinned revision ${commit:0:7}; records and tables will say so (tree ${tree:0:7})"
    fi
    # CMake fills in this template of PROGRAM.build.
    printf '%s\n' "$name" "build: @build@" "source: $from" "revision: ${revision:-not known}" "tree: $tree" \
        "compiler: @compiler@" "flags: @flags@" "openmp: @openmp@" >"$sources/$1.new"
    cmp -s "$sources/$1.new" "$sources/$1.origin" || mv "$sources/$1.new" "$sources/$1.origin"
    rm -f "$sources/$1.new"
}

# checked_out TREE: brings its files up to date. Files with the right contents keep their times, even in a
# copy of the checkout.
checked_out() {
    git update-index -q --refresh
    git read-tree --reset -u "$1"
} >>"$log" 2>&1

# in_bare REPOSITORY COMMAND...: runs git in a bare repository that others may own, such as a mirror.
in_bare() { git --git-dir="$1" -c safe.directory='*' "${@:2}"; }

# fetch REPOSITORY REVISION: fetches it, with a time limit for a silent server.
fetch() {
    LC_ALL=C timeout 120 git -c http.lowSpeedLimit=1 -c http.lowSpeedTime=20 \
        fetch --quiet --depth=1 "$@"
}

# entries_of FOLDER FILE...: the output of `git ls-tree` for these plain files.
entries_of() {
    local file blob
    for file in "${@:2}"; do
        [ -f "$1/$file" ] || { echo "$1/$file: No such file" && return 1; }
        blob=$(git hash-object -w --no-filters -- "$1/$file") || return
        printf '100644 blob %s\t%s\n' "$blob" "$file"
    done
}

# tree_of ENTRIES: git's id of a tree of only these entries.
tree_of() {
    local -x GIT_INDEX_FILE=$GIT_DIR/new
    git read-tree --empty && git update-index --index-info <<<"$1" && git write-tree
}
