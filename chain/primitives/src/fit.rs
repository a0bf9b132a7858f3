//! Whether a pod fits on a host, and what it takes from and gives back to it.
//!
//! The one fit rule of the chain. Schedulers carry the same rule; tests/vectors/fit.json holds both to it.

use alloc::vec::Vec;

use crate::{Capacity, Device, GpuRequest, Resources};

/// The first thing, in the order of this list, for which a pod does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// Less processor is free than the pod needs.
    NotEnoughCpu,
    /// Less memory is free than the pod needs.
    NotEnoughMemory,
    /// Less disk is free than the pod needs.
    NotEnoughDisk,
    /// Not as many devices are named as the pod needs.
    WrongDeviceCount,
    /// A named device does not exist.
    NoSuchDevice,
    /// A device is named twice.
    DeviceRepeated,
    /// A named device is simulated, and the task allows real ones only.
    SimulatedNotAllowed,
    /// A named device is of another model.
    WrongModel,
    /// A named device has less memory than the pod needs.
    NotEnoughVram,
    /// Less of a named device is free than the pod needs.
    DeviceBusy,
}

/// Whether one device can serve a request; does not look at whether it was named already.
pub fn device_fits(device: &Device, request: &GpuRequest, allow_simulated: bool) -> Result<(), Misfit> {
    if device.spec.simulated && !allow_simulated {
        return Err(Misfit::SimulatedNotAllowed);
    }
    if !request.models.is_empty() && !request.models.contains(&device.spec.model) {
        return Err(Misfit::WrongModel);
    }
    if device.spec.vram_mib < request.min_vram_mib {
        return Err(Misfit::NotEnoughVram);
    }
    if device.milli_free < request.milli {
        return Err(Misfit::DeviceBusy);
    }
    Ok(())
}

/// Whether a pod that needs `resources` fits on what is `free`, on exactly the devices named by `chosen`.
pub fn fits(
    free: &Capacity,
    devices: &[Device],
    resources: &Resources,
    chosen: &[u8],
    allow_simulated: bool,
) -> Result<(), Misfit> {
    if free.cpu_milli < resources.cpu_milli {
        return Err(Misfit::NotEnoughCpu);
    }
    if free.memory_mib < resources.memory_mib {
        return Err(Misfit::NotEnoughMemory);
    }
    if free.disk_gib < resources.disk_gib {
        return Err(Misfit::NotEnoughDisk);
    }
    if chosen.len() != usize::from(resources.gpus.count) {
        return Err(Misfit::WrongDeviceCount);
    }
    for (place, index) in chosen.iter().enumerate() {
        let device = devices.get(usize::from(*index)).ok_or(Misfit::NoSuchDevice)?;
        if chosen[..place].contains(index) {
            return Err(Misfit::DeviceRepeated);
        }
        device_fits(device, &resources.gpus, allow_simulated)?;
    }
    Ok(())
}

/// The first devices, in their order, that can serve a request. None where there are too few.
pub fn first_devices(devices: &[Device], request: &GpuRequest, allow_simulated: bool) -> Option<Vec<u8>> {
    let chosen: Vec<u8> = (0u8..=u8::MAX)
        .zip(devices)
        .filter(|(_, device)| device_fits(device, request, allow_simulated).is_ok())
        .map(|(index, _)| index)
        .take(usize::from(request.count))
        .collect();
    (chosen.len() == usize::from(request.count)).then_some(chosen)
}

/// Takes a pod's resources from what is free. Changes nothing unless [`fits`] holds.
pub fn take(
    free: &mut Capacity,
    devices: &mut [Device],
    resources: &Resources,
    chosen: &[u8],
    allow_simulated: bool,
) -> Result<(), Misfit> {
    fits(free, devices, resources, chosen, allow_simulated)?;
    free.cpu_milli -= resources.cpu_milli;
    free.memory_mib -= resources.memory_mib;
    free.disk_gib -= resources.disk_gib;
    for index in chosen {
        devices[usize::from(*index)].milli_free -= resources.gpus.milli;
    }
    Ok(())
}

/// Gives back what [`take`] took. None, and nothing changed, where more would be free than there is.
pub fn give_back(
    free: &mut Capacity,
    total: &Capacity,
    devices: &mut [Device],
    resources: &Resources,
    chosen: &[u8],
) -> Option<()> {
    let within = |now: u32, more: u32, all: u32| now.checked_add(more).filter(|sum| *sum <= all);
    let next = Capacity {
        cpu_milli: within(free.cpu_milli, resources.cpu_milli, total.cpu_milli)?,
        memory_mib: within(free.memory_mib, resources.memory_mib, total.memory_mib)?,
        disk_gib: within(free.disk_gib, resources.disk_gib, total.disk_gib)?,
    };
    for index in chosen {
        let milli_free = devices.get(usize::from(*index))?.milli_free;
        milli_free.checked_add(resources.gpus.milli).filter(|sum| *sum <= crate::MILLI_PER_DEVICE)?;
    }
    *free = next;
    for index in chosen {
        devices[usize::from(*index)].milli_free += resources.gpus.milli;
    }
    Some(())
}
