from spack_repo.builtin.build_systems.generic import Package

from spack.package import *

PROGRAMS = {
    "mandelbrot-ompscr": ("c_mandel", "applications/c_Mandelbrot/c_mandel.c"),
    "lu-ompscr": ("c_lu", "applications/c_LUreduction/c_lu.c"),
}
# Those of pinstudy's own programs: apps/cmake/PinstudyOptimisation.cmake.
FLAGS = ("-O3", "-DNDEBUG", "-ffp-contract=fast", "-fno-math-errno")


class Ompscr(Package):
    """Mandelbrot and LU of the OpenMP Source Code Repository (OmpSCR 2.0), for pinstudy.

    The repository has no build system of its own that installs. GCC makes the builds serial and
    libgomp, Clang builds libomp; beside each program lies what it was built from.
    """

    homepage = "https://github.com/utpalbora/OmpSCR_v2.0"
    git = "https://github.com/utpalbora/OmpSCR_v2.0.git"

    # By the headers of the programs, and of their common files.
    license("GPL-2.0-or-later AND LGPL-2.1-or-later")

    version("2.0", commit="d277761f6fdc22cfcb52893385cbb802d592d729")

    depends_on("c", type="build")

    requires("%c=gcc", "%c=llvm", policy="one_of", msg="built with GCC or Clang")

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        builds = {"libomp": ("-fopenmp",)}
        if spec.satisfies("%c=gcc"):
            builds = {"serial": (), "libgomp": ("-fopenmp",)}
        for app, (name, source) in PROGRAMS.items():
            for build, openmp in builds.items():
                program = join_path(prefix.bin, f"{app}-{build}")
                flags = (*FLAGS, *openmp)
                common = ("common/ompscrCommon.c", "common/wtime.c")
                Executable(spack_cc)(
                    "-w", *flags, "-Iinclude", "-Icommon", source, *common, "-lm", "-o", program
                )
                with open(f"{program}.build", "w") as told:
                    told.write(
                        f"OmpSCR {spec.version} {name} (d277761)\n"
                        f"build: {build}\n"
                        f"source: {self.homepage}\n"
                        "revision: d277761f6fdc22cfcb52893385cbb802d592d729\n"
                        "tree: 075363fa7866d949a4738002584aecfe3a94dcb0\n"
                        f"compiler: {spec['c'].name} {spec['c'].version}\n"
                        f"flags: {' '.join(flags)}, and those of Spack's wrapper\n"
                    )

    def test_programs(self):
        """programs print their times"""
        for app, timer in (("mandelbrot-ompscr", "Total_time"), ("lu-ompscr", "EXE_TIME")):
            for build in ("serial", "libgomp", "libomp"):
                path = join_path(self.prefix.bin, f"{app}-{build}")
                if is_exe(path):
                    with test_part(self, f"test_programs_{app}_{build}", purpose=f"run {app}"):
                        output = Executable(path)("100", output=str.split, error=str.split)
                        check_outputs(f"Timer {timer}", output)
