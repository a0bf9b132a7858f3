//! The pool as an author sees it: once free calls have used up their share of a block, further free calls are left out.
//!
//! The runtime bounds the weight of free calls in a block, and their priority is above that of paying calls, so an author
//! tries them first. The SDK's author ends a block after a few extrinsics that did not fit; without this pool, free calls
//! beyond their share would end it before any paying call was tried.

use crate::{runtime_api::Block, service::TransactionPool as Pool};
use async_trait::async_trait;
use gantry_node_core::FreeCallFilter;
use gantry_runtime_api::FREE_PRIORITY;
use sc_transaction_pool_api::{
    BlockHash, ImportNotificationStream, InPoolTransaction, PoolStatus, ReadyTransactions, TransactionFor,
    TransactionPool, TransactionSource, TransactionStatusStreamFor, TxHash, TxInvalidityReportMap,
};
use std::{collections::HashMap, pin::Pin, sync::Arc, time::Duration};

type Hash = <Pool as TransactionPool>::Hash;
type PoolTransaction = <Pool as TransactionPool>::InPoolTransaction;
type Error = <Pool as TransactionPool>::Error;
type Ready = Box<dyn ReadyTransactions<Item = Arc<PoolTransaction>> + Send>;

/// The node's pool, whose ready transactions are filtered.
pub struct AuthorPool(pub Arc<Pool>);

#[async_trait]
impl TransactionPool for AuthorPool {
    type Block = Block;
    type Hash = Hash;
    type InPoolTransaction = PoolTransaction;
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
        FilteredReady::boxed(self.0.ready_at(at).await)
    }

    fn ready(&self) -> Ready {
        FilteredReady::boxed(self.0.ready())
    }

    async fn report_invalid(
        &self,
        at: Option<BlockHash<Self>>,
        errors: TxInvalidityReportMap<TxHash<Self>>,
    ) -> Vec<Arc<PoolTransaction>> {
        self.0.report_invalid(at, errors).await
    }

    fn futures(&self) -> Vec<PoolTransaction> {
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

    fn ready_transaction(&self, hash: &TxHash<Self>) -> Option<Arc<PoolTransaction>> {
        self.0.ready_transaction(hash)
    }

    async fn ready_at_with_timeout(&self, at: BlockHash<Self>, timeout: Duration) -> Ready {
        FilteredReady::boxed(self.0.ready_at_with_timeout(at, timeout).await)
    }
}

/// Ready transactions, without free ones that will not fit (see [`FreeCallFilter`]).
struct FilteredReady {
    ready: Ready,
    filter: FreeCallFilter,
}

impl FilteredReady {
    fn boxed(ready: Ready) -> Ready {
        Box::new(Self { ready, filter: FreeCallFilter::default() })
    }
}

impl Iterator for FilteredReady {
    type Item = Arc<PoolTransaction>;

    fn next(&mut self) -> Option<Arc<PoolTransaction>> {
        let filter = &mut self.filter;
        self.ready.find(|transaction| filter.admits(*transaction.priority() == FREE_PRIORITY))
    }
}

impl ReadyTransactions for FilteredReady {
    fn report_invalid(&mut self, transaction: &Arc<PoolTransaction>) {
        self.filter.report_invalid();
        self.ready.report_invalid(transaction);
    }
}
