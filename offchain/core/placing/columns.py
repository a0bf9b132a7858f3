"""Columns that grow with what they are about."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def as_long(column: npt.NDArray[Any], count: int, of: int = 0) -> npt.NDArray[Any]:
    """A copy of so many rows; those that there were not are `of`."""
    known = min(count, len(column))
    made = np.empty((count, *column.shape[1:]), dtype=column.dtype)
    made[:known], made[known:] = column[:known], of
    return made
