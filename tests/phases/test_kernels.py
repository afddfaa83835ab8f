"""Compiled kernels where nothing can be cached."""

import subprocess
import sys

PROGRAM = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []   # what numba finds where no folder can be written
import perfcore
from perfcore import progress

class Sink(progress.Sink):
    def note(self, text):
        print(text)

with progress.show_with(Sink()):
    model = perfcore.fit(perfcore.UtilizationCurve([0, 3, 10], [1, 5]), phases=2, degree=0)
print(model.breaks, model.epsilon)
"""


def test_fits_without_a_cache_folder_and_says_that_it_compiles():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["compiling the kernels, once for this machine (some seconds)", "(3.0,) 0.0"]
