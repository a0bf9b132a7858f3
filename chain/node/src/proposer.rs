//! How long an author fills a block: so that it is built, sent and executed by the other validators within its slot.

use crate::runtime_api::{Block, Header};
use futures::future::{self, BoxFuture, FutureExt, Ready};
use gantry_node_core::{BuildOverhead, SlotShare};
use sc_basic_authorship::{Proposer as BasicProposer, ProposerFactory};
use sp_api::ProvideRuntimeApi;
use sp_arithmetic::Percent;
use sp_consensus::{Environment, Proposal, ProposeArgs, Proposer};
use sp_consensus_babe::digests::CompatibleDigestItem;
use sp_consensus_grandpa::GrandpaApi;
use sp_runtime::Digest;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{author_pool::AuthorPool, service::FullClient};

/// The share of a slot after which a block that is not built yet is discarded.
pub const SLOT_SHARE: f32 = 0.95;
/// The share of that time in which a single validator builds its block: it applies extrinsics, then computes the state root.
/// The rest is for importing the block; no other validator has to execute it before the next one is begun.
const BUILD_SHARE_OF_SINGLE: f64 = 0.92;
/// The same for one of several validators. The next author can build on a block only after it has received and executed it,
/// so one slot must suffice for building it, sending it and executing it once more. If that takes longer, [`SlotShare`]
/// makes the blocks smaller.
const BUILD_SHARE_OF_SEVERAL: f64 = 0.42;
/// The minimum share of a slot that one of several validators takes if it begins late.
const MIN_BUILD_SHARE: f64 = 0.25;
/// How many ancestors of a parent are read to find out whether an earlier block of the author stayed in the chain.
const MAX_ANCESTORS: u32 = 64;
/// The share of the time for extrinsics after which the author stops trying others once eight did not fit. Each attempt
/// costs the verification of a signature.
const SOFT_DEADLINE: Percent = Percent::from_percent(20);
/// The maximum size of a block that is built. The runtime's own limit is lower.
const MAX_BLOCK_BYTES: usize = 12 * 1024 * 1024;

type SdkFactory = ProposerFactory<AuthorPool, FullClient>;
type SdkProposer = BasicProposer<Block, FullClient, AuthorPool>;

/// The SDK's author stops applying extrinsics after this share of the time that it is given.
const SDK_FILL_SHARE: f64 = 0.9;

/// Builds blocks as the SDK's author does, but chooses for how long they are filled: by the number of validators, by how long
/// earlier blocks took after their last extrinsic, and by whether earlier blocks stayed in the chain.
pub struct TimedFactory {
    sdk: SdkFactory,
    client: Arc<FullClient>,
    slot: Duration,
    overhead: Arc<BuildOverhead>,
    slot_share: Arc<Mutex<SlotShare>>,
}

impl TimedFactory {
    /// Wraps the SDK's factory; `slot` is the duration of a slot.
    pub fn new(mut sdk: SdkFactory, client: Arc<FullClient>, slot: Duration) -> Self {
        sdk.set_default_block_size_limit(MAX_BLOCK_BYTES);
        sdk.set_soft_deadline(SOFT_DEADLINE);
        Self { sdk, client, slot, overhead: Arc::default(), slot_share: Arc::default() }
    }

    /// Returns the slot of the block with this number among `from` and its last [`MAX_ANCESTORS`] ancestors.
    fn slot_of(&self, from: &Header, number: u32) -> Option<u64> {
        let steps = from.number.checked_sub(number).filter(|steps| *steps <= MAX_ANCESTORS)?;
        let mut header = from.clone();
        for _ in 0..steps {
            header = self.client.header(header.parent_hash).ok()??;
        }
        slot_in(&header.digest)
    }
}

/// Returns the slot in the BABE digest of a block.
fn slot_in(digest: &Digest) -> Option<u64> {
    digest.logs().iter().find_map(CompatibleDigestItem::as_babe_pre_digest).map(|pre| *pre.slot())
}

impl Environment<Block> for TimedFactory {
    type CreateProposer = Ready<Result<Self::Proposer, Self::Error>>;
    type Proposer = TimedProposer;
    type Error = sp_blockchain::Error;

    fn init(&mut self, parent: &Header) -> Self::CreateProposer {
        // Several validators are assumed if the runtime does not answer.
        let is_single = self.client.runtime_api().grandpa_authorities(parent.hash()).is_ok_and(|all| all.len() == 1);
        let max_share = if is_single { BUILD_SHARE_OF_SINGLE } else { BUILD_SHARE_OF_SEVERAL };
        let mut slot_share = self.slot_share.lock().unwrap_or_else(PoisonError::into_inner);
        let share = slot_share.next_share(max_share, parent.number, |number| self.slot_of(parent, number));
        drop(slot_share);
        if share < max_share {
            log::debug!(target: "babe", "Full blocks did not stay in the chain: the next one takes {:.0} % of a slot", share * 100.0);
        }
        let next = NextBlock {
            number: parent.number.saturating_add(1),
            share,
            slot: (!is_single).then_some(self.slot),
            overhead: self.overhead.clone(),
            slot_share: self.slot_share.clone(),
        };
        let sdk = self.sdk.init(parent).into_inner();
        future::ready(sdk.map(|sdk| TimedProposer { sdk, next }))
    }
}

/// The parameters of the block that is to be built.
struct NextBlock {
    number: u32,
    /// The share of the available time that it may take.
    share: f64,
    /// The duration of a slot; `None` if no other validator has to execute the block before the slot ends.
    slot: Option<Duration>,
    overhead: Arc<BuildOverhead>,
    slot_share: Arc<Mutex<SlotShare>>,
}

impl NextBlock {
    /// Returns the time available to the author, of which it takes its share. The SDK offers more (`offered`) after missed
    /// slots; one of several validators stops at the end of its slot, or the next author would miss its own slot.
    fn available_time(&self, offered: Duration, slot: Option<u64>) -> Duration {
        let (Some(duration), Some(slot)) = (self.slot, slot) else { return offered };
        let slot_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let end = Duration::from_millis(slot.saturating_add(1).saturating_mul(slot_ms));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        offered.min(end.saturating_sub(now).max(duration.mul_f64(MIN_BUILD_SHARE)))
    }

    fn slot_share(&self) -> MutexGuard<'_, SlotShare> {
        self.slot_share.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Builds one block.
pub struct TimedProposer {
    sdk: SdkProposer,
    next: NextBlock,
}

impl Proposer<Block> for TimedProposer {
    type Error = sp_blockchain::Error;
    type Proposal = BoxFuture<'static, Result<Proposal<Block>, Self::Error>>;

    fn propose(self, args: ProposeArgs<Block>) -> Self::Proposal {
        let Self { sdk, next } = self;
        let slot = slot_in(&args.inherent_digests);
        let fill_time = next.overhead.fill_time(next.available_time(args.max_duration, slot).mul_f64(next.share));
        if let Some(slot) = slot {
            next.slot_share().begin_attempt(slot, next.number);
        }
        let started = Instant::now();
        let proposing = sdk.propose(ProposeArgs { max_duration: fill_time.div_f64(SDK_FILL_SHARE), ..args });
        async move {
            let proposal = proposing.await?;
            let total = started.elapsed();
            next.overhead.observe(fill_time, total);
            if total < fill_time {
                next.slot_share().discard_attempt();
            }
            Ok(proposal)
        }
        .boxed()
    }
}
