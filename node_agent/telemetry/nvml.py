"""NVIDIA's GPUs through NVML (nvidia-ml-py): whole GPUs and MIG slices, and their health."""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from types import ModuleType
from typing import Any, TypeVar

from node_agent.core.devices import DeviceGone, DeviceHealthy, DeviceXid, Observation
from node_agent.telemetry.hardware import MAX_MODEL_BYTES, HostDevice
from node_agent.telemetry.ports import FoundDevice
from offchain.errors import OurError

T = TypeVar("T")

VENDOR = "Nvidia"
SONAME = "libnvidia-ml.so.1"
NVIDIA_PREFIXES = ("GPU-", "MIG-")
"""Prefixes of the UUIDs of NVIDIA's GPUs and MIG slices."""
MIB = 1 << 20
_WHOLE_GPU = 0xFFFF_FFFF
"""The GPU instance of an event that belongs to no slice."""


class Nvml:
    """The driver's library, open during the lifetime of this object."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._events: Any = None
        self._registered: dict[int, str] = {}
        self._open()

    @property
    def there(self) -> bool:
        return self._nvml is not None

    def driver_version(self) -> str:
        if self._nvml is None:
            return ""
        with contextlib.suppress(self._nvml.NVMLError):
            return _text(self._nvml.nvmlSystemGetDriverVersion())
        return ""

    def devices(self) -> tuple[FoundDevice, ...]:
        """Return the devices; a GPU with MIG enabled is replaced by its slices."""
        if self._nvml is None:
            return ()
        try:
            return tuple(self._found())
        except self._nvml.NVMLError as error:
            raise OurError(f"The NVIDIA driver does not answer: {error}.", "Check it with nvidia-smi.") from None

    def observe(self, uuids: Sequence[str | None]) -> list[Observation]:
        wanted = _ours(uuids)
        if not wanted:
            return []
        if self._nvml is None:
            self._open()
        observations = [self._health(index, uuid) for index, uuid in wanted.items()]
        if any(isinstance(one, DeviceGone) for one in observations):
            # The library lists the GPUs present when it was opened: a returned GPU needs a new opening.
            self.close()
            self._open()
        return observations

    def wait(self, uuids: Sequence[str | None], timeout_s: float) -> list[Observation]:
        if self._nvml is None or not self._listening():
            time.sleep(timeout_s)  # called in a thread of its own; there are no events
            return []
        try:
            event = self._nvml.nvmlEventSetWait_v2(self._events, int(timeout_s * 1000))
        except self._nvml.NVMLError_Timeout:
            return []
        except self._nvml.NVMLError:
            self._forget_events()  # a GPU was lost: the next observation shows which
            return []
        gpu = self._registered.get(_address(event.device))
        return [
            DeviceXid(index, int(event.eventData))
            for index, uuid in _ours(uuids).items()
            if event.eventType == self._nvml.nvmlEventTypeXidCriticalError and self._concerns(uuid, gpu, event)
        ]

    def close(self) -> None:
        if self._nvml is not None:
            self._forget_events()
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()
            self._nvml = None

    def _open(self) -> None:
        nvml = bindings()
        if nvml is None:
            return
        try:
            nvml.nvmlInit()
        except nvml.NVMLError:
            return
        self._nvml = nvml

    def _found(self) -> Iterator[FoundDevice]:
        for gpu, handle in self._gpus():
            parent = _text(self._nvml.nvmlDeviceGetUUID(handle))
            if not self._is_cut(handle):
                yield FoundDevice(gpu, self._device(handle, None))
                continue
            for slice_handle in self._slices(handle):
                yield FoundDevice(gpu, self._device(slice_handle, parent))

    def _gpus(self) -> Iterator[tuple[int, Any]]:
        for index in range(self._nvml.nvmlDeviceGetCount()):
            # A lost GPU must not hide the others.
            with contextlib.suppress(self._nvml.NVMLError_GpuIsLost, self._nvml.NVMLError_NotFound):
                yield index, self._nvml.nvmlDeviceGetHandleByIndex(index)

    def _device(self, handle: Any, parent: str | None) -> HostDevice:
        model = _text(self._nvml.nvmlDeviceGetName(handle)).encode()[:MAX_MODEL_BYTES].decode(errors="ignore")
        vram_mib = self._nvml.nvmlDeviceGetMemoryInfo(handle).total // MIB
        uuid = _text(self._nvml.nvmlDeviceGetUUID(handle))
        return HostDevice(VENDOR, model, vram_mib, uuid, mig=parent is not None, parent=parent)

    def _is_cut(self, handle: Any) -> bool:
        with contextlib.suppress(self._nvml.NVMLError):
            return bool(self._nvml.nvmlDeviceGetMigMode(handle)[0] == self._nvml.NVML_DEVICE_MIG_ENABLE)
        return False

    def _slices(self, handle: Any) -> Iterator[Any]:
        for place in range(self._nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
            with contextlib.suppress(self._nvml.NVMLError_NotFound):
                yield self._nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)

    def _health(self, index: int, uuid: str) -> Observation:
        nvml = self._nvml
        if nvml is None:
            return DeviceGone(index, "the NVIDIA driver is gone")
        try:
            handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
            nvml.nvmlDeviceGetMemoryInfo(handle)
            return DeviceHealthy(index, self._uncorrected(handle))
        except (nvml.NVMLError_NotFound, nvml.NVMLError_InvalidArgument):
            return DeviceGone(index, "the driver does not find it any more")
        except nvml.NVMLError_GpuIsLost:
            return DeviceGone(index, "it has fallen off the bus")
        except nvml.NVMLError as error:
            return DeviceGone(index, f"the driver says: {error}")

    def _uncorrected(self, handle: Any) -> int | None:
        nvml = self._nvml
        try:
            # Errors are counted for whole GPUs: a slice has its GPU's.
            with contextlib.suppress(nvml.NVMLError_NotSupported, nvml.NVMLError_InvalidArgument):
                handle = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
            kind, counter = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
            return int(nvml.nvmlDeviceGetTotalEccErrors(handle, kind, counter))
        except (nvml.NVMLError_NotSupported, nvml.NVMLError_NoPermission):
            return None

    def _listening(self) -> bool:
        nvml = self._nvml
        if self._events is not None:
            return True
        try:
            events = nvml.nvmlEventSetCreate()
            for _, handle in self._gpus():
                with contextlib.suppress(nvml.NVMLError_NotSupported):
                    nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, events)
                    self._registered[_address(handle)] = _text(nvml.nvmlDeviceGetUUID(handle))
        except nvml.NVMLError:
            return False
        self._events = events
        return bool(self._registered)

    def _forget_events(self) -> None:
        if self._events is not None:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlEventSetFree(self._events)
        self._events = None
        self._registered.clear()

    def _concerns(self, uuid: str, gpu: str | None, event: Any) -> bool:
        """Return whether an event is about this device, a GPU or a slice. Without a known GPU it is about all."""
        nvml = self._nvml
        if gpu is None or uuid == gpu:
            return True
        try:
            handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
            parent = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
            if _text(nvml.nvmlDeviceGetUUID(parent)) != gpu:
                return False
            return event.gpuInstanceId in (_WHOLE_GPU, nvml.nvmlDeviceGetGpuInstanceId(handle))
        except nvml.NVMLError:
            return False  # another whole GPU, or a lost one, which the next observation shows


class NvmlSession:
    """The driver's library, opened with the first reading and again when a GPU returns. Use it in one thread at a time.

    Its readings are those of one function, for devices that the driver knows.
    """

    def __init__(self) -> None:
        self._nvml: Any = None

    def read(self, uuids: Collection[str], read: Callable[[Any, Any], T | None]) -> dict[str, T]:
        """Return what `read` returns for each device, given the library and the device's handle.

        Devices without a reading, and those that the driver does not know, are left out.
        """
        if self._nvml is None and (library := bindings()) is not None:
            with contextlib.suppress(library.NVMLError):
                library.nvmlInit()
                self._nvml = library
        if self._nvml is None:
            return {}
        found: dict[str, T] = {}
        for uuid in uuids:
            with contextlib.suppress(self._nvml.NVMLError):
                reading = read(self._nvml, self._nvml.nvmlDeviceGetHandleByUUID(uuid))
                if reading is not None:
                    found[uuid] = reading
        if len(found) < len(uuids):
            # The library lists the GPUs present when it was opened: a returned GPU needs a new opening.
            self.close()
        return found

    def close(self) -> None:
        if self._nvml is not None:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()
            self._nvml = None


def driver_version() -> str:
    nvml = Nvml()
    try:
        return nvml.driver_version()
    finally:
        nvml.close()


def bindings() -> ModuleType | None:
    """Return the Python bindings of NVIDIA's library, not yet opened; None if the library is missing."""
    try:
        ctypes.CDLL(SONAME)
        import pynvml  # noqa: PLC0415  (2 MiB that are not needed on machines without a GPU)
    except (OSError, ImportError):
        return None
    return pynvml  # type: ignore[no-any-return, unused-ignore]


def _ours(uuids: Sequence[str | None]) -> dict[int, str]:
    return {index: uuid for index, uuid in enumerate(uuids) if uuid is not None and uuid.startswith(NVIDIA_PREFIXES)}


def _address(handle: Any) -> int:
    return int(ctypes.cast(handle, ctypes.c_void_p).value or 0)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
