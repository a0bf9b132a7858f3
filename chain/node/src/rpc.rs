//! The RPC methods that `sc-service` does not add by itself.

use crate::{
    runtime_api::{AccountId, Balance, Block, Nonce},
    service::{FullClient, FullSelectChain, TransactionPool},
};
use jsonrpsee::RpcModule;
use sc_consensus_babe::BabeWorkerHandle;
use sc_consensus_grandpa::{FinalityProofProvider, GrandpaJustificationStream, SharedAuthoritySet, SharedVoterState};
use sc_rpc::SubscriptionTaskExecutor;
use sp_keystore::KeystorePtr;
use std::sync::Arc;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Number = u32;
type Hash = sp_core::H256;

/// The state that the `grandpa_*` methods read.
pub struct GrandpaDeps {
    pub shared_voter_state: SharedVoterState,
    pub shared_authority_set: SharedAuthoritySet<Hash, Number>,
    pub justification_stream: GrandpaJustificationStream<Block>,
    pub finality_provider: Arc<FinalityProofProvider<crate::service::FullBackend, Block>>,
}

/// The state that the methods read.
pub struct FullDeps {
    pub client: Arc<FullClient>,
    pub pool: Arc<TransactionPool>,
    pub select_chain: FullSelectChain,
    pub keystore: KeystorePtr,
    pub babe_worker: BabeWorkerHandle<Block>,
    pub grandpa: GrandpaDeps,
    pub subscription_executor: SubscriptionTaskExecutor,
}

/// Creates `system_accountNextIndex`, `payment_*`, `babe_*` and `grandpa_*`.
pub fn create(deps: FullDeps) -> Result<RpcModule<()>, Error> {
    use pallet_transaction_payment_rpc::{TransactionPayment, TransactionPaymentApiServer};
    use sc_consensus_babe_rpc::{Babe, BabeApiServer};
    use sc_consensus_grandpa_rpc::{Grandpa, GrandpaApiServer};
    use substrate_frame_rpc_system::{System, SystemApiServer};

    let mut module = RpcModule::new(());
    let system = System::new(deps.client.clone(), deps.pool);
    module.merge(SystemApiServer::<Hash, AccountId, Nonce>::into_rpc(system))?;
    let payment = TransactionPayment::new(deps.client.clone());
    module.merge(TransactionPaymentApiServer::<
        Hash,
        pallet_transaction_payment_rpc_runtime_api::RuntimeDispatchInfo<Balance>,
    >::into_rpc(payment))?;
    module.merge(Babe::new(deps.client, deps.babe_worker, deps.keystore, deps.select_chain).into_rpc())?;
    module.merge(
        Grandpa::new(
            deps.subscription_executor,
            deps.grandpa.shared_authority_set,
            deps.grandpa.shared_voter_state,
            deps.grandpa.justification_stream,
            deps.grandpa.finality_provider,
        )
        .into_rpc(),
    )?;
    Ok(module)
}
