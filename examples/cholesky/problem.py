"""The system of equations, and the memory that all workers share."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Arena", "Floats", "Problem"]

Floats = npt.NDArray[np.float64]

# Added to the diagonal of a Gaussian kernel matrix, whose entries are at most 1: the condition
# number is then at most the size of the matrix plus 1.
NUGGET = 1.0


@dataclass(frozen=True)
class Problem:
    """What is solved and by how many.

    Parameters
    ----------
    size : int
        Rows of the matrix.
    block : int
        Columns of one block; the last block may be narrower.
    right_hand_sides : int
        Columns of B.
    workers : int
        Processes.
    seed : int
        Of the random points and of B.
    """

    size: int
    block: int
    right_hand_sides: int
    workers: int
    seed: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks of columns."""
        return -(-self.size // self.block)

    @property
    def capacity(self) -> int:
        """State changes that one worker makes at most.

        Two for each block of the factorization and of both solves, two for each of the three
        barriers, the first and the last.
        """
        return 2 * 3 * self.n_blocks + 2 * 3 + 2

    def columns(self, block: int) -> slice:
        """Columns (and rows) of one block."""
        return slice(block * self.block, min((block + 1) * self.block, self.size))

    def right_hand_side(self) -> Floats:
        """B, shape (size, right_hand_sides)."""
        shape = (self.size, self.right_hand_sides)
        return np.random.default_rng(self.seed + 1).standard_normal(shape)

    def matrix_columns(self, columns: slice) -> Floats:
        """Columns of A, the covariance of a noisy Gaussian process at random points of a cube.

        A Gaussian kernel matrix is positive semidefinite, with the nugget it is positive definite;
        any worker makes its own columns from the points alone.
        """
        axes = np.random.default_rng(self.seed).random((3, self.size))
        squared: Floats = sum((axis[:, None] - axis[None, columns]) ** 2 for axis in axes)
        covariance: Floats = np.exp(-squared)
        covariance[columns][np.diag_indices(columns.stop - columns.start)] += NUGGET
        return covariance


class Arena:
    """Arrays that all workers see, in one piece of shared memory.

    Parameters
    ----------
    problem : Problem
    name : str, optional
        Name of the shared memory to attach to; without it a new one is made.

    Attributes
    ----------
    matrix : (size, size) float
        A; its lower triangle becomes L.
    solution : (size, right_hand_sides) float
        B, then Y, then X.
    times_ns, states : (workers, capacity) int
        When each worker changed its state, and into which.
    changes : (workers,) int
        How many of them are valid.
    phase_ends_ns : (3,) int
        When the barriers opened that end the generation, the factorization and the forward solve.
    """

    def __init__(self, problem: Problem, name: str | None = None) -> None:
        p = problem
        shapes = (
            (p.size, p.size),
            (p.size, p.right_hand_sides),
            *[(p.workers, p.capacity)] * 2,
            (p.workers,),
            (3,),
        )
        sizes = [8 * int(np.prod(shape)) for shape in shapes]  # every element has eight bytes
        self.memory = SharedMemory(name, create=name is None, size=sum(sizes))
        offsets = np.concatenate([[0], np.cumsum(sizes)])

        def view(index: int, kind: type) -> npt.NDArray[Any]:
            return np.ndarray(shapes[index], kind, self.memory.buf, int(offsets[index]))

        # Transposed, so that blocks of columns are contiguous.
        self.matrix: Floats = view(0, np.float64).T
        self.solution: Floats = view(1, np.float64)
        self.times_ns: npt.NDArray[np.int64] = view(2, np.int64)
        self.states: npt.NDArray[np.int64] = view(3, np.int64)
        self.changes: npt.NDArray[np.int64] = view(4, np.int64)
        self.phase_ends_ns: npt.NDArray[np.int64] = view(5, np.int64)

    def close(self) -> None:
        """Give the views back, then the memory, which cannot be unmapped while they live."""
        del self.matrix, self.solution, self.times_ns, self.states, self.changes, self.phase_ends_ns
        self.memory.close()
