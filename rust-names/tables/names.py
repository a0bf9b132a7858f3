"""Identifiers: what they are, what they become, where, and why.

The order matters: patterns that need a receiver come before the whole words that they contain.
"""

from apply import Rename

T = "pallets/tasks/src/*"
L = "pallets/leases/src/*"
H = "pallets/hosts/src/*"
B = "pallets/billing/src/*"
V = "pallets/verification/src/*"
P = "primitives/*"
ALL = "*.rs !node/* !pace/* !host-functions/*"


def word(old: str, new: str, globs: str, why: str = "", fns: str = "", known: bool = False) -> Rename:
    return Rename(old, new, globs, why, fns, known=known)


def local(old: str, new: str, globs: str, why: str = "", fns: str = "", known: bool = False) -> Rename:
    return Rename(old, new, globs, why, fns, local=True, known=known)


def pattern(old: str, new: str, globs: str, why: str = "", fns: str = "") -> Rename:
    return Rename(old, new, globs, why, fns, regex=True, known=True)


MODULES = [
    *(
        pattern(rf"\b(mod|use crate::|crate::)(\s*){old}\b", rf"\g<1>\g<2>{new}", T, "file renamed")
        for old, new in (
            ("desk", "changes"),
            ("apart", "anti_affinity"),
            ("assigning", "assignment"),
            ("endings", "termination"),
            ("evidence", "self_assignment"),
            ("judging", "verdicts"),
            ("keeping", "lease_store"),
            ("preempting", "preemption"),
            ("reporting", "reports"),
            ("settling", "settlement"),
            ("submitting", "submission"),
            ("surviving", "migration"),
        )
    ),
    pattern(r"\bmod layouts\b", "mod anti_affinity", T, "file of tests renamed"),
    pattern(r"\bassigning::", "assignment::", T, "file renamed"),
    pattern(r"\bdesk::", "changes::", T, "file renamed"),
    pattern(r"\bendings::", "termination::", T, "file renamed"),
    pattern(r"(?<=[{\s])endings,", "termination,", T, "file renamed"),
    pattern(r"\bpreempting::", "preemption::", T, "file renamed"),
    pattern(r"\breporting::", "reports::", T, "file renamed"),
    pattern(r"\bsurviving::", "migration::", T, "file renamed"),
    pattern(r"\bmod hosting\b", "mod host_entries", T, "file renamed; `hosts` is the alias of the hosts pallet"),
    pattern(r"\bhosting::", "host_entries::", T, "file renamed"),
    pattern(r"\bmod keeper\b", "mod lease_store", L, "file renamed"),
    pattern(r"\bkeeper::", "lease_store::", L, "file renamed"),
    pattern(r"\bmod lists\b", "mod host_leases", L, "file renamed"),
    pattern(r"\bmod due\b", "mod due_leases", L, "file renamed"),
    pattern(r"\bdue::", "due_leases::", L, "file renamed"),
    *(
        pattern(rf"\bmod {old}\b", f"mod {new}", "pallets/leases/src/tests.rs", "file of tests renamed")
        for old, new in (
            ("ending", "termination"),
            ("lengthening", "extension"),
            ("retaining", "retention"),
            ("suspending", "suspension"),
        )
    ),
    pattern(r"\bmod leaving\b", "mod retirement", "pallets/hosts/src/tests/mod.rs", "file of tests renamed"),
    pattern(r"\bmod registering\b", "mod registration", "pallets/hosts/src/tests/mod.rs", "file of tests renamed"),
    pattern(r"\bmod voting\b", "mod committees", V, "file renamed"),
    pattern(r"\bvoting::", "committees::", V, "file renamed"),
    pattern(r"\bmod deadlines\b", "mod queues", V, "file renamed"),
    pattern(r"\bdeadlines::", "queues::", V, "file renamed"),
    pattern(r"\bmod dice\b", "mod rng", "mock/* fuzz/* runtime/tests/*", "file renamed"),
    pattern(r"\bdice::", "rng::", "mock/* fuzz/* runtime/tests/*", "file renamed"),
    pattern(r"\bmod world\b", "mod chain", "fuzz/*", "file renamed"),
    pattern(r"\bworld::", "chain::", "fuzz/* runtime/tests/sequences.rs", "file renamed"),
    pattern(r"\bmod world\b", "mod setup", "runtime/tests/* !runtime/tests/sequences.rs", "file renamed"),
    pattern(r"\bworld::", "setup::", "runtime/tests/* !runtime/tests/sequences.rs", "file renamed"),
]

CHANGES = [
    word(
        "Desk", "TaskChanges", T,
        "the changes that one extrinsic makes to tasks and to what they share: read once, changed in memory, written by "
        "`commit`. Not `WriteSet` (it also reads and decides), not `Transaction` (in Substrate that is the extrinsic), "
        "not `Operation` (one `TaskChanges` carries all items of a batch)",
    ),
    pattern(r"(?<![\w.])desk\b(?!::)", "changes", T, "variable of type TaskChanges"),
    word(
        "Case", "LoadedTask", T,
        "a task read from storage, changed on a value and stored again, or dropped without effect",
    ),
    pattern(r"\b(self|changes|Desk::<T>::new\(\)|TaskChanges::<T>::new\(\))\.open\(", r"\g<1>.load(", T, "reads a task; `open` is also the state of an escrow"),
    pattern(r"\bfn open\((?=&mut self, task)", "fn load(", T),
    word("open_lease", "load_lease", T, "reads the task of a lease"),
    pattern(r"\b(self|changes)\.put\(", r"\g<1>.store(", T, "FRAME's `put` sets a storage value"),
    pattern(r"\bpub fn put\(&mut self, case\b", "pub fn store(&mut self, case", T),
    pattern(r"\bSelf::put\b|\bTaskChanges::put\b", "TaskChanges::store", "pallets/tasks/src/changes.rs"),
    pattern(r"\bcase\.go::<", "case.try_transition::<", T, "fails where the table does not list the transition"),
    pattern(r"\bpub fn go<T: Config>\(", "pub fn try_transition<T: Config>(", T),
    pattern(r"\bself\.go\(", "self.transition(", T, "as `try_transition`, where the caller knows that the table lists it"),
    pattern(r"\bpub fn go\(&mut self, case\b", "pub fn transition(&mut self, case", T),
    pattern(r"\bself\.place::<T>\(|\bcase\.place::<T>\(", "case.position_of::<T>(", T, "`Iterator::position` is the word of std"),
    pattern(r"\bpub fn place<T: Config>\(&self, lease", "pub fn position_of<T: Config>(&self, lease", T),
    pattern(r"\bcase\.places\(\)", "case.positions()", T),
    pattern(r"\bpub fn places\(&self\)", "pub fn positions(&self)", T),
    pattern(r"\bcase\.id\(", "case.lease_id_at(", T, "which id"),
    pattern(r"\bpub fn id\(&self, place: usize\)", "pub fn lease_id_at(&self, place: usize)", T),
    pattern(r"(?<![\w.])case\b", "loaded", T, "variable of type LoadedTask"),
    pattern(r"\bsource\.case\b", "source.loaded", T),
    pattern(r"\bsource\.place\b", "source.position", T),
    word("is_told_to_leave", "has_preemption_notice", T, "kube-scheduler: preemption"),
    word("leaves_for", "is_victim_of", T, "kube-scheduler: victim"),
    word("told", "victims", T, "how many victims the notice names", fns="do_cancel do_expire assign"),
    word("told", "notified", T, "the result of giving notice", fns="do_preempt"),
    local("told", "preemption", T, "", fns="leaves_for is_victim_of check_notices"),
    pattern(r"\bSelf::tell\(", "Self::give_notice(", T),
    pattern(r"\bfn tell\((?=\s*who: AccountId)", "fn give_notice(", T, "gives the preemption notice"),
    word("tell", "give_notice", "pallets/tasks/src/benchmarking.rs", "gives the preemption notice"),
    word("most_leases", "max_leases", T, "FRAME says `max`"),
    word("ensure_may_ask", "ensure_may_preempt", T),
    word("try_place", "dry_run_preemption", T, "in a transaction that is rolled back"),
    word("take_place", "evict_and_assign", T, "Kubernetes: eviction"),
    word("make_leave", "evict", T, "Kubernetes: eviction"),
    pattern(r"\bself\.fail\(|\bchanges\.fail\(", "self.record_inconsistency(", T, "the stored state contradicts itself: `commit` refuses"),
    pattern(r"\bpub fn fail\(&mut self", "pub fn record_inconsistency(&mut self", T),
    word("broken", "inconsistency", "pallets/tasks/src/changes.rs", "the error that `commit` returns"),
    pattern(r"\bpub fn with\(ledger", "pub fn with_ledger(ledger", T),
    pattern(r"\bSelf::with\(Ledger", "Self::with_ledger(Ledger", T),
    pattern(r"\bTaskChanges::<T>::with\(", "TaskChanges::<T>::with_ledger(", T),
    word("settled_by", "with_settler", T, "builder, as `with_limits`"),
    word("touch", "count_leases", T, "counts the leases that an operation reads, against what the call paid for"),
    pattern(r"\b(changes)\.touched\(\)", r"\g<1>.access_counts()", T, "specs, hosts and leases that were read"),
    pattern(r"\bpub fn touched\(&self\)", "pub fn access_counts(&self)", T),
    word("leases_touched", "leases_accessed", T),
    word("others_touched", "others_accessed", T),
    local("touched", "accessed", "pallets/tasks/src/changes.rs", "", fns="touch count_leases"),
    word("Touched", "AccessCounts", "pallets/tasks/src/batches.rs", "specs, hosts and leases that a batch reads, by which it is weighed"),
    pattern(r"\bAccessCounts::of\(", "AccessCounts::from_changes(", T),
    pattern(r"\bfn of<T: Config>\(changes", "fn from_changes<T: Config>(changes", T),
    pattern(r"\boutcome\.tell::<T>\(", "outcome.deposit_event::<T>(", T, "FRAME's name for emitting an event"),
    pattern(r"\bfn tell<T: Config>\(self\)(?= \{\s*Pallet)", "fn deposit_event<T: Config>(self)", "pallets/tasks/src/batches.rs"),
    word("give_back_deposit", "release_deposit", T, "FRAME: a hold is released"),
    # `shared` of a task is the SpecRecord; shares of devices are something else.
    pattern(r"\bloaded\.shared\b", "loaded.spec_record", T, "the record under `Specs`"),
    pattern(r"\bself\.shared\.spec\b", "self.spec_record.spec", "pallets/tasks/src/changes.rs"),
    pattern(r"\bfn shared\((?=&mut self)", "fn spec_record(", "pallets/tasks/src/changes.rs"),
    pattern(r"\bself\.shared\(", "self.spec_record(", "pallets/tasks/src/changes.rs"),
    pattern(r"(?<![\w.])shared\b", "spec_record", "pallets/tasks/src/changes.rs pallets/tasks/src/reports.rs"),
    pattern(r"\bpub fn shared\(record", "pub fn spec_record(record", "pallets/tasks/src/views.rs"),
    pattern(r"\bSelf::shared\(|\bTasks::shared\(", "Self::spec_record(", "pallets/tasks/src/views.rs"),
    local("shared", "spec_record", "pallets/tasks/src/try_state.rs", "", fns="check_task check_specs"),
    local("shared", "spec_record", "pallets/tasks/src/submission.rs", "", fns="do_submit"),
]


ALLOCATION = [
    word("Hold", "Allocation", T, "in FRAME a hold is of coins; resources of a host are allocated (Kubernetes, Slurm)"),
    pattern(r"\bAllocation::of\(", "Allocation::in_state(", T),
    pattern(r"\bpub const fn of\(state: &LeaseState\)", "pub const fn in_state(state: &LeaseState)", T),
    word("change_hold", "change_allocation", T, "see Allocation"),
    word("shift_hold", "shrink_allocation", T, "the lease needs less than before"),
    pattern(r"\bself\.take\(id\b", "self.allocate(id", T, "see Allocation"),
    pattern(r"\bpub fn take\(&mut self, id\b", "pub fn allocate(&mut self, id", T),
    pattern(r"\bSelf::take\b", "Self::allocate", T),
    word("untake", "undo_allocation", T, "see Allocation"),
    word("take_all", "allocate_all", T, "see Allocation"),
    pattern(r"\bself\.give_back\(", "self.release(", T, "the counterpart of `allocate`"),
    pattern(r"\bpub fn give_back\(&mut self, id\b", "pub fn release(&mut self, id", T),
    word("keep_disk", "allocate_disk", T, "see Allocation"),
    pattern(r"\bfn reserve<T: Config>\(", "fn allocate_in<T: Config>(", T),
    pattern(r"\breserve::<T>\(", "allocate_in::<T>(", T),
    word("reserve_in", "allocate_in", f"{T} {H}", "in FRAME a reserve is of coins", known=True),
    local(
        "of", "spec_record", "pallets/tasks/src/changes/host_entries.rs", "the record under `Specs`",
        fns="allocate_in allocate ensure_fits change_allocation shrink_allocation",
    ),
    local("of", "spec", "pallets/tasks/src/changes.rs", "the lease's spec", fns="finish"),
    pattern(r"(?<=[{ ,])take\b(?=[,(}])", "allocate", "pallets/hosts/src/capacity.rs", "function of the fit rule"),
    pattern(r"(?<=[{ ,])give_back\b(?=[,(}])", "release", "pallets/hosts/src/capacity.rs", "function of the fit rule"),
    pattern(r"\bpub fn take\(", "pub fn allocate(", "primitives/src/fit.rs"),
    pattern(r"\bpub fn give_back\(", "pub fn release(", "primitives/src/fit.rs"),
    pattern(r"(?<=`)take(?=`)", "allocate", "primitives/src/fit.rs"),
    word("give_back", "refund_free_weight", f"{H} runtime/src/*", "gives back declared weight that a free call did not use"),
    word("host_of", "leased_host", T, "the host of a lease, which exists unless the stored state is inconsistent"),
    word(
        "away", "downtime_ms",
        "pallets/tasks/src/changes.rs pallets/tasks/src/changes/host_entries.rs pallets/tasks/src/termination.rs "
        "pallets/tasks/src/verdicts.rs pallets/tasks/src/reports.rs pallets/tasks/src/migration.rs",
        "the hosts pallet calls it `downtime_ms`", known=True,
    ),
    local("away", "is_absent", "pallets/hosts/src/capacity.rs", "a boolean reads as a statement", fns="downtime_ms"),
    local("is_in_order", "host_is_healthy", "pallets/tasks/src/migration.rs", "", fns="serves_well"),
    word("is_in_order", "is_healthy", T, "online, not overdue, with a sufficient score (glossary: healthy)", known=True),
    local("in_order", "is_healthy", "pallets/tasks/src/migration.rs", "", fns="do_move_pod", known=True),
    local("is_there", "is_present", "pallets/tasks/src/changes/host_entries.rs"),
    word("punish", "slash_for_fault", f"{H} {T}", "FRAME: slash; by the table of faults"),
    pattern(r"\bHosts::<Runtime>::punish\(", "Hosts::<Runtime>::slash_for_fault(", "runtime/*"),
    pattern(r"\bT::Hosts::punish\(", "T::Hosts::slash_for_misconduct(", V, "FRAME: slash"),
    pattern(r"\bfn punish\((?=\w+: &HostId)", "fn slash_for_misconduct(", f"{V} runtime/src/*"),
]

MIGRATION = [
    word(
        "Room", "MigrationTarget", T, "the host to which a pod migrates, with its resources allocated (glossary: migration)"
    ),
    word("room_at", "allocate_target", T, "see MigrationTarget"),
    word("room_at_standby", "allocate_standby", T, "see MigrationTarget"),
    local("room", "target", "pallets/tasks/src/migration.rs pallets/tasks/src/termination.rs", "of type MigrationTarget"),
    word("go_on", "migrate", T, "the pod continues on another host, by a new lease"),
    pattern(r"\bself\.leave\(", "self.end_for_migration(", T, "ends the lease of a pod that migrates"),
    pattern(r"\bpub fn leave\(&mut self", "pub fn end_for_migration(&mut self", T),
    word(
        "carry_on", "roll_over", f"{T} {B}", "pays what is owed; the rest of the deposit becomes that of the next escrow"
    ),
    word("serves_well", "has_healthy_host", T, "glossary: healthy"),
    word("ensure_suits", "ensure_can_migrate", T, "whether the pod could migrate there"),
    word("ensure_may_place", "ensure_scheduler_or_tenant", T, "as its error `NotSchedulerOrTenant`"),
    local("has_rested", "is_due", "pallets/tasks/src/migration.rs", "", fns="check_checkpoint"),
]

ANTI_AFFINITY = [
    word("Apart", "AntiAffinity", f"{T} {P}", "the term of Kubernetes; the type is not in the metadata"),
    word("are_apart", "satisfies_anti_affinity", f"{T} {P}", "see AntiAffinity"),
    pattern(r"\.apart\(\)", ".anti_affinity()", f"{T} {P} fuzz/* runtime/*", "see AntiAffinity"),
    pattern(r"\bpub const fn apart\(", "pub const fn anti_affinity(", P),
    local("apart", "rule", "primitives/tests/vectors.rs", "of type AntiAffinity", known=True),
    word("ensure_apart", "ensure_anti_affinity", T, "see AntiAffinity"),
    word(
        "of_hosts", "topology_keys", "pallets/tasks/src/anti_affinity.rs",
        "Kubernetes: topologyKey; here the hosts themselves, or their providers",
    ),
    local("of", "key_of", "pallets/tasks/src/anti_affinity.rs", "", fns="topology_keys"),
    local(
        "by", "rule", "pallets/tasks/src/anti_affinity.rs pallets/tasks/src/try_state.rs", "of type AntiAffinity",
        fns="ensure_anti_affinity topology_keys check_layout",
    ),
    word("hosts_beside", "occupied_hosts", "pallets/tasks/src/anti_affinity.rs", "hosts on which pods of the task are"),
    local("leaving", "replaced", "pallets/tasks/src/anti_affinity.rs", "position of the lease that ends"),
    word("looked_up", "topology_lookups", T, "leases whose hosts are read for the rule"),
    word("taken", "existing", "primitives/src/layout.rs"),
    local("taken", "existing", "pallets/tasks/src/anti_affinity.rs"),
    local("shared", "keys", "pallets/tasks/src/try_state.rs", "", fns="check_layout"),
]

ENDING = [
    word("lose", "fail_pod", T, "applies what the failure of one pod means for its task"),
    pattern(
        r"\b(self|changes)\.follow\(", r"\g<1>.update_state(", T, "derives the state of a task from those of its leases"
    ),
    pattern(r"\bpub fn follow\(&mut self", "pub fn update_state(&mut self", T),
    word("end_one", "end_lease", T, "ends one lease of a task"),
    pattern(r"\bself\.finish\(", "self.end_with(", "pallets/tasks/src/changes.rs", "ends a lease with the given function"),
    pattern(r"\bfn finish\(&mut self", "fn end_with(&mut self", "pallets/tasks/src/changes.rs"),
    word("blame", "record_host_fault", T, "in the reputation, and by a slash"),
    word("note_attempt", "record_attempt", f"{T} {P} migrations/*", "an attempt is stored in the record"),
    pattern(r"\bself\.started\(", "self.start_pod(", "pallets/tasks/src/reports.rs", "functions are verbs"),
    pattern(r"\bfn started\(&mut self", "fn start_pod(&mut self", "pallets/tasks/src/reports.rs"),
    pattern(r"\b(self|changes)\.reported\(", r"\g<1>.end_with_result(", T, "functions are verbs"),
    pattern(r"\bpub fn reported\(&mut self", "pub fn end_with_result(&mut self", "pallets/tasks/src/reports.rs"),
    pattern(r"\bself\.refused\(", "self.fail_refused_pod(", "pallets/tasks/src/reports.rs", "functions are verbs"),
    pattern(r"\bfn refused\(&mut self", "fn fail_refused_pod(&mut self", "pallets/tasks/src/reports.rs"),
    pattern(r"\bself\.purged\(", "self.purge_data(", "pallets/tasks/src/reports.rs", "functions are verbs"),
    pattern(r"\bfn purged\(&mut self", "fn purge_data(&mut self", "pallets/tasks/src/reports.rs"),
    pattern(r"\bself\.data_lost\(", "self.slash_for_lost_data(", "pallets/tasks/src/reports.rs", "functions are verbs"),
    pattern(r"\bfn data_lost\(&mut self", "fn slash_for_lost_data(&mut self", "pallets/tasks/src/reports.rs"),
    word("drop_data", "mark_purged", "pallets/tasks/src/reports.rs", "sets the state `Purged`"),
    word("check_of", "check_lease_report", "pallets/tasks/src/reports.rs", "which check"),
]

ASSIGNMENT = [
    word("Placed", "AllocatedPod", "pallets/tasks/src/assignment.rs", "a pod whose resources are allocated"),
    local(
        "placed", "allocated", "pallets/tasks/src/assignment.rs", "of type AllocatedPod", fns="assign allocate_all open_leases"
    ),
    word("Source", "DataSource", "pallets/tasks/src/assignment.rs", "the lease whose data a rental takes over"),
    pattern(r"\bself\.source\(", "self.data_source(", "pallets/tasks/src/assignment.rs"),
    pattern(r"\bfn source\(&mut self", "fn data_source(&mut self", "pallets/tasks/src/assignment.rs"),
    word("let_go", "release_source", "pallets/tasks/src/assignment.rs", "releases the disk of the data"),
    word("who_answers", "accountable_scheduler", T, "the scheduler that is accountable for the choice of the host"),
    local("answers", "accountable", "pallets/tasks/src/assignment.rs", "", fns="assign open_leases"),
    word("belongs_to", "is_owned_by", T),
    local("there", "other_rate", "pallets/tasks/src/self_assignment.rs", "the rate on the other host"),
    pattern(
        r"\[there, here\]", "[standby_provider, own_provider]", "pallets/tasks/src/migration.rs", "which providers"
    ),
    pattern(r"\bthere\? != here\?", "standby_provider? != own_provider?", "pallets/tasks/src/migration.rs"),
    pattern(r"(?<![\w.])here\b", "first_page", "pallets/tasks/src/index.rs", "the page with the first task", fns="listed_from"),
    local("after", "later_pages", "pallets/tasks/src/index.rs", "", fns="listed_from"),
    pattern(r"(?<![\w.])place\(task\)", "bit_of(task)", "pallets/tasks/src/index.rs", "byte and mask of a task's bit"),
    pattern(r"\bconst fn place\(task", "const fn bit_of(task", "pallets/tasks/src/index.rs"),
    pattern(r"\bof(?=: PhantomData)", "_config", "pallets/tasks/src/index.rs", "the marker of the runtime"),
    pattern(r"(?<![\w.:])lists\((?=&?page|page)", "contains(", "pallets/tasks/src/index.rs", "whether a page has the bit of a task"),
    local(
        "of", "lease_record",
        "pallets/tasks/src/changes.rs pallets/tasks/src/reports.rs pallets/tasks/src/verdicts.rs "
        "pallets/tasks/src/self_assignment.rs pallets/tasks/src/migration.rs pallets/tasks/src/settlement.rs "
        "pallets/tasks/src/termination.rs",
        "the lease in the record of its task; `lease` is its id",
    ),
    local(
        "place", "position",
        "pallets/tasks/src/* !pallets/tasks/src/tests/* !pallets/tasks/src/mock.rs !pallets/tasks/src/benchmarking.rs "
        "pallets/leases/src/* pallets/validators/src/* pallets/verification/src/* primitives/src/* "
        "fuzz/src/sequences/input.rs fuzz/src/sequences/mod.rs fuzz/src/sequences/shrinking.rs",
        "`Iterator::position` is the word of std", known=True,
    ),
    local("places", "length", "pallets/verification/src/try_state.rs", "entries of all queues", fns="check_queues"),
    word("place_of", "replica_position", V),
    word("Held", "HeldResources", "pallets/tasks/src/try_state.rs", "what a lease holds of a host"),
    word("Books", "Totals", "pallets/tasks/src/try_state.rs", "sums over all tasks, compared with what is stored besides them"),
    word("books", "totals", "pallets/tasks/src/try_state.rs", "of type Totals"),
]

LEASES = [
    word("Keeper", "LeaseStore", "*.rs !pace/* !node/*", "where leases are read and stored: the tasks pallet"),
    pattern(r"\$keeper\b", "$lease_store", "mock/*"),
    word("Kept", "StoredLease", f"{L} {T}", "a lease as the store returns it"),
    pattern(r"\bkept(?=::<T>|<T: Config>)", "stored_lease", "pallets/leases/src/benchmarking.rs", "what it returns"),
    pattern(r"(?<![\w.:])kept\(\)", "retained_longer()", "pallets/leases/src/tests/retention.rs", "a rental whose data is retained longer"),
    local(
        "kept", "stored",
        "pallets/leases/src/dispatchables.rs pallets/leases/src/due_leases.rs pallets/leases/src/retention.rs "
        "pallets/leases/src/benchmarking.rs",
        "of type StoredLease",
    ),
    word("a_rental", "create_rental", f"{L} {T}", "functions are verbs"),
    word("a_guarded_lease", "create_lease_with_standby", f"{L} {T}", "functions are verbs"),
    word("an_unverified_host", "create_unverified_host", f"{T} runtime/src/*", "functions are verbs"),
    word("a_reported_job", "create_reported_job", f"{T} runtime/src/*", "functions are verbs"),
    word("a_compared_job", "create_compared_job", f"{T} runtime/src/*", "functions are verbs"),
    word("Shelf", "MockLeaseStore", "pallets/leases/src/mock.rs", "the mock of LeaseStore"),
    word("Shelved", "MockLeases", "pallets/leases/src/mock.rs", "what it stores"),
    word("furnish", "create_mock_host", "pallets/leases/src/mock.rs", "creates the host and the balances that leases need"),
    word("look_at_next", "process_next_entry", L, "the agenda is a queue"),
    word("look_at", "process_due_lease", L),
    word("look_at_running", "process_running_lease", L),
    word("look_again", "reschedule", L),
    word("AGAIN_AFTER_MS", "RETRY_DELAY_MS", L),
    word("WHILE_AWAY_MS", "OFFLINE_RECHECK_MS", L),
    word("lengthenable", "extendable_lease", L, "the call is `extend`"),
    word("deposit_more", "add_deposit", L),
    pattern(r"\bSelf::running\(", "Self::running_lease(", L, "what it returns"),
    pattern(r"\bfn running\(id", "fn running_lease(id", L),
    pattern(r"\bSelf::retained\(", "Self::retained_lease(", L, "what it returns"),
    pattern(r"\bfn retained\(tenant", "fn retained_lease(tenant", L),
    local("runs", "is_running", "pallets/leases/src/try_state.rs", "a boolean reads as a statement"),
    local("is_awaited", "must_be_on_agenda", "pallets/leases/src/try_state.rs"),
]

BILLING = [
    word("Sheet", "Movements", "pallets/billing/src/ledger.rs", "the movements of one tenant"),
    pattern(r"\bself\.sheet\(", "self.movements_of(", "pallets/billing/src/ledger.rs"),
    pattern(r"\bfn sheet\(", "fn movements_of(", "pallets/billing/src/ledger.rs"),
    word("sheet", "movements", "pallets/billing/src/ledger.rs", "of type Movements"),
    word("given_back", "net_release", "pallets/billing/src/ledger.rs", "what is released beyond new holds"),
    pattern(r"\bPayees::of\(", "Payees::for_lease(", "*.rs", "whose payees"),
    pattern(r"\bpub fn of\(lease: &Lease", "pub fn for_lease(lease: &Lease", "pallets/billing/src/payees.rs"),
    word("reckon", "compute_owed", P, "computes what is owed"),
    word("worth", "total_balance", f"{B} {L} {T} {V} runtime/tests/*", "the word of `fungible::Inspect`", known=True),
]

HOSTS = [
    word("has_rested", "may_change_free", H, "whether a change is free of charge again"),
    pattern(r"\bSelf::leaves\(", "Self::is_leaving(", H, "a boolean reads as a statement"),
    pattern(r"\bfn leaves\(record", "fn is_leaving(record", H),
    word("ensure_stays", "ensure_not_leaving", H),
    word("staying_host", "host_not_leaving", H),
    local("stays", "is_staying", "pallets/hosts/src/try_state.rs"),
    word("pay_for_absence", "slash_for_absence", H, "FRAME: slash"),
    word("OfBlock", "FreeWeightInBlock", H, "alias of a tuple; the metadata shows the tuple"),
    local("there", "all_exist", "pallets/hosts/src/dispatchables.rs", "whether all devices exist"),
    word("proof_owed", "must_prove_hardware", H),
]

VERIFICATION = [
    word("Unsound", "ParamsError", f"{V} runtime/*", "as in the hosts pallet; not in the metadata"),
    word("unsound", "error", "pallets/verification/src/errors.rs pallets/verification/src/lib.rs", known=True),
    word("LONGEST_PERIOD_MS", "MAX_PERIOD_MS", f"{V} runtime/*", "FRAME says MAX"),
    word("MOST_REWARDS_PPM", "MAX_REWARDS_PPM", f"{V} runtime/*", "FRAME says MAX"),
    word("MAX_LOOK_UPS", "MAX_LOOKUPS", V),
    word("Purse", "CommitteeFee", V, "coins held of an account that pays a committee"),
    local("purse", "fee_source", V, "of type CommitteeFee"),
    pattern(r"\bSelf::purse\(", "Self::committee_fee(", V),
    pattern(r"\bfn purse\(", "fn committee_fee(", V),
    word("Merit", "VoteResult", V, "what a member is owed or owes after the ballot"),
    pattern(r"\bballot::merit\(|(?<![\w.:])merit\(", "ballot::vote_result(", "pallets/verification/src/committees.rs"),
    pattern(r"(?<![\w.:])merit\(", "vote_result(", "pallets/verification/src/ballot.rs"),
    pattern(r"\bSelf::bind\(", "Self::record_commitment(", V, "functions say what they store"),
    pattern(r"\bfn bind\((?=matter)", "fn record_commitment(", V),
    pattern(r"\bSelf::show\(", "Self::record_vote(", V, "functions say what they store"),
    pattern(r"\bfn show\((?=matter)", "fn record_vote(", V),
    word("give_up", "close_without_verdict", V),
    word("ask_or_give_up", "extend_or_fail", V),
    word("still_compared", "retain_current_replicas", V),
    word("dismiss_if_poor", "dismiss_if_underbonded", V),
    pattern(r"\bSelf::leave\(", "Self::remove_from_list(", V),
    pattern(r"\bfn leave\((?=who: &AccountId)", "fn remove_from_list(", V),
    word("ask_for_seed", "request_seed", V),
    word("ask_for_confirmation", "request_confirmation", V),
    word("watch_randomness", "observe_randomness", V),
    word("do_step", "process_entry", V),
    word("Essence", "ResultKey", V, "by which results are compared"),
    word("essence", "result_key", V),
    word("Right", "AgreeingHosts", "pallets/verification/src/results.rs", "the hosts whose results agree"),
    pattern(r"\bSelf::right\(", "Self::agreeing_hosts(", "pallets/verification/src/results.rs"),
    pattern(r"\bfn right\(", "fn agreeing_hosts(", "pallets/verification/src/results.rs"),
    word("Flow", "Transfer", "pallets/verification/src/shares.rs", "an amount from one source to one receiver"),
    word("flow", "transfer", "pallets/verification/src/shares.rs pallets/verification/src/committees.rs"),
    word("flows", "transfers", "pallets/verification/src/shares.rs"),
    word("forget_valid_results", "reset_valid_results", V),
    word("World", "MockNetwork", V, "hosts and tasks of the tests"),
    word("WorldState", "MockNetworkState", V),
    word("world", "network", V),
    word("World", "BenchmarkSetup", "runtime/src/*"),
    word("surely", "do_or_defensive", "runtime/src/configs/verification.rs", "FRAME: `Defensive`"),
    # Functions of the port, of its implementation in the tasks pallet, and of the mock.
    *(
        pattern(rf"(?<=Tasks::){old}\(|(?<=Tasks::<Runtime>::){old}\(|(?<=Self::){old}\(", f"{new}(", f"{V} {T} runtime/src/*", why)
        for old, new, why in (
            ("committed", "end_committed_pod", "functions are verbs"),
            ("runs_on", "has_other_pods", "whether other pods run or wait for their start"),
            ("end_others", "end_other_pods", "what it ends"),
            ("want_extra_pod", "request_extra_pod", "functions are verbs"),
            ("verified", "mark_verified", "functions are verbs"),
            ("not_repeated", "mark_reported", "functions are verbs"),
            ("no_agreement", "fail_without_agreement", "functions are verbs"),
            ("resolve", "resolve_dispute", "what it resolves"),
        )
    ),
    *(
        pattern(rf"\bfn {old}\((?={arguments})", f"fn {new}(", f"{V} {T} runtime/src/*")
        for old, new, arguments in (
            ("committed", "end_committed_pod", "lease: LeaseId"),
            ("runs_on", "has_other_pods", "task: TaskId"),
            ("end_others", "end_other_pods", "task: TaskId"),
            ("want_extra_pod", "request_extra_pod", "task: TaskId"),
            ("verified", "mark_verified", "task: TaskId"),
            ("not_repeated", "mark_reported", "task: TaskId"),
            ("no_agreement", "fail_without_agreement", "task: TaskId"),
            ("resolve", "resolve_dispute", "task: TaskId"),
            ("dispute", "mark_disputed", "task: TaskId, accused"),
        )
    ),
    pattern(r"(?<=Tasks::)dispute\(|(?<=Tasks::<Runtime>::)dispute\(", "mark_disputed(", f"{V} {T} runtime/src/*", "functions are verbs"),
    pattern(r"\bSelf::verified\b", "Self::mark_verified", "pallets/verification/src/ports.rs"),
]

OTHERS = [
    word("take_off", "remove_at", "pallets/validators/src/*", "removes the validator at a position"),
    word("drop_equivocator", "remove_equivocator", "pallets/validators/src/*"),
    word("faded", "decay_beta", "primitives/src/score.rs"),
    pattern(r"(?<![\w.:])kept\(", "updated_sla(", "primitives/src/score.rs", "functions say what they compute"),
    word("Dice", "SplitMix64", ALL, "the name of the generator"),
    word("dice", "rng", ALL, "random number generator", known=True),
    pattern(r"\brng\.roll\(", "rng.next_u64(", ALL, "as in the crate rand"),
    pattern(r"\bself\.roll\(", "self.next_u64(", "mock/src/rng.rs"),
    pattern(r"\bpub fn roll\(", "pub fn next_u64(", "mock/src/rng.rs"),
    local("of", "options", "mock/src/rng.rs fuzz/src/sequences/choices.rs", "what is chosen from"),
    word("Told", "StepEvent", "fuzz/*", "what a listener is told of a step"),
    local("told", "event", "fuzz/src/sequences/mod.rs"),
    pattern(r"(?<![\w.])tell\b", "notify", "fuzz/src/sequences/mod.rs"),
    word("Deed", "Operation", "fuzz/*", "a call or a block"),
    word("Pass", "NextBlock", "fuzz/*", "how the next block follows"),
    pattern(r"(?<![\w.:])pass(?=[,).])|(?<![\w.:])pass(?= =)", "next_block", "fuzz/src/sequences/mod.rs fuzz/src/sequences/actions/*"),
    local("here", "current", "primitives/src/verification_tables.rs", "", fns="ends"),
    local("here", "current_ms", "runtime/tests/clock.rs", "the time of the block"),
    pattern(r"\bhere\(\)", "host_record()", "runtime/tests/challenges.rs", "the record of the host"),
    local("there", "present", "runtime/tests/coins.rs", "what the account has"),
    local("there", "existing", "primitives/tests/vectors.rs"),
    local("of", "key_of", "primitives/tests/vectors.rs"),
    # Placements in tests, by the host that they name.
    *(
        pattern(rf"(?<![\w.])(?:here|there)\b", f"on_host_{number}", f"pallets/tasks/src/tests/{name}.rs", "which host")
        for name, number in (("attacks", 12), ("rentals", 10), ("assignment", 10), ("preemption", 10))
    ),
    pattern(r"(?<![\w.:])place(?=\(rng\))|(?<=let )place(?= = \|rng)", "any_position", "fuzz/src/sequences/mutations.rs"),
    local("place", "offset", "fuzz/src/sequences/mutations.rs pallets/tasks/src/tests/random_calls.rs", "in the sum of the weights"),
    local("here", "is_selected", "fuzz/src/sequences/mutations.rs"),
    local("here", "is_selected", "pallets/tasks/src/tests/random_calls.rs", "", fns="make_run"),
    local("here", "counts", "pallets/tasks/src/tests/random_calls.rs"),
    local("here", "with_shared_host", "pallets/tasks/src/benchmarking.rs"),
    local("elsewhere", "with_own_host", "pallets/tasks/src/benchmarking.rs"),
    pattern(r"(?<![\w.])world(?=,)", "chain", "runtime/tests/sequences.rs", "module renamed"),
    word("Unit", "UnitIdentification", "pallets/validators/src/* runtime/src/*", "as in pallet-session; a validator has none"),
    word("host_observed", "with_host_conduct", ALL, "returns the score with one more observation"),
    word("tenant_observed", "with_tenant_conduct", ALL, "returns the score with one more observation"),
    word("faulted", "with_fault", "primitives/src/* pallets/reputation/src/* primitives/tests/*", "returns the record with one more fault"),
    word("SAVING", "MIN_SAVING_PARTS", "pallets/tasks/src/self_assignment.rs", "one part in ten"),
    word("end_live", "end_live_leases", T, "what it ends"),
    local("waits", "has_pending", "pallets/tasks/src/termination.rs pallets/tasks/src/try_state.rs", "a boolean reads as a statement", fns="update_state check_leases"),
    local("lives", "has_live", "pallets/tasks/src/termination.rs pallets/tasks/src/try_state.rs", "", fns="update_state check_leases"),
    local("follows", "is_consistent", "pallets/tasks/src/try_state.rs", "", fns="check_leases"),
    local("late", "is_late", "pallets/tasks/src/termination.rs", "", fns="do_requeue"),
    local("passed", "has_passed", "pallets/tasks/src/termination.rs", "", fns="do_expire"),
    local("stands", "has_notice", "pallets/tasks/src/try_state.rs", "", fns="check_notices"),
    local("was_there", "was_assigned", "pallets/tasks/src/changes.rs", "", fns="deadline"),
    local("has_met_it", "has_met_deadline", "pallets/tasks/src/changes.rs", "", fns="deadline"),
    pattern(r"\b(Self|Pallet::<T>)::waiting\(", r"\g<1>::queue_and_deadline(", V, "what it returns"),
    pattern(r"\bfn waiting\((?=matter)", "fn queue_and_deadline(", V),
]

RENAMES = [
    *MODULES, *CHANGES, *ALLOCATION, *MIGRATION, *ANTI_AFFINITY, *ENDING, *ASSIGNMENT, *LEASES, *BILLING, *HOSTS,
    *VERIFICATION, *OTHERS,
]
