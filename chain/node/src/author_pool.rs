//! The pool as an author sees it: once free calls have used up their share of a block, the others stay in the pool.
//!
//! The runtime bounds the weight of free calls in a block, and their priority is above that of paying calls, so an author
//! tries them first. The SDK's author ends a block after a few extrinsics that did not fit; without this pool, free calls
//! beyond their share would end it before any paying call was tried.

use crate::{runtime_api::Block, service::TransactionPool as Pool};
use async_trait::async_trait;
use sc_transaction_pool_api::{
    BlockHash, ImportNotificationStream, InPoolTransaction, PoolStatus, ReadyTransactions, TransactionFor,
    TransactionPool, TransactionPriority, TransactionSource, TransactionStatusStreamFor, TxHash, TxInvalidityReportMap,
};
use std::{collections::HashMap, pin::Pin, sync::Arc, time::Duration};

/// The priority that the runtime gives to free calls within the allowance of their host (`charging::FREE_PRIORITY`).
const FREE_PRIORITY: TransactionPriority = TransactionPriority::MAX / 2;
/// So many free calls one after another that did not fit, and the others are left for the next block. Half of those that
/// the SDK's author allows in all.
const MISSES: u32 = 4;

type Hash = <Pool as TransactionPool>::Hash;
type InPool = <Pool as TransactionPool>::InPoolTransaction;
type Error = <Pool as TransactionPool>::Error;
type Ready = Box<dyn ReadyTransactions<Item = Arc<InPool>> + Send>;

/// The node's pool, whose ready transactions end as told above.
pub struct AuthorPool(pub Arc<Pool>);

#[async_trait]
impl TransactionPool for AuthorPool {
    type Block = Block;
    type Hash = Hash;
    type InPoolTransaction = InPool;
    type Error = Error;

    async fn submit_at(
        &self,
        at: BlockHash<Self>,
        source: TransactionSource,
        xts: Vec<TransactionFor<Self>>,
    ) -> Result<Vec<Result<TxHash<Self>, Error>>, Error> {
        self.0.submit_at(at, source, xts).await
    }

    async fn submit_one(
        &self,
        at: BlockHash<Self>,
        source: TransactionSource,
        xt: TransactionFor<Self>,
    ) -> Result<TxHash<Self>, Error> {
        self.0.submit_one(at, source, xt).await
    }

    async fn submit_and_watch(
        &self,
        at: BlockHash<Self>,
        source: TransactionSource,
        xt: TransactionFor<Self>,
    ) -> Result<Pin<Box<TransactionStatusStreamFor<Self>>>, Error> {
        self.0.submit_and_watch(at, source, xt).await
    }

    async fn ready_at(&self, at: BlockHash<Self>) -> Ready {
        Box::new(UpToShare::new(self.0.ready_at(at).await))
    }

    fn ready(&self) -> Ready {
        Box::new(UpToShare::new(self.0.ready()))
    }

    async fn report_invalid(
        &self,
        at: Option<BlockHash<Self>>,
        errors: TxInvalidityReportMap<TxHash<Self>>,
    ) -> Vec<Arc<InPool>> {
        self.0.report_invalid(at, errors).await
    }

    fn futures(&self) -> Vec<InPool> {
        self.0.futures()
    }

    fn status(&self) -> PoolStatus {
        self.0.status()
    }

    fn import_notification_stream(&self) -> ImportNotificationStream<TxHash<Self>> {
        self.0.import_notification_stream()
    }

    fn on_broadcasted(&self, propagations: HashMap<TxHash<Self>, Vec<String>>) {
        self.0.on_broadcasted(propagations);
    }

    fn hash_of(&self, xt: &TransactionFor<Self>) -> TxHash<Self> {
        self.0.hash_of(xt)
    }

    fn ready_transaction(&self, hash: &TxHash<Self>) -> Option<Arc<InPool>> {
        self.0.ready_transaction(hash)
    }

    async fn ready_at_with_timeout(&self, at: BlockHash<Self>, timeout: Duration) -> Ready {
        Box::new(UpToShare::new(self.0.ready_at_with_timeout(at, timeout).await))
    }
}

/// Ready transactions without the free ones that follow [`MISSES`] of them that did not fit.
struct UpToShare<R> {
    ready: R,
    misses: u32,
    /// Whether the transaction that was given last is free and was not reported since.
    is_free_pending: bool,
}

impl<R> UpToShare<R> {
    fn new(ready: R) -> Self {
        Self { ready, misses: 0, is_free_pending: false }
    }
}

impl<T: InPoolTransaction, R: Iterator<Item = Arc<T>>> Iterator for UpToShare<R> {
    type Item = Arc<T>;

    fn next(&mut self) -> Option<Arc<T>> {
        if std::mem::take(&mut self.is_free_pending) {
            self.misses = 0;
        }
        let is_over = self.misses >= MISSES;
        let next = self.ready.find(|transaction| !(is_over && is_free(&**transaction)))?;
        self.is_free_pending = is_free(&*next);
        Some(next)
    }
}

impl<T: InPoolTransaction, R: ReadyTransactions<Item = Arc<T>>> ReadyTransactions for UpToShare<R> {
    fn report_invalid(&mut self, transaction: &Arc<T>) {
        if std::mem::take(&mut self.is_free_pending) {
            self.misses += 1;
        }
        self.ready.report_invalid(transaction);
    }
}

fn is_free<T: InPoolTransaction>(transaction: &T) -> bool {
    *transaction.priority() == FREE_PRIORITY
}

#[cfg(test)]
mod tests {
    use super::*;
    use sc_transaction_pool_api::{TransactionLongevity, TransactionTag};

    struct Transaction {
        number: u64,
        priority: TransactionPriority,
    }

    impl InPoolTransaction for Transaction {
        type Transaction = ();
        type Hash = u64;

        fn data(&self) -> &() {
            &()
        }

        fn hash(&self) -> &u64 {
            &self.number
        }

        fn priority(&self) -> &TransactionPriority {
            &self.priority
        }

        fn longevity(&self) -> &TransactionLongevity {
            &0
        }

        fn requires(&self) -> &[TransactionTag] {
            &[]
        }

        fn provides(&self) -> &[TransactionTag] {
            &[]
        }

        fn is_propagable(&self) -> bool {
            true
        }
    }

    /// `Vec` with the numbers of what was reported.
    struct Listed(std::vec::IntoIter<Arc<Transaction>>);

    impl Iterator for Listed {
        type Item = Arc<Transaction>;

        fn next(&mut self) -> Option<Arc<Transaction>> {
            self.0.next()
        }
    }

    impl ReadyTransactions for Listed {
        fn report_invalid(&mut self, _: &Arc<Transaction>) {}
    }

    fn ready(free: u64, paying: u64) -> UpToShare<Listed> {
        let numbered = |number| {
            let priority = if number < free { FREE_PRIORITY } else { 1 };
            Arc::new(Transaction { number, priority })
        };
        UpToShare::new(Listed((0..free + paying).map(numbered).collect::<Vec<_>>().into_iter()))
    }

    /// The numbers that an author tries, where `fits` says which it can take.
    fn tried(mut ready: UpToShare<Listed>, fits: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut numbers = Vec::new();
        while let Some(transaction) = ready.next() {
            numbers.push(transaction.number);
            if !fits(transaction.number) {
                ready.report_invalid(&transaction);
            }
        }
        numbers
    }

    #[test]
    fn paying_calls_follow_a_few_free_ones_that_do_not_fit() {
        assert_eq!(tried(ready(100, 3), |number| !(10..100).contains(&number)), {
            let mut expected: Vec<u64> = (0..14).collect();
            expected.extend(100..103);
            expected
        });
    }

    #[test]
    fn free_calls_go_on_where_one_of_a_few_fits() {
        let all: Vec<u64> = (0..22).collect();
        assert_eq!(tried(ready(20, 2), |number| number % 4 == 3), all);
    }

    #[test]
    fn paying_calls_that_do_not_fit_leave_nothing_out() {
        let all: Vec<u64> = (0..20).collect();
        assert_eq!(tried(ready(5, 15), |number| number < 5), all);
    }
}
