//! How full a block is made: as full as the time of those who must run it allows.

use crate::runtime_api::{Block, Header};
use futures::future::{self, BoxFuture, FutureExt, Ready};
use gantry_pace::{Finish, MakingShare};
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

/// Share of a slot after which a block that is not ready is given up.
pub const SLOT_SHARE: f32 = 0.95;
/// Share of that time in which an author that is alone makes its block: it takes extrinsics, then works out the state
/// root. What is left is for importing it; nobody else has to run the block before the next one is begun.
const MAKE_ALONE: f64 = 0.92;
/// The same among several validators. The next author can build on a block only when it has received and run it, so that
/// one slot must hold making it, sending it and running it once more. Where that takes longer, [`MakingShare`] makes the
/// blocks smaller.
const MAKE_AMONG_SEVERAL: f64 = 0.42;
/// The least share of a slot that an author which begins late takes among several validators.
const LATEST_BEGINNING: f64 = 0.25;
/// How many ancestors of a parent are read to learn whether an earlier block of the author stayed in the chain.
const ANCESTORS: u32 = 64;
/// Share of the time for extrinsics after which the author stops trying others once eight did not fit. Each try costs a
/// check of a signature.
const KEEP_TRYING: Percent = Percent::from_percent(20);
/// The largest block that is made. The runtime's own limit is lower.
const MAX_BLOCK_BYTES: usize = 12 * 1024 * 1024;

type Basic = ProposerFactory<AuthorPool, FullClient>;
type Made = BasicProposer<Block, FullClient, AuthorPool>;

/// The SDK's author stops taking extrinsics after this share of the time it is given.
const SDK_FILLS: f64 = 0.9;

/// Makes blocks as the SDK's author does, but stops filling them so that they are made in time: by the number of
/// validators, by what finishing the blocks before took, and by whether the blocks before stayed in the chain.
pub struct TimedFactory {
    basic: Basic,
    client: Arc<FullClient>,
    slot: Duration,
    finish: Arc<Finish>,
    share: Arc<Mutex<MakingShare>>,
}

impl TimedFactory {
    /// Around the SDK's own factory; `slot` is the length of a slot.
    pub fn new(mut basic: Basic, client: Arc<FullClient>, slot: Duration) -> Self {
        basic.set_default_block_size_limit(MAX_BLOCK_BYTES);
        basic.set_soft_deadline(KEEP_TRYING);
        Self { basic, client, slot, finish: Arc::default(), share: Arc::default() }
    }

    /// The slot of the block with this number among `from` and its ancestors, if it is near and known.
    fn slot_of(&self, from: &Header, number: u32) -> Option<u64> {
        let steps = from.number.checked_sub(number).filter(|steps| *steps <= ANCESTORS)?;
        let mut header = from.clone();
        for _ in 0..steps {
            header = self.client.header(header.parent_hash).ok()??;
        }
        slot_in(&header.digest)
    }
}

/// The slot that the digest of a block names.
fn slot_in(digest: &Digest) -> Option<u64> {
    digest.logs().iter().find_map(CompatibleDigestItem::as_babe_pre_digest).map(|pre| *pre.slot())
}

impl Environment<Block> for TimedFactory {
    type CreateProposer = Ready<Result<Self::Proposer, Self::Error>>;
    type Proposer = TimedProposer;
    type Error = sp_blockchain::Error;

    fn init(&mut self, parent: &Header) -> Self::CreateProposer {
        // Where the chain does not answer, others are assumed to be there.
        let alone = self.client.runtime_api().grandpa_authorities(parent.hash()).is_ok_and(|all| all.len() == 1);
        let most = if alone { MAKE_ALONE } else { MAKE_AMONG_SEVERAL };
        let mut known = self.share.lock().unwrap_or_else(PoisonError::into_inner);
        let share = known.next(most, parent.number, |number| self.slot_of(parent, number));
        drop(known);
        if share < most {
            log::debug!(target: "babe", "Full blocks were not kept: {:.0} % of a slot for the next", share * 100.0);
        }
        let next = NextBlock {
            number: parent.number.saturating_add(1),
            share,
            slot: (!alone).then_some(self.slot),
            finish: self.finish.clone(),
            kept: self.share.clone(),
        };
        let basic = self.basic.init(parent).into_inner();
        future::ready(basic.map(|basic| TimedProposer { basic, next }))
    }
}

/// What is known of a block before it is made.
struct NextBlock {
    number: u32,
    /// The share of the time for it.
    share: f64,
    /// The length of a slot, where other validators have to run the block before the slot ends.
    slot: Option<Duration>,
    finish: Arc<Finish>,
    kept: Arc<Mutex<MakingShare>>,
}

impl NextBlock {
    /// The time of the author, of which the share is taken. The SDK gives more of it after missed slots; among several
    /// validators, a block that is made after the end of its slot makes the next author miss its own.
    fn time(&self, given: Duration, slot: Option<u64>) -> Duration {
        let (Some(length), Some(slot)) = (self.slot, slot) else { return given };
        let length_ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        let ends = Duration::from_millis(slot.saturating_add(1).saturating_mul(length_ms));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        given.min(ends.saturating_sub(now).max(length.mul_f64(LATEST_BEGINNING)))
    }

    fn kept(&self) -> MutexGuard<'_, MakingShare> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes one block.
pub struct TimedProposer {
    basic: Made,
    next: NextBlock,
}

impl Proposer<Block> for TimedProposer {
    type Error = sp_blockchain::Error;
    type Proposal = BoxFuture<'static, Result<Proposal<Block>, Self::Error>>;

    fn propose(self, args: ProposeArgs<Block>) -> Self::Proposal {
        let Self { basic, next } = self;
        let slot = slot_in(&args.inherent_digests);
        let filled = next.finish.fill(next.time(args.max_duration, slot).mul_f64(next.share));
        if let Some(slot) = slot {
            next.kept().begin(slot, next.number);
        }
        let begun = Instant::now();
        let made = basic.propose(ProposeArgs { max_duration: filled.div_f64(SDK_FILLS), ..args });
        async move {
            let proposal = made.await?;
            let took = begun.elapsed();
            next.finish.learn(filled, took);
            if took < filled {
                next.kept().not_full();
            }
            Ok(proposal)
        }
        .boxed()
    }
}
