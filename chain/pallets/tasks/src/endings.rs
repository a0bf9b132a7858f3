//! What ends an attempt or a task, and who is paid then.

use frame_support::pallet_prelude::*;
use gantry_primitives::{
    AccountId, Balance, Charge, Conduct, EndReason, FailReason, LeaseId, LeaseRecord, LeaseState, Moment,
    RequeueReason, TaskId, TaskRecord, TaskState, TaskStateTag,
};

use crate::{billing, hosts, leases, reputation, Config, CurrentParams, Error, Event, Pallet, Tasks};

/// What becomes of the leases of an attempt that ends without a result.
struct Ending {
    /// The lease because of which it ends, where there is one: why it ends and what it is charged.
    cause: Option<(LeaseId, EndReason, Charge)>,
    /// Why the other live leases end.
    others: EndReason,
    /// How the other pods are charged for the time they ran: by their unit, or pro rata where a host is to blame.
    charge: fn(u64) -> Charge,
}

impl<T: Config> Pallet<T> {
    /// Returns how many pods the attempt had.
    pub(crate) fn do_requeue(lease: LeaseId) -> Result<u32, DispatchError> {
        let record = leases::Pallet::<T>::lease(lease)?;
        ensure!(record.state.is_live(), Error::<T>::LeaseEnded);
        let late_after = record.created_at.saturating_add(CurrentParams::<T>::get().start_timeout_ms);
        let late = record.state == LeaseState::Pending && hosts::Pallet::<T>::now() > late_after;
        let reason = if Self::host_is_lost(&record)? {
            RequeueReason::HostLost
        } else if late {
            RequeueReason::StartTimeout
        } else {
            return Err(Error::<T>::LeaseNotStuck.into());
        };
        Self::end_attempt(record.task, lease, reason)
    }

    /// Returns how many pods the attempt had.
    pub(crate) fn do_expire_lease(lease: LeaseId) -> Result<u32, DispatchError> {
        let lease_record = leases::Pallet::<T>::lease(lease)?;
        ensure!(lease_record.state == LeaseState::Active, Error::<T>::LeaseNotActive);
        let depletes_at = billing::Pallet::<T>::escrow(lease)?.depletes_at;
        let now = hosts::Pallet::<T>::now();
        ensure!(depletes_at.is_some_and(|at| now > at), Error::<T>::LeaseNotDepleted);
        // A host that is not there must not be paid for having been silent for long enough.
        ensure!(!Self::host_is_lost(&lease_record)?, Error::<T>::HostIsLost);

        let task = lease_record.task;
        let mut record = Self::task(task)?;
        let ending = Ending {
            cause: Some((lease, EndReason::DurationExceeded, Charge::Everything)),
            others: EndReason::GangAborted,
            charge: Charge::Time,
        };
        Self::wind_up(&record, &ending, now)?;
        Self::change_state(task, &mut record, TaskState::Failed(FailReason::DurationExceeded))?;
        Self::store(task, record)
    }

    /// Returns how many pods the attempt had.
    pub(crate) fn do_cancel(tenant: AccountId, task: TaskId) -> Result<u32, DispatchError> {
        let mut record = Self::task(task)?;
        ensure!(record.tenant == tenant, Error::<T>::NotTenant);
        // First, so that a task that cannot be cancelled is refused before any of its leases is touched.
        Self::change_state(task, &mut record, TaskState::Cancelled)?;
        let ending = Ending { cause: None, others: EndReason::Cancelled, charge: Charge::Time };
        Self::wind_up(&record, &ending, hosts::Pallet::<T>::now())?;
        Self::store(task, record)
    }

    pub(crate) fn do_expire(task: TaskId) -> DispatchResult {
        let mut record = Self::task(task)?;
        ensure!(record.state == TaskState::Queued, Error::<T>::NotQueued);
        let now = hosts::Pallet::<T>::now();
        ensure!(record.spec.deadline.is_some_and(|deadline| now > deadline), Error::<T>::DeadlineNotPassed);
        Self::change_state(task, &mut record, TaskState::Expired)?;
        Tasks::<T>::insert(task, record);
        Ok(())
    }

    /// Returns how many pods the task had.
    pub(crate) fn do_settle(task: TaskId) -> Result<u32, DispatchError> {
        let mut record = Self::task(task)?;
        let now = hosts::Pallet::<T>::now();
        match record.state.tag() {
            TaskStateTag::Verified => {}
            TaskStateTag::Reported => {
                let window = CurrentParams::<T>::get().dispute_window_ms;
                let passed = record.reported_at.is_some_and(|at| now >= at.saturating_add(window));
                ensure!(passed, Error::<T>::DisputeWindowOpen);
                Self::change_state(task, &mut record, TaskState::Verified)?;
            }
            _ => return Err(Error::<T>::NotSettleable.into()),
        }
        let mut paid: Balance = 0;
        for lease in &record.leases {
            let lease_record = leases::Pallet::<T>::lease(*lease)?;
            let settlement = billing::Pallet::<T>::close(*lease, Charge::Time(Self::billed_ms(&lease_record, now)))?;
            paid = paid.checked_add(settlement.paid).ok_or(Error::<T>::Overflow)?;
            reputation::Pallet::<T>::observe(&lease_record.host, Conduct::Completed, now);
        }
        Self::change_state(task, &mut record, TaskState::Settled)?;
        Self::deposit_event(Event::Settled { task, paid });
        Self::store(task, record)
    }

    /// Ends the present attempt because of one lease, whose host is not paid and may be scored. The task waits again,
    /// or fails where it has no attempt left. Returns how many pods the attempt had.
    pub(crate) fn end_attempt(task: TaskId, cause: LeaseId, reason: RequeueReason) -> Result<u32, DispatchError> {
        let mut record = Self::task(task)?;
        let now = hosts::Pallet::<T>::now();
        let (end, is_hosts_fault) = match reason {
            RequeueReason::HostRefused(failure) => (EndReason::HostRefused(failure), failure.is_hosts_fault()),
            RequeueReason::StartTimeout => (EndReason::StartTimeout, true),
            RequeueReason::HostLost => (EndReason::HostLost, true),
        };
        let lease = leases::Pallet::<T>::lease(cause)?;
        let ending = Ending {
            cause: Some((cause, end, Charge::Nothing)),
            others: EndReason::GangAborted,
            charge: Charge::ProRata,
        };
        let pods = Self::wind_up(&record, &ending, now)?;
        if is_hosts_fault {
            let conduct = match lease.started_at {
                Some(_) => Conduct::NotCompleted,
                None => Conduct::NotStarted,
            };
            reputation::Pallet::<T>::observe(&lease.host, conduct, now);
        }

        record.attempts = record.attempts.checked_add(1).ok_or(Error::<T>::Overflow)?;
        if record.attempts >= CurrentParams::<T>::get().max_attempts {
            Self::change_state(task, &mut record, TaskState::Failed(FailReason::AttemptsExhausted))?;
        } else {
            record.leases = BoundedVec::new();
            record.pods_started = 0;
            record.pods_reported = 0;
            Self::change_state(task, &mut record, TaskState::Queued)?;
            Self::deposit_event(Event::Requeued { task, attempts: record.attempts, reason });
        }
        Tasks::<T>::insert(task, record);
        Ok(pods)
    }

    /// Ends every live lease of the present attempt, gives the resources back and closes every escrow. Returns how
    /// many leases there were.
    fn wind_up(record: &TaskRecord, ending: &Ending, now: Moment) -> Result<u32, DispatchError> {
        for lease in &record.leases {
            let mut lease_record = leases::Pallet::<T>::lease(*lease)?;
            let cause = ending.cause.filter(|(cause, ..)| cause == lease);
            if lease_record.state.is_live() {
                let reason = cause.map_or(ending.others, |(_, reason, _)| reason);
                lease_record = leases::Pallet::<T>::end(*lease, reason, None, now)?;
                hosts::Pallet::<T>::release(&lease_record.host, &lease_record.resources, &lease_record.devices)?;
            }
            let charge = match (cause, lease_record.started_at) {
                (Some((_, _, charge)), _) => charge,
                (None, None) => Charge::Nothing,
                (None, Some(_)) => (ending.charge)(Self::billed_ms(&lease_record, now)),
            };
            billing::Pallet::<T>::close(*lease, charge)?;
        }
        Ok(record.leases.len() as u32)
    }

    /// For how long a pod is billed: chain time from its start to its end, never more than its host measured.
    fn billed_ms(lease: &LeaseRecord, now: Moment) -> u64 {
        let Some(started_at) = lease.started_at else { return 0 };
        let elapsed = lease.ended_at.unwrap_or(now).saturating_sub(started_at);
        lease.result.map_or(elapsed, |result| elapsed.min(result.usage.wall_ms))
    }

    fn host_is_lost(lease: &LeaseRecord) -> Result<bool, DispatchError> {
        Ok(hosts::Pallet::<T>::is_lost(&hosts::Pallet::<T>::host(&lease.host)?))
    }

    fn store(task: TaskId, record: TaskRecord) -> Result<u32, DispatchError> {
        let pods = record.leases.len() as u32;
        Tasks::<T>::insert(task, record);
        Ok(pods)
    }
}
