# SPDX-License-Identifier: GPL-3.0-or-later
"""The disassembler that carm links. Spack's builtin repository has no zydis."""

try:  # Spack 1.0 and newer
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass
from spack.package import *


class Zydis(CMakePackage):
    """Fast and lightweight x86/x86-64 disassembler library."""

    homepage = "https://zydis.re"
    git = "https://github.com/zyantific/zydis.git"

    license("MIT")

    # its submodule is zycore
    version("4.1.1", tag="v4.1.1", submodules=True)
    version("4.0.0", tag="v4.0.0", submodules=True)

    depends_on("c", type="build")
    depends_on("cxx", type="build")

    def cmake_args(self):
        # carm maps the shared library into the programs that it counts
        return [
            self.define("ZYDIS_BUILD_SHARED_LIB", True),
            self.define("ZYDIS_BUILD_EXAMPLES", False),
            self.define("ZYDIS_BUILD_TOOLS", False),
            self.define("BUILD_SHARED_LIBS", True),
        ]
