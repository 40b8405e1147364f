import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Pinstudy(CMakePackage):
    """To pin or not to pin: measures which thread mapping pays on a node with P-cores and E-cores.

    Installs the programs under study, and the command line that studies them.
    """

    # The checkout that this recipe is in.
    git = pathlib.Path(__file__).resolve().parents[4].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant(
        "python",
        default=True,
        sticky=True,
        description="Install the command line and its Python tree",
    )
    variant(
        "benchmark",
        default=True,
        sticky=True,
        description="Build contention and smt, which time by Google Benchmark",
    )

    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("gmake", type="build")
    depends_on("cli11", type="build")
    depends_on("benchmark", when="+benchmark")
    depends_on("googletest", type="test")

    # The lower bounds are those of pyproject.toml. qemu.qmp, which the engine vm alone needs, is
    # not packaged: docs/spack.md.
    with when("+python"), default_args(type=("build", "run")):
        depends_on("python@3.10:")
        depends_on("py-click@8.1:")
        depends_on("py-jinja2@3.1:")
        depends_on("py-marshmallow@3.19:4")
        depends_on("py-matplotlib@3.8:")
        depends_on("py-numpy@1.26:")
        depends_on("py-pandas@2.1:")
        depends_on("py-pyyaml@6.0:")
        depends_on("py-rich@13:")
        depends_on("py-scipy@1.11:")
        depends_on("py-tabulate@0.9:")

    requires("%cxx=gcc", "%cxx=llvm", policy="one_of", msg="built with GCC or Clang")

    def cmake_args(self):
        return [
            # Spack's compiler wrapper gives the target's -march.
            self.define("PINSTUDY_MARCH", ""),
            self.define("PINSTUDY_WERROR", False),
            self.define("PINSTUDY_TESTS", self.run_tests),
            self.define_from_variant("PINSTUDY_GOOGLE_BENCHMARK", "benchmark"),
            self.define_from_variant("PINSTUDY_PYTHON_TREE", "python"),
            # The runners' helper; a view may join the programs of a second compiler with them.
            self.define_from_variant("PINSTUDY_WITNESS", "python"),
        ]

    def check(self):
        with working_dir(self.build_directory):
            ctest("--label-exclude", "slow", "--output-on-failure", "--no-tests=error")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        if self.spec.satisfies("+python"):
            pinstudy = Executable(self.prefix.bin.pinstudy)
            pinstudy("--version")
            pinstudy("plan", "quick")

    def test_programs(self):
        """programs find their own results right"""
        sizes = {"lu": ["100"], "lulesh": ["-s", "5"], "mandelbrot": ["1000"]}
        for app, size in sizes.items():
            for path in sorted(pathlib.Path(self.prefix.bin).glob(f"{app}-*")):
                with test_part(self, f"test_programs_{path.name}", purpose=f"run {path.name}"):
                    program = Executable(str(path))
                    output = program(*size, output=str.split, error=str.split)
                    check_outputs("Check: passed", output)

    def test_command_line(self):
        """command line plans a study"""
        if self.spec.satisfies("~python"):
            raise SkipTest("installed without the command line")
        pinstudy = Executable(self.prefix.bin.pinstudy)
        output = pinstudy("--version", output=str.split, error=str.split)
        check_outputs("pinstudy, version", output)
        output = pinstudy("plan", "quick", output=str.split, error=str.split)
        check_outputs("lulesh", output)
