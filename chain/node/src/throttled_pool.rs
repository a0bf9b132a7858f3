//! The node's transaction pool, which throttles the revalidation of its extrinsics.
//!
//! After each block the SDK's fork-aware pool revalidates ready extrinsics, one after another until the next block arrives,
//! with priority over new extrinsics. With thousands of them this takes all processor time, mostly for signatures that were
//! verified before. Here each revalidation starts after a delay (`gantry_node_core::RevalidationThrottle`), and is skipped if
//! the runtime found the extrinsic valid at most two blocks before (`gantry_node_core::ValidityCache`): so extrinsics that
//! arrive while a block is processed are not validated once more for it.
//!
//! An extrinsic that has become invalid may stay in the pool for two blocks, or longer if the pool has more than about 100.
//! It costs each author that tries it one validation: the author reports it, and the pool removes it. A node that is no
//! author removes it after ten final blocks.
//!
//! A submitted extrinsic is validated against the best block. The SDK's pool would validate it against the newest block that
//! it has processed, which is up to a second older: it would refuse a call that is free of charge, or whose nonce is the
//! next one, only since the best block, which the sender knows. For the same reason the pool is told that an extrinsic is
//! invalid for a block only if it is invalid for the best block as well: the pool bans extrinsics that are invalid for a
//! block from the views of all following blocks.

use crate::{
    batched_validation::{BatchedValidation, Error, SdkChainApi},
    cli::Cli,
    runtime_api::{Block, Header},
    service::{FullClient, TransactionPool},
};
use async_trait::async_trait;
use gantry_node_core::{RevalidationThrottle, ValidityCache};
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

/// Extrinsics whose nonce is not the next one may use one part in this many of the pool's limits.
const FUTURE_LIMIT_DIVISOR: usize = 10;
/// How long an invalid extrinsic is refused, without `--tx-ban-seconds`.
const DEFAULT_BAN: Duration = Duration::from_secs(30 * 60);

/// Creates the pool of the type chosen with `--pool-type`. Only the fork-aware pool is throttled: the other one revalidates
/// a quarter of its extrinsics every 200 ms.
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
            // `BatchedValidation` counts validations, so the SDK's API gets no registry.
            let api = Arc::new(FullChainApi::new(client.clone(), None, &spawner));
            let api = ThrottledApi {
                validation: BatchedValidation::new(client, api.clone(), registry, &spawner),
                sdk_api: api,
                best_hash: Box::new(move || headers.info().best_hash),
                throttle: RevalidationThrottle::default(),
                valid: ValidityCache::default(),
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

/// Returns the same limits as `TransactionPoolOptions::new_with_params`, whose fields the SDK does not expose.
fn options(params: &TransactionPoolParams, is_dev: bool) -> Options {
    let (count, total_bytes) = (params.pool_limit, params.pool_kbytes * 1024);
    let ban = params.tx_ban_seconds.map(Duration::from_secs);
    Options {
        ready: PoolLimit { count, total_bytes },
        future: PoolLimit { count: count / FUTURE_LIMIT_DIVISOR, total_bytes: total_bytes / FUTURE_LIMIT_DIVISOR },
        ban_time: ban.unwrap_or(if is_dev { Duration::ZERO } else { DEFAULT_BAN }),
        ..Options::default()
    }
}

/// The chain API that the pool uses.
struct ThrottledApi {
    sdk_api: Arc<SdkChainApi>,
    validation: BatchedValidation,
    best_hash: Box<dyn Fn() -> Hash + Send + Sync>,
    throttle: RevalidationThrottle,
    /// The extrinsics that the runtime found valid.
    valid: ValidityCache<Hash, ValidTransaction>,
}

impl ThrottledApi {
    /// Whether an extrinsic that is in the pool is validated again.
    fn is_revalidation(priority: ValidateTransactionPriority) -> bool {
        priority == ValidateTransactionPriority::Maintained
    }

    /// Whether this extrinsic was just submitted to this node or to a peer.
    fn is_submission(source: TransactionSource, priority: ValidateTransactionPriority) -> bool {
        priority == ValidateTransactionPriority::Submitted && source == TransactionSource::External
    }
}

#[async_trait]
impl ChainApi for ThrottledApi {
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
            return self.validation.validate(at, source, extrinsic, priority).await;
        }
        let at = if Self::is_submission(source, priority) { (self.best_hash)() } else { at };
        let block = self.sdk_api.resolve_block_number(at)?.unique_saturated_into();
        let (hash, _) = self.sdk_api.hash_and_length(&extrinsic);
        if Self::is_revalidation(priority) {
            let delay = self.throttle.delay(block);
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            if let Some(valid) = self.valid.get(block, &hash) {
                return Ok(Ok(valid));
            }
        }
        let validity = self.validation.validate(at, source, extrinsic.clone(), priority).await?;
        let best = (self.best_hash)();
        let (validity, block) = if validity.is_err() && at != best {
            let block = self.sdk_api.resolve_block_number(best)?.unique_saturated_into();
            (self.validation.validate(best, source, extrinsic, priority).await?, block)
        } else {
            (validity, block)
        };
        if let Ok(valid) = &validity {
            self.valid.insert(block, hash, valid.clone());
        }
        Ok(validity)
    }

    fn validate_transaction_blocking(
        &self,
        at: Hash,
        source: TransactionSource,
        extrinsic: Arc<OpaqueExtrinsic>,
    ) -> Result<TransactionValidity, Error> {
        self.sdk_api.validate_transaction_blocking(at, source, extrinsic)
    }

    fn block_id_to_number(&self, at: &BlockId<Block>) -> Result<Option<NumberFor<Block>>, Error> {
        self.sdk_api.block_id_to_number(at)
    }

    fn block_id_to_hash(&self, at: &BlockId<Block>) -> Result<Option<Hash>, Error> {
        self.sdk_api.block_id_to_hash(at)
    }

    fn hash_and_length(&self, extrinsic: &OpaqueExtrinsic) -> (Hash, usize) {
        self.sdk_api.hash_and_length(extrinsic)
    }

    async fn block_body(&self, at: Hash) -> Result<Option<Vec<OpaqueExtrinsic>>, Error> {
        self.sdk_api.block_body(at).await
    }

    fn block_header(&self, at: Hash) -> Result<Option<Header>, Error> {
        self.sdk_api.block_header(at)
    }

    fn tree_route(&self, from: Hash, to: Hash) -> Result<TreeRoute<Block>, Error> {
        self.sdk_api.tree_route(from, to)
    }
}
