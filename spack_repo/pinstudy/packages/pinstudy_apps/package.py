import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class PinstudyApps(CMakePackage):
    """The programs that pinstudy studies, as one compiler builds them.

    Beside a pinstudy that another compiler built: it has programs of its own. GCC makes the
    builds serial, pthreads and libgomp, Clang builds libomp; one view can hold both.
    """

    # The checkout that this recipe is in.
    git = pathlib.Path(__file__).resolve().parents[4].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("gmake", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("googletest", type="test")

    requires("%cxx=gcc", "%cxx=llvm", policy="one_of", msg="built with GCC or Clang")

    def cmake_args(self):
        return [
            # Spack's compiler wrapper gives the target's -march.
            self.define("PINSTUDY_MARCH", ""),
            self.define("PINSTUDY_WERROR", False),
            self.define("PINSTUDY_TESTS", self.run_tests),
            self.define("PINSTUDY_COMMAND", False),
            # The command's helper.
            self.define("PINSTUDY_WITNESS", False),
        ]

    def check(self):
        with working_dir(self.build_directory):
            ctest("--label-exclude", "slow", "--output-on-failure", "--no-tests=error")

    def test_programs(self):
        """programs find their own results right"""
        sizes = {"lu": ["100"], "lulesh": ["-s", "5"], "mandelbrot": ["1000"]}
        for app, size in sizes.items():
            for path in sorted(pathlib.Path(self.prefix.bin).glob(f"{app}-*")):
                with test_part(self, f"test_programs_{path.name}", purpose=f"run {path.name}"):
                    program = Executable(str(path))
                    output = program(*size, output=str.split, error=str.split)
                    check_outputs("Check: passed", output)
