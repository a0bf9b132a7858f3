//! Governance: presets without sudo, the council, and its delayed way to root.

mod common;

use codec::Encode;
use common::{build, next_block, preset, started, started_with};
use frame_support::{assert_noop, assert_ok, dispatch::GetDispatchInfo};
use gantry_runtime::{
    genesis, AccountId, Billing, Council, Governance, Runtime, RuntimeCall, RuntimeOrigin, Sudo, System, Validators,
};
use serde_json::json;
use sp_core::{
    crypto::Ss58Codec,
    traits::{ReadRuntimeVersion, ReadRuntimeVersionExt},
    Pair,
};
use sp_keyring::Sr25519Keyring::{self, Alice, Bob, Charlie, Dave};
use sp_runtime::{
    traits::{BlakeTwo256, Hash},
    DispatchError,
};

/// What a production network's operators put into their patch.
fn own_people() -> serde_json::Value {
    let account = |seed: u8| AccountId::from(sp_core::sr25519::Pair::from_seed(&[seed; 32]).public().0).to_ss58check();
    let babe = sp_core::sr25519::Pair::from_seed(&[101; 32]).public().to_ss58check();
    let grandpa = sp_core::ed25519::Pair::from_seed(&[101; 32]).public().to_ss58check();
    json!({
        "session": { "keys": [[account(100), account(100), { "babe": babe, "grandpa": grandpa }]] },
        "council": { "members": [account(110), account(111), account(112)] },
    })
}

/// A council of four, as a patch names it.
fn four() -> Vec<String> {
    [Alice, Bob, Charlie, Dave].map(|member| member.to_account_id().to_ss58check()).to_vec()
}

fn signed(who: Sr25519Keyring) -> RuntimeOrigin {
    RuntimeOrigin::signed(who.to_account_id())
}

/// The council carries a motion with the votes of `ayes`; the first one proposes.
fn carry(call: RuntimeCall, ayes: &[Sr25519Keyring]) {
    let (length, weight) = (call.encoded_size() as u32, call.get_dispatch_info().call_weight);
    let hash = BlakeTwo256::hash_of(&call);
    let index = pallet_collective::ProposalCount::<Runtime, pallet_collective::Instance1>::get();
    let threshold = ayes.len() as u32;
    assert_ok!(Council::propose(signed(ayes[0]), threshold, Box::new(call), length));
    for aye in ayes {
        assert_ok!(Council::vote(signed(*aye), hash, index, true));
    }
    assert_ok!(Council::close(signed(ayes[0]), hash, index, weight, length));
}

/// The result of the last motion that was carried.
fn executed() -> Result<(), DispatchError> {
    System::events()
        .into_iter()
        .rev()
        .find_map(|record| match record.event {
            gantry_runtime::RuntimeEvent::Council(pallet_collective::Event::Executed { result, .. }) => Some(result),
            _ => None,
        })
        .expect("a motion was carried")
}

/// A call that takes the admin origin.
fn remove(who: Sr25519Keyring) -> RuntimeCall {
    RuntimeCall::Validators(pallet_gantry_validators::Call::remove { who: who.to_account_id() })
}

fn listed() -> usize {
    pallet_gantry_validators::Validators::<Runtime>::get().len()
}

fn enact(call: RuntimeCall) -> RuntimeCall {
    RuntimeCall::Governance(pallet_gantry_governance::Call::enact { call: Box::new(call) })
}

#[test]
fn production_starts_only_with_validators_and_a_council_of_its_own() {
    sp_io::TestExternalities::new_empty().execute_with(|| {
        let refused = build(genesis::PRODUCTION, &json!({})).expect_err("there are no validators");
        assert!(refused.contains("session.keys"), "{refused}");
    });
    sp_io::TestExternalities::new_empty().execute_with(|| {
        let mut patch = own_people();
        patch["council"] = json!({});
        let refused = build(genesis::PRODUCTION, &patch).expect_err("nobody could govern");
        assert!(refused.contains("council.members"), "{refused}");
    });
    started_with(genesis::PRODUCTION, &own_people()).execute_with(|| {
        assert_eq!(gantry_runtime::Session::validators().len(), 1);
        assert_eq!(pallet_gantry_validators::EpochSlots::<Runtime>::get(), 300);
        assert_eq!(gantry_runtime::Balances::total_issuance(), gantry_runtime::EXISTENTIAL_DEPOSIT);
        assert_eq!(gantry_runtime::Balances::free_balance(Billing::treasury()), gantry_runtime::EXISTENTIAL_DEPOSIT);
        let hosts = pallet_gantry_hosts::CurrentParams::<Runtime>::get();
        assert!(!hosts.allow_simulated && hosts.verification_required);
    });
}

#[test]
fn production_knows_no_well_known_key() {
    let json = preset(genesis::PRODUCTION).to_string();
    for key in Sr25519Keyring::iter() {
        assert!(!json.contains(&key.to_account_id().to_ss58check()), "{key:?}");
    }
}

#[test]
fn without_a_sudo_key_every_sudo_call_is_refused() {
    for preset in [genesis::STAGING, genesis::PRODUCTION] {
        started_with(preset, &if preset == genesis::PRODUCTION { own_people() } else { json!({}) }).execute_with(
            || {
                let call = || Box::new(remove(Dave));
                for who in Sr25519Keyring::iter() {
                    let required = pallet_sudo::Error::<Runtime>::RequireSudo;
                    assert_noop!(Sudo::sudo(signed(who), call()), required);
                    let required = pallet_sudo::Error::<Runtime>::RequireSudo;
                    assert_noop!(Sudo::sudo_as(signed(who), Alice.to_account_id().into(), call()), required);
                    let required = pallet_sudo::Error::<Runtime>::RequireSudo;
                    assert_noop!(Sudo::set_key(signed(who), who.to_account_id().into()), required);
                }
            },
        );
    }
}

#[test]
fn two_thirds_of_the_council_change_the_list_of_validators_at_once() {
    started(genesis::STAGING).execute_with(|| {
        carry(remove(Dave), &[Bob, Charlie]);
        assert_eq!((executed(), listed()), (Ok(()), 3));
    });
}

#[test]
fn less_than_two_thirds_set_nothing() {
    started_with(genesis::STAGING, &json!({ "council": { "members": four() } })).execute_with(|| {
        carry(remove(Dave), &[Alice, Bob]);
        assert_eq!((executed(), listed()), (Err(DispatchError::BadOrigin), 4));
        assert_noop!(Validators::remove(signed(Alice), Dave.to_account_id()), DispatchError::BadOrigin);
    });
}

#[test]
fn the_council_becomes_root_only_after_the_delay() {
    started_with(genesis::STAGING, &json!({ "governance": { "params": { "delayBlocks": 3 } } })).execute_with(|| {
        let members = vec![Dave.to_account_id()];
        let replace = RuntimeCall::Council(pallet_collective::Call::set_members {
            new_members: members.clone(),
            prime: None,
            old_count: 3,
        });
        carry(replace.clone(), &[Alice, Bob]);
        assert_eq!(executed(), Err(DispatchError::BadOrigin));
        carry(enact(replace), &[Alice, Bob]);
        assert_eq!(executed(), Ok(()));
        let council = || pallet_collective::Members::<Runtime, pallet_collective::Instance1>::get();
        for _ in 0..3 {
            next_block();
            assert_eq!(council().len(), 3);
        }
        next_block();
        assert_eq!(council(), members);
    });
}

#[test]
fn half_of_the_council_stops_what_two_thirds_decided() {
    started_with(genesis::STAGING, &json!({ "council": { "members": four() } })).execute_with(|| {
        carry(enact(remove(Dave)), &[Alice, Bob, Charlie]);
        assert_eq!(executed(), Ok(()));
        let cancel = RuntimeCall::Governance(pallet_gantry_governance::Call::cancel { id: 0 });
        carry(cancel.clone(), &[Charlie, Dave]);
        assert_eq!(executed(), Ok(()));
        assert_noop!(
            Governance::cancel(RuntimeOrigin::root(), 0),
            pallet_gantry_governance::Error::<Runtime>::NotPending
        );
    });
}

/// Reads no version from any code.
struct NoRuntime;

impl ReadRuntimeVersion for NoRuntime {
    fn read_runtime_version(&self, _: &[u8], _: &mut dyn sp_externalities::Externalities) -> Result<Vec<u8>, String> {
        Err("this is no runtime".into())
    }
}

#[test]
fn an_upgrade_is_authorised_by_the_council_and_applied_by_anybody() {
    let mut chain = started_with(genesis::STAGING, &json!({ "governance": { "params": { "delayBlocks": 1 } } }));
    chain.register_extension(ReadRuntimeVersionExt::new(NoRuntime));
    chain.execute_with(|| {
        let code = b"not a runtime, so that applying it is refused for that reason alone".to_vec();
        let authorise =
            RuntimeCall::System(frame_system::Call::authorize_upgrade { code_hash: BlakeTwo256::hash(&code) });
        carry(enact(authorise), &[Alice, Charlie]);
        let apply = |code: &[u8]| System::apply_authorized_upgrade(signed(Dave), code.to_vec()).map_err(|e| e.error);
        let nothing = frame_system::Error::<Runtime>::NothingAuthorized;
        assert_eq!(apply(&code), Err(nothing.into()));
        next_block();
        next_block();
        let other = frame_system::Error::<Runtime>::Unauthorized;
        assert_eq!(apply(b"other code"), Err(other.into()));
        // The right code goes on to the check of what it is.
        assert_ok!(apply(&code));
        System::assert_has_event(
            frame_system::Event::RejectedInvalidAuthorizedUpgrade {
                code_hash: BlakeTwo256::hash(&code),
                error: frame_system::Error::<Runtime>::FailedToExtractRuntimeVersion.into(),
            }
            .into(),
        );
    });
}
