//! Checks of extrinsics that come while the runtime is busy, made in one call into the runtime.
//!
//! Each call runs in fresh memory, whose pages the system gives and takes back one by one; for a check this takes as long as
//! the check itself. So two threads, as many as the SDK's pool has, make the checks: one that finds a thread free begins at
//! once and alone, and those that come meanwhile are the next batch (`gantry_pace::Batches`).
//!
//! The answers are those of single checks: the runtime makes each check in a layer of storage that it drops. Where a
//! batch fails as a whole, or an extrinsic in it cannot be decoded, or the runtime has no such call, checks are made one by
//! one.

use crate::{runtime_api::Block, service::FullClient};
use futures::{channel::oneshot, FutureExt};
use gantry_pace::{Batches, CheckOf};
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
/// The SDK's way to the runtime: single checks.
pub type Single = FullChainApi<FullClient, Block>;
/// Its errors.
pub type Error = <Single as ChainApi>::Error;
type Answer = Result<TransactionValidity, Error>;

/// The names of the threads, as they are in metrics.
const WORKERS: [&str; 2] = ["transaction-checks-0", "transaction-checks-1"];

/// A check that waits for a thread.
struct Check {
    extrinsic: Arc<OpaqueExtrinsic>,
    answer: oneshot::Sender<Answer>,
}

/// Makes checks of extrinsics.
pub struct BatchedChecks(Arc<Inner>);

struct Inner {
    client: Arc<FullClient>,
    single: Arc<Single>,
    batches: Mutex<Batches<(Hash, TransactionSource), Check>>,
    pushed: Notify,
    metrics: Option<Metrics>,
}

impl BatchedChecks {
    /// Starts the threads.
    pub fn new(
        client: Arc<FullClient>,
        single: Arc<Single>,
        registry: Option<&Registry>,
        spawner: &SpawnEssentialTaskHandle,
    ) -> Self {
        let metrics = registry.and_then(|registry| {
            Metrics::register(registry)
                .inspect_err(|error| log::warn!("the metrics of the pool's checks are not there: {error}"))
                .ok()
        });
        let inner = Arc::new(Inner { client, single, batches: Mutex::default(), pushed: Notify::new(), metrics });
        for name in WORKERS {
            let inner = inner.clone();
            let work = async move {
                loop {
                    inner.make_all();
                    inner.pushed.notified().await;
                }
            };
            spawner.spawn_essential_blocking(name, Some("transaction-pool"), work.boxed());
        }
        Self(inner)
    }

    /// What the runtime says about an extrinsic for the state of block `at`.
    pub async fn check(
        &self,
        at: Hash,
        source: TransactionSource,
        extrinsic: Arc<OpaqueExtrinsic>,
        priority: ValidateTransactionPriority,
    ) -> Answer {
        let of = match priority {
            ValidateTransactionPriority::Submitted => CheckOf::Submitted,
            ValidateTransactionPriority::Maintained => CheckOf::Waiting,
        };
        let (sender, receiver) = oneshot::channel();
        let (bytes, check) = (extrinsic.inner().len(), Check { extrinsic, answer: sender });
        self.0.batches.lock().unwrap_or_else(PoisonError::into_inner).push(of, (at, source), bytes, check);
        self.0.count(|metrics| &metrics.scheduled, 1);
        self.0.pushed.notify_one();
        receiver.await.unwrap_or_else(|_| {
            Err(sp_blockchain::Error::Backend("the node stops before the check is made".into()).into())
        })
    }
}

impl Inner {
    /// Makes the checks that wait, batch by batch, until there are none.
    fn make_all(&self) {
        loop {
            let taken = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(((at, source), mut batch)) = taken else { return };
            // Who sent it may have gone.
            batch.retain(|check| !check.answer.is_canceled());
            self.make(at, source, batch);
        }
    }

    fn make(&self, at: Hash, source: TransactionSource, batch: Vec<Check>) {
        let count = batch.len();
        let answers = if count > 1 { self.together(at, source, &batch) } else { None };
        let answers = answers.unwrap_or_else(|| vec![None; count]);
        for (Check { extrinsic, answer }, known) in batch.into_iter().zip(answers) {
            let made = match known {
                Some(validity) => Ok(validity),
                None => self.single.validate_transaction_blocking(at, source, extrinsic),
            };
            let _ = answer.send(made);
        }
        self.count(|metrics| &metrics.finished, count);
        self.count(|metrics| &metrics.batches, 1);
    }

    /// The answers to a batch, in its order. Nothing where the runtime has no such call, or fails in it.
    fn together(
        &self,
        at: Hash,
        source: TransactionSource,
        batch: &[Check],
    ) -> Option<Vec<Option<TransactionValidity>>> {
        let runtime = self.client.runtime_api();
        if !runtime.has_api::<dyn BatchValidation<Block>>(at).ok()? {
            return None;
        }
        let extrinsics = batch.iter().map(|check| (*check.extrinsic).clone()).collect();
        let answers = runtime
            .validate_transactions(at, source, extrinsics, at)
            .inspect_err(|error| log::debug!("checking {} extrinsics one by one: {error}", batch.len()))
            .ok()?;
        (answers.len() == batch.len()).then_some(answers)
    }

    fn count(&self, counter: impl Fn(&Metrics) -> &Counter<U64>, number: usize) {
        if let Some(metrics) = &self.metrics {
            counter(metrics).inc_by(number as u64);
        }
    }
}

/// The first two have the names and the meaning that they have in the SDK's pool.
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
