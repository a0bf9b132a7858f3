//! The right of one pod to resources of one host.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{
    AccountId, Balance, Billing, DeviceIndices, Escrow, GpuRequest, HostFailure, HostId, Moment, PodResult, Resources,
    SlaTerms, TaskKind,
};

/// Why a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum EndReason {
    /// The pod reported its result.
    Completed,
    /// The tenant cancelled the task.
    Cancelled,
    /// The host refused, for the reason given.
    HostRefused(HostFailure),
    /// The pod was not started in time.
    StartTimeout,
    /// The host was lost.
    HostLost,
    /// The time of a job's pod was over, and its host reported no result.
    DurationExceeded,
    /// Another pod of the same task failed.
    GangAborted,
    /// The tenant ended the service or rental.
    TenantEnded,
    /// The time that was paid for is over.
    Expired,
    /// The provider wanted its resources back and the notice is over.
    Reclaimed,
    /// The tenant scaled the service down.
    ScaledDown,
    /// The deposit was used up, and someone closed the lease for the bounty.
    Depleted,
    /// The tenant won a dispute about what the pod did.
    DisputeLost,
    /// Its data was taken over by another lease.
    DataMoved,
    /// The lease of a spot task that was preempted by a task of higher priority.
    Preempted,
    /// The pod migrated to another host.
    Moved,
    /// Two committees found that the host did not serve the pod.
    NotServed,
    /// Two committees found that the pod refused connections, as its host says. Nobody can tell whose fault it is.
    PodRefused,
}

impl EndReason {
    /// Whether the host failed to run the pod. What it says about the cause does not matter once the pod has started.
    pub const fn is_hosts_failure(&self) -> bool {
        matches!(
            self,
            Self::HostRefused(_) | Self::StartTimeout | Self::HostLost | Self::DurationExceeded | Self::NotServed
        )
    }

    /// Whether committees found that the host did not serve the pod.
    pub const fn is_service_failure(&self) -> bool {
        matches!(self, Self::NotServed)
    }

    /// Whether the last milliseconds of a service are not billed: those that `held_back_ms` of billing keeps unpaid.
    pub const fn forfeits(&self, kind: TaskKind) -> bool {
        match kind {
            TaskKind::Service => self.is_hosts_failure() || matches!(self, Self::PodRefused),
            TaskKind::Rental => matches!(self, Self::NotServed | Self::PodRefused),
            TaskKind::Job => false,
        }
    }

    /// Whether a signed call of the tenant ended the lease.
    pub const fn is_tenants_act(&self) -> bool {
        matches!(self, Self::Cancelled | Self::TenantEnded | Self::ScaledDown)
    }

    /// Returns how the last segment of a lease that ends for this reason is billed.
    ///
    /// A pod of a job without a result has no value for its tenant: it costs something only if a signed call of the
    /// tenant ended it. A service or rental has been used until then, and is paid pro rata; if its host failed, see
    /// [`Lease::end`].
    pub const fn billing(&self, kind: TaskKind) -> Billing {
        match self {
            Self::Completed
            | Self::Cancelled
            | Self::TenantEnded
            | Self::Expired
            | Self::ScaledDown
            | Self::Depleted
            | Self::DataMoved
            | Self::Moved => Billing::ByUnit,
            Self::Reclaimed | Self::Preempted => Billing::ProRata,
            Self::HostRefused(_)
            | Self::StartTimeout
            | Self::HostLost
            | Self::DurationExceeded
            | Self::GangAborted
            | Self::NotServed
            | Self::PodRefused => match kind {
                TaskKind::Job => Billing::Forfeit,
                TaskKind::Service | TaskKind::Rental => Billing::ProRata,
            },
            Self::DisputeLost => Billing::Forfeit,
        }
    }
}

/// The state of a lease. Changes only along `transitions::LEASE_TRANSITIONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum LeaseState {
    /// Waits for the pod's start.
    Pending,
    /// The pod runs and is billed.
    Active,
    /// The machine of a rental is stopped; its disk is kept and billed at the storage rate.
    Suspended,
    /// The pod is gone; the host has its resources back.
    Ended(EndReason),
    /// Ended; its data is retained until then.
    Retained(Moment),
    /// Ended; its data is gone.
    Purged,
}

/// A [`LeaseState`] without payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum LeaseStateTag {
    /// See [`LeaseState::Pending`].
    Pending,
    /// See [`LeaseState::Active`].
    Active,
    /// See [`LeaseState::Suspended`].
    Suspended,
    /// See [`LeaseState::Ended`].
    Ended,
    /// See [`LeaseState::Retained`].
    Retained,
    /// See [`LeaseState::Purged`].
    Purged,
}

impl LeaseState {
    /// The state without its payload.
    pub const fn tag(&self) -> LeaseStateTag {
        match self {
            Self::Pending => LeaseStateTag::Pending,
            Self::Active => LeaseStateTag::Active,
            Self::Suspended => LeaseStateTag::Suspended,
            Self::Ended(_) => LeaseStateTag::Ended,
            Self::Retained(_) => LeaseStateTag::Retained,
            Self::Purged => LeaseStateTag::Purged,
        }
    }

    /// Whether the pod may still run: the lease has not ended.
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Pending | Self::Active | Self::Suspended)
    }

    /// Whether the lease has resources of its host allocated, and so is on the list of its host.
    pub const fn holds_something(&self) -> bool {
        self.is_live() || matches!(self, Self::Retained(_))
    }
}

/// A lease. It is stored inside the record of its task, which contains the tenant and the spec; its number consists of
/// the number of the task, `pod` and `generation`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Lease {
    /// Which pod of the task.
    pub pod: u8,
    /// Which generation of leases of the task; numbers of leases are never used again.
    pub generation: u16,
    /// The host that runs the pod.
    pub host: HostId,
    /// Which devices of the host.
    pub devices: DeviceIndices,
    /// Where it stands.
    pub state: LeaseState,
    /// When it was opened.
    pub created_at: Moment,
    /// When the pod started.
    pub started_at: Option<Moment>,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// The coins deposited for it.
    pub escrow: Escrow,
    /// While suspended: the rate to which it returns, in base units an hour.
    pub resume_rate: Option<Balance>,
    /// The time from which the provider reclaims its resources. The lease is billed until then and no longer.
    pub reclaim_at: Option<Moment>,
    /// When the agenda processes it next; an entry for any other time is outdated.
    pub due_at: Option<Moment>,
    /// What the pod ended with.
    pub result: Option<PodResult>,
    /// Whether the tenant has rated it.
    pub rated: bool,
    /// While it is live: the host to which its pod migrates if the present one fails.
    pub standby: Option<StandbyPlace>,
    /// The bonded scheduler that opened it. None if the tenant did. A lease on a standby has the scheduler of the lease
    /// before.
    pub assigned_by: Option<AccountId>,
    /// If that scheduler placed the pod on a host of its own and is accountable for the choice: the score of the host
    /// at that time, in parts per million.
    pub self_assigned_ppm: Option<u32>,
    /// What the host promised and how it kept it. None for jobs, for leases of a tenant on its own host, and where
    /// nothing can be credited.
    pub sla: Option<LeaseSla>,
    /// The service checks of the lease. None if there was none.
    pub checks: Option<ServiceChecks>,
}

/// The terms of a lease, and the measurement of its present period. The rules are in `gantry_primitives::sla`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct LeaseSla {
    /// What the host promised when the lease was opened.
    pub terms: SlaTerms,
    /// When the period began; 0 before the start of the pod.
    pub began_at: Moment,
    /// Since when the host is measured; none while it need not serve the pod.
    pub since: Option<Moment>,
    /// The downtime of the host in milliseconds at that time.
    pub down_mark: u64,
    /// How long the host was measured in this period before, in milliseconds.
    pub promised_ms: u64,
    /// How long of that it was absent, in milliseconds.
    pub down_ms: u64,
    /// By how much the pod started later than promised, in milliseconds. Only in the first period.
    pub late_ms: u64,
    /// The amount that the lease owed when the period began.
    pub owed_mark: Balance,
    /// All credits so far, including those that a bond was too small for.
    pub credited: Balance,
}

/// The service checks of a lease.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct ServiceChecks {
    /// The amount that the treasury has paid for them.
    pub spent: Balance,
    /// When a verifier last opened one.
    pub by_verifier_at: Option<Moment>,
    /// When the tenant last opened one.
    pub by_tenant_at: Option<Moment>,
    /// Whether the lease ended because its pod refused connections.
    pub pod_refused: bool,
}

/// A host that was named in advance for the pod of a lease. No resources are allocated, and it costs nothing, until the
/// pod migrates there.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct StandbyPlace {
    /// The host.
    pub host: HostId,
    /// Which devices of the host.
    pub devices: DeviceIndices,
    /// The rate of the pod there in base units per hour when the standby was named. At a higher rate the pod does not
    /// migrate there.
    #[codec(compact)]
    pub rate_per_hour: Balance,
}

impl Lease {
    /// A lease that waits for its pod's start.
    pub fn new(
        pod: u8,
        generation: u16,
        host: HostId,
        devices: DeviceIndices,
        created_at: Moment,
        escrow: Escrow,
    ) -> Self {
        Self {
            pod,
            generation,
            host,
            devices,
            state: LeaseState::Pending,
            created_at,
            started_at: None,
            ended_at: None,
            escrow,
            resume_rate: None,
            reclaim_at: None,
            due_at: None,
            result: None,
            rated: false,
            standby: None,
            assigned_by: None,
            self_assigned_ppm: None,
            sla: None,
            checks: None,
        }
    }

    /// Returns the resources that it has allocated, if its task requests `resources`: all while the pod is pending or
    /// runs, the disk alone while the machine is stopped or its data is retained, else none.
    pub fn holds(&self, resources: &Resources) -> Option<Resources> {
        match self.state {
            LeaseState::Pending | LeaseState::Active => Some(resources.clone()),
            LeaseState::Suspended | LeaseState::Retained(_) => Some(resources.disk_only()),
            LeaseState::Ended(_) | LeaseState::Purged => None,
        }
    }

    /// Returns the devices that it has allocated, as [`Self::holds`].
    pub fn devices_held(&self) -> &[u8] {
        match self.state {
            LeaseState::Pending | LeaseState::Active => &self.devices,
            _ => &[],
        }
    }

    /// Returns the time until which it is billed at `now`: never past the end of the provider's notice.
    pub fn billed_to(&self, now: Moment) -> Moment {
        self.reclaim_at.map_or(now, |at| now.min(at))
    }

    /// Returns the time of its end: when its deposit is used, or the provider's notice is over. None before the start
    /// and after the end. `host_downtime` is in milliseconds.
    pub fn ends_at(&self, host_downtime: u64) -> Option<Moment> {
        let used = self.escrow.ends_at(host_downtime)?;
        Some(self.reclaim_at.map_or(used, |at| used.min(at)))
    }

    /// Marks the pod as started: the lease is billed from now on, and never past `until`.
    pub fn start(&mut self, now: Moment, host_downtime: u64, until: Option<Moment>) {
        self.state = LeaseState::Active;
        self.started_at = Some(now);
        self.escrow.start(now, host_downtime, until);
    }

    /// Ends the lease with a result. A host may bill less time than has passed, never more.
    pub fn complete(&mut self, result: PodResult, now: Moment) {
        self.escrow.stop_measured(self.billed_to(now), result.usage.wall_ms);
        self.state = LeaseState::Ended(EndReason::Completed);
        self.ended_at = Some(now);
        self.due_at = None;
        self.standby = None;
        self.result = Some(result);
    }

    /// Ends the lease for any reason but a result; the amount owed no longer changes.
    ///
    /// `forfeited_ms`: if the host of a service failed, these last milliseconds are not billed. The pod migrates and
    /// the lease is closed at once, so that its tenant could not dispute them. For a rental nothing is forfeited, unless
    /// committees found that it was not served: it is paid after the dispute window.
    pub fn end(&mut self, reason: EndReason, kind: TaskKind, now: Moment, host_downtime: u64, forfeited_ms: u64) {
        self.end_billed(reason, reason.billing(kind), kind, now, host_downtime, forfeited_ms);
    }

    /// As [`Self::end`], if the reason alone does not determine how the last segment is billed.
    pub fn end_billed(
        &mut self,
        reason: EndReason,
        billing: Billing,
        kind: TaskKind,
        now: Moment,
        host_downtime: u64,
        forfeited_ms: u64,
    ) {
        if kind != TaskKind::Job {
            // The host's downtime has given the tenant that much more time.
            self.escrow.follow_deposit(host_downtime);
        }
        let forfeited_ms = if reason.forfeits(kind) { forfeited_ms } else { 0 };
        self.escrow.stop(billing, self.billed_to(now).saturating_sub(forfeited_ms), host_downtime);
        self.state = LeaseState::Ended(reason);
        self.ended_at = Some(now);
        self.due_at = None;
        self.resume_rate = None;
        self.standby = None;
    }
}

impl Resources {
    /// Returns the disk alone.
    pub fn disk_only(&self) -> Self {
        let gpus = GpuRequest { count: 0, milli: 0, min_vram_mib: 0, models: Default::default() };
        Self { cpu_milli: 0, memory_mib: 0, disk_gib: self.disk_gib, gpus }
    }
}
