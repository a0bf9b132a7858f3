//! Running one benchmark after the other in the wasm.

use crate::table::Measured;
use codec::{Decode, Encode};
use frame_benchmarking::{
    benchmarking::HostFunctions, BenchmarkBatch, BenchmarkConfig, BenchmarkList, BenchmarkMetadata, BenchmarkParameter,
    BenchmarkResult,
};
use frame_support::traits::StorageInfo;
use sc_client_db::BenchmarkingState;
use sc_executor::WasmExecutor;
use sc_executor_common::runtime_blob::RuntimeBlob;
use serde_json::Value;
use sp_core::{
    storage::{well_known_keys::CODE, Storage},
    traits::{CallContext, ReadRuntimeVersionExt, RuntimeCode, WrappedRuntimeCode},
};
use sp_externalities::Extensions;
use sp_keystore::{testing::MemoryKeystore, KeystoreExt};
use sp_runtime::traits::BlakeTwo256;
use sp_state_machine::{BasicExternalities, OverlayedChanges, StateMachine};

/// How many tasks lie in state: a call on a network costs what it costs among many.
const NEIGHBOURS: u64 = 4_096;
/// About as long as the record of a running task.
const NEIGHBOUR_BYTES: usize = 300;
/// Far above the numbers that benchmarks give.
const FIRST_NEIGHBOUR: u64 = 1 << 36;

type Executor = WasmExecutor<(sp_io::SubstrateHostFunctions, HostFunctions)>;
type Components = Vec<(BenchmarkParameter, u32)>;

/// A runtime and the state in which its calls are measured.
pub struct Bench {
    code: Vec<u8>,
    executor: Executor,
    /// Benchmarks bring it back to genesis when they end.
    state: BenchmarkingState<BlakeTwo256>,
    /// The same, where what is read and written is counted.
    counting: BenchmarkingState<BlakeTwo256>,
}

/// What one pass is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// The benchmark's own checks of what the call did.
    Verify,
    /// Counting what is read and written.
    Count,
    /// Taking the time.
    Time,
}

impl Bench {
    /// A runtime with the genesis of its development preset.
    pub fn new(code: &[u8]) -> Result<Self, String> {
        let executor = WasmExecutor::builder().with_max_runtime_instances(1).with_runtime_cache_size(1).build();
        let mut genesis = genesis(&executor, code)?;
        genesis.top.extend((0..NEIGHBOURS).map(neighbour));
        let state = |genesis, counts| BenchmarkingState::new(genesis, None, counts, counts);
        let counting = state(genesis.clone(), true)?;
        Ok(Self { code: code.to_vec(), executor, state: state(genesis, false)?, counting })
    }

    /// Which benchmarks the runtime has.
    pub fn list(&self) -> Result<Vec<BenchmarkList>, String> {
        let (list, _): (Vec<BenchmarkList>, Vec<StorageInfo>) =
            self.call("Benchmark_benchmark_metadata", &false.encode(), Pass::Verify)?;
        Ok(list)
    }

    /// Checks and measures the benchmarks of one pallet, each in `rounds` that the others lie between: what else the
    /// machine did during one of them is not part of the cost.
    pub fn measure(&self, list: &BenchmarkList, steps: u32, repeat: u32, rounds: u32) -> Result<Vec<Measured>, String> {
        let points: Vec<(usize, Components)> = list
            .benchmarks
            .iter()
            .enumerate()
            .flat_map(|(place, benchmark)| {
                combinations(&benchmark.components, steps).into_iter().map(move |components| (place, components))
            })
            .collect();
        let run = |(place, components): &(usize, Components), pass, repeats| {
            self.run(list, &list.benchmarks[*place], components, pass, repeats)
        };
        let mut counted = Vec::new();
        for point in &points {
            run(point, Pass::Verify, 1)?;
            counted.push(run(point, Pass::Count, 1)?);
        }
        let mut times = vec![Vec::new(); points.len()];
        for _ in 0..rounds {
            for (point, times) in points.iter().zip(&mut times) {
                times.extend(run(point, Pass::Time, repeat)?);
            }
        }
        list.benchmarks
            .iter()
            .enumerate()
            .map(|(place, benchmark)| {
                let own =
                    || points.iter().enumerate().filter(move |(_, point)| point.0 == place).map(|(index, _)| index);
                let counted: Vec<_> = own().flat_map(|index| counted[index].clone()).collect();
                let timed: Vec<_> = own().filter_map(|index| middle(times[index].clone())).collect();
                Measured::new(benchmark, &timed, &counted)
            })
            .collect()
    }

    fn run(
        &self,
        list: &BenchmarkList,
        benchmark: &BenchmarkMetadata,
        components: &Components,
        pass: Pass,
        repeats: u32,
    ) -> Result<Vec<BenchmarkResult>, String> {
        let config = BenchmarkConfig {
            pallet: list.pallet.clone(),
            instance: list.instance.clone(),
            benchmark: benchmark.name.clone(),
            selected_components: components.clone(),
            verify: pass == Pass::Verify,
            internal_repeats: repeats,
        };
        let answer: Result<Vec<BenchmarkBatch>, String> =
            self.call("Benchmark_dispatch_benchmark", &config.encode(), pass)?;
        let batches = answer.map_err(|error| {
            let (pallet, name) = (String::from_utf8_lossy(&list.pallet), String::from_utf8_lossy(&benchmark.name));
            format!("{pallet}.{name} with {components:?}: {error}")
        })?;
        Ok(batches.into_iter().flat_map(|batch| batch.results).collect())
    }

    /// Calls the runtime on the genesis state.
    fn call<R: Decode>(&self, method: &str, data: &[u8], pass: Pass) -> Result<R, String> {
        let state = if pass == Pass::Count { &self.counting } else { &self.state };
        let mut changes = OverlayedChanges::default();
        let mut extensions = Extensions::default();
        extensions.register(KeystoreExt::new(MemoryKeystore::new()));
        extensions.register(ReadRuntimeVersionExt::new(self.executor.clone()));
        let fetcher = WrappedRuntimeCode(self.code.as_slice().into());
        let hash = sp_io::hashing::blake2_256(&self.code).to_vec();
        let runtime = RuntimeCode { code_fetcher: &fetcher, heap_pages: None, hash };
        let answer = StateMachine::new(
            state,
            &mut changes,
            &self.executor,
            method,
            data,
            &mut extensions,
            &runtime,
            CallContext::Offchain,
        )
        .execute()
        .map_err(|error| format!("the runtime does not answer {method}: {error}"))?;
        R::decode(&mut answer.as_slice()).map_err(|error| format!("the answer to {method} cannot be decoded: {error}"))
    }
}

/// The genesis state of the runtime's development preset.
fn genesis(executor: &Executor, code: &[u8]) -> Result<Storage, String> {
    let mut state = BasicExternalities::new_empty();
    let blob = || RuntimeBlob::uncompress_if_needed(code).map_err(|error| format!("this is no runtime: {error}"));
    let mut ask = |method: &str, data: &[u8]| {
        let answer = executor.uncached_call(blob()?, &mut state, true, method, data);
        answer.map_err(|error| format!("the runtime does not answer {method}: {error}"))
    };
    let undecodable = |error: codec::Error| format!("the runtime's presets cannot be decoded: {error}");
    let mut preset = |name: Option<&str>| {
        let answer = ask("GenesisBuilder_get_preset", &name.map(str::to_owned).encode())?;
        let json = Option::<Vec<u8>>::decode(&mut answer.as_slice()).map_err(undecodable)?;
        let json = json.ok_or("the runtime has no development preset")?;
        serde_json::from_slice::<Value>(&json).map_err(|error| format!("a preset is not JSON: {error}"))
    };
    let mut whole = preset(None)?;
    merge(&mut whole, preset(Some("development"))?);
    let built = ask("GenesisBuilder_build_state", &whole.to_string().into_bytes().encode())?;
    Result::<(), String>::decode(&mut built.as_slice()).map_err(undecodable)??;
    let mut storage = state.into_storages();
    storage.top.insert(CODE.to_vec(), code.to_vec());
    Ok(storage)
}

/// Lays a preset over the default genesis, as a node does (RFC 7396).
fn merge(base: &mut Value, patch: Value) {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, patch) => *base = patch,
    }
}

/// A task that lies in state beside those that the calls are about, under a number that none of them has.
fn neighbour(number: u64) -> (Vec<u8>, Vec<u8>) {
    let prefix = [sp_io::hashing::twox_128(b"Tasks"), sp_io::hashing::twox_128(b"Tasks")].concat();
    let key = (FIRST_NEIGHBOUR + number).to_be_bytes();
    ([prefix.as_slice(), &key].concat(), vec![number as u8; NEIGHBOUR_BYTES])
}

/// The result whose time lies in the middle.
fn middle(mut results: Vec<BenchmarkResult>) -> Option<BenchmarkResult> {
    results.sort_by_key(|result| result.extrinsic_time);
    let half = results.len() / 2;
    results.into_iter().nth(half)
}

/// All components at their lowest, which says what the call costs by itself; then each from low to high in steps while the
/// others are at their highest. A single empty one where there are none.
fn combinations(components: &[(BenchmarkParameter, u32, u32)], steps: u32) -> Vec<Components> {
    let highest: Components = components.iter().map(|(name, _, high)| (*name, *high)).collect();
    if components.is_empty() {
        return vec![highest];
    }
    let mut all = vec![components.iter().map(|(name, low, _)| (*name, *low)).collect()];
    for (place, (name, low, high)) in components.iter().enumerate() {
        let (span, steps) = (u64::from(high - low), u64::from(steps.max(2)));
        let mut values: Vec<u32> = (0..steps).map(|step| low + (span * step / (steps - 1)) as u32).collect();
        values.dedup();
        for value in values {
            let mut chosen = highest.clone();
            chosen[place] = (*name, value);
            all.push(chosen);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use BenchmarkParameter::{a, b};

    #[test]
    fn a_round_in_which_the_machine_was_busy_does_not_count() {
        let took = |extrinsic_time| BenchmarkResult { extrinsic_time, ..Default::default() };
        let results = [900, 31, 30, 950, 32, 33, 940].map(took).to_vec();
        assert_eq!(middle(results).map(|result| result.extrinsic_time), Some(33));
        assert!(middle(Vec::new()).is_none());
    }

    #[test]
    fn a_benchmark_without_components_runs_once() {
        assert_eq!(combinations(&[], 10), vec![vec![]]);
    }

    #[test]
    fn all_are_low_once_and_each_goes_from_low_to_high_while_the_others_are_high() {
        let all = combinations(&[(a, 0, 10), (b, 1, 2)], 3);
        let values: Vec<_> = all.iter().map(|chosen| (chosen[0].1, chosen[1].1)).collect();
        assert_eq!(values, vec![(0, 1), (0, 2), (5, 2), (10, 2), (10, 1), (10, 2)]);
    }
}
