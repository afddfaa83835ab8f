# SPDX-License-Identifier: BSD-3-Clause
"""The package of Spack; `spack repo add`, or a copy in var/spack/repos/builtin/packages/py_perfcore."""

from spack.package import *


class PyPerfcore(PythonPackage):
    """Performance models from measurements of parallel programs, with their uncertainty."""

    pypi = "perfcore/perfcore-0.2.0.tar.gz"

    license("BSD-3-Clause")

    version("0.2.0")

    variant("view", default=True, description="Pages to look at models")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling@1.24:", type="build")

    with default_args(type=("build", "run")):
        depends_on("duckdb+python@1.4:")
        depends_on("py-matplotlib@3.10.7:")
        depends_on("py-msgspec@0.21:")
        depends_on("py-numba@0.61:")
        depends_on("py-numpy@1.26:")
        depends_on("py-pandas@2.2.1:")
        depends_on("py-pluggy@1.7:")
        depends_on("py-scipy@1.15:")
        depends_on("py-statsmodels@0.15:")
        depends_on("py-threadpoolctl@3.1:")
        depends_on("py-tqdm@4.66:")
        depends_on("py-typer@0.29:0.30")
        depends_on("py-bokeh@3.6:", when="+view")
        depends_on("py-jinja2@3.1:", when="+view")
        depends_on("py-starlette@0.40:", when="+view")
        depends_on("py-uvicorn@0.30:", when="+view")
