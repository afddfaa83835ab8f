"""Types of arrays that annotations name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]  # positions in a list of names
