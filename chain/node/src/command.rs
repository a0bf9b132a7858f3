//! Runs the command that the command line names.

use crate::{
    chain_spec,
    cli::{Cli, Command},
    runtime_file, service,
};
use sc_cli::SubstrateCli;

impl SubstrateCli for Cli {
    fn impl_name() -> String {
        "Gantry node".into()
    }

    fn impl_version() -> String {
        env!("SUBSTRATE_CLI_IMPL_VERSION").into()
    }

    fn executable_name() -> String {
        "gantry-node".into()
    }

    fn description() -> String {
        env!("CARGO_PKG_DESCRIPTION").into()
    }

    fn author() -> String {
        "Gantry".into()
    }

    fn support_url() -> String {
        "docs/architecture.md".into()
    }

    fn copyright_start_year() -> i32 {
        2026
    }

    fn load_spec(&self, id: &str) -> Result<Box<dyn sc_cli::ChainSpec>, String> {
        chain_spec::load(id)
    }
}

/// Parses the command line and runs its command; without a command, a node.
pub fn run() -> sc_cli::Result<()> {
    let cli = Cli::from_args();
    match &cli.subcommand {
        Some(Command::ChainSpec(cmd)) => chain_spec::make(cmd).map_err(sc_cli::Error::Input),
        Some(Command::Runtime(cmd)) => runtime_file::run(cmd).map_err(sc_cli::Error::Input),
        Some(Command::Key(cmd)) => cmd.run(&cli),
        Some(Command::ExportBlocks(cmd)) => cli.create_runner(cmd)?.async_run(|config| {
            let database = config.database.clone();
            let parts = service::new_partial(&config, &cli)?;
            Ok((cmd.run(parts.client, database), parts.task_manager))
        }),
        Some(Command::ImportBlocks(cmd)) => cli.create_runner(cmd)?.async_run(|config| {
            let parts = service::new_partial(&config, &cli)?;
            Ok((cmd.run(parts.client, parts.import_queue), parts.task_manager))
        }),
        Some(Command::Revert(cmd)) => cli.create_runner(cmd)?.async_run(|config| {
            let parts = service::new_partial(&config, &cli)?;
            let undo = Box::new(|client: std::sync::Arc<service::FullClient>, backend, blocks| {
                sc_consensus_babe::revert(client.clone(), backend, blocks)?;
                sc_consensus_grandpa::revert(client, blocks)?;
                Ok(())
            });
            Ok((cmd.run(parts.client, parts.backend, Some(undo)), parts.task_manager))
        }),
        Some(Command::PurgeChain(cmd)) => cli.create_runner(cmd)?.sync_run(|config| cmd.run(config.database)),
        None => cli.create_runner(&cli.run)?.run_node_until_exit(|config| async move {
            service::new_full(config, &cli).map_err(sc_cli::Error::Service)
        }),
    }
}
