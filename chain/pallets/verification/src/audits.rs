//! Audits: after a host has committed its result, a draw decides whether another host repeats the work. And the count
//! of valid results of hosts.

use frame_support::{pallet_prelude::*, storage::with_storage_layer};
use gantry_primitives::{
    AccountId, AuditState, HostId, Matter, ResultsOutcome, ResultsPhase, ResultsRecord, TaskId, ValidResults,
};

use crate::{slashes, Config, CurrentParams, Event, Hosts, Pallet, Results, Tasks, Valid};

impl<T: Config> Pallet<T> {
    /// Requests the seed of a later block, which decides whether the committed result of the first host is audited.
    pub(crate) fn await_audit(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        Self::move_results(task, &mut record, ResultsPhase::Drawing, 0)?;
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// Draws whether another host repeats the work. Only the hook calls it.
    pub(crate) fn draw_audit(task: TaskId) -> DispatchResult {
        let mut record = Self::results(task)?;
        let Some(first) = Self::retain_current_replicas(task, &mut record) else {
            return Self::close_results(task, record, ResultsOutcome::Overtaken);
        };
        let params = CurrentParams::<T>::get();
        let (seed, block) = Self::seed(Matter::Results(task), 0)?;
        let (lease, host) = (first.lease, first.host);
        let deposit = T::Tasks::deposit_of(lease);
        let slash = slashes::slash(params.audit_slash_deposits, deposit).min(T::Hosts::bond_of(&host));
        let valid = Self::valid_results(&host);
        let probability_ppm = slashes::audit_ppm(&params, valid, deposit, slash);
        let repeated = slashes::is_drawn(&seed, probability_ppm)
            && with_storage_layer(|| T::Tasks::request_extra_pod(task)).is_ok();
        Self::deposit_event(Event::AuditDrawn { task, lease, valid, probability_ppm, seed, block, repeated });
        if !repeated {
            return Self::open_single_reveal(task, record);
        }
        record.audit = AuditState::Repeated { lease };
        record.wanted = record.wanted.saturating_add(1);
        let until = Self::now().saturating_add(params.result_commit_ms);
        Self::move_results(task, &mut record, ResultsPhase::Committing, until)?;
        Self::deposit_event(Event::ExtraPodWanted { task, wanted: record.wanted });
        Results::<T>::insert(task, record);
        Ok(())
    }

    /// Opens the reveal of a single result, whose work is not repeated.
    pub(crate) fn open_single_reveal(task: TaskId, mut record: ResultsRecord) -> DispatchResult {
        record.audit = AuditState::Single;
        Self::open_reveals(task, record)
    }

    /// Counts a valid result of a host. Results for its own provider do not count.
    pub(crate) fn note_valid_result(task: TaskId, host: &HostId) {
        let is_own = |tenant: &AccountId| T::Hosts::provider_of(host).as_ref() == Some(tenant);
        if T::Tasks::tenant_of(task).is_none_or(|tenant| is_own(&tenant)) {
            return;
        }
        let count = Self::valid_results(host).saturating_add(1);
        Valid::<T>::insert(host, ValidResults { generation: T::Hosts::generation_of(host), count });
    }

    /// Returns the number of consecutive valid results of a host with its present hardware.
    pub(crate) fn valid_results(host: &HostId) -> u32 {
        let of_host = Valid::<T>::get(host).unwrap_or_default();
        if of_host.generation == T::Hosts::generation_of(host) {
            of_host.count
        } else {
            0
        }
    }

    /// Resets the count of a host with a wrong or missing result.
    pub(crate) fn reset_valid_results(host: &HostId) {
        Valid::<T>::remove(host);
    }
}
