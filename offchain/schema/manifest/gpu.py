"""Reading how much of its GPU a pod is given: all of it, or a share beside other pods of the same account."""

from __future__ import annotations

import re

from offchain.schema.manifest import keys
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.types import WHOLE_GPU

_SHARE = re.compile(r"([0-9]{1,2}) ?%", re.ASCII)
_REMEDY = "Write a share in whole percents from 1% to 99%, gpu: {share: 25%}; for a whole GPU remove gpu"


def read_gpu(field: Field | None, gpu_count: int, reader: Reader) -> int:
    """Thousandths that the pod is given of each of its `gpu_count` GPUs."""
    if field is None:
        return WHOLE_GPU
    entries = reader.mapping(field, keys.GPU, {})
    if "share" not in entries:
        if field.kind == "map":
            reader.problem(field, "share is missing", _REMEDY)
        return WHOLE_GPU
    share = entries["share"]
    milli = reader.parsed(share, _milli, _REMEDY)
    if not gpu_count:
        remedy = "Remove it, or ask for one GPU under deploy.resources.reservations.devices"
        reader.problem(share, "a share without a GPU", remedy)
    elif gpu_count > 1:
        remedy = "Ask for one GPU in all services together, or remove gpu and take whole ones"
        reader.problem(share, f"a share is of one GPU, and the pod asks for {gpu_count}", remedy)
    return milli or WHOLE_GPU


def _milli(text: str) -> int:
    match = _SHARE.fullmatch(text)
    if match is None or not int(match[1]):
        raise ValueError(f'"{text}" is not a share of a GPU')
    return int(match[1]) * 10
