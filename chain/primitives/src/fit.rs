//! The feasibility rule: whether a pod fits on a host, and the allocation of its resources.
//!
//! The chain has no other feasibility rule. Schedulers implement the same rule; tests/vectors/fit.json contains the
//! cases that both run.

use alloc::vec::Vec;

use crate::{
    AccountId, Capabilities, Capacity, Device, GpuRequest, HostId, HostRecord, Placement, Resources, MILLI_PER_DEVICE,
};

/// The first reason, in this order, for which a pod does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The task names other hosts.
    HostNotWanted,
    /// The task wants other regions.
    RegionNotWanted,
    /// The task does not allow the host's provider, or denies it.
    ProviderNotWanted,
    /// The task wants another class of machine.
    TierNotWanted,
    /// The host can send or receive less than the task wants.
    NotEnoughNetwork,
    /// The host's round trip is longer than the task wants, or not measured.
    LatencyTooHigh,
    /// The host cannot run something that the task wants.
    CapabilityMissing,
    /// The task requires a sandbox, and the pods of the host use the kernel of the machine.
    NotSandboxed,
    /// The host promises less than the task demands.
    TermsTooWeak,
    /// Less processor is free than the pod needs.
    NotEnoughCpu,
    /// Less memory is free than the pod needs.
    NotEnoughMemory,
    /// Less disk is free than the pod needs.
    NotEnoughDisk,
    /// The number of named devices differs from that of the request.
    WrongDeviceCount,
    /// A named device does not exist.
    NoSuchDevice,
    /// A device is named twice.
    DeviceRepeated,
    /// A named device is simulated, and the task allows real ones only.
    SimulatedNotAllowed,
    /// A named device is not attested, and the task allows attested ones only.
    NotAttested,
    /// A named device is of another model.
    WrongModel,
    /// A named device has less memory than the pod needs.
    NotEnoughVram,
    /// A named device is out of order.
    DeviceUnhealthy,
    /// Less of a named device is free than the pod needs.
    DeviceBusy,
    /// The pod needs a share of a device of which others hold shares.
    DeviceShared,
}

/// Checks whether a task with this `placement` may run on a host, independent of its free resources.
pub fn placement_fits(host: &HostId, record: &HostRecord, placement: &Placement) -> Result<(), Misfit> {
    if !placement.hosts.is_empty() && !placement.hosts.contains(host) {
        return Err(Misfit::HostNotWanted);
    }
    if !placement.regions.is_empty() && !placement.regions.contains(&record.region) {
        return Err(Misfit::RegionNotWanted);
    }
    let allowed = placement.providers_allowed.is_empty() || placement.providers_allowed.contains(&record.provider);
    if !allowed || placement.providers_denied.contains(&record.provider) {
        return Err(Misfit::ProviderNotWanted);
    }
    if !placement.tiers.is_empty() && !placement.tiers.contains(&record.tier) {
        return Err(Misfit::TierNotWanted);
    }
    if record.network_mbps_down.min(record.network_mbps_up) < placement.min_network_mbps {
        return Err(Misfit::NotEnoughNetwork);
    }
    if placement.max_latency_ms > 0 && !(1..=placement.max_latency_ms).contains(&record.latency_ms) {
        return Err(Misfit::LatencyTooHigh);
    }
    if !has_all(&record.capabilities, &placement.capabilities) {
        return Err(Misfit::CapabilityMissing);
    }
    if placement.capabilities.sandboxed && !record.capabilities.sandboxed {
        return Err(Misfit::NotSandboxed);
    }
    if !record.ask.terms.satisfy(&placement.min_terms) {
        return Err(Misfit::TermsTooWeak);
    }
    Ok(())
}

/// Whether the capabilities `has` include all that are true in `wanted`, except the sandbox.
fn has_all(has: &Capabilities, wanted: &Capabilities) -> bool {
    (has.docker || !wanted.docker)
        && (has.kvm || !wanted.kvm)
        && (has.kubernetes || !wanted.kubernetes)
        && (has.cdi || !wanted.cdi)
        && (has.mig || !wanted.mig)
        && (has.shares || !wanted.shares)
}

/// Checks whether one device can serve a request of `tenant`; not whether it was named already.
pub fn device_fits(
    device: &Device,
    request: &GpuRequest,
    placement: &Placement,
    tenant: &AccountId,
) -> Result<(), Misfit> {
    if device.spec.simulated && !placement.allow_simulated {
        return Err(Misfit::SimulatedNotAllowed);
    }
    if !device.attested && placement.verified_only {
        return Err(Misfit::NotAttested);
    }
    if !request.models.is_empty() && !request.models.contains(&device.spec.model) {
        return Err(Misfit::WrongModel);
    }
    if device.spec.vram_mib < request.min_vram_mib {
        return Err(Misfit::NotEnoughVram);
    }
    if !device.healthy {
        return Err(Misfit::DeviceUnhealthy);
    }
    if device.milli_free < request.milli {
        return Err(Misfit::DeviceBusy);
    }
    let is_theirs = device.milli_free == MILLI_PER_DEVICE || device.shared_by.as_ref() == Some(tenant);
    if request.milli < MILLI_PER_DEVICE && !is_theirs {
        return Err(Misfit::DeviceShared);
    }
    Ok(())
}

/// Checks whether a pod of `tenant` that needs `resources` fits on the `free` resources, on exactly the devices with
/// the indices `chosen`.
pub fn fits(
    free: &Capacity,
    devices: &[Device],
    resources: &Resources,
    chosen: &[u8],
    placement: &Placement,
    tenant: &AccountId,
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
    for (position, index) in chosen.iter().enumerate() {
        let device = devices.get(usize::from(*index)).ok_or(Misfit::NoSuchDevice)?;
        if chosen[..position].contains(index) {
            return Err(Misfit::DeviceRepeated);
        }
        device_fits(device, &resources.gpus, placement, tenant)?;
    }
    Ok(())
}

/// Returns the indices of the first devices that can serve a request of `tenant`. None if there are too few.
pub fn first_devices(
    devices: &[Device],
    request: &GpuRequest,
    placement: &Placement,
    tenant: &AccountId,
) -> Option<Vec<u8>> {
    let chosen: Vec<u8> = (0u8..=u8::MAX)
        .zip(devices)
        .filter(|(_, device)| device_fits(device, request, placement, tenant).is_ok())
        .map(|(index, _)| index)
        .take(usize::from(request.count))
        .collect();
    (chosen.len() == usize::from(request.count)).then_some(chosen)
}

/// Allocates the resources of a pod of `tenant`. Changes nothing unless [`fits`] holds.
pub fn allocate(
    free: &mut Capacity,
    devices: &mut [Device],
    resources: &Resources,
    chosen: &[u8],
    placement: &Placement,
    tenant: &AccountId,
) -> Result<(), Misfit> {
    fits(free, devices, resources, chosen, placement, tenant)?;
    free.cpu_milli -= resources.cpu_milli;
    free.memory_mib -= resources.memory_mib;
    free.disk_gib -= resources.disk_gib;
    for index in chosen {
        let device = &mut devices[usize::from(*index)];
        device.milli_free -= resources.gpus.milli;
        if resources.gpus.milli < MILLI_PER_DEVICE {
            device.shared_by = Some(tenant.clone());
        }
    }
    Ok(())
}

/// Releases the resources that [`allocate`] allocated. Returns None, and changes nothing, if more would be free than
/// there is.
pub fn release(
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
        milli_free.checked_add(resources.gpus.milli).filter(|sum| *sum <= MILLI_PER_DEVICE)?;
    }
    *free = next;
    for index in chosen {
        let device = &mut devices[usize::from(*index)];
        device.milli_free += resources.gpus.milli;
        if device.milli_free == MILLI_PER_DEVICE {
            device.shared_by = None;
        }
    }
    Some(())
}
