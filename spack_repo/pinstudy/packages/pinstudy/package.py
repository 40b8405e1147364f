from spack_repo.pinstudy.packages.pinstudy_apps.package import PinstudyApps

from spack.package import *


class Pinstudy(PinstudyApps):
    """To pin or not to pin: measures which thread mapping pays on a node with P-cores and E-cores.

    Installs the programs under study, and the command line that studies them.
    """

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

    def cmake_args(self):
        return [
            *super().cmake_args(),
            self.define("PINSTUDY_PYTHON_TREE", True),
            self.define("PINSTUDY_WITNESS", True),
        ]

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
