//! The calls of the agreements pallet.

use gantry_primitives::{
    fit::first_devices, BillingUnit, DeviceIndices, GpuRequest, HostId, LeaseState, Placement, Resources, Survival,
    TaskKind, TaskSpec, VerificationPolicy,
};
use gantry_runtime::{AccountId, Hosts, Runtime, GTY};
use pallet_gantry_agreements::{
    Attestations, Attribute, Auditors, Call, CurrentParams, OfferId, OfferRecord, OfferState, OfferTerms, Offers,
    Place, Side, Subject, TicketId, TicketRecord, Tickets,
};

use super::{actions, call, signed_by};
use crate::sequences::{arguments::manifest, chain::*, choices::Choices, subjects::*};

type AgreementsCall = Call<Runtime>;

/// Terms of a rental on one host, which may begin now.
fn terms(choices: &mut Choices, host: HostId) -> OfferTerms {
    OfferTerms {
        hosts: vec![host].try_into().expect("one fits"),
        resources: Resources {
            cpu_milli: choices.pick(&[500, 4_000]),
            memory_mib: 512,
            disk_gib: 10,
            gpus: GpuRequest {
                count: 1,
                milli: choices.pick(&[1_000, 500]),
                min_vram_mib: 0,
                models: Default::default(),
            },
        },
        allow_simulated: true,
        rate_per_hour: choices.pick(&[2 * GTY, 0, 50 * GTY, u128::MAX]),
        unit: choices.pick(&[BillingUnit::Second, BillingUnit::Hour, BillingUnit::Day]),
        duration_ms: choices.pick(&[10 * MINUTE, MINUTE, HOUR, 0]),
        start_from: now() + choices.pick(&[0, MINUTE]),
        start_until: now() + choices.pick(&[6 * MINUTE, 3 * MINUTE, MINUTE, HOUR]),
    }
}

/// A record that suits, with its number.
fn one_of<R: Clone>(choices: &mut Choices, records: impl Iterator<Item = (u64, R)>) -> Option<(u64, R)> {
    let mut listed: Vec<_> = records.collect();
    listed.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    choices.suitable(&listed)
}

fn offer_where(choices: &mut Choices, suits: fn(&OfferState) -> bool) -> Option<(OfferId, OfferRecord)> {
    one_of(choices, Offers::<Runtime>::iter().filter(|(_, record)| suits(&record.state)))
}

fn is_open(state: &OfferState) -> bool {
    matches!(state, OfferState::Open(_))
}

fn is_accepted(state: &OfferState) -> bool {
    matches!(state, OfferState::Accepted { .. })
}

fn is_begun(state: &OfferState) -> bool {
    matches!(state, OfferState::Begun { .. })
}

/// The account that has to answer an offer, and the place if that is the provider.
fn answer(record: &OfferRecord) -> (AccountId, Option<Place>) {
    let side = record.proposer.other();
    let place = (side == Side::Provider).then(|| place_for(record));
    (record.account(side).clone(), place)
}

/// A place on the host of an offer, on devices that are free if there are any.
fn place_for(record: &OfferRecord) -> Place {
    let OfferTerms { hosts, resources, allow_simulated, .. } = &record.terms;
    let placement = Placement { allow_simulated: *allow_simulated, ..Default::default() };
    let free =
        |host: &HostId| first_devices(&Hosts::host(host).ok()?.devices, &resources.gpus, &placement, &record.tenant);
    let devices = free(&hosts[0]).unwrap_or_else(|| vec![0]);
    Place { host: hosts[0].clone(), devices: DeviceIndices::truncate_from(devices) }
}

/// The task of an agreement, as a rule.
fn task(choices: &mut Choices, terms: &OfferTerms) -> TaskSpec {
    let kind = choices.pick(&[TaskKind::Rental, TaskKind::Service, TaskKind::Job]);
    let mut placement = Placement { allow_simulated: terms.allow_simulated, ..Default::default() };
    placement.capabilities.shares = terms.resources.gpus.milli < 1_000;
    TaskSpec {
        kind,
        manifest_digest: sp_io::hashing::sha2_256(&manifest()),
        resources: terms.resources.clone(),
        pods_min: 1,
        pods_max: 1,
        max_rate_per_hour: terms.rate_per_hour.saturating_add(choices.pick(&[0, GTY])),
        unit: terms.unit,
        max_duration_ms: terms.duration_ms,
        deadline: None,
        priority: 0,
        queue: Default::default(),
        verification: VerificationPolicy::Acceptance,
        placement,
        data_from: None,
        spot: false,
        survival: choices.usually(Survival::Restart, |_| Survival::Move),
    }
}

/// A ticket that is open, and one of its parties; the provider first.
fn open_ticket(choices: &mut Choices) -> (TicketId, AccountId) {
    let open = Tickets::<Runtime>::iter().filter(|(_, record)| record.closed.is_none());
    let Some((ticket, TicketRecord { provider, tenant, .. })) = one_of(choices, open) else {
        return (0, account(TENANT));
    };
    (ticket, choices.pick(&[provider, tenant]))
}

/// An auditor, as a rule.
fn auditor(choices: &mut Choices) -> AccountId {
    let mut auditors: Vec<_> = Auditors::<Runtime>::iter_keys().collect();
    auditors.sort();
    choices.suitable(&auditors).unwrap_or_else(|| account(ANYONE))
}

actions! {
    "Agreements.propose" 50 |choices| {
        let number = any_host(choices);
        let tenant = signed(choices.pick(&[TENANT, TENANT, POOR_TENANT, ANYONE]));
        let terms = Box::new(terms(choices, host(number)));
        let until = now() + choices.pick(&[2 * MINUTE, 6 * MINUTE, 1, HOUR]);
        let provider = account(choices.usually(provider_of(number), |_| TENANT));
        call(AgreementsCall::propose { provider, terms, until }, tenant)
    };
    "Agreements.counter" 40 |choices| {
        let Some((offer, record)) = offer_where(choices, is_open) else {
            let terms = Box::new(terms(choices, host(HOSTS.start)));
            return call(AgreementsCall::counter { offer: 0, terms, place: None, until: now() }, anyone(choices));
        };
        let (who, place) = answer(&record);
        let terms = Box::new(terms(choices, record.terms.hosts[0].clone()));
        let until = now() + choices.pick(&[2 * MINUTE, 1, HOUR]);
        call(AgreementsCall::counter { offer, terms, place, until }, by(choices, who))
    };
    "Agreements.accept" 60 |choices| {
        let Some((offer, record)) = offer_where(choices, is_open) else {
            return call(AgreementsCall::accept { offer: 0, place: None }, anyone(choices));
        };
        let (who, place) = answer(&record);
        call(AgreementsCall::accept { offer, place }, by(choices, who))
    };
    "Agreements.decline" 15 |choices| {
        let found = offer_where(choices, is_open);
        let who = found.as_ref().map_or(account(TENANT), |(_, record)| record.tenant.clone());
        call(AgreementsCall::decline { offer: found.map_or(0, |(offer, _)| offer) }, by(choices, who))
    };
    "Agreements.begin" 60 |choices| {
        let found = offer_where(choices, is_accepted);
        let who = found.as_ref().map_or(account(TENANT), |(_, record)| record.tenant.clone());
        let (offer, terms) = match found {
            Some((offer, record)) => (offer, record.terms),
            None => (0, terms(choices, host(HOSTS.start))),
        };
        let spec = Box::new(task(choices, &terms));
        call(AgreementsCall::begin { offer, spec, manifest: manifest() }, by(choices, who))
    };
    "Agreements.report_unavailable" 30 |choices| {
        let found = offer_where(choices, is_accepted);
        let who = found.as_ref().map_or(account(TENANT), |(_, record)| record.tenant.clone());
        call(AgreementsCall::report_unavailable { offer: found.map_or(0, |(offer, _)| offer) }, by(choices, who))
    };
    "Agreements.conclude" 30 |choices| {
        let offer = offer_where(choices, is_begun).map_or(0, |(offer, _)| offer);
        call(AgreementsCall::conclude { offer }, anyone(choices))
    };
    "Agreements.open_ticket" 30 |choices| {
        let found = any_lease(choices, LeaseState::is_live);
        let digest = [choices.byte(); 32];
        call(AgreementsCall::open_ticket { lease: found.id, digest }, by(choices, found.tenant))
    };
    "Agreements.answer_ticket" 25 |choices| {
        let (ticket, who) = open_ticket(choices);
        let digest = [choices.byte(); 32];
        call(AgreementsCall::answer_ticket { ticket, digest }, by(choices, who))
    };
    "Agreements.close_ticket" 15 |choices| {
        let (ticket, who) = open_ticket(choices);
        call(AgreementsCall::close_ticket { ticket }, by(choices, who))
    };
    "Agreements.bond_auditor" 10 |choices| {
        call(AgreementsCall::bond_auditor {}, anyone(choices))
    };
    "Agreements.unbond_auditor" 6 |choices| {
        call(AgreementsCall::unbond_auditor {}, signed_by(auditor(choices)))
    };
    "Agreements.withdraw_auditor_bond" 10 |choices| {
        call(AgreementsCall::withdraw_auditor_bond {}, signed_by(auditor(choices)))
    };
    "Agreements.attest" 25 |choices| {
        let who = auditor(choices);
        let number = any_host(choices);
        let subject = choices.pick(&[Subject::Host(host(number)), Subject::Provider(account(provider_of(number)))]);
        let attribute = choices.pick(&[
            Attribute::Region { region: bytes("eu"), max_latency_ms: 20 },
            Attribute::Certificate(bytes("iso-27001")),
            Attribute::Certificate(Default::default()),
        ]);
        let expires_at = now() + choices.pick(&[HOUR, MINUTE, 0, u64::MAX / 2]);
        call(AgreementsCall::attest { subject, attribute, evidence: [1; 32], expires_at }, by(choices, who))
    };
    "Agreements.revoke" 12 |choices| {
        let found = one_of(choices, Attestations::<Runtime>::iter());
        let who = found.as_ref().map_or(account(ANYONE), |(_, record)| record.auditor.clone());
        let origin = match choices.byte() {
            200.. => admin(choices),
            _ => by(choices, who),
        };
        call(AgreementsCall::revoke { attestation: found.map_or(0, |(number, _)| number) }, origin)
    };
    "Agreements.contest" 20 |choices| {
        let attestation = one_of(choices, Attestations::<Runtime>::iter()).map_or(0, |(number, _)| number);
        let who = signed(choices.pick(&[TENANT, POOR_TENANT, ANYONE, 3]));
        call(AgreementsCall::contest { attestation, evidence: [2; 32] }, who)
    };
    "Agreements.decide_contest" 20 |choices| {
        let contested = Attestations::<Runtime>::iter().filter(|(_, record)| record.contest.is_some());
        let attestation = one_of(choices, contested).map_or(0, |(number, _)| number);
        let is_wrong = choices.pick(&[true, false]);
        call(AgreementsCall::decide_contest { attestation, is_wrong }, admin(choices))
    };
    "Agreements.set_params" 6 |choices| {
        let mut params = CurrentParams::<Runtime>::get();
        params.offer_deposit = choices.pick(&[GTY / 10, 0, 100 * GTY]);
        params.max_offers = choices.pick(&[64, 0, 1]);
        params.min_bond = choices.pick(&[GTY, 1, 0]);
        params.bond_ms = choices.pick(&[MINUTE, 1, HOUR]);
        params.watch_ms = choices.pick(&[10_000, 1, HOUR, 0]);
        params.response_ms = choices.pick(&[MINUTE, 1]);
        params.ticket_kept_ms = choices.pick(&[HOUR, 1]);
        params.attestation_stake = choices.pick(&[5 * GTY, 1, 0]);
        params.auditor_slash_ppm = choices.pick(&[100_000, 0, 1_000_000, 1_000_001]);
        params.contest_ms = choices.pick(&[MINUTE, 1, HOUR]);
        call(AgreementsCall::set_params { params }, admin(choices))
    };
}
