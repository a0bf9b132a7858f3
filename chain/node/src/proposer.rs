//! How full a block is made: as full as the time of those who must run it allows.

use crate::runtime_api::{Block, Header};
use futures::future::{self, Ready};
use sc_basic_authorship::{Proposer as BasicProposer, ProposerFactory};
use sp_api::ProvideRuntimeApi;
use sp_arithmetic::Percent;
use sp_consensus::{Environment, ProposeArgs, Proposer};
use sp_consensus_grandpa::GrandpaApi;
use std::sync::Arc;

use crate::service::{FullClient, TransactionPool};

/// Share of a slot after which a block that is not ready is given up.
pub const SLOT_SHARE: f32 = 0.95;
/// Share of that time in which an author that is alone puts extrinsics into its block. The rest is for the state root:
/// nobody else has to run the block before the next one is begun.
const FILL_ALONE: f32 = 0.88;
/// The same among several validators. The next author can build on a block only when it has received and run it, so that
/// one slot must hold making it, sending it and running it once more.
const FILL_AMONG_SEVERAL: f32 = 0.4;
/// Share of the time for extrinsics after which the author stops trying others once eight did not fit. Each try costs a
/// check of a signature.
const KEEP_TRYING: Percent = Percent::from_percent(20);
/// The largest block that is made. The runtime's own limit is lower.
const MAX_BLOCK_BYTES: usize = 12 * 1024 * 1024;

type Basic = ProposerFactory<TransactionPool, FullClient>;
type Made = BasicProposer<Block, FullClient, TransactionPool>;

/// Makes blocks as the SDK's author does, but stops filling them by the number of validators.
pub struct TimedFactory {
    basic: Basic,
    client: Arc<FullClient>,
}

impl TimedFactory {
    /// Around the SDK's own factory.
    pub fn new(mut basic: Basic, client: Arc<FullClient>) -> Self {
        basic.set_default_block_size_limit(MAX_BLOCK_BYTES);
        basic.set_soft_deadline(KEEP_TRYING);
        Self { basic, client }
    }
}

impl Environment<Block> for TimedFactory {
    type CreateProposer = Ready<Result<Self::Proposer, Self::Error>>;
    type Proposer = TimedProposer;
    type Error = sp_blockchain::Error;

    fn init(&mut self, parent: &Header) -> Self::CreateProposer {
        // Where the chain does not answer, others are assumed to be there.
        let alone = self.client.runtime_api().grandpa_authorities(parent.hash()).is_ok_and(|all| all.len() == 1);
        let fill = if alone { FILL_ALONE } else { FILL_AMONG_SEVERAL };
        let basic = self.basic.init(parent).into_inner();
        future::ready(basic.map(|basic| TimedProposer { basic, fill }))
    }
}

/// Makes one block.
pub struct TimedProposer {
    basic: Made,
    fill: f32,
}

impl Proposer<Block> for TimedProposer {
    type Error = sp_blockchain::Error;
    type Proposal = <Made as Proposer<Block>>::Proposal;

    fn propose(self, args: ProposeArgs<Block>) -> Self::Proposal {
        let max_duration = args.max_duration.mul_f32(self.fill);
        self.basic.propose(ProposeArgs { max_duration, ..args })
    }
}
