#%Module1.0
# For Environment Modules and Lmod. `make install PREFIX=DIR` writes it to DIR/share/pinstudy/modulefiles.

proc ModulesHelp { } {
    puts stderr "Measures which thread mapping pays on a node: pinstudy --help, man pinstudy-run"
}
module-whatis "To pin or not to pin? Thread mappings measured on hybrid CPUs"
conflict pinstudy

set prefix "@PREFIX@"
# A folder with this command alone: PREFIX/bin has a python and a pip, which would hide the user's.
prepend-path PATH "$prefix/share/pinstudy/bin"
prepend-path MANPATH "$prefix/share/man"
# Without an empty part man(1) looks nowhere else.
append-path MANPATH ""
# For programs that mark their regions.
prepend-path CPATH "$prefix/include"
