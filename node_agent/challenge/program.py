"""The program of a challenge: reads orders from standard input, one JSON object a line, and answers each with one line.

`prepare`, then `compute`, then `open`. Matrices and pages are given back after `compute`, so the device can be leased;
what `open` needs, 8 bytes for each row and chain, stays in the host's memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter
from typing import Any, BinaryIO, Final

from node_agent.challenge.devices import ChallengeDevice, SimulatedDevice, Values
from node_agent.challenge.host_probes import host_probes
from offchain.schema.challenge.fingerprint_tree import FingerprintTree
from offchain.schema.challenge.order import (
    MAX_LINE,
    VERSION,
    ChallengeCommitment,
    ChallengeOpening,
    ChallengeWork,
    ComputeOrder,
    MeasuredClass,
    OpenedValue,
    OpenOrder,
    PrepareOrder,
)
from offchain.schema.protocol.fields import WireError, decode, json_object

SIMULATED: Final = "numpy"
CUPY: Final = "cupy"


class ChallengeProgramError(Exception):
    """An order that cannot be executed. The message names the reason."""


def open_device(backend: str, number: int) -> ChallengeDevice:
    """Return the device. Raise :class:`ChallengeProgramError` for an unknown backend or without cupy."""
    if backend == SIMULATED:
        return SimulatedDevice()
    if backend != CUPY:
        raise ChallengeProgramError(f"backend must be {SIMULATED!r} or {CUPY!r}, not {backend!r}")
    from node_agent.challenge.cupy_device import open_cupy_device  # noqa: PLC0415 - used with a GPU only

    try:
        return open_cupy_device(number)
    except ImportError as error:
        raise ChallengeProgramError(f"cupy is not installed here: {error}") from None


class ChallengeProgram:
    """State between the orders. `clock`: seconds, monotonic."""

    def __init__(
        self,
        open_device: Callable[[str, int], ChallengeDevice] = open_device,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._open_device = open_device
        self._clock = clock
        self._prepared: tuple[PrepareOrder, ChallengeDevice] | None = None
        self._trees: tuple[FingerprintTree, FingerprintTree] | None = None

    def answer(self, line: bytes) -> dict[str, Any]:
        """Return the answer to one order. Raise WireError or :class:`ChallengeProgramError`."""
        if len(line) > MAX_LINE:
            raise WireError(f"the line is longer than {MAX_LINE} bytes")
        fields = json_object(line)
        kind = fields.pop("type", None)
        if kind == "prepare":
            return self._prepare(decode(PrepareOrder, fields))
        if kind == "compute":
            return self._compute(decode(ComputeOrder, fields))
        if kind == "open":
            return self._open(decode(OpenOrder, fields))
        raise WireError("type must be prepare, compute or open")

    def _prepare(self, order: PrepareOrder) -> dict[str, Any]:
        device = self._open_device(order.backend, order.device)
        device.prepare(order.work)
        probes = {**host_probes(order.folder), **device.probes()}
        self._prepared, self._trees = (order, device), None
        return {
            "type": "ready",
            "device": device.name,
            "is_simulated": device.is_simulated,
            "probes": {name: round(value, 3) for name, value in probes.items()},
        }

    def _compute(self, order: ComputeOrder) -> dict[str, Any]:
        if self._prepared is None:
            raise ChallengeProgramError("the order compute came before prepare")
        (prepared, device), self._trees = self._prepared, None
        work, began = prepared.work, self._clock()

        def check_time() -> None:
            if self._clock() - began > prepared.time_limit_s:
                raise ChallengeProgramError(f"the proof took longer than {prepared.time_limit_s} s")

        check_time()
        rows = device.row_fingerprints(order.seed, work, check_time)
        products_done = self._clock()
        chains, reading_s = device.chain_ends(order.seed, work, check_time)
        chains_done = self._clock()
        trees = (_tree(rows), _tree(chains))
        seconds = {
            "products": products_done - began,
            "filling": chains_done - products_done - reading_s,
            "reading": reading_s,
            "hashing": self._clock() - chains_done,
        }
        commitment = ChallengeCommitment(
            version=VERSION,
            seed=order.seed,
            work=bytes.fromhex(work.digest()),
            rows_root=trees[0].root,
            chains_root=trees[1].root,
            measured=_measured(work, seconds, is_simulated=device.is_simulated),
        )
        self._trees = trees
        return {
            "type": "committed",
            "commitment": json.loads(commitment.to_bytes()),
            "digest": commitment.digest().hex(),
            "seconds": {name: round(value, 3) for name, value in seconds.items()},
        }

    def _open(self, order: OpenOrder) -> dict[str, Any]:
        if self._trees is None or self._prepared is None:
            raise ChallengeProgramError("the order open came before compute")
        work = self._prepared[0].work
        for name, numbers, total in (("rows", order.rows, work.rows), ("chains", order.chains, work.chains)):
            if max(numbers) >= total:
                raise ChallengeProgramError(f"{name} has the number {max(numbers)}, and there are {total}")
        of_rows, of_chains = self._trees
        opening = ChallengeOpening(
            tuple(OpenedValue(one, of_rows.leaf_of(one), of_rows.path_of(one)) for one in order.rows),
            tuple(OpenedValue(one, of_chains.leaf_of(one), of_chains.path_of(one)) for one in order.chains),
        )
        return {"type": "opened", "opening": json.loads(opening.to_bytes())}


def _tree(values: Values) -> FingerprintTree:
    return FingerprintTree(values.astype("<u8", copy=False).data)


def _measured(work: ChallengeWork, seconds: dict[str, float], *, is_simulated: bool) -> MeasuredClass:
    shortest = 1e-6
    return MeasuredClass(
        gemm_gflops=int(work.operations / max(seconds["products"], shortest) / 1e9),
        read_mbs=int(work.read_bytes / max(seconds["reading"], shortest) / 1e6),
        memory_mib=work.memory_bytes >> 20,
        is_simulated=is_simulated,
    )


def serve(source: BinaryIO, sink: BinaryIO, program: ChallengeProgram) -> None:
    """Answer each line until the input ends. An order that fails is answered with an error and changes nothing."""
    while line := source.readline(MAX_LINE + 1):
        try:
            answer = program.answer(line)
        except (WireError, ChallengeProgramError) as error:
            answer = {"type": "error", "message": str(error)}
        except Exception as error:  # noqa: BLE001 - whatever a driver raises is reported, and the agent ends the program
            answer = {"type": "error", "message": f"{type(error).__name__}: {error}"[:1000]}
        sink.write(json.dumps(answer).encode() + b"\n")
        sink.flush()
