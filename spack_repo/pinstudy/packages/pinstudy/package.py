import pathlib

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Pinstudy(PythonPackage):
    """To pin or not to pin: measures which thread mapping pays on a node with P-cores and E-cores.

    Installs the command line, and the programs under study as one compiler builds them;
    pinstudy-apps has those of a further one.
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
    depends_on("py-scikit-build-core@0.10:", type="build")
    # The bounds are those of pyproject.toml.
    with default_args(type=("build", "run")):
        depends_on("python@3.10:")
        depends_on("py-click@8.1:")
        depends_on("py-jinja2@3.1:")
        depends_on("py-matplotlib@3.8:")
        depends_on("py-msgspec@0.18:")
        depends_on("py-numpy@1.26:")
        depends_on("py-pandas@2.1:")
        depends_on("py-pyelftools@0.29:")
        depends_on("py-pyyaml@6.0:")
        depends_on("py-rich@13:")
        depends_on("py-scipy@1.11:")
        depends_on("py-tabulate@0.9:")

    requires("%cxx=gcc", "%cxx=llvm", policy="one_of", msg="built with GCC or Clang")

    def config_settings(self, spec, prefix):
        return {
            # Spack's compiler wrapper gives the target's -march.
            "cmake.define.PINSTUDY_MARCH": "",
            "cmake.define.PINSTUDY_OTHER_COMPILER": "OFF",
        }

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        pinstudy = Executable(self.prefix.bin.pinstudy)
        pinstudy("--version")
        pinstudy("plan", "quick")

    def test_command_line(self):
        """command line plans a study"""
        pinstudy = Executable(self.prefix.bin.pinstudy)
        output = pinstudy("--version", output=str.split, error=str.split)
        check_outputs("pinstudy, version", output)
        output = pinstudy("plan", "quick", output=str.split, error=str.split)
        check_outputs("lulesh", output)
