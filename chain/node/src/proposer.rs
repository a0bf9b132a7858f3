//! How full a block is made: as full as the time of those who must run it allows.

use crate::runtime_api::{Block, Header};
use futures::future::{self, BoxFuture, FutureExt, Ready};
use gantry_pace::Finish;
use sc_basic_authorship::{Proposer as BasicProposer, ProposerFactory};
use sp_api::ProvideRuntimeApi;
use sp_arithmetic::Percent;
use sp_consensus::{Environment, Proposal, ProposeArgs, Proposer};
use sp_consensus_grandpa::GrandpaApi;
use std::{sync::Arc, time::Instant};

use crate::{author_pool::AuthorPool, service::FullClient};

/// Share of a slot after which a block that is not ready is given up.
pub const SLOT_SHARE: f32 = 0.95;
/// Share of that time in which an author that is alone makes its block: it takes extrinsics, then works out the state
/// root. What is left is for importing it; nobody else has to run the block before the next one is begun.
const MAKE_ALONE: f64 = 0.88;
/// The same among several validators. The next author can build on a block only when it has received and run it, so that
/// one slot must hold making it, sending it and running it once more.
const MAKE_AMONG_SEVERAL: f64 = 0.42;
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
/// validators, and by what finishing the blocks before took.
pub struct TimedFactory {
    basic: Basic,
    client: Arc<FullClient>,
    finish: Arc<Finish>,
}

impl TimedFactory {
    /// Around the SDK's own factory.
    pub fn new(mut basic: Basic, client: Arc<FullClient>) -> Self {
        basic.set_default_block_size_limit(MAX_BLOCK_BYTES);
        basic.set_soft_deadline(KEEP_TRYING);
        Self { basic, client, finish: Arc::new(Finish::default()) }
    }
}

impl Environment<Block> for TimedFactory {
    type CreateProposer = Ready<Result<Self::Proposer, Self::Error>>;
    type Proposer = TimedProposer;
    type Error = sp_blockchain::Error;

    fn init(&mut self, parent: &Header) -> Self::CreateProposer {
        // Where the chain does not answer, others are assumed to be there.
        let alone = self.client.runtime_api().grandpa_authorities(parent.hash()).is_ok_and(|all| all.len() == 1);
        let share = if alone { MAKE_ALONE } else { MAKE_AMONG_SEVERAL };
        let basic = self.basic.init(parent).into_inner();
        future::ready(basic.map(|basic| TimedProposer { basic, share, finish: self.finish.clone() }))
    }
}

/// Makes one block.
pub struct TimedProposer {
    basic: Made,
    share: f64,
    finish: Arc<Finish>,
}

impl Proposer<Block> for TimedProposer {
    type Error = sp_blockchain::Error;
    type Proposal = BoxFuture<'static, Result<Proposal<Block>, Self::Error>>;

    fn propose(self, args: ProposeArgs<Block>) -> Self::Proposal {
        let filled = self.finish.fill(args.max_duration.mul_f64(self.share));
        let begun = Instant::now();
        let made = self.basic.propose(ProposeArgs { max_duration: filled.div_f64(SDK_FILLS), ..args });
        async move {
            let proposal = made.await?;
            self.finish.learn(filled, begun.elapsed());
            Ok(proposal)
        }
        .boxed()
    }
}
