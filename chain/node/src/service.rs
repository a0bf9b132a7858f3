//! Assembles a node from the SDK's components: database, executor, pool, BABE, GRANDPA, network, RPC.

use crate::{
    author_pool::AuthorPool,
    cli::Cli,
    proposer::{TimedFactory, SLOT_SHARE},
    rpc::{FullDeps, GrandpaDeps},
    runtime_api::{Block, RuntimeApi},
    throttled_pool, well_known,
};
use futures::FutureExt;
use sc_client_api::{Backend, BlockBackend};
use sc_consensus_babe::{BabeLink, BabeWorkerHandle, SlotProportion};
use sc_consensus_grandpa::{GrandpaBlockImport, LinkHalf, SharedVoterState};
use sc_consensus_slots::BackoffAuthoringOnFinalizedHeadLagging;
use sc_executor::{HeapAllocStrategy, WasmExecutor};
use sc_network::{config::FullNetworkConfiguration, Litep2pNetworkBackend, NetworkBackend};
use sc_service::{config::ExecutorConfiguration, error::Error, Configuration, TaskManager, WarpSyncConfig};
use sc_telemetry::{Telemetry, TelemetryWorker};
use sc_transaction_pool_api::OffchainTransactionPoolFactory;
use sp_runtime::traits::Block as BlockT;
use std::{path::Path, sync::Arc, time::Duration};

/// Executes the runtime's wasm. It has only the SDK's host functions, so any SDK node can execute the runtime; here the
/// functions that verify signatures cache their results.
pub type Executor = WasmExecutor<gantry_host_functions::HostFunctions>;
/// The maximum memory of a call into the runtime, in pages of 64 KiB: what the SDK allocates for each call by default.
const MAX_PAGES: u32 = 2_048 + 256;
/// The client over the database and the wasm.
pub type FullClient = sc_service::TFullClient<Block, RuntimeApi, Executor>;
/// The database.
pub type FullBackend = sc_service::TFullBackend<Block>;
/// Fork choice: the longest chain that contains the last finalized block.
pub type FullSelectChain = sc_consensus::LongestChain<FullBackend, Block>;
/// The transaction pool, of the type chosen with `--pool-type`.
pub type TransactionPool = sc_transaction_pool::TransactionPoolHandle<Block, FullClient>;

type Hash = <Block as BlockT>::Hash;
type FullGrandpaImport = GrandpaBlockImport<FullBackend, Block, FullClient, FullSelectChain>;
type FullGrandpaLink = LinkHalf<Block, FullClient, FullSelectChain>;
type InherentProviders = (sp_consensus_babe::inherents::InherentDataProvider, sp_timestamp::InherentDataProvider);
type BoxedBlockImport = sc_consensus::BoxBlockImport<Block>;

/// Executes calls in the memory that the runtime declares, and grows it only for calls that need more. Allocating the maximum
/// for every call would change the protection of its pages each time and interrupt the other processors for that.
///
/// Compiled runtimes are stored in `cache`, because compiling one takes some seconds at each start of a node.
fn new_executor(config: &ExecutorConfiguration, cache: &Path) -> Executor {
    let memory = HeapAllocStrategy::Dynamic { maximum_pages: Some(MAX_PAGES) };
    Executor::builder()
        .with_execution_method(config.wasm_method)
        .with_onchain_heap_alloc_strategy(memory)
        .with_offchain_heap_alloc_strategy(memory)
        .with_max_runtime_instances(config.max_runtime_instances)
        .with_runtime_cache_size(config.runtime_cache_size)
        .with_cache_path(cache)
        .build()
}

/// The folder of compiled runtimes in the base path.
const RUNTIME_CACHE: &str = "compiled-runtimes";

/// GRANDPA's gossip duration, the time in which a vote is expected to reach all validators, is a slot divided by this number:
/// 333 ms on a chain with slots of 2 s. A GRANDPA round takes four times as long, even with one validator.
const GOSSIP_TIMES_PER_SLOT: u32 = 6;

/// For how long validators build a block in each slot while no block becomes final. After that many slots they build fewer
/// and fewer blocks, which limits the forks and states that a node stores. Not sooner, because a host whose heartbeats and
/// starts are not included in time would be held responsible for missing blocks.
const FULL_RATE_WITHOUT_FINALITY: Duration = Duration::from_secs(60 * 60);

/// The number of blocks between stored justifications, which prove finality to light clients.
const JUSTIFICATION_PERIOD: u32 = 512;

/// The components that importing blocks needs, without network and authoring.
pub struct Partial {
    pub client: Arc<FullClient>,
    pub backend: Arc<FullBackend>,
    pub task_manager: TaskManager,
    pub import_queue: sc_consensus::DefaultImportQueue<Block>,
    keystore: sc_service::KeystoreContainer,
    select_chain: FullSelectChain,
    pool: Arc<TransactionPool>,
    block_import: BoxedBlockImport,
    babe_link: BabeLink<Block>,
    babe_worker: BabeWorkerHandle<Block>,
    grandpa_link: FullGrandpaLink,
    telemetry: Option<Telemetry>,
}

fn inherents(slot_duration: sp_consensus_babe::SlotDuration) -> InherentProviders {
    let timestamp = sp_timestamp::InherentDataProvider::from_system_time();
    let slot =
        sp_consensus_babe::inherents::InherentDataProvider::from_timestamp_and_slot_duration(*timestamp, slot_duration);
    (slot, timestamp)
}

/// Opens the database and creates all components that need no network. Compiled runtimes are stored in the folder that `cli`
/// names, or in the base path.
pub fn new_partial(config: &Configuration, cli: &Cli) -> Result<Partial, Error> {
    well_known::refuse_in_genesis(&*config.chain_spec).map_err(Error::Other)?;
    let telemetry = config
        .telemetry_endpoints
        .clone()
        .filter(|endpoints| !endpoints.is_empty())
        .map(|endpoints| -> Result<_, sc_telemetry::Error> {
            let worker = TelemetryWorker::new(16)?;
            let telemetry = worker.handle().new_telemetry(endpoints);
            Ok((worker, telemetry))
        })
        .transpose()?;

    let own_cache = config.base_path.path().join(RUNTIME_CACHE);
    let executor = new_executor(&config.executor, cli.runtime_cache.as_deref().unwrap_or(&own_cache));
    let (client, backend, keystore, task_manager) = sc_service::new_full_parts::<Block, RuntimeApi, _>(
        config,
        telemetry.as_ref().map(|(_, telemetry)| telemetry.handle()),
        executor,
        Vec::new(),
    )?;
    let client = Arc::new(client);
    let telemetry = telemetry.map(|(worker, telemetry)| {
        task_manager.spawn_handle().spawn("telemetry", None, worker.run());
        telemetry
    });

    let select_chain = sc_consensus::LongestChain::new(backend.clone());
    let pool = Arc::new(throttled_pool::build(config, cli, client.clone(), task_manager.spawn_essential_handle()));

    let (grandpa_import, grandpa_link): (FullGrandpaImport, FullGrandpaLink) = sc_consensus_grandpa::block_import(
        client.clone(),
        JUSTIFICATION_PERIOD,
        &client,
        select_chain.clone(),
        telemetry.as_ref().map(|t| t.handle()),
    )?;

    let babe_config = sc_consensus_babe::configuration(&*client)?;
    let slot_duration = babe_config.slot_duration();
    let (block_import, babe_link) = sc_consensus_babe::block_import(
        babe_config,
        grandpa_import.clone(),
        client.clone(),
        Arc::new(move |_, _| async move { Ok(inherents(slot_duration)) })
            as Arc<dyn sp_inherents::CreateInherentDataProviders<Block, (), InherentDataProviders = InherentProviders>>,
        select_chain.clone(),
        OffchainTransactionPoolFactory::new(pool.clone()),
    )?;

    let (import_queue, babe_worker) = sc_consensus_babe::import_queue(sc_consensus_babe::ImportQueueParams {
        link: babe_link.clone(),
        block_import: block_import.clone(),
        justification_import: Some(Box::new(grandpa_import)),
        client: client.clone(),
        slot_duration,
        spawner: &task_manager.spawn_essential_handle(),
        registry: config.prometheus_registry(),
        telemetry: telemetry.as_ref().map(|t| t.handle()),
    })?;

    Ok(Partial {
        client,
        backend,
        task_manager,
        import_queue,
        keystore,
        select_chain,
        pool,
        block_import: Box::new(block_import),
        babe_link,
        babe_worker,
        grandpa_link,
        telemetry,
    })
}

/// Starts a full node, or a validator if the role of the configuration is authority.
pub fn new_full(config: Configuration, cli: &Cli) -> Result<TaskManager, Error> {
    type Net = Litep2pNetworkBackend;

    let Partial {
        client,
        backend,
        mut task_manager,
        import_queue,
        keystore,
        select_chain,
        pool,
        block_import,
        babe_link,
        babe_worker,
        grandpa_link,
        mut telemetry,
    } = new_partial(&config, cli)?;

    let slot_duration = babe_link.config().slot_duration();
    let genesis_hash: Hash =
        client.block_hash(0)?.ok_or_else(|| Error::Other("the chain has no genesis block".into()))?;
    let metrics = <Net as NetworkBackend<Block, Hash>>::register_notification_metrics(config.prometheus_registry());
    let mut net_config =
        FullNetworkConfiguration::<Block, Hash, Net>::new(&config.network, config.prometheus_registry().cloned());

    let grandpa_protocol = sc_consensus_grandpa::protocol_standard_name(&genesis_hash, &config.chain_spec);
    let (grandpa_set, grandpa_notifications) = sc_consensus_grandpa::grandpa_peers_set_config::<Block, Net>(
        grandpa_protocol.clone(),
        metrics.clone(),
        net_config.peer_store_handle(),
    );
    net_config.add_notification_protocol(grandpa_set);

    let warp_sync = Arc::new(sc_consensus_grandpa::warp_proof::NetworkProvider::new(
        backend.clone(),
        grandpa_link.shared_authority_set().clone(),
        Vec::new(),
    ));

    let (network, system_rpc_tx, tx_handler_controller, sync_service, _bitswap) =
        sc_service::build_network(sc_service::BuildNetworkParams {
            config: &config,
            net_config,
            client: client.clone(),
            transaction_pool: pool.clone(),
            spawn_handle: task_manager.spawn_handle(),
            spawn_essential_handle: task_manager.spawn_essential_handle(),
            import_queue,
            block_announce_validator_builder: None,
            warp_sync_config: Some(WarpSyncConfig::WithProvider(warp_sync)),
            block_relay: None,
            metrics,
            gap_sync_body_policy: None,
        })?;

    if config.offchain_worker.enabled {
        // Equivocation reports of BABE and GRANDPA are sent from here.
        let workers = sc_offchain::OffchainWorkers::new(sc_offchain::OffchainWorkerOptions {
            runtime_api_provider: client.clone(),
            is_validator: config.role.is_authority(),
            keystore: Some(keystore.keystore()),
            offchain_db: backend.offchain_storage(),
            transaction_pool: Some(OffchainTransactionPoolFactory::new(pool.clone())),
            network_provider: Arc::new(network.clone()),
            enable_http_requests: false,
            custom_extensions: |_| Vec::new(),
        })?;
        task_manager.spawn_handle().spawn(
            "offchain-workers-runner",
            "offchain-worker",
            workers.run(client.clone(), task_manager.spawn_handle()).boxed(),
        );
    }

    if config.role.is_authority() {
        let dev_key = config.dev_key_seed.is_some();
        well_known::refuse_in_keystore(&*config.chain_spec, dev_key, &keystore.keystore()).map_err(Error::Other)?;
    }

    let role = config.role;
    let force_authoring = config.force_authoring;
    let name = config.network.node_name.clone();
    let enable_grandpa = !config.disable_grandpa;
    let prometheus_registry = config.prometheus_registry().cloned();
    let shared_voter_state = SharedVoterState::empty();

    let rpc_builder = {
        let client = client.clone();
        let pool = pool.clone();
        let select_chain = select_chain.clone();
        let keystore = keystore.keystore();
        let shared_voter_state = shared_voter_state.clone();
        let shared_authority_set = grandpa_link.shared_authority_set().clone();
        let justification_stream = grandpa_link.justification_stream();
        let finality_provider = sc_consensus_grandpa::FinalityProofProvider::new_for_service(
            backend.clone(),
            Some(shared_authority_set.clone()),
        );
        Box::new(move |subscription_executor| {
            crate::rpc::create(FullDeps {
                client: client.clone(),
                pool: pool.clone(),
                select_chain: select_chain.clone(),
                keystore: keystore.clone(),
                babe_worker: babe_worker.clone(),
                grandpa: GrandpaDeps {
                    shared_voter_state: shared_voter_state.clone(),
                    shared_authority_set: shared_authority_set.clone(),
                    justification_stream: justification_stream.clone(),
                    finality_provider: finality_provider.clone(),
                },
                subscription_executor,
            })
            .map_err(Into::into)
        })
    };

    sc_service::spawn_tasks(sc_service::SpawnTasksParams {
        config,
        client: client.clone(),
        backend,
        task_manager: &mut task_manager,
        keystore: keystore.keystore(),
        transaction_pool: pool.clone(),
        rpc_builder,
        network: network.clone(),
        system_rpc_tx,
        tx_handler_controller,
        sync_service: sync_service.clone(),
        telemetry: telemetry.as_mut(),
        tracing_execute_block: None,
    })?;

    if role.is_authority() {
        let factory = sc_basic_authorship::ProposerFactory::new(
            task_manager.spawn_handle(),
            client.clone(),
            Arc::new(AuthorPool(pool.clone())),
            prometheus_registry.as_ref(),
            telemetry.as_ref().map(|t| t.handle()),
        );
        let proposer = TimedFactory::new(factory, client.clone(), slot_duration.as_duration());
        let babe = sc_consensus_babe::start_babe(sc_consensus_babe::BabeParams {
            keystore: keystore.keystore(),
            client,
            select_chain,
            env: proposer,
            block_import,
            sync_oracle: sync_service.clone(),
            justification_sync_link: sync_service.clone(),
            create_inherent_data_providers: move |_, ()| async move { Ok(inherents(slot_duration)) },
            force_authoring,
            backoff_authoring_blocks: Some(BackoffAuthoringOnFinalizedHeadLagging {
                unfinalized_slack: (FULL_RATE_WITHOUT_FINALITY.as_millis() / slot_duration.as_duration().as_millis())
                    as u32,
                ..Default::default()
            }),
            babe_link,
            block_proposal_slot_portion: SlotProportion::new(SLOT_SHARE),
            // Otherwise an author would take longer than a slot after missed slots, and miss more.
            max_block_proposal_slot_portion: Some(SlotProportion::new(SLOT_SHARE)),
            telemetry: telemetry.as_ref().map(|t| t.handle()),
        })?;
        task_manager.spawn_essential_handle().spawn_blocking("babe-proposer", Some("block-authoring"), babe);
    }

    if enable_grandpa {
        let gossip_duration = slot_duration.as_duration() / GOSSIP_TIMES_PER_SLOT;
        let grandpa = sc_consensus_grandpa::run_grandpa_voter(sc_consensus_grandpa::GrandpaParams {
            config: sc_consensus_grandpa::Config {
                gossip_duration,
                justification_generation_period: JUSTIFICATION_PERIOD,
                name: Some(name),
                observer_enabled: false,
                keystore: role.is_authority().then(|| keystore.keystore()),
                local_role: role,
                telemetry: telemetry.as_ref().map(|t| t.handle()),
                protocol_name: grandpa_protocol,
            },
            link: grandpa_link,
            network,
            sync: sync_service,
            notification_service: grandpa_notifications,
            voting_rule: sc_consensus_grandpa::VotingRulesBuilder::default().build(),
            prometheus_registry,
            shared_voter_state,
            telemetry: telemetry.as_ref().map(|t| t.handle()),
            offchain_tx_pool_factory: OffchainTransactionPoolFactory::new(pool),
        })?;
        task_manager.spawn_essential_handle().spawn_blocking("grandpa-voter", None, grandpa);
    }

    Ok(task_manager)
}
