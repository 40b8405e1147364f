# The originals of our own programs: LULESH and OmpSCR's, which tools/originals.py obtains and builds.
# Sourced by setup.sh.
# shellcheck shell=bash

# studies_originals STUDY: whether a study, a name or a file, has one of them as an app.
studies_originals() {
    local file=$1
    [ -f "$file" ] || file=configs/studies/$1.yaml
    grep -qsE 'app: *(lulesh-llnl|mandelbrot-ompscr|lu-ompscr)\b' "$file"
}

# originals: builds them, unless they are there; LULESH_SOURCE, OMPSCR_SOURCE and MARCH are taken from
# the environment.
originals() {
    local python=.venv/bin/python
    if in_spack; then
        system_packages originals
        python=$(spack_python)
    else
        system_packages python build run originals
        python_environment requirements.txt
    fi
    "$python" -m tools.originals --march "${MARCH:-native}" 9>&- || exit
}

# portable_programs: our own programs and the originals once more, of instructions that valgrind knows.
portable_programs() {
    local march="" app programs=()
    [ "$(uname -m)" != x86_64 ] || march=x86-64-v3
    for app in lulesh lu mandelbrot; do
        programs+=("$app-libgomp" "$app-libomp")
    done
    programs_for build/fidelity "$march" "${programs[@]}"
    .venv/bin/python -m tools.originals --march "$march" --into build/fidelity/bin 9>&- || exit
}
