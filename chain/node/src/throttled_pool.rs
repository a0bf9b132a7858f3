//! The node's transaction pool, which throttles repeated checks of the extrinsics that wait in it.
//!
//! After each block the SDK's fork-aware pool revalidates what is ready, one extrinsic after another until the next block
//! comes, with priority over new extrinsics. With thousands of them this takes all the processor time that there is,
//! mostly for signatures that were checked before. Here each of these checks begins after a pause
//! (`gantry_pace::Rechecks`), and is not made where the runtime found the extrinsic valid at most two blocks before
//! (`gantry_pace::Answers`): so extrinsics that arrive while a block is processed are not checked once more for it.
//!
//! An extrinsic that has become invalid may stay longer in a pool that holds more than about 100, or for two blocks. It
//! costs each author that tries it one check: the author reports it, and the pool removes it. A node that is no author
//! removes it when it has waited for ten final blocks.
//!
//! An extrinsic that somebody sends is checked against the best block. The pool would check it against the newest block for
//! which its own work is done, which is up to a second later: it would refuse a call that is free of charge, or whose nonce
//! is due, only since the best block, of which the sender knows. For the same reason the pool learns that a waiting
//! extrinsic is invalid for a block only if it is so for the best block as well: the pool bans what is invalid for a block
//! from the queues of all blocks that follow.

use crate::{
    batched_checks::{BatchedChecks, Error, Single},
    cli::Cli,
    runtime_api::{Block, Header},
    service::{FullClient, TransactionPool},
};
use async_trait::async_trait;
use gantry_pace::{Answers, Rechecks};
use sc_cli::{TransactionPoolParams, TransactionPoolType};
use sc_client_api::UsageProvider;
use sc_service::{Configuration, SpawnEssentialTaskHandle};
use sc_transaction_pool::{
    Builder, ChainApi, ForkAwareTxPool, FullChainApi, Options, PoolLimit, TransactionPoolWrapper,
    ValidateTransactionPriority,
};
use sp_blockchain::{HeaderBackend, TreeRoute};
use sp_runtime::{
    generic::BlockId,
    traits::{Block as BlockT, NumberFor, UniqueSaturatedInto},
    transaction_validity::{TransactionSource, TransactionValidity, ValidTransaction},
    OpaqueExtrinsic,
};
use std::{sync::Arc, time::Duration};

type Hash = <Block as BlockT>::Hash;

/// Extrinsics that wait for earlier ones of their accounts: this part of the pool's limits.
const FUTURE_PART: usize = 10;
/// How long an extrinsic that was invalid is refused, without `--tx-ban-seconds`.
const BAN: Duration = Duration::from_secs(30 * 60);

/// Makes the pool of the type chosen with `--pool-type`. Only the fork-aware one is throttled: the other checks again a
/// quarter of what waits every 200 ms.
pub fn build(
    config: &Configuration,
    cli: &Cli,
    client: Arc<FullClient>,
    spawner: SpawnEssentialTaskHandle,
) -> TransactionPool {
    let is_validator = config.role.is_authority().into();
    let registry = config.prometheus_registry();
    let params = &cli.run.pool_config;
    match params.pool_type {
        TransactionPoolType::SingleState => Builder::new(spawner, client, is_validator)
            .with_options(config.transaction_pool.clone())
            .with_prometheus(registry)
            .build(),
        TransactionPoolType::ForkAware => {
            let chain = client.usage_info().chain;
            let headers = client.clone();
            // Checks are counted where they are made.
            let api = Arc::new(FullChainApi::new(client.clone(), None, &spawner));
            let api = Throttled {
                checks: BatchedChecks::new(client, api.clone(), registry, &spawner),
                api,
                best: Box::new(move || headers.info().best_hash),
                rechecks: Rechecks::default(),
                valid: Answers::default(),
            };
            TransactionPoolWrapper(Box::new(ForkAwareTxPool::<_, Block>::new_with_background_worker(
                options(params, cli.run.shared_params.is_dev()),
                is_validator,
                Arc::new(api),
                registry,
                spawner,
                chain.best_hash,
                chain.finalized_hash,
            )))
        }
    }
}

/// The limits that `TransactionPoolOptions::new_with_params` makes of the command line, which the SDK does not give out.
fn options(params: &TransactionPoolParams, is_dev: bool) -> Options {
    let (count, total_bytes) = (params.pool_limit, params.pool_kbytes * 1024);
    let ban = params.tx_ban_seconds.map(Duration::from_secs);
    Options {
        ready: PoolLimit { count, total_bytes },
        future: PoolLimit { count: count / FUTURE_PART, total_bytes: total_bytes / FUTURE_PART },
        ban_time: ban.unwrap_or(if is_dev { Duration::ZERO } else { BAN }),
        ..Options::default()
    }
}

/// The chain as the pool sees it.
struct Throttled {
    api: Arc<Single>,
    checks: BatchedChecks,
    /// The hash of the best block.
    best: Box<dyn Fn() -> Hash + Send + Sync>,
    rechecks: Rechecks,
    /// What the runtime said about extrinsics that it found valid.
    valid: Answers<Hash, ValidTransaction>,
}

impl Throttled {
    /// Whether this is a check of an extrinsic that waits. One that somebody sends is checked at once.
    fn is_repeated(priority: ValidateTransactionPriority) -> bool {
        priority == ValidateTransactionPriority::Maintained
    }

    /// Whether somebody just sent this extrinsic to this node or to a peer.
    fn is_sent(source: TransactionSource, priority: ValidateTransactionPriority) -> bool {
        priority == ValidateTransactionPriority::Submitted && source == TransactionSource::External
    }
}

#[async_trait]
impl ChainApi for Throttled {
    type Block = Block;
    type Error = Error;

    async fn validate_transaction(
        &self,
        at: Hash,
        source: TransactionSource,
        extrinsic: Arc<OpaqueExtrinsic>,
        priority: ValidateTransactionPriority,
    ) -> Result<TransactionValidity, Error> {
        if source == TransactionSource::InBlock {
            return self.checks.check(at, source, extrinsic, priority).await;
        }
        let at = if Self::is_sent(source, priority) { (self.best)() } else { at };
        let block = self.api.resolve_block_number(at)?.unique_saturated_into();
        let (hash, _) = self.api.hash_and_length(&extrinsic);
        if Self::is_repeated(priority) {
            let pause = self.rechecks.pause(block);
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            if let Some(valid) = self.valid.recall(block, &hash) {
                return Ok(Ok(valid));
            }
        }
        let answer = self.checks.check(at, source, extrinsic.clone(), priority).await?;
        let best = (self.best)();
        let (answer, block) = if answer.is_err() && at != best {
            let block = self.api.resolve_block_number(best)?.unique_saturated_into();
            (self.checks.check(best, source, extrinsic, priority).await?, block)
        } else {
            (answer, block)
        };
        if let Ok(valid) = &answer {
            self.valid.note(block, hash, valid.clone());
        }
        Ok(answer)
    }

    fn validate_transaction_blocking(
        &self,
        at: Hash,
        source: TransactionSource,
        extrinsic: Arc<OpaqueExtrinsic>,
    ) -> Result<TransactionValidity, Error> {
        self.api.validate_transaction_blocking(at, source, extrinsic)
    }

    fn block_id_to_number(&self, at: &BlockId<Block>) -> Result<Option<NumberFor<Block>>, Error> {
        self.api.block_id_to_number(at)
    }

    fn block_id_to_hash(&self, at: &BlockId<Block>) -> Result<Option<Hash>, Error> {
        self.api.block_id_to_hash(at)
    }

    fn hash_and_length(&self, extrinsic: &OpaqueExtrinsic) -> (Hash, usize) {
        self.api.hash_and_length(extrinsic)
    }

    async fn block_body(&self, at: Hash) -> Result<Option<Vec<OpaqueExtrinsic>>, Error> {
        self.api.block_body(at).await
    }

    fn block_header(&self, at: Hash) -> Result<Option<Header>, Error> {
        self.api.block_header(at)
    }

    fn tree_route(&self, from: Hash, to: Hash) -> Result<TreeRoute<Block>, Error> {
        self.api.tree_route(from, to)
    }
}
