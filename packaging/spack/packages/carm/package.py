# SPDX-License-Identifier: GPL-3.0-or-later
"""carm for Spack: spack repo add packaging/spack; spack install carm

Not yet built by Spack itself: tests/packaging_test.sh executes this file with a stand-in for Spack and gives make the
same arguments. The dependencies are packages of Spack's builtin repository, but for zydis, whose recipe is beside this one.
The sources are those of the Git repository in which this file lies, unless CARM_REPOSITORY names another one.
"""

import os

try:  # Spack 1.0 and newer
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass
from spack.package import *


class Carm(MakefilePackage):
    """Measures the cache-aware roofline of an x86-64 Linux machine, places programs under it, and says what limits
    them."""

    git = os.environ.get("CARM_REPOSITORY") or "file://" + os.path.abspath(
        os.path.join(os.path.dirname(__file__), *[os.pardir] * 4)
    )

    license("GPL-3.0-or-later AND MIT")

    version("main", branch="main")

    variant("mpi", default=False, description="Build the ranks of mpirun carm fleet build")
    variant("papi", default=True, description="Count with PAPI")
    variant("likwid", default=False, description="Count with likwid")
    variant(
        "d3",
        default="none",
        values=str,
        description="Path of d3.min.js, version 3, for the pages of carm report; Spack has no package of it",
    )

    requires("platform=linux")
    requires("target=x86_64:")

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("nasm@2.16:", type=("build", "run"))  # carm asm, and test codes that are not built in
    depends_on("hwloc@2:")
    depends_on("gsl@2.7:")
    depends_on("zydis@4:")
    depends_on("jansson")
    depends_on("libyaml")
    depends_on("elfutils")  # libdw
    depends_on("zstd")
    depends_on("papi", when="+papi")
    depends_on("likwid", when="+likwid", type="run")
    depends_on("mpi", when="+mpi")
    depends_on("gnuplot", type="run")  # carm plot
    depends_on("python@3.9:", type="run")  # carm.py

    @property
    def python_site(self):
        return join_path(self.prefix, "share", "carm", "python")

    @property
    def build_targets(self):
        args = [f"MPICC={self.spec['mpi'].mpicc}" if self.spec.satisfies("+mpi") else "MPICC=false"]
        d3 = self.spec.variants["d3"].value
        return args + ([] if d3 == "none" else [f"D3={d3}"])

    @property
    def install_targets(self):
        return ["install", f"PREFIX={self.prefix}", f"PYTHON_SITE={self.python_site}", *self.build_targets]

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.python_site)
