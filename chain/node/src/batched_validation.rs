//! Validates extrinsics that arrive while the runtime is busy in batches, each with one call into the runtime.
//!
//! Each call runs in fresh memory, whose pages the system maps and unmaps one by one; that takes as long as the validation of
//! one extrinsic. Two threads, as many as the SDK's pool has, validate: an extrinsic that finds an idle thread is validated
//! at once and alone, and those that arrive meanwhile are the next batch (`gantry_node_core::ValidationQueue`).
//!
//! The results equal those of single validations: the runtime validates each extrinsic in a storage layer that it discards.
//! If a batch fails as a whole, if an extrinsic in it cannot be decoded, or if the runtime has no such call, its extrinsics
//! are validated one by one.

use crate::{runtime_api::Block, service::FullClient};
use futures::{channel::oneshot, FutureExt};
use gantry_node_core::{ValidationKind, ValidationQueue};
use gantry_runtime_api::BatchValidation;
use sc_service::SpawnEssentialTaskHandle;
use sc_transaction_pool::{ChainApi, FullChainApi, ValidateTransactionPriority};
use sp_api::{ApiExt, ProvideRuntimeApi};
use sp_core::traits::SpawnEssentialNamed;
use sp_runtime::{
    traits::Block as BlockT,
    transaction_validity::{TransactionSource, TransactionValidity},
    OpaqueExtrinsic,
};
use std::sync::{Arc, Mutex, PoisonError};
use substrate_prometheus_endpoint::{register, Counter, PrometheusError, Registry, U64};
use tokio::sync::Notify;

type Hash = <Block as BlockT>::Hash;
/// The SDK's chain API, which validates one extrinsic at a time.
pub type SdkChainApi = FullChainApi<FullClient, Block>;
/// The errors of the SDK's chain API.
pub type Error = <SdkChainApi as ChainApi>::Error;
type Validation = Result<TransactionValidity, Error>;

/// The names of the threads, which are also in the metrics of the task manager.
const WORKERS: [&str; 2] = ["transaction-validation-0", "transaction-validation-1"];

/// A request that waits for a thread.
struct Request {
    extrinsic: Arc<OpaqueExtrinsic>,
    response: oneshot::Sender<Validation>,
}

/// Validates extrinsics in batches.
pub struct BatchedValidation(Arc<Inner>);

struct Inner {
    client: Arc<FullClient>,
    sdk_api: Arc<SdkChainApi>,
    queue: Mutex<ValidationQueue<(Hash, TransactionSource), Request>>,
    pushed: Notify,
    metrics: Option<Metrics>,
}

impl BatchedValidation {
    /// Starts the threads.
    pub fn new(
        client: Arc<FullClient>,
        sdk_api: Arc<SdkChainApi>,
        registry: Option<&Registry>,
        spawner: &SpawnEssentialTaskHandle,
    ) -> Self {
        let metrics = registry.and_then(|registry| {
            Metrics::register(registry)
                .inspect_err(|error| log::warn!("the metrics of validation could not be registered: {error}"))
                .ok()
        });
        let inner = Arc::new(Inner { client, sdk_api, queue: Mutex::default(), pushed: Notify::new(), metrics });
        for name in WORKERS {
            let inner = inner.clone();
            let work = async move {
                loop {
                    inner.run_queue();
                    inner.pushed.notified().await;
                }
            };
            spawner.spawn_essential_blocking(name, Some("transaction-pool"), work.boxed());
        }
        Self(inner)
    }

    /// Returns the runtime's validation of an extrinsic for the state of block `at`.
    pub async fn validate(
        &self,
        at: Hash,
        source: TransactionSource,
        extrinsic: Arc<OpaqueExtrinsic>,
        priority: ValidateTransactionPriority,
    ) -> Validation {
        let kind = match priority {
            ValidateTransactionPriority::Submitted => ValidationKind::Submitted,
            ValidateTransactionPriority::Maintained => ValidationKind::Revalidation,
        };
        let (sender, receiver) = oneshot::channel();
        let (bytes, request) = (extrinsic.inner().len(), Request { extrinsic, response: sender });
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner).push(kind, (at, source), bytes, request);
        self.0.count(|metrics| &metrics.scheduled, 1);
        self.0.pushed.notify_one();
        receiver.await.unwrap_or_else(|_| {
            Err(sp_blockchain::Error::Backend("the node stopped before the extrinsic was validated".into()).into())
        })
    }
}

impl Inner {
    /// Validates batch after batch until the queue is empty.
    fn run_queue(&self) {
        loop {
            let next = self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_batch();
            let Some(((at, source), mut batch)) = next else { return };
            // The requester may have been dropped.
            batch.retain(|request| !request.response.is_canceled());
            self.validate_batch(at, source, batch);
        }
    }

    fn validate_batch(&self, at: Hash, source: TransactionSource, batch: Vec<Request>) {
        let count = batch.len();
        let results = if count > 1 { self.validate_in_one_call(at, source, &batch) } else { None };
        let results = results.unwrap_or_else(|| vec![None; count]);
        for (Request { extrinsic, response }, result) in batch.into_iter().zip(results) {
            let validation = match result {
                Some(validity) => Ok(validity),
                None => self.sdk_api.validate_transaction_blocking(at, source, extrinsic),
            };
            let _ = response.send(validation);
        }
        self.count(|metrics| &metrics.finished, count);
        self.count(|metrics| &metrics.batches, 1);
    }

    /// Returns the validity of each extrinsic of a batch, in its order. None if the runtime has no such call, or fails in it.
    fn validate_in_one_call(
        &self,
        at: Hash,
        source: TransactionSource,
        batch: &[Request],
    ) -> Option<Vec<Option<TransactionValidity>>> {
        let runtime = self.client.runtime_api();
        if !runtime.has_api::<dyn BatchValidation<Block>>(at).ok()? {
            return None;
        }
        let extrinsics = batch.iter().map(|request| (*request.extrinsic).clone()).collect();
        let results = runtime
            .validate_transactions(at, source, extrinsics, at)
            .inspect_err(|error| log::debug!("validating {} extrinsics one by one: {error}", batch.len()))
            .ok()?;
        (results.len() == batch.len()).then_some(results)
    }

    fn count(&self, counter: impl Fn(&Metrics) -> &Counter<U64>, number: usize) {
        if let Some(metrics) = &self.metrics {
            counter(metrics).inc_by(number as u64);
        }
    }
}

/// Counters. The first two have the same names and meaning as in the SDK's pool.
struct Metrics {
    scheduled: Counter<U64>,
    finished: Counter<U64>,
    batches: Counter<U64>,
}

impl Metrics {
    fn register(registry: &Registry) -> Result<Self, PrometheusError> {
        let counter = |name: &str, help: &str| register(Counter::new(name, help)?, registry);
        Ok(Self {
            scheduled: counter(
                "substrate_sub_txpool_validations_scheduled",
                "Total number of transactions scheduled for validation",
            )?,
            finished: counter(
                "substrate_sub_txpool_validations_finished",
                "Total number of transactions that finished validation",
            )?,
            batches: counter(
                "gantry_txpool_validation_batches",
                "Total number of batches in which they were validated",
            )?,
        })
    }
}
