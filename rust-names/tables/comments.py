"""Comments: file, exact text of a paragraph, new text. Made by expand.py from drafts/."""

from apply import Comment

COMMENTS = [
    Comment(
        'pallets/tasks/src/changes.rs',
        'The desk at which an extrinsic works: what its operations share is read once, changed here, and written once.',
        'The changes that one extrinsic makes to tasks and to the values that they share: each value is read once, changed in memory, and written once by [`TaskChanges::commit`].',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        "An operation first decides everything on values and may be refused until then; what it does to the desk afterwards cannot fail, so a refused item of a batch leaves no trace. Where the desk finds that the chain's own books are wrong, the whole extrinsic is refused at [`TaskChanges::commit`].",
        'An operation checks all its conditions on values before it changes any, and cannot fail after that. So a refused item of a batch leaves no trace. If an operation finds that the stored state is inconsistent, `commit` refuses the whole extrinsic.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'What tasks submitted together share, and its counters as this extrinsic changes them.',
        'The record that tasks submitted together share, and how this extrinsic changes its counters.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'A task that an operation is about. It is worth nothing until [`TaskChanges::store`] stores it.',
        'A task that was read from storage. Changes to it take effect only when [`TaskChanges::store`] stores it.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Moves the task along the table.',
        'Changes the state of the task. Fails with `TransitionNotAllowed` if `TASK_TRANSITIONS` does not list the transition.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'The place of a lease of this task in its record.',
        'Returns the position of a lease of this task in its record. Fails with `NoSuchLease`.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'The time by which it must be assigned. A service or rental that once was, and whoever had to leave for another, has met it for good.',
        'The time by which the task must be assigned. None if it has none, or if it has met it: a service or rental that was assigned once, or a task that was preempted.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Whether the task is to have more pods than it has leases while the others go on.',
        'Whether the task wants more pods than it has leases, while its other pods run.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Whether it runs and was told to leave.',
        'Whether the task runs and has a preemption notice.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Whether it runs and was told to leave for this task.',
        'Whether the task runs and has a preemption notice in favour of the task `wanting`.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Whether a task is to have more pods than it has leases while the others go on.',
        'Whether a task wants more pods than it has leases, while its other pods run.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'See the module.',
        'The changes of one extrinsic. See the module.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Whose call settles or ends leases. None where a party or the chain itself does.',
        'The settler whose call settles or ends leases. None if a party of the lease, or the chain, does.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'How many leases operations were about.',
        'Leases that operations have read so far.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'How many they may be about at most.',
        'The most leases that operations may read.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'How many leases operations were about that their calls did not name.',
        'Leases that operations have read and that their calls did not name.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'How many of those they may be about at most.',
        'The most of them.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'A desk that commits what is on a ledger already, too.',
        'Empty changes, and the movements of coins that `ledger` holds already.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'The desk with limits: how many `leases` its operations may be about, and how many `others` of them that their calls do not name.',
        'Limits how many `leases` operations may read, and how many of them (`others`) that their calls do not name.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'The desk with `who` as the settler of the leases that are settled or end at it.',
        'Makes `who` the settler of the leases that are settled or ended.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'An operation is about so many leases that its call names, and so many others. Fails with `BatchTooHeavy` where that is more than was paid for.',
        'Counts the leases that an operation reads: `named` by its call, and `others`. Fails with `BatchTooHeavy` if the call did not pay for that many.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'How many milliseconds have passed since `moment`, those in which the chain made no blocks left out.',
        'Returns the milliseconds since `moment`, without the times in which the chain made no blocks.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'How many specs, hosts and leases operations were about.',
        'Returns how many specs, hosts and leases operations have read.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Takes up a task. Fails with `NoSuchTask`.',
        'Reads a task. Fails with `NoSuchTask`.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Takes up the task of a lease, and says where in its record the lease is. Fails with `NoSuchTask` and `NoSuchLease`.',
        'Reads the task of a lease, and returns the position of the lease in its record. Fails with `NoSuchTask` and `NoSuchLease`.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Stores a task and keeps the lists.',
        'Stores a task, and updates the lists of tasks by state.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Removes a task. Its deposit goes back.',
        'Removes a task and releases its deposit.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'The books are wrong: the extrinsic will be refused as a whole.',
        'Records that the stored state is inconsistent: [`Self::commit`] will refuse the extrinsic.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Ends a live lease: billing stops and its host gets back what it held. The data of a rental that had started is to be kept for a while, whoever ended it: a host that has lost them must say so, and is slashed.',
        'Ends a live lease: billing stops, and its resources are released. If a rental had started, the host must retain its data for a period, whoever ended it; a host that has lost the data must report so, and is slashed.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Ends a live lease whose pod goes on elsewhere.',
        'Ends a live lease whose pod migrates.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Pays what is still owed for a lease that has ended, and gives the rest of its deposit back.',
        'Pays the amount still owed for a lease that has ended, and releases the rest of its deposit.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Pays what is still owed for a lease that has ended. Returns besides what is left of its deposit: it stays held, for the lease by which the pod goes on.',
        'Pays the amount still owed for a lease that has ended. Returns the bill, and the rest of the deposit: it stays on hold for the lease by which the pod continues.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Closes every lease of a task that has ended and is not closed yet.',
        'Closes every lease of a task whose escrow is still open.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'The part of the protocol fee of `amount` base units that goes to the treasury whoever settles the lease: what evidence weighs by. The rest may come back to its parties, as other accounts of theirs.',
        'Returns the part of the protocol fee of `amount` base units that goes to the treasury, whoever settles the lease. Evidence is weighted by this part: the rest may return to a party through another account.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        "The escrow of a new lease, with the fee and the scheduler's share in force.",
        "Returns the escrow of a new lease, with the present fee and scheduler's share.",
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Notes that a task was settled for which its tenant paid others, with fees of `fees` base units.',
        'Records that a task was settled for which its tenant paid others, with fees of `fees` base units.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        "Writes everything down. Fails, and with it the extrinsic, only where the chain's books were wrong before.",
        'Writes all changes. Fails, and with it the extrinsic, only if the stored state was inconsistent before.',
    ),
    Comment(
        'pallets/tasks/src/changes.rs',
        'Counts the tasks that became final or were pruned. With the last that becomes final the manifest goes, and with the last that is pruned the spec.',
        'Counts the tasks that became final or were pruned. Removes the manifest when the last task is final, and the spec when the last task is pruned.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'The hosts that an extrinsic is about: what leases take from them and give back, and what is held for or against them.',
        'The hosts that an extrinsic reads: resources that leases allocate and release, and observations for the reputation.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'What a lease holds of its host.',
        'Which resources of its host a lease has allocated.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Everything that its task asked for.',
        'All resources that its task requests.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Nothing.',
        'No resources.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Observations of one kind about one host.',
        'Observations of one kind about one host, summed up.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'A host that an extrinsic is about.',
        'A host that an extrinsic has read.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'How long it was away so far, in milliseconds, an absence that goes on included; known once asked for.',
        'Its total downtime in milliseconds, including a present absence. Computed on first use.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'The leases that hold something of it.',
        'Returns the leases that have resources of the host allocated.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Notes for how long it was there and away during a lease with a fee of `fee` base units.',
        'Records how long the host was up and down during a lease with a fee of `fee` base units.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'A host. Fails with `NoSuchHost`.',
        'Returns a host, which is read on first use. Fails with `NoSuchHost`.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'The host of a lease, which the books say exists.',
        'Returns the host of a lease. It exists, unless the stored state is inconsistent.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'How long a host was away so far, in milliseconds, an absence that goes on included. Fails with `NoSuchHost`.',
        'Returns the total downtime of a host in milliseconds, including a present absence. Fails with `NoSuchHost`.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Takes what a pod of such a task needs from a host, and lists the lease there. Fails where it does not fit, and changes nothing.',
        'Allocates the resources of one pod on a host, and adds the lease to the list of the host. Fails, and changes nothing, if the pod does not fit.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Fails where [`Self::allocate`] would, and takes nothing.',
        'Fails if [`Self::allocate`] would fail. Changes nothing.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Whether nothing speaks against a host by which schedulers may move what runs there.',
        'Whether a host is healthy. If it is not, schedulers may move its pods.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Gives a host back what a lease holds of it, and takes the lease off its list.',
        'Releases the resources of a lease on its host, and removes the lease from the list of the host.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Undoes [`Self::allocate`]: what the host offers is as if nothing had been taken.',
        'Undoes [`Self::allocate`], including the time since which the host offers its resources.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Takes disk from a host that has just been given at least as much, whatever its status.',
        'Allocates disk on a host that has just released at least as much, whatever the status of the host.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Makes a lease hold of its host what it holds in another state. Fails, and changes nothing, where what it is to hold anew is not free, or the host takes nothing now.',
        'Changes the allocation of a lease from one state to another. Fails, and changes nothing, if the added resources are not free or the host takes no leases now.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Makes a lease hold of its host what its state says, which is less than before.',
        'Changes the allocation of a lease to that of its state, which needs less than before.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Notes what a host did in a lease worth `value` base units, and returns whether it counts: a tenant on its own host proves nothing.',
        'Records the conduct of a host in a lease with a fee of `fee` base units. Returns whether it counts: a lease of a tenant on its own host is no evidence.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Slashes the bond of the host of a lease.',
        'Slashes the bond of the host of a lease for a fault that lasted `duration_ms`.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Takes a fine from the bond of a host, to the treasury. Fails with `NoSuchHost`.',
        'Moves a fine from the bond of a host to the treasury. Fails with `NoSuchHost`.',
    ),
    Comment(
        'pallets/tasks/src/changes/host_entries.rs',
        'Stores a host that was changed, and writes down what it did.',
        'Stores a host that was changed, and its observations.',
    ),
    Comment(
        'pallets/tasks/src/anti_affinity.rs',
        'Pods of one task that may not share a host, or a provider.',
        'Anti-affinity: pods of one task that must not share a host, or a provider.',
    ),
    Comment(
        'pallets/tasks/src/anti_affinity.rs',
        'Whether the layout of a task lets pods go to `hosts`, beside its others. The lease in the place `replaced` ends then. Fails with `HostRepeated` and `ProviderRepeated`.',
        'Checks that pods may be placed on `hosts` beside the other pods of the task. The lease at the position `replaced` ends then. Fails with `HostRepeated` and `ProviderRepeated`.',
    ),
    Comment(
        'pallets/tasks/src/anti_affinity.rs',
        'The hosts themselves, or their providers.',
        'Returns the values that must differ: the hosts themselves, or their providers.',
    ),
    Comment(
        'pallets/tasks/src/anti_affinity.rs',
        'Of how many leases the hosts are looked up when further pods are placed.',
        "Returns how many leases' hosts are read when further pods are placed.",
    ),
    Comment(
        'pallets/tasks/src/anti_affinity.rs',
        'Where the pods of a task are. Replicas that have ended count: their results are compared.',
        'Returns the hosts on which pods of a task are. Replicas that have ended count, because their results are compared.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What tenants want run, and the tables by which tasks and their leases change. A task is one record with its leases and their escrows inside; what tasks submitted together share is kept once.',
        'The tasks that tenants submit, and the tables by which tasks and their leases change. A task is one record that contains its leases and their escrows; the values that tasks submitted together share are stored once.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'This file declares. `submitting.rs`, `schedulers.rs`, `evidence.rs`, `assigning.rs`, `apart.rs`, `reporting.rs`, `endings.rs`, `preempting.rs`, `surviving.rs`, `settling.rs` and `judging.rs` have what happens to one task, `batches.rs` the calls about many. All of them work at a desk (`changes.rs`), where what they share is read once and written once; `index.rs` has the lists of tasks by state, `keeping.rs` what the leases pallet reads and changes, `views.rs` what clients read, `errors.rs` what a call answers where a rule refuses.',
        'This file declares the pallet. `submission.rs`, `schedulers.rs`, `self_assignment.rs`, `assignment.rs`, `anti_affinity.rs`, `reports.rs`, `termination.rs`, `preemption.rs`, `migration.rs`, `settlement.rs` and `verdicts.rs` implement the calls and ports about one task, and `batches.rs` those about many. All of them change tasks through `TaskChanges` (`changes.rs`), which reads shared values once and writes them once. `index.rs` contains the lists of tasks by state, `lease_store.rs` the port of the leases pallet, `views.rs` the view functions, and `errors.rs` the conversion of errors of the pure rules.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A lease as it was opened: its number, its host, what it costs in base units an hour, and what was deposited for it.',
        'A lease as it was opened: its number, its host, its rate in base units per hour, and its deposit.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The storage of this pallet is that of this version.',
        'The version of the storage of this pallet.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What the pallet needs of its runtime. It is coupled tightly with the other pallets of Gantry: an attempt of a task is resources of hosts, leases and escrows, all taken or none.',
        'The types that the runtime provides. The pallet is coupled to the other pallets of Gantry: an attempt allocates resources of hosts, leases and escrows, all or none.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What the chain starts with.',
        'The genesis configuration.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Nothing.',
        'Marker of the runtime.',
    ),
    Comment(
        'pallets/tasks/src/lease_store.rs',
        'How the leases pallet reads and changes the leases that tasks keep.',
        'The port of the leases pallet: it reads and changes leases in the records of their tasks.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'Placing pods on hosts: all of an assignment or nothing.',
        'Assignment of pods to hosts: all pods that are named or none.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'Who may assign what.',
        'The caller that assigns a task.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'The scheduler that named the places of a waiting task in a notice, when it gave the notice.',
        'The scheduler that gave a preemption notice and named the hosts of the waiting task in it.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'Anyone else: its own tasks.',
        'Any other account: its own tasks.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'The scheduler that a lease of `tenant` names. None where the tenant assigns its own task.',
        'Returns the scheduler that a lease of `tenant` names. None if the tenant assigns its own task.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'A pod for which room was taken.',
        'A pod whose resources are allocated.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'A refusal costs what it took, too.',
        'A refused call pays for the work that was done.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'Where there were leases before, the first of them has taken the data over.',
        'If the task had leases before, the first of them has taken the data over.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        "Takes room for every pod and the tenant's deposit for all. `placed` tells how far it got.",
        "Allocates the resources of every pod, and holds the tenant's deposit for all. `allocated` contains the pods up to a failure.",
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'What a pod costs an hour at a place: no more than its task allows, and no more than the rate with which the place was planned, so that a provider cannot raise its price in between.',
        "Returns the rate of a pod on a host in base units per hour. Fails if it is above the task's limit, or above the `planned` rate: a provider cannot raise its price between the plan and the assignment.",
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'What a pod costs an hour whose price is `rate`. The host of an audited job gets a surcharge, because it pays those that repeat its work; and they do not cost more than it gets.',
        'Returns the rate in base units per hour of a pod whose list rate is `rate`. The host of an audited job gets a surcharge, because it pays the hosts that repeat its work; their rate is at most its own.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'As many as the pods that are wanted, at most.',
        'There are at most as many leases as pods that are wanted.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'A replica that comes later has devices of the same models.',
        'Checks that further replicas run on devices of the same models.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'Frees the disk of retained data, so that the lease which takes it over finds it free.',
        'Releases the disk of retained data, so that the lease which takes the data over can allocate it.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'The placements of a waiting task, in the order of its pods: as many as it wants, numbered from 0 without gap or repeat.',
        'Returns the placements of a queued task in the order of its pods. Their pods must be numbered from 0 without gaps.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'A service that was scaled down may want fewer than its spec.',
        'A service that was scaled down may want fewer pods than the minimum of its spec.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'As many distinct numbers below the count as there are places: each is at its own place.',
        'The pods have as many distinct numbers below `count` as there are positions, so each number equals its position.',
    ),
    Comment(
        'pallets/tasks/src/assignment.rs',
        'The placements of pods that a task misses.',
        'Returns the placements of pods that have no lease.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'Calls about many tasks at once. Each item succeeds or is refused by itself.',
        'Calls about many tasks. Each item succeeds or is refused independently.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'What an item costs goes by the leases, tasks and hosts it touches. A caller pays in advance for what a batch names, each task and each host once, and for the leases of one task of the most pods besides; an item that would touch more is refused before it does.',
        'The weight of an item depends on the leases, tasks and hosts that it reads. A caller pays in advance for those that the batch names, each once, and for the leases of one more task with the most pods. An item that would read more is refused before it does.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'A task, and where its pods are to be.',
        'A task, and the placements of its pods.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'How the items of a batch fared.',
        'How many items of a batch were accepted and refused.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'Counts an item, and tells of it where it was refused.',
        'Counts an item, and emits an event if it was refused.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'What a batch touches, in the terms of its weight.',
        'The values that a batch reads, in the units of its weight function.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'Leases and items without any, except those that are counted as the first of a spec or host.',
        'Leases, and items without leases, except those that are counted as the first of a spec or host.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        '`leases`: leases and items without any. As many of them as there are specs and hosts are counted as the first of one, so that more specs, hosts or leases never weigh less.',
        '`leases` counts leases and items without leases. Of these, as many as there are specs and hosts are counted as the first of one, so that more specs, hosts or leases never weigh less.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'What was touched at a desk.',
        'Returns the values that were read by `changes`.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'How many leases a batch of so many items may touch.',
        'Returns how many leases a batch of `items` items may read.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'How many different values there are.',
        'Returns the number of distinct values.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'How many pods a batch places.',
        'Returns the number of pods that a batch places.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'What `assign_batch` may cost: each task that it names has a spec of its own. The other leases that it may touch each have a host of their own, which costs more than a spec.',
        'Returns the maximum weight of `assign_batch`: each task that it names has its own spec. The other leases that it may read each have their own host, which weighs more than a spec.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'How many leases the failures that a batch reports may touch, beside those that it names.',
        'Returns how many leases the reported failures may read, beside those that the batch names.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'What `report_batch` may cost: each task that it names has a spec of its own. Only where a pod fails are other hosts than the caller touched.',
        'Returns the maximum weight of `report_batch`: each task that it names has its own spec. Other hosts than the caller are read only if a pod fails.',
    ),
    Comment(
        'pallets/tasks/src/batches.rs',
        'What `settle_batch` may cost: each task has a spec of its own, and each lease a host.',
        'Returns the maximum weight of `settle_batch`: each task has its own spec, and each lease its own host.',
    ),
    Comment(
        'pallets/tasks/src/index.rs',
        'The lists of tasks by what they wait for: bitmaps of 256 tasks, so that a batch about neighbours changes few pages.',
        'The lists of tasks by state: bitmaps of 256 tasks, so that a batch about neighbouring tasks changes few pages.',
    ),
    Comment(
        'pallets/tasks/src/index.rs',
        'Whether a page lists a task.',
        'Whether the bit of a task is set on its page.',
    ),
    Comment(
        'pallets/tasks/src/index.rs',
        'The tasks that a page lists, from `from` on, in their order.',
        'Returns the tasks of a page from `from` on, in their order.',
    ),
    Comment(
        'pallets/tasks/src/index.rs',
        'The pages that an extrinsic has changed, each read once and written once.',
        'The pages that an extrinsic changes, each read once and written once.',
    ),
    Comment(
        'pallets/tasks/src/index.rs',
        'Puts a task on a list or takes it off.',
        'Adds a task to a list, or removes it.',
    ),
    Comment(
        'pallets/tasks/src/index.rs',
        'Writes the pages. One that lists nothing is removed.',
        'Writes the pages. An empty page is removed.',
    ),
    Comment(
        'pallets/tasks/src/reports.rs',
        'What hosts say about their leases.',
        'Reports of hosts about their leases.',
    ),
    Comment(
        'pallets/tasks/src/reports.rs',
        'What a report about a lease of a task with `pods` leases may cost.',
        'Returns the maximum weight of a report about a lease of a task with `pods` leases.',
    ),
    Comment(
        'pallets/tasks/src/reports.rs',
        'Whether `host` may say this of a lease now; what makes its call free of charge.',
        'Checks whether `host` may report this about a lease now. A report that passes is free of charge.',
    ),
    Comment(
        'pallets/tasks/src/reports.rs',
        'Whether `host` may say this of a lease of a task, for all that its record tells.',
        'Checks a report as far as the record of the task is concerned.',
    ),
    Comment(
        'pallets/tasks/src/reports.rs',
        'Takes down what a host says. Returns how many leases the task had.',
        'Applies the report of a host. Returns the number of leases that the task had.',
    ),
    Comment(
        'pallets/tasks/src/reports.rs',
        'Pays for the time for which the data of a lease was kept, up to now; the rest of what is held for it goes back.',
        'Pays for the time for which the data of a lease was retained, up to now, and releases the rest of the storage deposit.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'What the verification pallet decides about tasks: disputes, and the comparison of replicas.',
        'Decisions of the verification pallet about tasks: disputes, and the comparison of replicas.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'Who pays for a task. Fails with `NoSuchTask`.',
        'Returns the account that pays for a task. Fails with `NoSuchTask`.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'The leases of a task, each with its host, in the order of its pods. Fails with `NoSuchTask`.',
        'Returns the leases of a task in the order of its pods, each with its host. Fails with `NoSuchTask`.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'The results of some leases of a task are disputed. Fails unless the task is reported, its dispute window is open, and all of `accused` are leases of it.',
        'Marks a task as disputed because of the results of the leases `accused`. Fails unless the task is reported, its dispute window is open, and all of `accused` are its leases.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        "A dispute about the leases `accused` is over. Where the complaint is right nothing more is paid for them; the task fails if it has no other leases, else the results of the others stand. A verdict counts for or against the hosts of those leases, and the task's tenant where it complained (`by_tenant`). Fails unless the task is disputed.",
        'Ends a dispute about the leases `accused`. If it is upheld, nothing more is paid for them; the task fails if it has no other leases, else the results of the others stand. A verdict counts for or against the hosts of those leases, and the tenant if it opened the dispute (`by_tenant`). Fails unless the task is disputed.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'How many hosts work on a task for their results to be compared. None where they are not compared, or it does not run.',
        'Returns how many replicas a task wants. None if its results are not compared, or it does not run.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'Whether `host` may commit the result of a lease now. Fails with what is against it.',
        'Checks whether `host` may commit the result of a lease now.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        "A replica has ended and its result is committed: its lease ends, and its host gets back what it held. Fails unless the task's results are compared and the lease is active.",
        "Ends the lease of a replica whose result is committed, and releases its resources. Fails unless the task's results are compared and the lease is active.",
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        "Whether a lease is one of its task's and has not failed.",
        'Whether a lease belongs to the present attempt of its task and has not failed.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'Whether any pod of a task other than those of `committed` runs or waits for its start, within its time.',
        'Whether a pod of a task other than those of `committed` runs or is pending, within its paid time.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        "The pods of a task other than those of `committed` end, and nothing more is paid for them. Fails unless the task's results are compared and it is assigned or runs.",
        "Ends the pods of a task other than those of `committed`; nothing more is paid for them. Fails unless the task's results are compared and it is assigned or runs.",
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        "A replica's result is revealed. Fails unless the task's results are compared, and the lease is active, or ended when its result was committed.",
        "Stores the revealed result of a replica. Fails unless the task's results are compared, and the lease is active or was ended when its result was committed.",
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        "A replica's result is wrong, or was never revealed: nothing more is paid for its lease, which has ended. Fails unless the task's results are compared.",
        "Forfeits the payment of a replica whose result is wrong or was not revealed, and whose lease has ended. Fails unless the task's results are compared.",
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        "One more replica is wanted, because those that are there disagree. Fails unless the task's results are compared and it runs, and where it has 16 pods.",
        "Requests one more replica, because the present ones disagree. Fails unless the task's results are compared and it runs, or if it has 16 pods.",
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        "The results of replicas were compared, and those that were not voided agree: they are the task's. Fails unless the task's results are compared, it runs, no pod of it is left that might report, and one has.",
        "Verifies a task whose replicas agree, without the voided ones. Fails unless the task's results are compared, it runs, no pod is left that might report, and one has reported.",
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        "The results of replicas were compared, do not agree, and no further one is asked for: the task fails, and nothing more is paid for it. Fails unless the task's results are compared and it is assigned or runs.",
        "Fails a task whose replicas do not agree if no further replica is requested; nothing more is paid for it. Fails unless the task's results are compared and it is assigned or runs.",
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'Nothing more is paid for a lease that has ended, for the reason given.',
        'Forfeits the unpaid amount of a lease that has ended, and stores the reason.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'Whether the chain draws if another host repeats the work of a task.',
        'Whether the chain draws if another host repeats the work of a task.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'The deposit of a lease; 0 where there is no such lease.',
        'Returns the deposit of a lease; 0 if there is no such lease.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'The part of the protocol fee that goes to the treasury, whoever settles the task, where the results of these leases of it are right and no others are paid.',
        "Returns the part of the task's protocol fee that goes to the treasury, whoever settles the task, if the results of the leases `right` are right and no others are paid.",
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'No other host repeats the work of an audited job: its result is reported. Fails unless the task is audited, it runs, no pod of it is left that might report, and one has.',
        'Reports the result of an audited job whose work no other host repeats. Fails unless the task is audited, it runs, no pod is left that might report, and one has reported.',
    ),
    Comment(
        'pallets/tasks/src/verdicts.rs',
        'The host of the first pod of an audited job pays the others: where its result is right, what the leases in the other places of `right` owe is taken from what it is owed. So the tenant pays once.',
        'Charges the host of the first pod of an audited job for the others: if its result is right, the amounts owed to the leases at the other positions of `right` are subtracted from the amount owed to it. So the tenant pays once.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'Pods that go on at another host: standbys named in advance, moves, and the checkpoints from which they go on.',
        'Migration of pods to other hosts: standbys that are named in advance, moves, and checkpoints.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'Room that was taken for a pod that goes on elsewhere.',
        'The host to which a pod migrates, with its resources allocated.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'A host from which a pod is moved for its own sake sells no more than the time that was used.',
        'A host from which a pod is moved because of the host is paid for the used time only.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'Whether the host of a lease may report a checkpoint of its pod now.',
        'Checks whether the host of a lease may report a checkpoint of its pod now.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'Notes a checkpoint of the pod of an active lease. Fails with `ResultsAreCompared` where replicas run the pod: one that went on from what another host has kept would be no proof.',
        'Stores a checkpoint of the pod of an active lease. Fails with `ResultsAreCompared` for a replica: a result that continues from the checkpoint of another host would prove nothing.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'There is room: pods are as many as checkpoints may be.',
        'There is room: a task has at most as many pods as checkpoints.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'Whether the host of a lease is in order, with all that the pod uses of it, and is to remain its host.',
        'Whether the host of a lease and the devices of the lease are healthy, and the provider has not reclaimed the lease.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'Whether the pod of a lease could go on at a place now. Takes nothing.',
        'Checks whether the pod of a lease could migrate to a host now. Changes nothing.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'Takes room at a place for the pod of a lease, for the time when that lease ends for this reason. Fails, and takes nothing, where the place does not suit or nothing would be left of the deposit.',
        'Allocates resources on a host for the pod of a lease, which will end for `reason`. Fails, and changes nothing, if the host is not suitable or nothing would be left of the deposit.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'Takes room at the standby of a lease that is lost; none where it has none, or has been told to leave.',
        'Allocates resources on the standby of a failed lease. None if the lease has no standby, or the task has a preemption notice.',
    ),
    Comment(
        'pallets/tasks/src/migration.rs',
        'The pod of a live lease goes on where room was taken for it: the lease ends and is paid, and what is left of its deposit is that of the new one.',
        'Migrates the pod of a live lease to `target`: the lease ends and is paid, and the rest of its deposit becomes the deposit of the new lease.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'Spot tasks that leave, with notice, for a waiting task of higher priority that is assigned in their place.',
        'Preemption: running spot tasks are evicted, after a notice, for a queued task of higher priority.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'A notice names the places of the waiting task. It is given only where the pods fit there once the victims have left, and not before; and the victims leave only in the call that assigns the waiting task there.',
        'A notice names the hosts of the queued task. It is given only if the pods fit there after the victims are evicted, and not before. The victims are evicted only by the call that assigns the queued task there.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'How many leases a notice may be about: those of so many victims, and those of the waiting task.',
        'Returns how many leases a notice may concern: those of `victims` victims, and those of the queued task.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'A refusal costs what it took, too.',
        'A refused call pays for the work that was done.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'Counts in `leases` those of the victims.',
        "Checks and stores a notice. Adds the number of the victims' leases to `leases`.",
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'Whether a task may make others leave now.',
        'Checks whether a task may preempt others now.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'Nobody leaves for one that had to leave itself: else one notice would lead to the next.',
        'A preempted task preempts no others: else one notice would lead to the next.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'Whether the waiting task can be assigned to the places of the notice once the victims have left, and not before. For a desk, and a storage transaction, that are discarded.',
        'Checks that the queued task can be assigned to the hosts of the notice after the victims are evicted, and not before. The caller discards these changes and the storage transaction.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'Makes the victims leave that still run, and assigns the waiting task. Counts in `leases` those that end.',
        'Evicts the victims that still run, and assigns the queued task. Adds the number of ended leases to `leases`.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'One that has ended may be put away by now.',
        'A victim that has ended may be pruned by now.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'Where a notice stands for a task it is void, and its victims run on. Returns how many it had.',
        'Withdraws the preemption notice of a task, if there is one: its victims continue. Returns the number of victims.',
    ),
    Comment(
        'pallets/tasks/src/preemption.rs',
        'A task leaves its hosts. It did nothing wrong, so that this is no attempt that came to nothing. A rental cannot go on elsewhere without its data: it is over, and its data is retained.',
        'Evicts a task from its hosts. Eviction is no failed attempt. A rental cannot continue elsewhere without its data: it ends, and its data is retained.',
    ),
    Comment(
        'pallets/tasks/src/schedulers.rs',
        'Becoming a scheduler, and ceasing to be one.',
        'Bonds of schedulers, and the queue definitions that they publish.',
    ),
    Comment(
        'pallets/tasks/src/schedulers.rs',
        'One that leaves stays; what its bond lacks by now is held besides.',
        'A scheduler that is leaving becomes active again; the missing part of its bond is held.',
    ),
    Comment(
        'pallets/tasks/src/schedulers.rs',
        'The first call begins the unbonding period, one after it releases the bond.',
        'The first call begins the unbonding period. A call after that period releases the bond.',
    ),
    Comment(
        'pallets/tasks/src/schedulers.rs',
        'The account is no scheduler from now on, and this bond of it stays held.',
        'Removes a scheduler. Its bond stays on hold for the unbonding period.',
    ),
    Comment(
        'pallets/tasks/src/schedulers.rs',
        'What is held of `who` as the bond of a scheduler.',
        'Returns the amount on hold of `who` as the bond of a scheduler.',
    ),
    Comment(
        'pallets/tasks/src/self_assignment.rs',
        'Proof that a scheduler favoured a host of its own, and what it costs the scheduler.',
        'Proof that a scheduler favoured a host of its own, and the penalty.',
    ),
    Comment(
        'pallets/tasks/src/self_assignment.rs',
        'It is about the only pod of a task that a scheduler placed by `assign` on a host of its own. The other host must have been as good then, and known to be: what fits there now fitted then and for `offer_known_ms` before, because nothing of its offer has changed and no capacity has become free since. Pods of a gang are left out, for which a dearer host may be the only one with room for all; so are moved pods, standbys and notices of preemption, whose places were chosen earlier or for another reason.',
        'The proof concerns the only pod of a task that a scheduler assigned to a host of its own with `assign`. The other host must have been as good at that time, and the scheduler must have known it: its offer has not changed and no capacity has become free since `offer_known_ms` before the assignment, so a pod that fits now fitted then. Pods of a gang are excluded, because a more expensive host may be the only one that fits all of them. So are migrated pods, standbys and preemption notices, whose hosts were chosen earlier or for another reason.',
    ),
    Comment(
        'pallets/tasks/src/self_assignment.rs',
        'The other host must cost less by one part in so many, at least.',
        'The other host must be cheaper by at least this fraction of the rate: one part in ten.',
    ),
    Comment(
        'pallets/tasks/src/self_assignment.rs',
        'Takes the penalty from the bond of a scheduler: half of it for the tenant, the rest for the treasury, each where it can be credited. With less than half of the bond that is asked for it is no scheduler any more.',
        'Takes the penalty from the bond of a scheduler: half for the tenant, the rest for the treasury, each if the account can be credited. A scheduler with less than half of the required bond starts to unbond.',
    ),
    Comment(
        'pallets/tasks/src/self_assignment.rs',
        'Moves a part of the bond of a scheduler to the free coins of `to`. Returns how much: nothing where `to` cannot be credited with it.',
        'Moves a part of the bond of a scheduler to the free balance of `to`. Returns the moved amount: 0 if `to` cannot be credited.',
    ),
    Comment(
        'pallets/tasks/src/self_assignment.rs',
        'The scheduler that answers for the host of the pod that it places; none where the choice was not free.',
        'Returns the scheduler that is accountable for the choice of the host. None if the choice was not free.',
    ),
    Comment(
        'pallets/tasks/src/settlement.rs',
        'Accepting results, paying for them, rating those who made them, and putting final tasks away.',
        'Acceptance, settlement and rating of results, and pruning of final tasks.',
    ),
    Comment(
        'pallets/tasks/src/settlement.rs',
        'Pays everyone of a task whose result is accepted, or was not disputed in time. Returns how many leases it has.',
        'Pays all parties of a task whose result is accepted, or was not disputed in time. Returns the number of its leases.',
    ),
    Comment(
        'pallets/tasks/src/settlement.rs',
        'Puts a final task away: what is left of it is a digest.',
        'Prunes a final task: only its digest in the archive remains.',
    ),
    Comment(
        'pallets/tasks/src/settlement.rs',
        'Returns how many leases the task has.',
        'Returns the number of leases of the task.',
    ),
    Comment(
        'pallets/tasks/src/submission.rs',
        'Submitting tasks.',
        'Submission of tasks.',
    ),
    Comment(
        'pallets/tasks/src/submission.rs',
        'Of an array, what one of its tasks may cost: they need not run at once, and each is checked when assigned.',
        'For an array, the maximum cost of one task: its tasks need not run at once, and each assignment is checked.',
    ),
    Comment(
        'pallets/tasks/src/submission.rs',
        'A service begins with the fewest and is scaled; a job takes as many as it can get. At most 16, by ensure_spec_is_sound.',
        'A service starts with the minimum and is scaled; a job wants the maximum. At most 16, by `ensure_spec_is_sound`.',
    ),
    Comment(
        'pallets/tasks/src/submission.rs',
        'What is held of `who` for manifests and tasks that the chain keeps.',
        'Returns the amount on hold of `who` for stored manifests and tasks.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'What ends leases, attempts and tasks without a result, and who is paid then.',
        'The ends of leases, attempts and tasks without a result, and their payments.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        "What the refusal of a host may cost a task of so many pods: all of them end, or one goes on at its standby. The minimum charge, which the benchmarks do not have, touches the treasury's account besides.",
        "Returns the maximum weight of a host's refusal for a task with `pods` pods: all of them end, or one migrates to its standby. The minimum charge, which the benchmarks leave out, reads and writes the treasury's account.",
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'What giving up a lease may cost a task of so many pods: the same.',
        'Returns the maximum weight of `requeue` for a task with `pods` pods.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'Returns how many leases the task had.',
        'Returns the number of leases that the task had.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'A host that is not there must not be paid for having been silent for long enough.',
        'An absent host must not be paid because it was silent for long enough.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'Returns how many leases the task had, or how many had been told to leave for it.',
        'Returns the number of leases that the task had, or of victims of its preemption notice.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'Returns how many had been told to leave for the task.',
        "Returns the number of victims of the task's preemption notice.",
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'Lets the state of an assigned or running task follow from its leases: it runs when no pod waits for its start, and has reported when no pod is left that might. Replicas wait for their comparison.',
        'Updates the state of an assigned or running task from its leases: it is running if no pod is pending, and reported if no pod is left that might report. Replicas wait for their comparison.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'Moves a task along the table where the caller knows that it lists the move.',
        'Changes the state of a task. The caller knows that `TASK_TRANSITIONS` lists the transition.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'A pod comes to nothing. Where its standby can take over it goes on there. Else a job waits again as a whole; of a service or replicas the others go on. A rental that had started ends: its data is on the host that failed, and its tenant may dispute what it costs. What has failed too often fails for good.',
        'Applies the failure of a pod. If its standby can take over, the pod migrates there. Else a job is requeued as a whole, and the other pods of a service or of replicas continue. A rental that had started ends: its data is on the host that failed, and its tenant may dispute the bill. A task with too many failures fails.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'Charges the tenant for the time for which a pod held its host that the tenant ended, or prevented from starting, before its start; at least for `min_charge_ms`. All of it goes to the treasury, so that no host earns by not starting pods. Returns what was charged.',
        'Charges the tenant for the time for which a pod occupied its host before its start, if the tenant ended it or prevented its start; at least for `min_charge_ms`. The charge goes to the treasury, so that no host earns by not starting pods. Returns the charge.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'Charges the tenant of a lease that has not started for so many milliseconds. Returns what was charged.',
        'Charges the tenant of a lease that has not started for `held_ms` milliseconds. Returns the charge.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'A refusal before the start costs the bond of the host a little. Unless the host is to blame it costs no more than the tenant was `charged`: else tenants could empty bonds with images that do not start.',
        'Fines the host for a refusal before the start. Unless the host is at fault, the fine is at most the charge of the tenant (`charged`): else tenants could empty bonds with images that do not start.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'Holds it against a host that it did not start or complete a pod. Before the start a host that says so itself is not slashed, and some reasons are not its own. After the start every reason that a host gives is its own fault: the image and the manifest were good enough to start.',
        'Records that a host did not start or complete a pod. Before the start, a host that reports the failure itself is not slashed, and some reasons are not its fault. After the start, every reason that a host reports is its own fault: the image and the manifest were good enough to start.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        "Ends one lease because its time is over, or its provider or the tenant's coins ended it. The task goes on with the pods that are left, and is paid for after the dispute window.",
        'Ends one lease because its time is over, its provider reclaimed it, or its deposit is used up. The task continues with its other pods, and is paid for after the dispute window.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'Ends the lease of a job whose host reported no result in time. Its host is blamed and not paid. A replica is placed again; of a job of several pods the others go on, and what they report is paid for after the dispute window. A job without any result fails.',
        'Ends the lease of a job whose host reported no result in time. The host is held responsible and not paid. A replica is assigned again; the other pods of a job continue, and their results are paid for after the dispute window. A job without any result fails.',
    ),
    Comment(
        'pallets/tasks/src/termination.rs',
        'The first host of an audited job has done its work: it is not unpaid because others refuse to repeat it.',
        'The first host of an audited job has done its work: it is paid even if others refuse to repeat it.',
    ),
    Comment(
        'pallets/tasks/src/try_state.rs',
        'What must always be true of tasks, and of tasks, leases, escrows and hosts together. See docs/invariants.md.',
        'The invariants of tasks, and those between tasks, leases, escrows and hosts. See docs/invariants.md.',
    ),
    Comment(
        'pallets/tasks/src/try_state.rs',
        'What a lease holds of a host.',
        'A lease, its tenant, and the resources and devices that it has allocated.',
    ),
    Comment(
        'pallets/tasks/src/try_state.rs',
        'What the tasks come to, to be compared with what is kept besides them.',
        'Sums over all tasks, which are compared with the values that are stored separately.',
    ),
    Comment(
        'pallets/tasks/src/try_state.rs',
        'By the first of tasks submitted together: how many are not final, and how many there are.',
        'By the first of tasks submitted together: how many are not final, and how many are stored.',
    ),
    Comment(
        'pallets/tasks/src/try_state.rs',
        'Each notice is that of a waiting task, and each running task that was told to leave is named by one.',
        'Checks that each notice belongs to a queued task, and that a notice names each running task with a preemption.',
    ),
    Comment(
        'pallets/tasks/src/try_state.rs',
        'What is free on each host is what it has, less what its leases hold.',
        'Checks that the free resources of each host are its total less the resources of its leases.',
    ),
    Comment(
        'pallets/tasks/src/try_state.rs',
        'Whether shares of a device are held by whom it says alone. Where it names nobody, there are none, or they are older than the rule.',
        'Whether all shares of a device belong to the tenant that the device names. If it names none, there are no shares, or they are older than the rule.',
    ),
    Comment(
        'pallets/tasks/src/try_state.rs',
        'What is left of a host, and of each of its devices, beside what is held. None where it is not enough.',
        'Returns the free resources of a host and of each device, without the resources that are held. None if the host has not enough.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'What governs the tasks pallet, and the parts of its events and archive.',
        'Parameters of the tasks pallet, and the stored types of its own.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'No task has more replicas whose results are compared.',
        'The most replicas of a task.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A pod must start within so many milliseconds after its lease was opened; at least 1.',
        'The time in milliseconds within which a pod must start after its lease was opened; at least 1.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A result that nobody accepts or disputes counts as accepted after so many milliseconds; at least 1.',
        'The time in milliseconds after which a result that is neither accepted nor disputed counts as accepted; at least 1.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A task fails when hosts of so many different providers have failed, in whatever way; 1 to 16.',
        'The number of different providers whose hosts may fail a task, in any way, before it fails; 1 to 16.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'Coins held besides for each byte of the manifest.',
        'Coins held in addition for each byte of the manifest.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'Coins held for each task until it is pruned, besides those for its pods.',
        'Coins held for each task until it is pruned, in addition to those for its pods.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A task may be pruned so many milliseconds after it became final; at least 1.',
        'The time in milliseconds after which a final task may be pruned; at least 1.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'What each refused report of a batch costs the bond of its host; more than 0, so that blocks are not filled for free.',
        'The fine for each refused report of a batch, taken from the bond of the host; more than 0, so that no block is filled for free.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A spot task that is told to leave may run on for so many milliseconds; at least 1.',
        'The time in milliseconds between a preemption notice and the eviction; at least 1.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A host whose score is below so many parts per million deteriorates; at most 1,000,000.',
        'The score in parts per million below which a host is unhealthy; at most 1,000,000.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'The checkpoints of a pod are at least so many milliseconds apart; at least 1.',
        'The least time in milliseconds between two checkpoints of a pod; at least 1.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A pod that its tenant ends before its start, or prevents from starting, costs as much as the time for which it held its host, at least so many milliseconds, at the rate of its lease; at most the deposit. The charge goes to the treasury. Also the shortest duration that a task may ask for.',
        'The minimum charge, as a time in milliseconds, for a pod that its tenant ends before its start, or prevents from starting. The charge is the time for which the pod occupied its host, at the rate of the lease, at most the deposit; it goes to the treasury. Also the shortest duration that a task may request.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'The most replicas whose results a task may have compared, at most 3; 0 where no task may ask for it, since nothing on the network runs and compares replicas.',
        'The most replicas that a task may request, at most 3; 0 if no task may request replicas, because no verifier on the network compares them.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A host may report the result of a job for so many milliseconds after the time of its pod was over; at least 1. After that the pod has no result and is not paid. Not less than the absence limit of the hosts pallet, so that a host that is gone is reported absent first.',
        'The time in milliseconds after the end of a pod within which its host may report the result of a job; at least 1. Later the pod has no result and is not paid. Not less than the absence limit of the hosts pallet, so that an absent host is reported absent first.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A task fails when hosts of so many different providers have refused it or not started it; 1 to 16.',
        'The number of different providers whose hosts may refuse a task, or not start it, before it fails; 1 to 16.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'What a refusal costs the bond of the host. Where the tenant is blamed, at most the minimum charge of the tenant.',
        'The fine for a refusal, taken from the bond of the host. If the tenant is at fault, at most the minimum charge of the tenant.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'The bond of a scheduler stays held for so many milliseconds after it has left; at most a year.',
        'The time in milliseconds for which the bond of a scheduler stays on hold after it has left; at most a year.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'What a scheduler loses of its bond where it is proven that it favoured a host of its own, in parts per million of `scheduler_bond`; at most 1,000,000.',
        'The penalty of a scheduler that favoured a host of its own, in parts per million of `scheduler_bond`; at most 1,000,000.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'That can be proven for so many milliseconds after the assignment; at most `scheduler_unbonding_ms`.',
        'The time in milliseconds after an assignment within which that can be proven; at most `scheduler_unbonding_ms`.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'What another host offers counts where it had stood for so many milliseconds at the assignment: the scheduler knew it.',
        'The time in milliseconds for which the offer of another host must have been unchanged at the assignment, so that the scheduler knew it.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'Coins held for each pod that a task may have until it is pruned: the chain keeps a lease and a checkpoint of each.',
        'Coins held for each pod that a task may have until it is pruned: the chain stores a lease and a checkpoint for each.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'What a host gets besides its price for a job that may be audited, in parts per million: it pays the audits. At most 1,000,000.',
        'The surcharge of a host for a job that may be audited, in parts per million of its price: it pays the audits. At most 1,000,000.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'The coins held for the record of a task of up to `pods` pods. None where there are more than any number of coins.',
        'Returns the coins held for the record of a task of up to `pods` pods. None on overflow.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'Whether the chain can work by them; an error for each way in which it cannot.',
        'Checks the parameters. Fails with the first invalid one.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'A scheduler that has left, whose bond is still held.',
        'A scheduler that has left, whose bond is still on hold.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'What is held.',
        'The amount on hold.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'From then on it is released.',
        'The time from which it can be released.',
    ),
    Comment(
        'pallets/tasks/src/types.rs',
        'What the chain keeps of 4,096 neighbouring tasks once they are pruned.',
        'What the chain stores of 4,096 neighbouring tasks after they are pruned.',
    ),
    Comment(
        'pallets/tasks/src/views.rs',
        'What clients and other pallets read of tasks.',
        'Functions by which clients and other pallets read tasks.',
    ),
    Comment(
        'pallets/tasks/src/views.rs',
        'The most tasks that one view of a list gives.',
        'The most tasks that one view of a list returns.',
    ),
    Comment(
        'pallets/tasks/src/views.rs',
        'The record of a task, or `NoSuchTask`.',
        'Returns the record of a task. Fails with `NoSuchTask`.',
    ),
    Comment(
        'pallets/tasks/src/views.rs',
        'What a task has in common with those it was submitted with, or `NoSuchTask`.',
        'Returns the record that a task shares with those it was submitted with. Fails with `NoSuchTask`.',
    ),
    Comment(
        'pallets/tasks/src/errors.rs',
        'The errors of calls, for what the pure rules refuse.',
        'Conversion of the errors of the pure rules into those of calls.',
    ),
    Comment(
        'pallets/tasks/src/benchmarking.rs',
        'Measures what each call costs. Single calls: each pod on a host of its own, with as many devices and as long texts as there may be. Batches: what an item costs by itself, what each further spec adds, and what each further host adds.',
        'Benchmarks. Single calls: each pod on its own host, with the most devices and the longest texts. Batches: the weight of an item, of each further spec, and of each further host.',
    ),
    Comment(
        'pallets/tasks/src/benchmarking.rs',
        'More than anything here costs.',
        'More than any cost here.',
    ),
    Comment(
        'pallets/tasks/src/benchmarking.rs',
        'Else there would be nothing to pay.',
        'So that there is something to pay.',
    ),
    Comment(
        'pallets/tasks/src/benchmarking.rs',
        'A waiting task of a priority above all others here, and as many running tasks of one pod as it has pods, each on a host of its own that has no room beside it.',
        'A queued task with a priority above all others here, and as many running tasks of one pod as it has pods, each on its own host without free resources.',
    ),
    Comment(
        'pallets/tasks/src/benchmarking.rs',
        'Tells the running tasks to leave. Returns the waiting task.',
        'Gives the running tasks a preemption notice. Returns the queued task.',
    ),
    Comment(
        'pallets/tasks/src/benchmarking.rs',
        'A job of as many pods as there may be that has reported; its tenant is the account named `tenant`. For pallets above.',
        'A reported job with the most pods; its tenant is the account named `tenant`. For the benchmarks of other pallets.',
    ),
    Comment(
        'pallets/tasks/src/benchmarking.rs',
        'What is looked at last speaks against the one that is named.',
        'The condition that is checked last fails for the host that is named.',
    ),
    Comment(
        'pallets/tasks/src/benchmarking.rs',
        'The first lease of a running service of as many pods as there may be, another service for each number: its pod goes on at a standby when its provider has reclaimed it.',
        'The first lease of a running service with the most pods, another service for each number. Its pod migrates to a standby when its provider has reclaimed it.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        'The agenda: which lease is to be looked at when.',
        'The agenda: a queue of the leases that are due, ordered by time.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        "Times are put into buckets of [`BUCKET_MS`], each a pile of pages of [`PAGE_ENTRIES`]. The key of a bucket is its big-endian number under an identity hash, so the first key in the trie is the earliest bucket: no bucket without entries is ever looked at, however far the clock jumps. Entries are taken from the top of the earliest bucket's pile; what is not reached in one block is still there in the next.",
        'Times are grouped into buckets of [`BUCKET_MS`], each a stack of pages of [`PAGE_ENTRIES`]. The key of a bucket is its big-endian number under an identity hash, so the first key in the trie is the earliest bucket: an empty bucket is never read, however far the clock jumps. Entries are popped from the last page of the earliest bucket; entries that are not processed in one block stay for the next.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        "A key that a block removes stays in the state's trie until the block is committed, and a search over it costs a step for each such key. So the search begins after the bucket that was emptied last ([`AgendaEmptied`]): buckets are emptied in their order, and nothing is put into a bucket that is due, because a time that has come counts as the next millisecond.",
        'A key that a block removes stays in the trie of the state until the block is committed, and an iteration over it costs a step for each such key. So the iteration begins after the bucket that was emptied last ([`AgendaEmptied`]): buckets are emptied in order, and no entry is added to a bucket that is due, because a time in the past counts as the next millisecond.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        'The width of a bucket in milliseconds: a lease is looked at no later than this after its time.',
        'The width of a bucket in milliseconds: a lease is processed at most this long after its time.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        'The bucket that is due when `at` has come.',
        'Returns the bucket that is due at `at`.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        'Whether all times of a bucket have come.',
        'Whether all times of a bucket are in the past.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        'Sees to it that the lease is looked at when `at` has come, and not only later. The caller stores the lease.',
        'Schedules the lease at `at`, unless it is due earlier. The caller stores the lease.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        'A time that has come already counts as the next millisecond.',
        'A time in the past counts as the next millisecond.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        'Puts a lease on the agenda of `at`, which must not have come.',
        'Adds a lease to the agenda at `at`, which must be in the future.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        'Takes an entry off the earliest bucket.',
        'Pops an entry of the earliest bucket.',
    ),
    Comment(
        'pallets/leases/src/agenda.rs',
        'Whether the agenda has the lease where `at` says.',
        'Whether the agenda contains the lease in the bucket of `at`.',
    ),
    Comment(
        'pallets/leases/src/benchmarking.rs',
        'Measures what each call costs, on rentals as the keeper of the leases makes them. What ends a reclaimed lease is measured on services whose pods then go on at a standby: no end costs more.',
        'Benchmarks, on rentals that the lease store creates. The end of a reclaimed lease is measured on services whose pods migrate to a standby, which is the most expensive end.',
    ),
    Comment(
        'pallets/leases/src/benchmarking.rs',
        'Whatever the chain holds back, there is something to pay.',
        'Longer than the period that is held back, so that there is something to pay.',
    ),
    Comment(
        'pallets/leases/src/benchmarking.rs',
        'The lease of a service for each number whose pod goes on elsewhere once the notice of its provider is over.',
        'The lease of a service for each number, whose pod migrates when the notice of its provider is over.',
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'What the calls do: read, ensure, write, emit.',
        'The implementation of the calls.',
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'The agenda has so long to end a lease before there is a bounty for it.',
        'The time in milliseconds that the agenda has for ending a lease before there is a bounty.',
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'All of it or nothing: what cannot be paid yet is not divided anew with what is due later.',
        'All or nothing: an amount that cannot be paid now is not divided again later.',
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'With the fee for it, so that it is the provider alone who has less.',
        'Together with its fee, so that only the provider receives less.',
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        "A running lease of a service or rental. The host's downtime has moved its end already.",
        "Returns a running lease of a service or rental. Its end includes the host's downtime.",
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'A lease that was read already, where it is a running one of a service or rental.',
        "Checks that a lease is a running one of a service or rental, and includes the host's downtime in its end.",
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'A running lease of `tenant` that may get more time.',
        'Returns a running lease of `tenant` that may be extended.',
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'What the disk of a lease costs an hour on its host now. A host that has raised its price above what the tenant pays at most for the whole machine gets nothing.',
        "Returns the present rate of the disk of a lease on its host, in base units per hour. Fails if it is above the tenant's limit for the whole machine.",
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'Holds `amount` more for a lease, which goes on for as long as that lasts. Returns when it is over.',
        'Holds `amount` more for a lease, which is extended accordingly. Returns its end.',
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'The agenda looks at it when it would have been over, and then again.',
        'The agenda processes it at its former end, and reschedules it.',
    ),
    Comment(
        'pallets/leases/src/dispatchables.rs',
        'The lease goes on in `state` at another rate. Returns what is owed for the time before, and when it is over.',
        'Continues a lease in `state` at another rate. Returns the amount owed for the time before, and its end.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        'What is done for a lease when its time on the agenda has come.',
        'Processing of the leases that are due.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        'What was refused is tried again after so long.',
        'The delay in milliseconds after which a failed entry is retried.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        'While a host is away the end of its leases moves with the clock; they are looked at no more often than this.',
        'While a host is offline, the end of its leases moves with the clock. This is the least time in milliseconds between two checks of such a lease.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        'The time of this block; at its very beginning, that of the block before.',
        'The time of this block. Before the timestamp is set, that of the block before.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        'Looks at up to `most` due entries within `limit`. Returns what it cost.',
        'Processes up to `most` due entries within the weight `limit`. Returns the used weight.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        'With the search for the next one.',
        'Including the search for the next one.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        'Returns how many entries were looked at.',
        'Returns the number of processed entries.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        'Takes an entry off a due bucket and does what is to be done for its lease. Where that is refused nothing of it remains, and it is tried again later.',
        'Pops an entry of a due bucket and processes its lease. A failure is rolled back, and the entry is retried later.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        'A lease that is no more needs nothing.',
        'A lease that no longer exists needs no retry.',
    ),
    Comment(
        'pallets/leases/src/due_leases.rs',
        "The host's downtime since the last look gives the tenant that much more time.",
        "The host's downtime since the last check extends the lease.",
    ),
    Comment(
        'pallets/leases/src/host_leases.rs',
        'The leases of each host. Callers that touch a host many times change the list in memory and store it once.',
        'The lists of the leases of each host. Callers with many changes for one host change the list in memory and store it once.',
    ),
    Comment(
        'pallets/leases/src/host_leases.rs',
        'The leases that hold something of a host, in the order of their numbers.',
        'Returns the leases that have resources of a host allocated, in the order of their numbers.',
    ),
    Comment(
        'pallets/leases/src/host_leases.rs',
        'Puts a lease on the list of its host, or `TooManyLeasesOnHost`. A lease that is on it stays.',
        'Adds a lease to the list of its host, unless the list contains it. Fails with `TooManyLeasesOnHost`.',
    ),
    Comment(
        'pallets/leases/src/host_leases.rs',
        'Takes a lease off the list of its host. Returns whether it was on it.',
        'Removes a lease from the list of its host. Returns whether the list contained it.',
    ),
    Comment(
        'pallets/leases/src/host_leases.rs',
        'Stores the list of a host; one with nothing on it takes no room.',
        'Stores the list of a host. An empty list is removed.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'What keeps the leases: the tasks pallet, inside the records of tasks.',
        'The port by which leases are read and stored. The tasks pallet implements it: leases are inside the records of tasks.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'A lease with what it hangs on.',
        'A lease with the values that its rules need.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'Who pays.',
        'The account that pays.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'What was asked for.',
        'The spec of its task.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'For how many milliseconds the host has been absent in all, an absence that goes on included.',
        'The total downtime of the host in milliseconds, including a present absence.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'Reads and stores leases. They are kept where one read brings the whole task.',
        'Reads and stores leases. They are stored in the record of their task, so that one read returns all of them.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        "A lease, or the keeper's error where there is none of this number.",
        'Returns a lease. Fails with the error of the implementation if there is none with this number.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'Stores a lease that was changed, and commits `ledger`.',
        'Stores a changed lease, and commits `ledger`.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        "The host gets back what the lease no longer holds (see [`Lease::holds`]) and gives what it holds anew: refused where the host is not online or it is not free. The list of the host's leases follows. A move that `LEASE_TRANSITIONS` does not list is refused. Where it fails, some of it may have been written: it is to be called in a transaction, as every call of a pallet is. No event, and the task's state stays.",
        "Resources that the lease no longer holds (see [`Lease::holds`]) are released on its host, and those that it holds in addition are allocated: this fails if the host is not online or they are not free. The list of the host's leases is updated. A transition that `LEASE_TRANSITIONS` does not list is refused. A failure may leave partial changes, so callers run in a transaction, as every call of a pallet does. No event is emitted, and the state of the task does not change.",
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'Ends a live lease of a service or rental because of `reason`, with all that follows for its task, and says so in an event of the keeper. `settler`: whose call ends it; None where the agenda does.',
        'Ends a live lease of a service or rental because of `reason`, with all consequences for its task, and emits an event of the implementation. `settler` is the account whose call ends it; None if the agenda does.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'An active lease of a rental for each `number`, with a tenant that can pay and a host that is online.',
        'Creates an active lease of a rental for each `number`, with a tenant that can pay and a host that is online.',
    ),
    Comment(
        'pallets/leases/src/lease_store.rs',
        'As [`Self::create_rental`], of a service whose pod goes on elsewhere when its provider has reclaimed the lease.',
        'As [`Self::create_rental`], for a service whose pod migrates when its provider has reclaimed the lease.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        "The right of one pod to resources of one host. A lease is kept inside the record of its task ([`LeaseStore`]); opened, started and ended with it. This pallet has what tenants and providers may do with a lease while it runs and after, the list of each host's leases, and the agenda that ends leases and purges data when their time has come.",
        "The right of one pod to resources of one host. A lease is stored inside the record of its task ([`LeaseStore`]) and is opened, started and ended with it. This pallet contains the calls of tenants and providers for leases that run or have ended, the list of each host's leases, and the agenda that ends leases and purges data when they are due.",
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        "`dispatchables.rs` has the calls, `agenda.rs` the agenda, `due.rs` what is done when a lease's time has come, `lists.rs` the lists of hosts, `retention.rs` what is paid for kept data.",
        '`dispatchables.rs` implements the calls, `agenda.rs` the agenda, `due_leases.rs` the processing of its entries, `host_leases.rs` the lists of hosts, and `retention.rs` the payment for retained data.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The most leases that may hold something of one host.',
        'The most leases on one host.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The most entries of the agenda that one call of `crank` looks at.',
        'The most entries of the agenda that one call of `crank` processes.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        "The most entries of the agenda that `on_idle` looks at in a block. It runs in time that the weight limit leaves, but not under the author's clock.",
        'The most entries of the agenda that `on_idle` processes in a block. It is bounded by the remaining weight, but not by the clock of the author.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The storage of this pallet is that of this version.',
        'The version of the storage of this pallet.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'What the pallet needs of its runtime.',
        'The types that the runtime provides.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'What keeps the leases.',
        'Where leases are stored.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'What the chain starts with.',
        'The genesis configuration.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'Nothing.',
        'Marker of the runtime.',
    ),
    Comment(
        'pallets/leases/src/retention.rs',
        'Data that is kept after the end of a rental, and what its tenant pays for that.',
        'Retention of data after the end of a rental, and its price.',
    ),
    Comment(
        'pallets/leases/src/retention.rs',
        "Data is kept for a while at no further cost. For more time the tenant has coins held at a price fixed by the call. They are paid to the host as the time passes: when someone settles the lease, when the tenant lets the data go or takes it over, and the rest with the host's receipt of the purge. A host that loses the data, or sends no receipt, gets nothing of what is still held.",
        "Data is retained for a period at no further cost. For more time the tenant holds coins at a price that the call fixes. They are paid to the host as the time passes: when an account settles the lease, when the tenant releases the data or another rental takes it over, and the rest with the host's receipt of the purge. A host that loses the data, or sends no receipt, gets nothing of the coins that are still held.",
    ),
    Comment(
        'pallets/leases/src/retention.rs',
        'Begins where the time that costs nothing more ends. Time that is added to paid time is paid with it, by one rate.',
        'Begins at the end of the free period. Time that is added to paid time is paid together with it, at one rate.',
    ),
    Comment(
        'pallets/leases/src/retention.rs',
        'Pays for the time for which data was kept, but for the last period that is held back. Once the time is over, the rest is paid with the receipt of the purge. A host that is away cannot show that it has the data.',
        'Pays for the time for which data was retained, except for the last period, which is held back. After the end, the rest is paid with the receipt of the purge. An offline host cannot prove that it has the data.',
    ),
    Comment(
        'pallets/leases/src/retention.rs',
        'Data is no longer kept: what is due for the time until `kept_until` is paid, and the rest goes back to the tenant. Nothing happens where nothing is held for storage. The caller stores the lease and commits the ledger.',
        'Ends the retention of data: pays the amount due until `kept_until`, and releases the rest to the tenant. Does nothing if no coins are held for storage. The caller stores the lease and commits the ledger.',
    ),
    Comment(
        'pallets/leases/src/retention.rs',
        'Data was lost, or there is no receipt of its purge: all that is still held for storage goes back to the tenant. Nothing happens where nothing is held. The caller stores the lease and commits the ledger.',
        'Refunds all coins that are still held for storage, because the data was lost or there is no receipt of its purge. Does nothing if no coins are held. The caller stores the lease and commits the ledger.',
    ),
    Comment(
        'pallets/leases/src/retention.rs',
        'The data of an ended rental is kept from `now` on for `retention_ms`, but for no longer than what the tenant owes for the lease would pay for its disk: else a rental of seconds would hold a disk for days. Where the host failed, it is kept for the whole time. The caller stores the lease.',
        'Retains the data of an ended rental from `now` on for `retention_ms`, but at most for the time for which the amount owed for the lease would pay its disk: else a rental of seconds would occupy a disk for days. If the host failed, the whole period applies. The caller stores the lease.',
    ),
    Comment(
        'pallets/leases/src/retention.rs',
        '`storage_rate`: the price of the disk in base units an hour; None where the host does not offer storage. A host cannot shorten the time below that of the lease by a higher price.',
        '`storage_rate` is the price of the disk in base units per hour, or None if the host does not offer storage. A host cannot shorten the period by a price above the rate of the lease.',
    ),
    Comment(
        'pallets/leases/src/retention.rs',
        'A lease of `tenant` whose data is kept.',
        'Returns a lease of `tenant` whose data is retained.',
    ),
    Comment(
        'pallets/leases/src/try_state.rs',
        'What must always be true of the lists and the agenda. See docs/invariants.md.',
        'The invariants of the lists and the agenda. See docs/invariants.md.',
    ),
    Comment(
        'pallets/leases/src/try_state.rs',
        'Checks every invariant of this pallet. For tests, the fuzzer and try-runtime. That the lists and the agenda have what the leases say is for the keeper of the leases to check.',
        'Checks every invariant of this pallet. For tests, the fuzzer and try-runtime. The lease store checks that the lists and the agenda match the leases.',
    ),
    Comment(
        'pallets/leases/src/try_state.rs',
        'Checks what must always be true of a lease by itself and of its place on the agenda. For the keeper of the leases to call for each.',
        'Checks the invariants of one lease and of its entry in the agenda. The lease store calls it for each lease.',
    ),
    Comment(
        'pallets/leases/src/types.rs',
        'What governs the leases pallet.',
        'Parameters of the leases pallet.',
    ),
    Comment(
        'pallets/leases/src/types.rs',
        'A provider that wants its resources back gives notice of so long.',
        'The period of notice of a provider that reclaims its resources.',
    ),
    Comment(
        'pallets/leases/src/types.rs',
        'The data of a rental is kept for so long after its end, at no further cost.',
        'The period for which the data of a rental is retained after its end at no further cost.',
    ),
    Comment(
        'pallets/leases/src/types.rs',
        'A host has so long after that for its receipt of the purge; then the lease is purged without one.',
        'The period after the retention within which a host sends its receipt of the purge; then the lease is purged without one.',
    ),
    Comment(
        'pallets/leases/src/types.rs',
        'A tenant may pay to have data kept for so long from then on; at least `retention_ms`.',
        'The longest period, from now on, for which a tenant may pay the retention of data; at least `retention_ms`.',
    ),
    Comment(
        'pallets/billing/src/lib.rs',
        "The coins of leases: held on the tenant's own account when a lease opens, paid or given back later. What is owed is reckoned by `gantry_primitives::escrow`, and each escrow is kept inside its lease; this pallet moves the coins, those of a whole extrinsic at once, through [`Ledger`].",
        "The coins of leases: they are held on the tenant's own account when a lease opens, and paid or released later. `gantry_primitives::escrow` computes the amount owed, and each escrow is stored inside its lease; this pallet moves the coins, all those of an extrinsic at once, through [`Ledger`].",
    ),
    Comment(
        'pallets/billing/src/lib.rs',
        'The storage of this pallet is that of this version.',
        'The version of the storage of this pallet.',
    ),
    Comment(
        'pallets/billing/src/lib.rs',
        'What the pallet needs of its runtime.',
        'The types that the runtime provides.',
    ),
    Comment(
        'pallets/billing/src/lib.rs',
        'What the chain starts with.',
        'The genesis configuration.',
    ),
    Comment(
        'pallets/billing/src/lib.rs',
        'Nothing.',
        'Marker of the runtime.',
    ),
    Comment(
        'pallets/billing/src/impls.rs',
        'What other pallets ask of this one.',
        'Functions for other pallets.',
    ),
    Comment(
        'pallets/billing/src/impls.rs',
        'What could be held of `tenant` now. The existential deposit always stays free, so that an account that can be paid can still be paid after a hold.',
        'Returns the amount that can be held of `tenant` now. The existential deposit always stays free, so that an account that can receive payments can still do so after a hold.',
    ),
    Comment(
        'pallets/billing/src/impls.rs',
        'What is held of `tenant` for open escrows.',
        'Returns the amount on hold of `tenant` for open escrows.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'The coins that one extrinsic moves, however many leases it touches: gathered in memory, moved once.',
        'The movements of coins of one extrinsic, for any number of leases: collected in memory, applied once.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'What is to be held of, paid by and given back to tenants when [`Ledger::commit`] is called. Dropped without it, nothing moves.',
        'Holds, payments and releases of tenants that [`Ledger::commit`] applies. If it is dropped, no coins move.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'It comes to what each movement by itself would come to, in the order they were made; only what a tenant receives as a provider cannot be held in the same extrinsic.',
        'The result equals that of the single movements in their order, except that coins which a tenant receives as a provider cannot be held in the same extrinsic.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Who can be credited with any amount when this is committed.',
        'Accounts that can be credited with any amount at the commit.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'The first payment to each account without the existential deposit: (tenant, receiver). It is made before all others.',
        'The first payment to each account that does not have the existential deposit: (tenant, receiver). These are made before all others.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'What else could be held; known from the first hold on.',
        'The amount that can be held in addition. Computed at the first hold.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'The sum of all payments; None where it overflows.',
        'Returns the sum of all payments. None on overflow.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'What is released beyond what is held anew.',
        'Returns the amount that is released beyond new holds.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Holds `amount` of `tenant` for escrows, or `TenantCannotPay`.',
        'Holds `amount` of `tenant` for escrows. Fails with `TenantCannotPay`.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Gives `amount` of what is held for escrows back to `tenant`.',
        'Releases `amount` of the coins of `tenant` that are on hold for escrows.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Pays `amount` of what is held of `tenant` to `to`. Returns what is paid: all of it, or nothing where `to` cannot be credited with it (less than the existential deposit, to an account that does not exist). Then it stays with the tenant, so that no close can be blocked and no coin is lost.',
        'Pays `amount` of the coins on hold of `tenant` to `to`. Returns the paid amount: all of it, or 0 if `to` cannot be credited (with less than the existential deposit, if the account does not exist). Then it stays with the tenant, so that no closing can be blocked and no coin is lost.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Cannot overflow: what is paid was held, and all coins together fit.',
        'Cannot overflow: payments were on hold, and the total issuance fits its type.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Whether all of `due` could be paid out of an escrow: its provider and the treasury could be credited.',
        'Whether all of `due` can be paid out of an escrow: its provider and the treasury can be credited.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Pays a fee to scheduler, settler and treasury. A share that nobody can be credited with goes to the treasury. Returns what was paid.',
        'Pays a fee to scheduler, settler and treasury. The share of an account that cannot be credited goes to the treasury. Returns the fee as it was paid.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        "Pays `due` out of an escrow: its fee, and the rest to the provider. Returns the provider's share and the fee, as they were paid.",
        "Pays `due` out of an escrow: its fee, and the rest to the provider. Returns the provider's share and the fee, as they were paid.",
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        "Pays `due` by the fee of an escrow, which the caller updates. Returns the provider's share and the fee, as they were paid.",
        "Divides `due` by the fee of an escrow, and pays the parts. The caller updates the escrow. Returns the provider's share and the fee, as they were paid.",
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Pays what a stopped escrow owes and gives the rest back to the tenant. Nothing happens to a closed one.',
        'Pays the amount owed by a stopped escrow and releases the rest to the tenant. Does nothing if the escrow is closed.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Pays what a stopped escrow owes, and closes it. Returns besides what is left of it: it stays held, as the deposit of the escrow by which this one goes on.',
        'Pays the amount owed by a stopped escrow, and closes it. Returns the settlement, and the rest: it stays on hold as the deposit of the escrow that continues this one.',
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        "Moves the coins. The hold of a tenant changes once for all its payments, which come to the same as a `transfer_on_hold` for each, with the same events: a transfer would read and write the tenant's account and its holds anew for each receiver.",
        "Applies the movements. The hold of a tenant changes once for all its payments. This equals a `transfer_on_hold` for each payment, with the same events; that would read and write the tenant's account and its holds for each receiver.",
    ),
    Comment(
        'pallets/billing/src/ledger.rs',
        'Cloned only where there is none, which is once for each tenant.',
        'The key is cloned only once for each tenant.',
    ),
    Comment(
        'pallets/billing/src/payees.rs',
        'Who is paid out of an escrow besides the treasury.',
        'The accounts that are paid out of an escrow, besides the treasury.',
    ),
    Comment(
        'pallets/billing/src/payees.rs',
        'The settler of the leases that a call of `who` settles or ends.',
        'Returns the settler for the leases that a call of `who` settles or ends.',
    ),
    Comment(
        'pallets/billing/src/payees.rs',
        'Who is paid out of the escrow of one lease.',
        'The accounts that are paid out of the escrow of one lease.',
    ),
    Comment(
        'pallets/billing/src/payees.rs',
        'The payees of a lease. Its tenant, its provider and its host have no share of its fee: else each party would get a part of the fee back by settling its own leases.',
        'Returns the payees of a lease. Its tenant, provider and host have no share of its fee: else each of them would get a part of the fee back by settling its own leases.',
    ),
    Comment(
        'pallets/billing/src/payees.rs',
        "The settler's share in parts per million of the fee.",
        "Returns the settler's share in parts per million of the fee.",
    ),
    Comment(
        'pallets/billing/src/storage.rs',
        'Payments out of what is held for kept data.',
        'Payments out of the coins held for retained data.',
    ),
    Comment(
        'pallets/billing/src/storage.rs',
        "Pays `due` out of what an escrow holds for storage. Returns the provider's share and the fee, as they were paid.",
        "Pays `due` out of the storage deposit of an escrow. Returns the provider's share and the fee, as they were paid.",
    ),
    Comment(
        'pallets/billing/src/storage.rs',
        'Gives back to the tenant what an escrow still holds for storage. Returns the amount.',
        'Releases the storage deposit of an escrow to the tenant. Returns the amount.',
    ),
    Comment(
        'pallets/billing/src/try_state.rs',
        'What must always be true of coins that are held. See docs/invariants.md.',
        'The invariants of coins on hold. See docs/invariants.md.',
    ),
    Comment(
        'pallets/billing/src/try_state.rs',
        'Checks every invariant of this pallet. For tests, the fuzzer and try-runtime. That what is held of a tenant is what its open escrows hold is for the pallet that keeps the escrows to check.',
        'Checks every invariant of this pallet. For tests, the fuzzer and try-runtime. The pallet that stores the escrows checks that the amount on hold of a tenant is the sum of its open escrows.',
    ),
    Comment(
        'pallets/billing/src/types.rs',
        'What governs the billing pallet.',
        'Parameters of the billing pallet.',
    ),
    Comment(
        'pallets/billing/src/types.rs',
        "The protocol's part of what leases that are opened from now on pay, in parts per million; at most 100,000.",
        'The protocol fee of leases that are opened from now on, in parts per million of what they pay; at most 100,000.',
    ),
    Comment(
        'pallets/billing/src/types.rs',
        'What a running lease owes for so many last milliseconds is not paid before it ends.',
        'The last period in milliseconds whose payment is held back until the lease ends.',
    ),
    Comment(
        'pallets/billing/src/types.rs',
        'What there is for closing a lease whose deposit is used up, from the share of its provider.',
        'The bounty for closing a lease whose deposit is used up, from the share of its provider.',
    ),
    Comment(
        'pallets/billing/src/types.rs',
        'Whether the chain can work by them; an error for each way in which it cannot.',
        'Checks the parameters. Fails with the first invalid one.',
    ),
    Comment(
        'pallets/governance/src/lib.rs',
        'Nothing.',
        'Marker of the runtime.',
    ),
    Comment(
        'pallets/governance/src/dispatchables.rs',
        'What the calls do: read, ensure, write, emit.',
        'The implementation of the calls.',
    ),
    Comment(
        'pallets/governance/src/types.rs',
        'Names a call that the council decided to have carried out.',
        'The id of a call that the council decided to enact.',
    ),
    Comment(
        'pallets/governance/src/types.rs',
        'Whole blocks between the decision and what it brings about.',
        'The number of whole blocks between the decision and its enactment.',
    ),
    Comment(
        'pallets/validators/src/lib.rs',
        'Nothing.',
        'Marker of the runtime.',
    ),
    Comment(
        'pallets/validators/src/dispatchables.rs',
        'What the calls do: read, ensure, write, emit.',
        'The implementation of the calls.',
    ),
    Comment(
        'pallets/validators/src/dispatchables.rs',
        'Takes the validator at `position` off `list`, which is the stored one.',
        'Removes the validator at `position` of `list`, which is the stored list.',
    ),
    Comment(
        'pallets/validators/src/offences.rs',
        'What happens to a validator that is proven to have equivocated.',
        'Handling of validators that are proven to have equivocated.',
    ),
    Comment(
        'pallets/validators/src/offences.rs',
        "Disables the offenders for what is left of their time as validators, as far as the session's disabling strategy goes, and takes them off the list.",
        "Disables the offenders for the rest of their session, as far as the session's disabling strategy allows, and removes them from the list.",
    ),
    Comment(
        'pallets/validators/src/offences.rs',
        'Not there: an earlier report of the same deed, or a validator that has been replaced since.',
        'Not listed: there was an earlier report of the same offence, or the validator was replaced since.',
    ),
    Comment(
        'pallets/validators/src/sessions.rs',
        'What the session pallet and BABE ask for.',
        'Answers to the session pallet and BABE.',
    ),
    Comment(
        'pallets/validators/src/sessions.rs',
        'A validator is its account; there is nothing more to say about it.',
        'The full identification of a validator: none beyond its account.',
    ),
    Comment(
        'pallets/validators/src/sessions.rs',
        'Who has purged its keys cannot take part, whatever the list says.',
        'A validator without session keys cannot take part, even if it is listed.',
    ),
    Comment(
        'pallets/validators/src/sessions.rs',
        'Naming the same set again would make GRANDPA change its authorities for nothing; and nobody is no set.',
        'Returning the same set again would make GRANDPA change its authorities for nothing, and an empty set is none.',
    ),
    Comment(
        'pallets/validators/src/try_state.rs',
        'What must always be true of the list. See docs/invariants.md.',
        'The invariants of the list. See docs/invariants.md.',
    ),
    Comment(
        'pallets/validators/src/types.rs',
        'What the pallet writes into events.',
        "Types of the pallet's events.",
    ),
    Comment(
        'pallets/reputation/src/lib.rs',
        'What each host did with the leases it was given, what each tenant did with those it had, and what is held against each provider. Written by the other pallets; read by schedulers, and where bonds are posted. It has no calls.',
        'Scores of hosts and tenants from their conduct in leases, and the faults of providers. Other pallets write it; schedulers read it, and so does the calculation of bonds. It has no calls.',
    ),
    Comment(
        'pallets/reputation/src/lib.rs',
        'The version of what the pallet stores; that of release 1 is 0.',
        'The version of the storage of this pallet; that of release 1 is 0.',
    ),
    Comment(
        'pallets/reputation/src/lib.rs',
        'What the pallet needs of its runtime.',
        'The types that the runtime provides.',
    ),
    Comment(
        'pallets/reputation/src/scores.rs',
        'Writing evidence and reading what it comes to.',
        'Recording of evidence, and the scores computed from it.',
    ),
    Comment(
        'pallets/reputation/src/scores.rs',
        "Tenants' scores fall into this many classes.",
        'The number of priority classes of tenants.',
    ),
    Comment(
        'pallets/reputation/src/scores.rs',
        'Writes down that `host` did `conduct` at `now`, `count` times, in leases whose fees amount to `fees` base units. One read, one write, one event.',
        'Records that `host` showed `conduct` at `now`, `count` times, in leases whose fees sum up to `fees` base units. One read, one write, one event.',
    ),
    Comment(
        'pallets/reputation/src/scores.rs',
        'Writes down that `tenant` did `conduct` at `now`, in leases whose fees amount to `fees` base units. One read, one write, one event.',
        'Records that `tenant` showed `conduct` at `now`, in leases whose fees sum up to `fees` base units. One read, one write, one event.',
    ),
    Comment(
        'pallets/reputation/src/scores.rs',
        'Writes down a `fault` at `now` of a host that has `share_ppm` of the bonds of `provider`. One read, one write.',
        'Records a `fault` at `now` of a host that has `share_ppm` of the bonds of `provider`. One read, one write.',
    ),
    Comment(
        'pallets/reputation/src/try_state.rs',
        'What must always be true of scores. See docs/invariants.md.',
        'The invariants of scores. See docs/invariants.md.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'Who offers which machine, at which price, and whether it is there. This file declares; `dispatchables.rs` does, `capacity.rs` is what leases take from hosts and give back to them, `bonds.rs` what is held for hosts and taken of it, `free_calls.rs` what they may do free of charge, `types.rs` the parameters and what they must be, `errors.rs` what a call answers where a rule refuses.',
        'The machines that providers offer, their prices and their availability. This file declares the pallet; `dispatchables.rs` implements the calls, `capacity.rs` the allocation of resources to leases, `bonds.rs` bonds and slashes, `free_calls.rs` the allowance of free calls, `types.rs` the parameters, and `errors.rs` the conversion of errors of the pure rules.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'The version of what the pallet stores; that of release 1 is 0.',
        'The version of the storage of this pallet; that of release 1 is 0.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'What the pallet needs of its runtime.',
        'The types that the runtime provides.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'What the chain starts with.',
        'The genesis configuration.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'Nothing.',
        'Marker of the runtime.',
    ),
    Comment(
        'pallets/hosts/src/benchmarking.rs',
        'Measures what each call costs: on a host with as many devices and as long texts as there may be.',
        'Benchmarks, on a host with the most devices and the longest texts.',
    ),
    Comment(
        'pallets/hosts/src/benchmarking.rs',
        'As many prices as there may be, of models whose names differ in their last letter.',
        'The most prices, of models whose names differ in the last letter.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'What is held for hosts, and what is taken of it.',
        'Bonds of hosts, and slashes.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'Takes from the bond of `host` what `fault` costs where it lasted `duration_ms`, gives it to the treasury, and holds the fault against the provider. A bond that falls below half of what it must be suspends the host.',
        'Slashes the bond of `host` for `fault`, which lasted `duration_ms`, in favour of the treasury, and records the fault of the provider. A host with less than half of its required bond is suspended.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'Returns what was taken: less than the slash table says where the bond is not enough, and nothing where the treasury cannot be credited with it. The caller stores the record.',
        'Returns the slashed amount: less than that of the slash table if the bond is too small, and 0 if the treasury cannot be credited. The caller stores the record.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'Moves up to `amount` of the bond of `host` to the free coins of `to`, and returns how much: what the bond has, and nothing where `to` cannot be credited with it. A bond that falls below half of what it must be suspends the host. The caller stores the record.',
        'Moves up to `amount` of the bond of `host` to the free balance of `to`. Returns the moved amount: at most the bond, and 0 if `to` cannot be credited. A host with less than half of its required bond is suspended. The caller stores the record.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'A receiver who cannot be credited after all gets nothing, and the bond stays whole.',
        'A receiver that cannot be credited gets nothing, and the bond stays unchanged.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        "What the bond of a provider's hosts amounts to on its account.",
        'Returns the amount on hold of a provider for the bonds of its hosts.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'What the bond of a host with this hardware must be: by its tier and its devices, more for a provider whose hosts were at fault lately. Fails with `Overflow`.',
        'Returns the required bond of a host with this hardware: by its tier and its devices, and higher for a provider whose hosts had faults recently. Fails with `Overflow`.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'Gives the whole bond of a host back to its provider. The caller stores the record.',
        'Releases the whole bond of a host to its provider. The caller stores the record.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'Whether a host has at least half of the bond that it must have: else it takes no leases.',
        'Whether a host has at least half of its required bond; else it takes no leases.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'Refused only to a host that takes no leases anyway, or is suspended and keeps the reason it has.',
        'Fails only for a host that takes no leases anyway, or that is suspended and keeps its reason.',
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        "The part of its provider's bonds that a host must have, in parts per million.",
        "Returns the required bond of a host in parts per million of its provider's bonds.",
    ),
    Comment(
        'pallets/hosts/src/bonds.rs',
        'Takes up to `amount` of the bond of `host` for a wrong or missing result. The `rewards` are paid of it in their order, as far as it goes; the rest goes to the treasury. It is held against the provider by how much it is of what the slash table says. Returns what each reward came to. The caller stores the record.',
        'Slashes up to `amount` of the bond of `host` for a wrong or missing result. The `rewards` are paid in their order, as far as the amount suffices; the rest goes to the treasury. The fault of the provider is recorded in proportion to the amount of the slash table. Returns the amount paid for each reward. The caller stores the record.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'What leases take from hosts and give back to them.',
        'Allocation of resources of hosts to leases.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'These work on a record that the caller has read, so that a caller with many pods for one host reads and stores it once.',
        'These functions work on a record that the caller has read, so that a caller with many pods for one host reads and stores it once.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'What the runtime reads to say when a slot began: its number and the length of slots.',
        'The reads of the runtime for the time of a slot: its number and the length of slots.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'The record of a host, or `NoSuchHost`.',
        'Returns the record of a host. Fails with `NoSuchHost`.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'Who owns a host, or `NoSuchHost`.',
        'Returns the owner of a host. Fails with `NoSuchHost`.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'Takes the resources of a pod of `tenant` from an online host for one new lease, on exactly the `devices` with these indices.',
        'Allocates the resources of a pod of `tenant` on an online host for one new lease, on exactly the `devices` with these indices.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'Changes the record alone, and nothing where it fails: with `HostNotOnline`, `DeviceChallenged`, the error named like the `Misfit`, or `Overflow`.',
        'Changes only the record, and nothing on failure: fails with `HostNotOnline`, `DeviceChallenged`, the error named like the `Misfit`, or `Overflow`.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'Gives back to a host at `now`, whatever its status, what [`Self::allocate_in`] took for one lease.',
        'Releases at `now` the resources that [`Self::allocate_in`] allocated for one lease, whatever the status of the host.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'Changes the record alone, and nothing where it fails: with `MoreFreeThanTotal`.',
        'Changes only the record, and nothing on failure: fails with `MoreFreeThanTotal`.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'Whether the leases of a host may be moved elsewhere: it was reported absent, or it is in a status in which it cannot be reported and has been silent for as long.',
        'Whether the leases of a host may be requeued: it was reported absent, or its status does not allow such a report and it was silent for as long.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'Whether a heartbeat of a host has not come in time ([`Params::overdue_ms`](crate::Params::overdue_ms)).',
        'Whether the heartbeat of a host is overdue ([`Params::overdue_ms`](crate::Params::overdue_ms)).',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'How long a host was away so far, in milliseconds: what `downtime_ms` of its record would be if it came back now. An absence counts where it was reported or is longer than the absence limit, from the last heartbeat on and without the halts of the chain.',
        'Returns the total downtime of a host in milliseconds: the `downtime_ms` that its record would have if it returned now. An absence counts if it was reported or is longer than the absence limit, from the last heartbeat on, without the halts of the chain.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'How many milliseconds have passed since `moment`, those in which the chain made no blocks left out.',
        'Returns the milliseconds since `moment`, without the times in which the chain made no blocks.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'At the beginning of a block: notes for how long there was none, where that is a halt. Returns what it cost.',
        'Records the time without blocks before this block, if it is a halt. Called at the beginning of a block. Returns the used weight.',
    ),
    Comment(
        'pallets/hosts/src/capacity.rs',
        'The clock of the block before; 0 in the first.',
        'The time of the block before; 0 in the first.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'What the calls do: read, ensure, write, emit.',
        'The implementation of the calls.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        "The host's account may hold no coins; this lets it sign calls that cost nothing.",
        'The account of a host may have no coins. The provider reference lets it sign calls that are free of charge.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whose hardware was found wanting proves what it is now, whether others must or not.',
        'A host that failed a proof of its hardware must prove the new one, even if other hosts need no verification.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whether a heartbeat of `host` would be free of charge now.',
        'Whether a heartbeat of `host` is free of charge now.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Returns whether the host comes back from an absence that was reported.',
        'Returns whether the host was reported absent before.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'What it paid may have suspended it.',
        'The slash may have suspended it.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whether a heartbeat of each of these hosts is due, and `provider` may send it.',
        'Whether a heartbeat of each of these hosts is due and `provider` may send it.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Returns how many of the hosts were there, and how many come back from an absence that was reported.',
        'Returns how many of the hosts were present, and how many were reported absent before.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whether `host` could change to `endpoint` free of charge now.',
        'Whether `host` may change to `endpoint` free of charge now.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whether `host` could say free of charge now that exactly these devices are out of order.',
        'Whether `host` may report free of charge now that exactly these devices are unhealthy.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whether `host` could say free of charge now that its network is so fast.',
        'Whether `host` may report this speed of its network free of charge now.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Refused only while something else still needs the account; then it simply stays.',
        'Fails only while other references to the account exist; then it stays.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'As much as a stranger gets is lost to the provider as well, whoever the reporter is: who lets its own hosts go silent to be reported by a friend pays for it.',
        'The provider loses twice the bounty, whoever reports: letting hosts be reported by an accomplice is a loss.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Writes down whether a challenge proved that the device of `host` with this index is real.',
        'Stores whether a challenge proved that the device of `host` with this index is genuine.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        "Keeps a device of `host` from new leases while a challenge of it waits for the host's answer; None: no device.",
        "Excludes a device of `host` from new leases while a challenge of it waits for the host's answer; None excludes no device.",
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'A host proved what it is: one that is unverified, or suspended for a failed challenge, may come online with its next heartbeat. Nothing happens where it is verified already.',
        'Marks a host as verified. A host that is unverified, or suspended for a failed challenge, may come online with its next heartbeat. Does nothing if it is verified already.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Fails with `NoSuchHost`, `BondTooLow`, or, where the host leaves or is suspended for another reason, with `TransitionNotAllowed`.',
        'Fails with `NoSuchHost`, with `BondTooLow`, or with `TransitionNotAllowed` if the host is leaving or is suspended for another reason.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Keeps a host from taking leases, for `reason`. Those it has go on.',
        'Suspends a host for `reason`: it takes no new leases, and its present leases continue.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Fails with `NoSuchHost`, or with `TransitionNotAllowed` where the host is unverified, suspended already, or leaves.',
        'Fails with `NoSuchHost`, or with `TransitionNotAllowed` if the host is unverified, suspended already, or leaving.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'The one way in which a host changes its status; the caller stores the record.',
        'Changes the status of a host. No other function does. The caller stores the record.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'A host that was reported absent pays for the time it was away.',
        'Slashes a host that was reported absent for the time of its absence.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whether what a host last changed at this time may be changed free of charge again.',
        'Whether a value that a host changed last at `changed_at` may be changed again free of charge.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whether a host is retired or on its way out.',
        'Whether a host is retiring or retired.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'The record of a host that is neither retired nor on its way out.',
        'Returns the record of a host that is neither retiring nor retired.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'The devices of new hardware: free, healthy, not attested.',
        'Returns the devices of new hardware: free, healthy, not attested.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whether one number is more than a tenth of the other away from it.',
        'Whether two numbers differ by more than a tenth of the first.',
    ),
    Comment(
        'pallets/hosts/src/dispatchables.rs',
        'Whether each of these hosts is greater than the one before.',
        'Whether the hosts are in strictly ascending order.',
    ),
    Comment(
        'pallets/hosts/src/errors.rs',
        'The errors of calls, for what the pure rules refuse.',
        'Conversion of the errors of the pure rules into those of calls.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'What hosts may do free of charge: an allowance of weight for each heartbeat period, by the bond, and a share of each block for all hosts together.',
        'Free calls of hosts: an allowance of weight for each host and heartbeat period, by its bond, and a share of each block for all hosts together.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        "The runtime's transaction extension asks before it skips the fee of a call that a pallet declares free. A host that has used up its allowance pays the ordinary fee out of its bond, so that a report is never refused while a bond covers it, and nobody fills blocks for less than others pay.",
        "The runtime's transaction extension queries it before it skips the fee of a call that a pallet declares free. A host without remaining allowance pays the ordinary fee out of its bond. So no report is refused while a bond covers it, and no account fills blocks for less than others pay.",
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'Weight that a host has used free of charge.',
        'The free weight that a host has used.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'How much, as `ref_time` in picoseconds.',
        'The `ref_time` in picoseconds.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'How a call that its pallet declares free is paid for.',
        'The payment for a call that its pallet declares free.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'Not at all: it is within the allowance of the host, which will then have used this much; None: the caller is no host.',
        'None: the call is within the allowance of the host, which will have used this weight; None if the caller is no host.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'By the bond of the host, which pays this fee.',
        'This fee, out of the bond of the host.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'How a free call of `who` that weighs `ref_time` is paid for. `fee`: what anybody else would pay for it. None where neither the allowance nor the bond of the host covers it.',
        'Returns the payment for a free call of `who` with the weight `ref_time`. `fee` is the ordinary fee. None if neither the allowance nor the bond of the host covers the call.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'Takes down a free call that [`Self::free_call`] allowed in this state: counts it against the allowance of its host and against the `share` of the block, or takes its fee from the bond. Fails with `NoRoomForFreeCalls` where the share is used up.',
        'Applies a free call that [`Self::free_call`] allowed in this state: counts it against the allowance of its host and the `share` of the block, or takes its fee from the bond. Fails with `NoRoomForFreeCalls` if the share is used up.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'What free calls within their allowances have used of this block, as `ref_time` in picoseconds.',
        'Returns the `ref_time` in picoseconds that free calls within their allowances have used in this block.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        "Gives back the part of a free call's weight that the call declared and did not use: to the block, and to the allowance of its host. What the bond has paid stays paid, as with fees of calls that declare too much.",
        'Refunds the weight that a free call declared and did not use: to the block, and to the allowance of its host. A fee paid by the bond is not refunded, as for other calls that declare too much weight.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'What was counted before the call is of the period of this block.',
        'The weight was counted in the period of this block.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'The weight that a host may use free of charge in a heartbeat period, as `ref_time` in picoseconds: by its bond, but by at least a quarter of the bond that it must have, so that a host that was slashed can still report.',
        'Returns the free weight of a host in a heartbeat period, as `ref_time` in picoseconds: in proportion to its bond, but to at least a quarter of its required bond, so that a slashed host can still report.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'What a host has used of its allowance in this period, as `ref_time` in picoseconds.',
        'Returns the part of its allowance that a host has used in this period, as `ref_time` in picoseconds.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'On a network without bonds each host counts as one with one device.',
        'Without bonds, each host counts as one with one device.',
    ),
    Comment(
        'pallets/hosts/src/free_calls.rs',
        'The block of which the free weight is counted, and how much its free calls have used.',
        'A block, and the `ref_time` that free calls have used in it.',
    ),
    Comment(
        'pallets/hosts/src/try_state.rs',
        'What must always be true of hosts. See docs/invariants.md.',
        'The invariants of hosts. See docs/invariants.md.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'What governs the hosts pallet.',
        'Parameters of the hosts pallet.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'No bond for a device is greater, so that the bond of the greatest host, threefold, times a million fits its type.',
        'The greatest bond of a device. With it, the bond of the largest host, times three, times a million fits its type.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'The same for a professional host.',
        'Coins held for each device of a professional host.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'The same for a data centre host.',
        'Coins held for each device of a data centre host.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'A host says that it is there once in so many milliseconds, at least 1; free of charge after half of it.',
        'The heartbeat period of hosts in milliseconds; at least 1. A heartbeat is free of charge after half of it.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'A host that was silent for longer, in milliseconds, may be reported absent; at least five quarters of a heartbeat period.',
        'The time in milliseconds after which a silent host may be reported absent; at least five quarters of a heartbeat period.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'What the reporter of an absent host gets from its bond; as much again goes to the treasury. Twice this is at most the least bond for a device.',
        'The bounty for a report of an absent host, out of its bond; the treasury gets the same amount. Twice the bounty is at most the least bond of a device.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'For so long, in milliseconds, the bond of a host stays held after it has left; at most a year.',
        'The time in milliseconds for which the bond of a host stays on hold after it has left; at most a year.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'A time without blocks that is longer, in milliseconds, does not count as silence of a host; at least 1, and at most `absence_limit_ms`.',
        'The least time without blocks, in milliseconds, that does not count as silence of a host; at least 1, and at most `absence_limit_ms`.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'Why parameters are refused.',
        'Why parameters are invalid.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'How long, in milliseconds, a host may be silent before its heartbeat is overdue: two periods, or half the time between a period and the absence limit where that is shorter.',
        'Returns the time in milliseconds after which a heartbeat is overdue: two periods, or the middle between a period and the absence limit if that is shorter.',
    ),
    Comment(
        'pallets/hosts/src/types.rs',
        'Whether these may be in force. Fails with the first [`ParamsError`].',
        'Checks the parameters. Fails with the first [`ParamsError`].',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'How the network finds out whether a host is honest: timed challenges of its devices, replicated results, and disputes before a jury. Judges are bonded verifiers, drawn by randomness that nobody knew when they were asked for.',
        'Verification of hosts: timed challenges of their devices, comparison of replicated results, and disputes before a jury. The judges are bonded verifiers, drawn by randomness that was unknown when the draw was requested.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'This file declares. `verifiers.rs` keeps the list of judges, `voting.rs` draws committees and pays them, `challenges.rs`, `results.rs` (with `audits.rs`) and `disputes.rs` have the three matters, `deadlines.rs` makes what is due happen, and `ports.rs` says what is needed of hosts and tasks. `ballot.rs`, `draw.rs`, `shares.rs`, `agreement.rs` and `slashes.rs` are the pure rules, and `errors.rs` says what a call answers where they refuse. docs/verification.md is the protocol.',
        'This file declares the pallet. `verifiers.rs` manages the list of verifiers, and `committees.rs` draws and pays committees. `challenges.rs`, `results.rs` (with `audits.rs`) and `disputes.rs` implement the three kinds of matters, `queues.rs` processes those that are due, and `ports.rs` declares the ports to hosts and tasks. `ballot.rs`, `draw.rs`, `shares.rs`, `agreement.rs` and `slashes.rs` contain the pure rules, and `errors.rs` the conversion of their errors. docs/verification.md describes the protocol.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'The storage of this pallet is that of this version.',
        'The version of the storage of this pallet.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'What the pallet needs of its runtime.',
        'The types that the runtime provides.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'What the chain starts with.',
        'The genesis configuration.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Nothing.',
        'Marker of the runtime.',
    ),
    Comment(
        'pallets/verification/src/agreement.rs',
        'Whether replicated results agree. Pure.',
        'The rule by which replicated results agree. Pure.',
    ),
    Comment(
        'pallets/verification/src/agreement.rs',
        'What makes two results the same: their digest and what the first container returned. What they used may differ.',
        'The key by which results are equal: their digest and the exit code of the first container. Their usage may differ.',
    ),
    Comment(
        'pallets/verification/src/agreement.rs',
        'The essence of a revealed result.',
        'Returns the key of a revealed result.',
    ),
    Comment(
        'pallets/verification/src/agreement.rs',
        'What at least two, and more than half of all that revealed, have in common.',
        'Returns the key that at least two revealed results have in common, and more than half of them.',
    ),
    Comment(
        'pallets/verification/src/agreement.rs',
        'Whether at least two tags, and more than half of all that were shown, are equal.',
        'Whether at least two tags are equal, and more than half of those shown.',
    ),
    Comment(
        'pallets/verification/src/audits.rs',
        'Whether another host repeats the work of one, drawn once the result is committed; and the valid results of hosts.',
        'Audits: after a host has committed its result, a draw decides whether another host repeats the work. And the count of valid results of hosts.',
    ),
    Comment(
        'pallets/verification/src/audits.rs',
        'The result of the first host is committed. The seed of a later block says whether it is audited.',
        'Requests the seed of a later block, which decides whether the committed result of the first host is audited.',
    ),
    Comment(
        'pallets/verification/src/audits.rs',
        'Draws whether another host repeats the work of the one that has committed. Only for the hook.',
        'Draws whether another host repeats the work. Only the hook calls it.',
    ),
    Comment(
        'pallets/verification/src/audits.rs',
        'Nobody repeats the work: the one result is revealed.',
        'Opens the reveal of a single result, whose work is not repeated.',
    ),
    Comment(
        'pallets/verification/src/audits.rs',
        'Notes a valid result of a host. What a host does for its own provider proves nothing.',
        'Counts a valid result of a host. Results for its own provider do not count.',
    ),
    Comment(
        'pallets/verification/src/audits.rs',
        'How many results of a host were valid one after the other, with its present hardware.',
        'Returns the number of consecutive valid results of a host with its present hardware.',
    ),
    Comment(
        'pallets/verification/src/audits.rs',
        'A result of a host was wrong or missing.',
        'Resets the count of a host with a wrong or missing result.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'How a committee decides. Pure: nothing here reads storage or the clock.',
        'The voting rule of committees. Pure: it reads neither storage nor the clock.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'What a member is owed or owes once the ballot is over.',
        'The result of a ballot for one member.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'Did what it could, and nothing was decided.',
        'Voted as far as possible, and there was no verdict.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'Did what it is penalised for.',
        'Is penalised.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'More than half of `seats`.',
        'Returns the least number that is more than half of `seats`.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'The vote of more than half of all seats, those that did not vote included. So there is never a tie.',
        'Returns the vote of more than half of all seats, including those that did not vote. So there is never a tie.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'Whether so many have committed that a verdict is possible.',
        'Whether enough members have committed for a verdict.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'Whether nobody is left who could commit.',
        'Whether every member has committed.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'Whether nobody is left who could reveal.',
        'Whether every member that has committed has revealed.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'What the member of `seat` is owed or owes under this verdict. Where votes could not be `revealed`, because too few had committed, those who had are not at fault.',
        'Returns the result for the member of `seat` under this verdict. If votes could not be `revealed` because too few members had committed, those who had are not at fault.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        '`who` binds itself to a vote, once.',
        'Stores the commitment of `who`, once.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        '`who` shows the vote that it is bound to, once.',
        'Stores the vote that `who` has committed to, once.',
    ),
    Comment(
        'pallets/verification/src/ballot.rs',
        'The committee is done; its members are not drawn again for this matter. The caller asks for the next, if any.',
        'Dissolves the committee. Its members are not drawn again for this matter. The caller requests the next committee, if any.',
    ),
    Comment(
        'pallets/verification/src/benchmarking.rs',
        'The result of the replica in this place: the first one is wrong, where there are more than two.',
        'Returns the result of the replica at this position: the first is wrong if there are more than two.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'Timed proofs that a device is real: opened, answered, judged.',
        'Challenges: timed proofs that a device is genuine.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'Neither a provider that challenges its own host nor its tenants can keep verifiers from doing so.',
        'The intervals are separate, so that neither the provider nor its tenants can block the challenges of verifiers.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'For the first committee, and for one that confirms its verdict.',
        'For the first committee and the confirming one.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'The challenge that `host` may answer now, with a call that it wants judged until `not_after` at the latest.',
        'Returns the challenge that `host` may answer now, with a call that is valid until `not_after`.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'The time of the present phase has passed.',
        'Ends the present phase, whose time has passed.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'The host did not answer in time. Its opener pays the committee. The host is punished only if it missed another challenge shortly before this one was opened.',
        'Closes a challenge that the host did not answer in time. Its opener pays the committee. The host is punished only if it missed another challenge shortly before this one was opened.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'Closes the ballot, and the challenge with it. A verdict against the host is final only once another committee confirms it. Asks for a second committee where the first gave no verdict and no lease has taken the device since the host answered.',
        'Closes the ballot, and the challenge unless another committee is needed: a verdict against the host must be confirmed by a second committee. If the first committee gave no verdict and no lease has taken the device since the answer, a second one is drawn.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'A committee found against the host: one more, of others, judges the same answer. It is drawn by the seed of the answer, so that it cannot be chosen by the time of the verdict. `paid`: what the committee before was paid.',
        'Draws a committee of other members that judges the same answer, after a verdict against the host. The seed of the answer is used, so that the committee cannot be chosen by the time of the verdict. `paid` is the amount that the first committee was paid.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'Who has an interest in a challenge: the host, its provider, the opener, and the provider behind an opener that is a host.',
        'Returns the parties of a challenge: the host, its provider, the opener, and the provider of an opener that is a host.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'What one committee is paid of the fee that is left.',
        'Returns the part of the remaining fee for one committee.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'The end of a challenge, with what it means for the host.',
        'Closes a challenge, with the consequences for the host.',
    ),
    Comment(
        'pallets/verification/src/challenges.rs',
        'The one way in which a challenge changes its phase; the caller stores the record.',
        'Changes the phase of a challenge. No other function does. The caller stores the record.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Committees and juries: drawn, bound, heard, paid.',
        'Committees and juries: draw, commitments, votes and payment.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Coins held of someone who pays a committee.',
        'Coins on hold of an account that pays a committee.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Whose they are.',
        'The account.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Why they are held.',
        'The reason of the hold.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'How much the committee gets.',
        'The amount for the committee.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Binds `who` to a vote and says so.',
        'Stores the commitment of `who` and emits an event.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Shows the vote of `who` and says so.',
        'Stores the vote of `who` and emits an event.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Draws the committee of a ballot by a seed of `block`. Nobody sits who is one of `excluded` or a host of one of them. Returns whether there were enough verifiers.',
        'Draws the committee of a ballot by a seed of `block`. Accounts in `excluded` and their hosts are not drawn. Returns whether there were enough verifiers.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Draws the members of a committee by `seed` and gives them their seats. None where the list has fewer than `min_verifiers`, or fewer than `size` that may sit.',
        'Draws the members of a committee by `seed` and stores their seats. None if the list has fewer than `min_verifiers`, or fewer than `size` eligible ones.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Lets the committee of a ballot go without a verdict that it was to give.',
        'Dismisses the committee of a ballot.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Closes a ballot: minority and absentees lose from their bonds, the majority shares that and the purse. Without a verdict the purse is not touched, and what absentees lose goes to the treasury. Where the verdict is not `conclusive`, the minority loses nothing. Returns how much of the purse was paid.',
        'Closes a ballot: minority and absentees are penalised, and the majority shares the penalties and the fee. Without a verdict the fee is not paid, and penalties of absentees go to the treasury. If the verdict is not `conclusive`, the minority is not penalised. Returns the paid part of the fee.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'A sum of a few bonds and a fee, all of them held, fits.',
        'The sum of a few bonds and a fee, all of them on hold, fits its type.',
    ),
    Comment(
        'pallets/verification/src/committees.rs',
        'Divides a purse equally among all members of a committee, whether they have voted or not. What does not divide goes to the treasury. Returns how much of the purse was paid.',
        'Divides a fee equally among all members of a committee, whether they have voted or not. The remainder goes to the treasury. Returns the paid part of the fee.',
    ),
    Comment(
        'pallets/verification/src/disputes.rs',
        'Disputes about the result of a task: opened, heard, judged, appealed, executed.',
        'Disputes about the result of a task: hearing, jury, appeals and execution.',
    ),
    Comment(
        'pallets/verification/src/disputes.rs',
        'As many as there are leases at most.',
        'At most as many as there are leases.',
    ),
    Comment(
        'pallets/verification/src/disputes.rs',
        'The time of the present phase has passed.',
        'Ends the present phase, whose time has passed.',
    ),
    Comment(
        'pallets/verification/src/disputes.rs',
        'Closes the ballot. Its verdict may be appealed, unless it was the last; without one, another jury is asked for, once.',
        'Closes the ballot. Its verdict may be appealed, unless it was the last one. Without a verdict, another jury is drawn, once.',
    ),
    Comment(
        'pallets/verification/src/disputes.rs',
        'No jury comes to a verdict: who asked for it has the stake back, and the verdict before stands, if there is one.',
        'Closes a dispute whose jury gives no verdict: the last stake is returned, and the verdict before stands, if there is one.',
    ),
    Comment(
        'pallets/verification/src/disputes.rs',
        'Executes the last verdict: stakes, escrow, slash.',
        'Executes the last verdict: stakes, escrows and slashes.',
    ),
    Comment(
        'pallets/verification/src/disputes.rs',
        'The hosts of the leases that a dispute is about, each once: a host with several of them is punished once.',
        'Returns the hosts of the accused leases, each once: a host with several of them is slashed once.',
    ),
    Comment(
        'pallets/verification/src/disputes.rs',
        'Who owns these hosts, each once.',
        'Returns the owners of these hosts, each once.',
    ),
    Comment(
        'pallets/verification/src/disputes.rs',
        'The one way in which a dispute changes its phase; the caller stores the record.',
        'Changes the phase of a dispute. No other function does. The caller stores the record.',
    ),
    Comment(
        'pallets/verification/src/draw.rs',
        'Who sits on a committee. Pure, so that anyone can draw it again.',
        'The draw of a committee. Pure, so that it can be repeated outside of the chain.',
    ),
    Comment(
        'pallets/verification/src/draw.rs',
        "Each verifier has a ticket, blake2-256 of the seed and its account; those with the lowest tickets sit. Who joins or leaves the list changes nobody else's ticket, so the list's order and the others on it cannot be used to steer a draw.",
        'Each verifier has a ticket, blake2-256 of the seed and its account; those with the lowest tickets are drawn. A verifier that joins or leaves the list changes no other ticket, so the draw cannot be influenced by the order or the members of the list.',
    ),
    Comment(
        'pallets/verification/src/draw.rs',
        'For at most so many candidates it is looked up whether they are hosts of someone involved.',
        'The most candidates for which the chain looks up whether they are hosts of a party.',
    ),
    Comment(
        'pallets/verification/src/draw.rs',
        'The place of a verifier in the draw of this seed; the lowest sit.',
        'Returns the ticket of a verifier for this seed. The lowest are drawn.',
    ),
    Comment(
        'pallets/verification/src/draw.rs',
        'The `size` verifiers that sit, in the order of their tickets; none where there are not enough.',
        'Returns the `size` verifiers with the lowest tickets, in their order. None if there are not enough.',
    ),
    Comment(
        'pallets/verification/src/draw.rs',
        'Nobody sits who joined in `asked_in` or later (the author of a block knows its randomness first), who is `excluded`, or of whom `is_involved` says so.',
        'Not eligible are verifiers that joined in `asked_in` or later (the author of a block knows its randomness first), those in `excluded`, and those for which `is_involved` is true.',
    ),
    Comment(
        'pallets/verification/src/errors.rs',
        'The errors of calls, for what the pure rules refuse.',
        'Conversion of the errors of the pure rules into those of calls.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'What this pallet needs of hosts and tasks. The runtime joins them; the pallet knows neither.',
        'The ports to hosts and tasks. The runtime implements them; this pallet depends on neither.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'What returns nothing cannot fail: it does what it can and leaves the rest.',
        'A function without a result cannot fail: it does as much as is possible.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        "Who owns the host of this account; none where it is no host's.",
        'Returns the owner of the host with this account. None if it is no host.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Whether the host may be challenged: it is registered, neither retired nor on its way out, suspended for nothing but a failed challenge, and was heard of within the absence limit.',
        'Whether the host may be challenged: it is registered, neither retiring nor retired, not suspended except for a failed challenge, and was heard of within the absence limit.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'What its provider says about this device of the host; none where there is no such device.',
        'Returns this device of the host as its provider described it. None if there is no such device.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Whether a lease holds some of this device of the host.',
        'Whether a lease has this device of the host, or a share of it, allocated.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'This device of the host takes no new lease; none: every device may. A lease that holds it goes on.',
        'Excludes this device of the host from new leases; None excludes no device. Present leases continue.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Notes whether this device of the host is proved to be what its provider says.',
        'Stores whether this device of the host is proved to be genuine.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'A host that is unverified, or suspended for a failed challenge, becomes verified. Nothing happens to any other.',
        'Marks a host as verified that is unverified, or suspended for a failed challenge. Does nothing for any other host.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The host takes no leases until governance lets it. Nothing happens to one that is suspended or gone.',
        'Suspends the host until governance lifts the suspension. Does nothing if it is suspended or gone.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Slashes and writes reputation by the table of faults; `duration_ms` is for how long the network was deceived.',
        'Slashes the host and records the fault in the reputation, by the table of faults. `duration_ms` is the time for which the network was deceived.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Takes up to `amount` of the bond of the host for a wrong or missing result, and holds it against its provider in proportion to the bond. The `rewards` are paid of it in their order, as far as it goes, and the rest goes to the treasury. Returns what each reward came to.',
        'Slashes up to `amount` of the bond of the host for a wrong or missing result, and records the fault of its provider in proportion. The `rewards` are paid in their order, as far as the amount suffices, and the rest goes to the treasury. Returns the amount paid for each reward.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'What the bond of the host is now.',
        'Returns the present bond of the host.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'How often the hardware of the host was changed.',
        'Returns how often the hardware of the host was changed.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Moves up to `amount` from the bond of the host to `to`, and says how much.',
        'Moves up to `amount` from the bond of the host to `to`. Returns the moved amount.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Who pays for the task; none where there is no such task.',
        'Returns the account that pays for the task. None if there is no such task.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        "The leases of the task's present attempt, at most 16, each with its host. Of a task that is reported, those that worked on the result.",
        "Returns the leases of the task's present attempt, at most 16, each with its host; for a reported task, those that produced the result.",
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Whether `tenant` pays for this lease, and the lease holds some of this device of the host now.',
        'Whether `tenant` pays for this lease, and the lease has this device of the host allocated now.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'How many hosts work on the task for their results to be compared; none where they are not compared or the task has no pod that runs or waits for the others.',
        'Returns how many replicas the task wants. None if its results are not compared, or it does not run.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Whether any pod of the task other than those of `committed` still runs within the time that is paid for.',
        'Whether a pod of the task other than those of `committed` runs or is pending, within its paid time.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The pods of the task that still run, other than those of `committed`, end unpaid: nobody waits for them any more.',
        'Ends the pods of the task that still run, other than those of `committed`, without payment.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The pod of this lease ended with this result. The task goes no further before [`Self::mark_verified`].',
        'Stores the result of the pod of this lease. The state of the task does not change before [`Self::mark_verified`].',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The coins that were held for this lease when it was opened, and since: the most that it can pay. 0 where there is no such lease.',
        'Returns the deposit of this lease, including top-ups: the most that it can pay. 0 if there is no such lease.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'What the treasury gets of the protocol fee of the task, whoever settles it, where the results of these leases are right and no others are paid.',
        "Returns the part of the task's protocol fee that goes to the treasury, whoever settles the task, if the results of the leases `right` are right and no others are paid.",
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The lease of a wrong or missing result is not paid.',
        'Forfeits the payment of the lease of a wrong or missing result.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The task wants one more pod, on a host of the same model and of a provider that it does not have yet.',
        'Requests one more pod of the task, on a host with the same device models and another provider.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'Nobody repeats the work of the task: the result that was revealed is reported.',
        'Reports the revealed result of a task whose work no other host repeats.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The results of the task agree: it is verified.',
        'Verifies a task whose results agree.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'No two results agree and no further host is asked: the task fails and nobody is paid.',
        'Fails a task whose results do not agree; no host is paid.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The results of these leases of the task are in dispute from now on; refused unless it is reported, its dispute window is open, and all of them are its leases.',
        'Marks the task as disputed because of the results of these leases. Fails unless it is reported, its dispute window is open, and all of them are its leases.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The dispute about these leases is over. Where the complaint is right they are not paid, and the task fails if it has no others. Else, and without a verdict, it is verified. `by_tenant`: whether it was the tenant who complained.',
        'Ends the dispute about these leases. If it is upheld, they are not paid, and the task fails if it has no others. Else, and without a verdict, the task is verified. `by_tenant`: whether the tenant opened the dispute.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'What benchmarks need to exist.',
        'Set-up for benchmarks.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'An unverified host that answers challenges, with a device, and its provider.',
        'Creates an unverified host that answers challenges, with a device. Returns it and its provider.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'A reported task of `tenant` with 16 leases, its dispute window open.',
        'Creates a reported task of `tenant` with 16 leases and an open dispute window.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'A running task whose results are compared, with each of its leases (at least two) and their hosts; all pods run.',
        'Creates a running task with replicas. Returns it with its leases (at least two) and their hosts; all pods run.',
    ),
    Comment(
        'pallets/verification/src/ports.rs',
        'The block number, the clock (in milliseconds) and the randomness of the chain move to these.',
        'Sets the block number, the clock in milliseconds and the randomness of the chain.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        "What is due happens: by the chain itself at the beginning of each block, within a share of it, or by anyone's call.",
        'Queues of matters that are due. The chain processes them at the beginning of each block, within a share of its weight; any account can do the same by a call.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Each queue holds what waits equally long, so its first entry is the first that is due, and a block that finds nothing due reads one value. What does not fit into a block waits for the next; nothing is lost. An entry may be out of date, because the matter went on before; then nothing happens, and the entry costs no more than it takes to see that. What fails is tried again later, from a queue of its own, so that it delays nothing else. Seeds are drawn by the chain alone: whoever could choose the block could choose the seed.',
        'Each queue contains entries with the same waiting time, so the first entry is due first, and a block without due entries reads one value. Entries that exceed the weight stay for the next block. An entry is outdated if its matter has advanced before; it is then removed without effect. A failed entry is retried later, from a queue of its own, so that it delays no other. Only the chain draws seeds: an account that could choose the block could choose the seed.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'So many blocks after the one that asked for it, a seed may be drawn at the earliest: then the block before, whose randomness it is of, came after the one that asked.',
        'The least number of blocks between the request of a seed and its draw: then the block before, whose randomness is used, came after the request.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'What failed is tried again after so many milliseconds.',
        'The delay in milliseconds after which a failed entry is retried.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Does what is due until `limit` is used up, and says what was.',
        'Processes due entries within the weight `limit`. Returns the used weight.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Each block begins with another queue, so that none waits for the others for ever.',
        'Each block begins with another queue, so that no queue is starved.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Does what is due of a queue. Fails where the weight is used up.',
        'Processes the due entries of a queue. Fails if the weight is used up.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Tries again what failed long enough ago. Seeds go back into their queue. Fails where the weight is used up.',
        'Retries the failed entries that are due. Requests of seeds return to their queue. Fails if the weight is used up.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Takes the weight of the step of a matter, or that of seeing that the entry is out of date. Fails where the weight is used up.',
        'Consumes the weight of processing an entry, or of detecting that it is outdated. Fails if the weight is used up.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Puts a matter into a queue.',
        'Adds a matter to a queue.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Puts a matter into the queue for seeds; says in which block that was.',
        'Adds a matter to the queue of seeds. Returns the block of the request.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'In which queue a matter waits, and until when.',
        'Returns the queue in which a matter waits, and its deadline.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'The first entry of a queue, where it is due.',
        'Returns the first entry of a queue, if it is due.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Whether a matter still waits for what its entry in this queue is about.',
        'Whether an entry of this queue is still valid for its matter.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Does what an entry is about, or nothing of it: then it is tried again later.',
        'Processes an entry. A failure is rolled back, and the entry is retried later.',
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        "The seed of a matter's round, and the block whose randomness it is of. Only for the hook.",
        "Returns the seed of a matter's round, and the block of its randomness. Only the hook calls it.",
    ),
    Comment(
        'pallets/verification/src/queues.rs',
        'Whether the randomness is that of the block before, and not older. A slot without a VRF leaves the randomness of an earlier block in place, which was known when that block was made. So it must differ from what was there a block ago; the chain looks at it while anything waits for a seed.',
        'Returns whether the randomness is that of the block before, and not older. A slot without a VRF output leaves the randomness of an earlier block in place, which was known when that block was made. So it must differ from the value one block ago, which the chain stores while any matter waits for a seed.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'Results that several hosts of different providers work out: bound to, compared by their tags, shown.',
        'Results of replicas on hosts of different providers: commitments, comparison of tags, and reveals.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'The results to which `host` may add that of `lease` now.',
        'Returns the results to which `host` may commit that of `lease` now.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'The results among which `host` may show the tag of that of `lease` now, with its place.',
        'Returns the results among which `host` may show the tag of that of `lease` now, and its position.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'The place of a replica whose host may show something of its result now.',
        'Returns the position of a replica whose host may show its tag or its result now.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'The results of which `host` may reveal that of `lease` now, with its place.',
        'Returns the results among which `host` may reveal that of `lease` now, and its position.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'None only of results that were compared when the chain did not know tags.',
        'None only for results from before the chain had tags.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'The time of the present phase has passed.',
        'Ends the present phase, whose time has passed.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'Nobody came to repeat the work.',
        'No host has repeated the work.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'Leaves out replicas that were replaced. Returns the first that is left; None where there is none, or the task has ended.',
        'Removes replicas that were replaced. Returns the first that remains. None if there is none, or the task has ended.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'All that are compared have committed: they show their tags.',
        'Opens the phase in which the hosts show their tags: all have committed.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'Rejects what has no tag, and compares the tags of the rest: where they agree the results are revealed; else one more host is asked, once, or nobody knows. So that host sees no result before it has committed to its own.',
        'Rejects replicas without a tag, and compares the tags of the rest. If they agree, the results are revealed; else one more replica is requested, once, or the task fails. So a further host sees no result before it has committed to its own.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'The hosts may reveal their results.',
        'Opens the phase in which the hosts reveal their results.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'Rejects what was not revealed, and compares the rest: they agree, or one more host is asked, once, or nobody knows. The last two only where a host did not reveal a result whose tag it had shown.',
        'Rejects replicas that were not revealed, and compares the rest. If they do not agree, one more replica is requested, once, or the task fails; this happens only if a host did not reveal a result whose tag it had shown.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'Of a host that is always audited only results that were compared count.',
        'While a host is always audited, only compared results count.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'A pod that was lost and placed again may still run; nobody waits for it.',
        'A pod that was lost and assigned again may still run; it is not awaited.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'The results that are left do not agree: one more host is asked, once, or nobody knows.',
        'Requests one more replica, once, because the remaining results do not agree; else fails the task.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'The hosts whose results are right, of `all` that are compared. Those that are slashed share the fees.',
        'Returns the hosts whose results are right, out of `all` compared ones. Those that are slashed share the fees.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'A result is wrong or missing: it is not paid, and its host is slashed. Where others are `right`, their providers and the tenant get a part of that.',
        'Rejects a wrong or missing result: it is not paid, and its host is slashed. If other results are `right`, their providers and the tenant get a part of the slash.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'Who repeats the work of others is checked each time, and loses less.',
        'A host that repeats the work of others is always checked, and loses less.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'Nobody is paid for what its own host did.',
        'No account is rewarded for a slash of its own host.',
    ),
    Comment(
        'pallets/verification/src/results.rs',
        'The one way in which results change their phase; the caller stores the record.',
        'Changes the phase of results. No other function does. The caller stores the record.',
    ),
    Comment(
        'pallets/verification/src/shares.rs',
        'How coins of several are divided among several. Pure.',
        'Division of coins of several sources among several receivers. Pure.',
    ),
    Comment(
        'pallets/verification/src/shares.rs',
        'An amount that goes from one source to one receiver, each named by its place.',
        'An amount that one source pays to one receiver.',
    ),
    Comment(
        'pallets/verification/src/shares.rs',
        'Place among the sources.',
        'Position among the sources.',
    ),
    Comment(
        'pallets/verification/src/shares.rs',
        'Place among the receivers; as many as there are receivers for what is left over.',
        'Position among the receivers; the number of receivers for the remainder.',
    ),
    Comment(
        'pallets/verification/src/shares.rs',
        'How much.',
        'The amount.',
    ),
    Comment(
        'pallets/verification/src/shares.rs',
        'Divides what the sources give equally among `receivers`, rounded down; what is left over comes last. There are at most as many flows as sources and receivers together. None where the sum does not fit.',
        'Divides the amounts of the sources equally among `receivers`, rounded down; the remainder comes last. There are at most as many transfers as sources and receivers together. None on overflow.',
    ),
    Comment(
        'pallets/verification/src/slashes.rs',
        'What a host loses for a wrong or missing result, who gets which part of it, and how often results are audited. Pure.',
        'Slashes for wrong or missing results, their division, and the probability of audits. Pure.',
    ),
    Comment(
        'pallets/verification/src/slashes.rs',
        'What a host loses whose lease has this deposit, as far as its bond goes.',
        'Returns the slash of a host whose lease has this deposit. The bond limits it.',
    ),
    Comment(
        'pallets/verification/src/slashes.rs',
        'What the tenant gets of a slash, and what each of so many providers gets.',
        'Returns the reward of the tenant, and that of each of `providers` providers.',
    ),
    Comment(
        'pallets/verification/src/slashes.rs',
        "Both are parts of the slash or, if that is less, of `fees`: what the treasury gets for the leases that agree. Those who own the tenant's account and every host but the slashed one pay these fees and get at most half of them back, so nobody earns by outvoting a host.",
        "Both are parts of the slash or, if that is less, of `fees`: the treasury's fees for the leases that agree. The owners of the tenant's account and of every host but the slashed one pay these fees and get at most half of them back, so that outvoting a host is a loss.",
    ),
    Comment(
        'pallets/verification/src/slashes.rs',
        'With which probability a result is audited, in parts per million: always while its host has few `valid` results; then with the least probability, the inverse of their number, or that with which a lie does not pay, whichever is most. A lie gains at most the `deposit` of the lease and costs `slash` where it is found out, so that one is deposit / (deposit + slash).',
        'Returns the probability with which a result is audited, in parts per million: always while its host has few `valid` results; then the maximum of the least probability, the inverse of their number, and the probability with which a lie does not pay. A lie gains at most the `deposit` of the lease and costs `slash` if it is detected, so the last one is deposit / (deposit + slash).',
    ),
    Comment(
        'pallets/verification/src/slashes.rs',
        'Whether a seed draws what is drawn with so many parts per million.',
        'Whether a seed draws an event with a probability of `ppm` parts per million.',
    ),
    Comment(
        'pallets/verification/src/try_state.rs',
        'What must always be true of verification. See docs/invariants.md.',
        'The invariants of verification. See docs/invariants.md.',
    ),
    Comment(
        'pallets/verification/src/try_state.rs',
        '`seated`: it has a seed and a committee; `commits`: there may be commitments; `reveals`: there may be votes.',
        'Checks a ballot. `seated`: it must have a seed and a committee; `commits`: it may have commitments; `reveals`: it may have votes.',
    ),
    Comment(
        'pallets/verification/src/try_state.rs',
        'What is held for `reason` of each account named, and of each verifier, is what it should be.',
        'Checks the amounts on hold for `reason` of each account in `sums`, and that of all other verifiers, which must be 0.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'What governs the verification pallet.',
        'Parameters of the verification pallet.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'No period may be longer: 366 days.',
        'The longest period: 366 days.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'Coins held for a verifier. One that has less than half of it left leaves the list.',
        'Coins held for a verifier. A verifier with less than half of it is removed from the list.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'How long the bond of a verifier that leaves is kept.',
        'How long the bond of a verifier that leaves stays on hold.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'What a verifier loses that does not commit and reveal its vote.',
        'The penalty of a verifier that does not commit and reveal its vote.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'What a verifier loses that votes against the majority.',
        'The penalty of a verifier that votes against the majority.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'What who opens a challenge pays its committee.',
        'The fee that the opener of a challenge pays to its committee.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'A host is challenged by verifiers at most once in so long, and by its own provider, too.',
        'The least time between two challenges of a host by verifiers, and by its own provider.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        "How long a host has to answer once the seed is drawn. In the runtime's presets it is longer than the absence limit of hosts, so that a restart of a host is not a missed challenge.",
        "The time within which a host must answer after the seed is drawn. In the runtime's presets it is longer than the absence limit of hosts, so that a restart of a host is no missed challenge.",
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'How long it has to reveal them.',
        'The time within which they reveal them.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'What who opens a dispute stakes. The first appeal stakes twice, the second four times as much.',
        'The stake of the opener of a dispute. The first appeal stakes twice, the second four times as much.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'What of a stake goes to the jury that it asks for.',
        'The part of a stake that the requested jury gets.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'A host is punished for a challenge that it does not answer if it missed another one at most so long before this one was opened. At least `challenge_rest_ms`.',
        'The longest time between two missed challenges for which a host is punished. At least `challenge_rest_ms`.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'No committee and no jury is drawn while the list has fewer verifiers: a few accounts would be all of it. At least two committees and the opener of a challenge.',
        'The least number of listed verifiers for a draw, because few accounts would form the whole committee of a short list. At least two committees and the opener of a challenge.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'A host whose replica has a wrong result, or none although it committed one, loses so many times the deposit of its lease; at most its bond. At least 1.',
        'The slash of a host whose replica has a wrong result, or does not reveal it, in deposits of its lease; at most its bond. At least 1.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        "What the tenant of a task gets where replicas agree and another host is slashed, in parts per million of the slash or of the treasury's fees for the leases that agree, whichever is less.",
        "The reward of the tenant if replicas agree and another host is slashed, in parts per million of the slash or of the treasury's fees for the leases that agree, whichever is less.",
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'What the providers of the hosts that agree get of it together. With `slash_to_tenant_ppm` at most 500,000.',
        'The reward of the providers of the hosts that agree, together. With `slash_to_tenant_ppm` at most 500,000.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'A host with less valid results, one after the other, is always audited.',
        'The number of consecutive valid results below which a host is always audited.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'The least probability with which a result is audited, in parts per million; more than 0.',
        'The least probability of an audit, in parts per million; more than 0.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'A host whose audited result is wrong loses so many times the deposit of its lease; at most its bond. At least 1.',
        'The slash of a host whose audited result is wrong, in deposits of its lease; at most its bond. At least 1.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'What is wrong with parameters.',
        'Why parameters are invalid.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'It is cheaper to stay away than to vote against the majority.',
        'The penalty for absence is lower than that for a vote against the majority.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'A second challenge can never be opened in time: the period of misses is shorter than the rest between challenges.',
        'The period of misses is shorter than the interval between challenges, so that no second challenge can be opened in time.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'A verdict against a host can never be confirmed: `min_verifiers` is less than two committees and an opener.',
        '`min_verifiers` is less than two committees and an opener, so that no verdict against a host can be confirmed.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'More verifiers are asked for than the list can have.',
        '`min_verifiers` is more than the list can contain.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'No more of a slash goes to tenants and hosts, in parts per million.',
        'The most of a slash that goes to tenants and hosts, in parts per million.',
    ),
    Comment(
        'pallets/verification/src/types.rs',
        'Whether these can be worked with.',
        'Checks the parameters. Fails with the first invalid one.',
    ),
    Comment(
        'pallets/verification/src/verifiers.rs',
        'The record of a verifier that may be drawn.',
        'Returns the record of a verifier that may be drawn. Fails with `NotVerifier`.',
    ),
    Comment(
        'pallets/verification/src/verifiers.rs',
        'Takes a verifier off the list; the caller stores the record.',
        'Removes a verifier from the list. The caller stores the record.',
    ),
    Comment(
        'pallets/verification/src/verifiers.rs',
        'Moves up to `amount` of what is held of `from` for `reason` to `to`, and says how much. What its receiver cannot be credited with (less than the existential deposit, to an account that does not exist) stays where it is.',
        'Moves up to `amount` of the coins on hold of `from` for `reason` to `to`. Returns the moved amount. An amount that the receiver cannot be credited with (less than the existential deposit, to an account that does not exist) stays on hold.',
    ),
    Comment(
        'primitives/src/lib.rs',
        "Nothing here reads storage or the clock: `fit` says what fits on a host, `layout` how the pods of a task lie to each other, `rate` what a pod costs, `escrow` what is owed for it, `fees` what of it is the protocol fee, `faults` what a host pays for a fault, `score` what evidence is worth, `ids` how things are numbered, `transitions` which states follow which, and `weights!` is what pallets' tables of measured weights are written in.",
        'Nothing here reads storage or the clock. `fit` decides whether a pod fits on a host, `layout` contains the anti-affinity of pods, `rate` computes the rate of a pod, `escrow` the amount owed for it, and `fees` the protocol fee. `faults` contains the slash table, `score` the weight of evidence, `ids` the numbering of tasks and leases, and `transitions` the tables of states. The macro `weights!` declares the measured weights of a pallet.',
    ),
    Comment(
        'primitives/src/commitments.rs',
        'What binds a verifier to its vote and a host to its result before either is shown.',
        'Commitments of verifiers to votes and of hosts to results, and tags of results.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'What a lease owes: segments of time, each at one rate, out of a deposit that is never exceeded.',
        'The amount that a lease owes: segments of time, each at one rate, out of a deposit that is never exceeded.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        "Everything is reckoned when it is asked for, from the moment the running segment began; nothing changes with time alone. `host_downtime` is always the host's whole downtime in milliseconds, a number that never falls: what it has grown by since the segment began is not billed. tests/vectors/escrow.json holds cases that Rust and Python both run.",
        'Amounts are computed on demand, from the moment at which the running segment began; nothing changes with time alone. `host_downtime` is always the total downtime of the host in milliseconds, which never falls: its growth since the segment began is not billed. Rust and Python both run the cases of tests/vectors/escrow.json.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'What is held of the tenant for it.',
        'Returns the amount on hold of the tenant.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'What is held of the tenant for the time of the pod.',
        'Returns the amount on hold of the tenant for the time of the pod.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'Billing begins, and never goes past `until`.',
        'Starts billing, which never goes past `until`.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'For how many milliseconds of the running segment there is something to bill. Downtime past `until` shortens it, too: when it was is not known, and no downtime is ever billed.',
        'Returns the billed milliseconds of the running segment. Downtime past `until` shortens it, too: the time of the downtime is not known, and no downtime is ever billed.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'What is owed in all at `now`, by the unit. Never more than the deposit, never less than what is paid.',
        'Returns the total amount owed at `now`, by the billing unit. Never more than the deposit, never less than the paid amount.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'What is owed in all at `now` where the host is at fault for the end: the running segment is pro rata.',
        'Returns the total amount owed at `now` if the host is at fault for the end: the running segment is pro rata.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'What is owed at `now` and not paid yet.',
        'Returns the amount owed at `now` and not paid yet.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'The running segment ends; from now on nothing is billed. What is owed is [`Self::accrued`] then.',
        'Ends the running segment, and billing with it. The amount owed is then [`Self::accrued`].',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'As [`Self::stop`] by the unit, but for the time that the host measured, in milliseconds, and at most for the time that has passed. The result is there: that its host was silent meanwhile takes nothing off.',
        'As [`Self::stop`] by the unit, but for the time in milliseconds that the host measured, at most for the time that has passed. Downtime is billed, because the result is there.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'The rate changes: where a segment runs, it ends and another begins.',
        'Changes the rate: a running segment ends, and another begins.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'More coins are deposited. None where there are more than any number of coins.',
        'Increases the deposit. None on overflow.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'When the running segment has used the rest of the deposit; further downtime moves it. None while nothing is billed; the end of time where the rate is 0.',
        'Returns the time at which the running segment has used the rest of the deposit; further downtime moves it. None while nothing is billed; the greatest time if the rate is 0.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'When billing ends by itself: at `until`, or when the deposit is used up before. None while nothing is billed.',
        'Returns the time at which billing ends: at `until`, or when the deposit is used up before. None while nothing is billed.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'Billing goes on for as long as the deposit lasts. Where the lease costs nothing the deposit says nothing, and `until` stays.',
        'Sets `until` to the end of the deposit. If the rate is 0, the deposit sets no end and `until` stays.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'So many coins of the deposit left the tenant: `share` to the provider or in its stead, and `fee`.',
        'Counts a payment out of the deposit: `share` to the provider or in its stead, and `fee`.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'So many of the coins held for storage left the tenant. They count as deposited, owed and paid.',
        'Counts a payment out of the storage deposit. It counts as deposited, owed and paid.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'So many coins of the deposit left the tenant as a charge that goes to the treasury alone, for something else than the time of a segment.',
        'Counts a charge out of the deposit that goes to the treasury alone and is not for the time of a segment.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'Nothing is held for the time of the pod any more. Returns what goes back to the tenant.',
        'Closes the escrow for the time of the pod. Returns the amount to refund to the tenant.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'What is owed in all where the running segment has lasted for `billed_ms`.',
        'Returns the total amount owed if the running segment has lasted for `billed_ms`.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        "What was paid before a host's absence came to light is not asked back.",
        'A payment from before an absence was detected is not reclaimed.',
    ),
    Comment(
        'primitives/src/escrow.rs',
        'For how many milliseconds `coins` cover a rate that is not 0, the last one begun included.',
        'Returns the milliseconds for which `coins` cover a rate that is not 0, rounded up.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'What a fault costs: the slash table, and how much a fault is held against the provider.',
        'The slash table of faults, and their gravity for the provider.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'Per cent are of the bond that must be there. What the hours count is written at each fault.',
        'Per cent are of the required bond. The meaning of the duration is documented at each fault.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'Something that costs a part of a bond.',
        'A fault for which a bond is slashed.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'A host was away without having said so. Time: how long it was away.',
        'A host was absent without notice. Duration: of the absence.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'A host did not start a pod in time. Time: how long the tenant waited.',
        'A host did not start a pod in time. Duration: how long the tenant waited.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'A host lost a pod that had started. Time: how long the pod had run.',
        'A host lost a pod that had started. Duration: how long the pod had run.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'A host lost data that it was to keep. Time: for how long it still had to keep it.',
        'A host lost data that it had to retain. Duration: the remaining period of retention.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'For the fault as such.',
        'For the fault, independent of its duration.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'For each hour that it lasted, pro rata; 0 for a fault that has no duration.',
        'For each hour of its duration, pro rata; 0 for a fault without duration.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'Never more.',
        'The maximum.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'What a fault that lasted `duration_ms` costs, in parts per million of the bond that must be there; rounded down.',
        'Returns the slash for a fault of `duration_ms`, in parts per million of the required bond; rounded down.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'Never falls with the duration. A fault that has a duration costs nothing where it lasted none; for the others the duration means nothing.',
        'It never falls with the duration. A fault with a duration costs nothing if the duration is 0; for the others the duration has no meaning.',
    ),
    Comment(
        'primitives/src/faults.rs',
        'How much a fault is held against the provider, in parts per million of a grave fault.',
        'Returns the gravity of a fault for the provider, in parts per million of a grave fault.',
    ),
    Comment(
        'primitives/src/fees.rs',
        'The protocol fee: a part of what a lease pays, fixed when the lease is opened, and who gets it.',
        'The protocol fee: a part of the payments of a lease, fixed when the lease is opened, and its division.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'Whether a pod fits on a host, and what it takes from and gives back to it.',
        'The feasibility rule: whether a pod fits on a host, and the allocation of its resources.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'The one fit rule of the chain. Schedulers carry the same rule; tests/vectors/fit.json holds both to it.',
        'The chain has no other feasibility rule. Schedulers implement the same rule; tests/vectors/fit.json contains the cases that both run.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'The first thing, in the order of this list, for which a pod does not fit.',
        'The first reason, in this order, for which a pod does not fit.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'The task wants its pods in a sandbox, and those of the host use the kernel of the machine.',
        'The task requires a sandbox, and the pods of the host use the kernel of the machine.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'Not as many devices are named as the pod needs.',
        'The number of named devices differs from that of the request.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'Whether a task that wants `placement` may run on a host at all, whatever is free there.',
        'Checks whether a task with this `placement` may run on a host, independent of its free resources.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'Whether a host with the capabilities `has` can run everything that is true in `wanted`, the sandbox aside.',
        'Whether the capabilities `has` include all that are true in `wanted`, except the sandbox.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'Whether one device can serve a request of `tenant`; does not look at whether it was named already.',
        'Checks whether one device can serve a request of `tenant`; not whether it was named already.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'Whether a pod of `tenant` that needs `resources` fits on what is `free`, on exactly the devices named by `chosen`.',
        'Checks whether a pod of `tenant` that needs `resources` fits on the `free` resources, on exactly the devices with the indices `chosen`.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'The first devices, in their order, that can serve a request of `tenant`. None where there are too few.',
        'Returns the indices of the first devices that can serve a request of `tenant`. None if there are too few.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'Takes the resources of a pod of `tenant` from what is free. Changes nothing unless [`fits`] holds.',
        'Allocates the resources of a pod of `tenant`. Changes nothing unless [`fits`] holds.',
    ),
    Comment(
        'primitives/src/fit.rs',
        'Gives back what [`allocate`] took. None, and nothing changed, where more would be free than there is.',
        'Releases the resources that [`allocate`] allocated. Returns None, and changes nothing, if more would be free than there is.',
    ),
    Comment(
        'primitives/src/halts.rs',
        'Times in which a chain made no blocks, so that nobody could be heard.',
        'Halts: times in which the chain made no blocks, so that no transaction could be included.',
    ),
    Comment(
        'primitives/src/halts.rs',
        'Limits that are kept by sending something to the chain are measured without them.',
        'Time limits for sending transactions are measured without halts.',
    ),
    Comment(
        'primitives/src/halts.rs',
        'The most halts that are told apart.',
        'The most halts that are stored separately.',
    ),
    Comment(
        'primitives/src/halts.rs',
        'One time without blocks.',
        'One halt.',
    ),
    Comment(
        'primitives/src/halts.rs',
        'The halts of a chain in their order. The oldest two count as one where there are more than [`MAX_HALTS`].',
        'The halts of a chain in order. If there are more than [`MAX_HALTS`], the oldest two are merged.',
    ),
    Comment(
        'primitives/src/halts.rs',
        'Adds a halt that ends later than all before.',
        'Adds a halt that ends later than all others.',
    ),
    Comment(
        'primitives/src/halts.rs',
        'How many milliseconds have passed from `moment` to `now`, those of halts that were over by `now` left out.',
        'Returns the milliseconds from `moment` to `now`, without the halts that were over by `now`.',
    ),
    Comment(
        'primitives/src/halts.rs',
        'Where the oldest halts count as one, it is less than that for moments between them.',
        'For moments between merged halts, the result may be less than that.',
    ),
    Comment(
        'primitives/src/ids.rs',
        'How tasks and leases are numbered, and how their numbers become storage keys.',
        'The numbering of tasks and leases, and their storage keys.',
    ),
    Comment(
        'primitives/src/ids.rs',
        "A task's key is the big-endian form of its number, unhashed: tasks submitted one after another are neighbours in the state trie, so that a batch about them touches few nodes however many tasks there are. A lease's number contains its task's, so that a lease needs no record of its own.",
        'The key of a task is its number, big-endian and unhashed: tasks submitted one after another are neighbours in the state trie, so that a batch about them reads few nodes for any number of tasks. The number of a lease contains that of its task, so that a lease needs no record of its own.',
    ),
    Comment(
        'primitives/src/ids.rs',
        "The task's number.",
        'Returns the number of the task.',
    ),
    Comment(
        'primitives/src/ids.rs',
        'The page on which a task is.',
        'Returns the key of the page that contains a task.',
    ),
    Comment(
        'primitives/src/ids.rs',
        'The first task of the page.',
        'Returns the first task of the page.',
    ),
    Comment(
        'primitives/src/ids.rs',
        'The number of a lease: `task << 24 | pod << 16 | generation`. `task` is below [`TASK_IDS_END`].',
        'Returns the number of a lease: `task << 24 | pod << 16 | generation`. `task` is below [`TASK_IDS_END`].',
    ),
    Comment(
        'primitives/src/ids.rs',
        "What a lease's number is made of: its task, its pod and its generation.",
        "Returns the task, pod and generation of a lease's number.",
    ),
    Comment(
        'primitives/src/layout.rs',
        'How the pods of one task lie to each other.',
        'Anti-affinity of the pods of one task.',
    ),
    Comment(
        'primitives/src/layout.rs',
        'Schedulers carry the same rule; tests/vectors/fit.json holds both to it.',
        'Schedulers implement the same rule; tests/vectors/fit.json contains the cases that both run.',
    ),
    Comment(
        'primitives/src/layout.rs',
        'What no two pods of a task may share.',
        'The topology that no two pods of a task may share.',
    ),
    Comment(
        'primitives/src/layout.rs',
        'What pods laid out like this may not share; none where they may share anything.',
        'Returns the anti-affinity of this layout. None if there is none.',
    ),
    Comment(
        'primitives/src/layout.rs',
        "What the pods of the task may not share. Results are compared only where they cannot be one provider's word, whatever the layout says.",
        'Returns the anti-affinity of the task. Replicas have that by provider, whatever the layout: their comparison proves nothing if one provider runs both.',
    ),
    Comment(
        'primitives/src/layout.rs',
        'Whether pods may come beside others. `existing` are the hosts of those that are there, or the providers of these hosts, and `added` are the same of those that come.',
        'Whether pods may be added beside others. `existing` are the hosts of the present pods, or the providers of these hosts; `added` are those of the new pods.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'What a pod costs: its rate, the deposit of its lease, and what is owed for the time it ran.',
        'The price of a pod: its rate, the deposit of its lease, and the amount owed for the time it ran.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'Why there is no rate.',
        'The reason why a rate cannot be computed.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'What a pod costs an hour at the price list `ask`: it needs `resources`, on the devices of the host whose indices are `chosen`, and is billed by `unit`.',
        'Returns the rate of a pod in base units per hour at the price list `ask`: it needs `resources`, on the devices of the host with the indices `chosen`, and is billed by `unit`.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'What the disk of a stopped rental costs an hour at the price list `ask`, billed by `unit`.',
        'Returns the rate of the disk of a stopped rental in base units per hour at the price list `ask`, billed by `unit`.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'The price of one whole device of `model` an hour.',
        'Returns the price of one whole device of `model` per hour.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'The list price of a pod an hour. None where it overflows.',
        'Returns the list price of a pod per hour. None on overflow.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'Whether a price list may be offered. Fails with the first [`AskError`].',
        'Checks a price list. Fails with the first [`AskError`].',
    ),
    Comment(
        'primitives/src/rate.rs',
        'The deposit of a lease: its rate for its longest duration, rounded up. None where it overflows.',
        'Returns the deposit of a lease: its rate for its longest duration, rounded up. None on overflow.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'What is owed for `time_ms`, pro rata, never more than the deposit.',
        'Returns the amount owed for `time_ms`, pro rata, at most the deposit.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'For how many milliseconds `amount` pays at a rate, which is not 0; rounded down.',
        'Returns the milliseconds for which `amount` pays at a rate, which is not 0; rounded down.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'What is owed for `time_ms` by `unit`, never more than the deposit.',
        'Returns the amount owed for `time_ms` by `unit`, at most the deposit.',
    ),
    Comment(
        'primitives/src/rate.rs',
        'Hours and days are charged whole and in advance: the first one from the start on, each further one when the one before it is over.',
        'Hours and days are charged whole and in advance: the first at the start, each further one when the one before it is over.',
    ),
    Comment(
        'primitives/src/rate.rs',
        "The protocol's part of what is paid, or a share of the fee, rounded down.",
        "Returns the protocol's part of a payment, or a share of a fee, rounded down.",
    ),
    Comment(
        'primitives/src/registration.rs',
        "What a host's key signs: when a provider registers it, and when its hardware is changed.",
        'The messages that the key of a host signs: for its registration, and for changes of its hardware.',
    ),
    Comment(
        'primitives/src/registration.rs',
        'The first bytes of what is signed, so that the signature is good for nothing else.',
        'The first bytes of the signed message, so that the signature is valid for nothing else.',
    ),
    Comment(
        'primitives/src/registration.rs',
        'The first bytes of what is signed when the hardware of a host is changed.',
        'The first bytes of the signed message when the hardware of a host is changed.',
    ),
    Comment(
        'primitives/src/registration.rs',
        "`generation` is one more than that of the host's record, so that each signature is good for one change.",
        "`generation` is one more than that of the host's record, so that each signature is valid for one change.",
    ),
    Comment(
        'primitives/src/score.rs',
        'What evidence about hosts, tenants and providers is worth: Beta scores with a half-life.',
        'The weight of evidence about hosts, tenants and providers: Beta scores with a half-life.',
    ),
    Comment(
        'primitives/src/score.rs',
        'After so many milliseconds evidence weighs half: 30 days.',
        'The half-life of evidence in milliseconds: 30 days.',
    ),
    Comment(
        'primitives/src/score.rs',
        "A pod that started as soon as this is wholly to its host's credit.",
        'The start latency in milliseconds up to which a start counts wholly in favour of its host.',
    ),
    Comment(
        'primitives/src/score.rs',
        "A pod that started as late as this is wholly to its host's discredit.",
        'The start latency in milliseconds from which a start counts wholly against its host.',
    ),
    Comment(
        'primitives/src/score.rs',
        'What a late cancellation weighs, in parts per million of an observation: a tenant may change its mind and pays for what it used, so it counts, but for little.',
        'The weight of a late cancellation, in parts per million of an observation. It is low, because a tenant may cancel and pays for the used time.',
    ),
    Comment(
        'primitives/src/score.rs',
        "A grave fault of a provider's only host raises its bonds by so much of them, in parts per million.",
        "The rise of a provider's bonds for a grave fault of its only host, in parts per million.",
    ),
    Comment(
        'primitives/src/score.rs',
        'The greatest.',
        'The greatest factor on bonds, in parts per million.',
    ),
    Comment(
        'primitives/src/score.rs',
        'What `amount` weighs after `elapsed_ms`: halved once for each half-life, and linearly in between.',
        'Returns the weight of `amount` after `elapsed_ms`: halved for each half-life, linear in between.',
    ),
    Comment(
        'primitives/src/score.rs',
        'What one observation about a lease with a protocol fee of `fee` base units weighs, in the parts of a [`Beta`].',
        'Returns the weight of one observation about a lease with a protocol fee of `fee` base units, in the parts of a [`Beta`].',
    ),
    Comment(
        'primitives/src/score.rs',
        'What `count` observations weigh, in the parts of a [`Beta`], where the fees of their leases amount to `fees` base units.',
        'Returns the weight of `count` observations, in the parts of a [`Beta`], if the fees of their leases sum up to `fees` base units.',
    ),
    Comment(
        'primitives/src/score.rs',
        "How much of a start after `ms` is to the host's credit, in parts per million: all of it up to [`SOON_MS`], nothing from [`LATE_MS`] on, and linearly in between.",
        'Returns the credit for a start after `ms`, in parts per million: all up to [`SOON_MS`], none from [`LATE_MS`] on, linear in between.',
    ),
    Comment(
        'primitives/src/score.rs',
        "How much of some stars is to the host's credit, in parts per million: nothing of one, all of five.",
        'Returns the credit for a rating, in parts per million: none for one star, all for five.',
    ),
    Comment(
        'primitives/src/score.rs',
        'The part of `up_ms` in both, in parts per million; all where both are nothing.',
        'Returns `up_ms` in parts per million of the sum; all if the sum is 0.',
    ),
    Comment(
        'primitives/src/score.rs',
        'Adds `amount` to a Beta: `credit_ppm` of it for, the rest against.',
        'Adds `amount` to a Beta: `credit_ppm` of it as positive, the rest as negative evidence.',
    ),
    Comment(
        'primitives/src/score.rs',
        'The evidence `score` after the host did `conduct` at `now`, `count` times, in leases whose fees amount to `fees` base units.',
        'Returns `score` after the host showed `conduct` at `now`, `count` times, in leases whose fees sum up to `fees` base units.',
    ),
    Comment(
        'primitives/src/score.rs',
        'The counters after `up_ms` there and `down_ms` away. They stop together before one of them would overflow.',
        'Returns the counters after `up_ms` of uptime and `down_ms` of downtime. Both stop before one of them would overflow.',
    ),
    Comment(
        'primitives/src/score.rs',
        'The evidence `score` after the tenant did `conduct` at `now`, in leases whose fees amount to `fees` base units.',
        'Returns `score` after the tenant showed `conduct` at `now`, in leases whose fees sum up to `fees` base units.',
    ),
    Comment(
        'primitives/src/score.rs',
        "What is held against a provider after a `fault` of a host at `now`, where that host has `share_ppm` of the provider's bonds: a provider is not judged by how many hosts it has.",
        "Returns the record of a provider after a `fault` of a host at `now`, if that host has `share_ppm` of the provider's bonds: a provider is not judged by the number of its hosts.",
    ),
    Comment(
        'primitives/src/storage.rs',
        'What is due at `now` where the data is kept until `until`: pro rata, rounded down, and all of it from `until` on.',
        'Returns the amount due at `now` if the data is retained until `until`: pro rata, rounded down, and all of it from `until` on.',
    ),
    Comment(
        'primitives/src/transitions.rs',
        'Which state may follow which: the only ways in which hosts, tasks and leases change.',
        'The tables of the transitions between the states of hosts, tasks and leases. There are no others.',
    ),
    Comment(
        'primitives/src/transitions.rs',
        'Diagrams are drawn from these tables. A move that is not listed here is refused and changes nothing.',
        'The diagrams of the documentation are drawn from these tables. A transition that is not listed fails and changes nothing.',
    ),
    Comment(
        'primitives/src/transitions.rs',
        'Whether a table lists a move.',
        'Whether a table lists a transition.',
    ),
    Comment(
        'primitives/src/verification_tables.rs',
        'Which phase may follow which when the network finds something out. Diagrams in docs/verification.md are drawn from these tables. A move that is not listed here is refused and changes nothing.',
        'The tables of the transitions between phases of challenges, results and disputes. Diagrams in docs/verification.md are drawn from these tables. A transition that is not listed fails and changes nothing.',
    ),
    Comment(
        'primitives/src/weights.rs',
        "How the table of measured weights that `scripts/weights` writes becomes a pallet's `WeightInfo`.",
        "The macro that turns the table of measured weights, which `scripts/weights` writes, into a pallet's `WeightInfo`.",
    ),
    Comment(
        'primitives/src/types/attempts.rs',
        'The attempts to run a task that came to nothing: which hosts are excluded, and when the task has failed.',
        'Failed attempts to run a task: they exclude hosts, and fail the task if there are too many.',
    ),
    Comment(
        'primitives/src/types/attempts.rs',
        'A task keeps no more attempts that came to nothing.',
        'The most failed attempts that a task stores.',
    ),
    Comment(
        'primitives/src/types/attempts.rs',
        'An attempt that came to nothing.',
        'A failed attempt.',
    ),
    Comment(
        'primitives/src/types/attempts.rs',
        'Who owned it.',
        'Its provider.',
    ),
    Comment(
        'primitives/src/types/attempts.rs',
        "How many different providers' hosts failed.",
        'Returns the number of different providers whose hosts failed.',
    ),
    Comment(
        'primitives/src/types/attempts.rs',
        "How many different providers' hosts refused a pod or did not start it.",
        'Returns the number of different providers whose hosts refused a pod or did not start it.',
    ),
    Comment(
        'primitives/src/types/attempts.rs',
        'Notes an attempt that came to nothing. Where there is no room, the oldest attempt of a provider that has several is forgotten, and where no provider has several, the oldest.',
        'Stores a failed attempt. If the list is full, the oldest attempt of a provider with several is removed, or the oldest if no provider has several.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'Coins held for one lease.',
        'Coins on hold for one lease.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'The coins that a tenant has deposited for one lease, and what became of them. It is kept inside the lease; the tenant is that of the task, the provider the owner of the host. The rules are in `gantry_primitives::escrow`.',
        'The coins that a tenant has deposited for one lease, and their use. It is stored inside the lease; the tenant is that of the task, the provider the owner of the host. The rules are in `gantry_primitives::escrow`.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'How many coins were deposited, top-ups included. What is held of the tenant is this less `paid`, while `open`.',
        'The deposit, including top-ups. The amount on hold of the tenant is the deposit less `paid`, while `open`.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'What is owed for the segments that are over: a segment is a time at one rate.',
        'The amount owed for the segments that are over: a segment is a time at one rate.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        "The host's downtime in milliseconds when the running segment began; what it has grown by is not billed.",
        "The host's downtime in milliseconds when the running segment began; its growth is not billed.",
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'What left the tenant, the fee and what was paid for storage included.',
        'The amount paid by the tenant, including the fee and payments for storage.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'While the data of the lease is kept: the coins held for the time that the tenant paid for besides.',
        'While the data of the lease is retained: the coins on hold for the additional time that the tenant paid for.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'Coins held for data that its tenant pays to have kept longer than the lease pays for. They are paid as the time passes.',
        'Coins on hold for data that the tenant pays to have retained longer than the lease pays for. They are paid as the time passes.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'How what is owed for the running segment is reckoned when it ends.',
        'How the amount owed for the running segment is computed when it ends.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'Pro rata whatever the unit, because the host is at fault for the end.',
        'Pro rata for any unit, because the host is at fault for the end.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'What left the tenant over the whole time, the fee included.',
        'The total amount paid by the tenant, including the fee.',
    ),
    Comment(
        'primitives/src/types/billing.rs',
        'What went back to the tenant now.',
        'The amount released to the tenant now.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'What a host is and has.',
        'Types of hosts.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'What class of machine a host is; its bond goes by it.',
        "The class of a host's machine, which determines its bond.",
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Anyone else.',
        'Any other vendor.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        "Shares of devices, which nothing keeps apart: each device's to one tenant at a time.",
        'Shares of devices without isolation: those of one device belong to one tenant at a time.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Slices of devices that are kept apart by the hardware.',
        'Slices of devices that the hardware isolates.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'True where no real device stands behind it. Never changes.',
        'True if no real device exists. Never changes.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        "Whose leases hold shares of it; nobody else's may until it is wholly free. None where no lease holds a share.",
        "The tenant whose leases hold shares of it; no other tenant's may until it is wholly free. None if no lease holds a share.",
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'True once a challenge proved that it is real.',
        'True after a challenge proved that it is genuine.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'False where the host says that it is out of order; it takes no new lease then.',
        'False if the host reports it as unhealthy; it takes no new lease then.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Its devices; leases name them by their place in this list.',
        'Its devices; leases refer to them by their index in this list.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Leases billed by the second cost so many millionths of the list price; 0 where none are offered.',
        'The price factor of leases billed by the second, in millionths of the list price; 0 if none are offered.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'The same for leases billed by the hour.',
        'The price factor of leases billed by the hour.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'The same for leases billed by the day.',
        'The price factor of leases billed by the day.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Its hardware was found to be another than it was registered with. Ends when it is registered as it is, and verified.',
        'Its hardware differs from the registered one. Ends when the hardware is registered as it is, and verified.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Where a host stands. Changes only along `transitions::HOST_TRANSITIONS`.',
        'The status of a host. Changes only along `transitions::HOST_TRANSITIONS`.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Registered; its hardware was not looked at yet.',
        'Registered; its hardware is not verified yet.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'There, and takes leases.',
        'Present, and takes leases.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Was silent for too long. Its leases may be moved elsewhere.',
        'Was silent for too long. Its leases may be requeued.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'There, finishes what it has, takes nothing new.',
        'Present; finishes its leases and takes no new ones.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Takes nothing, for the reason given.',
        'Takes no leases, for the reason given.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Gone for ever; its key is not used again.',
        'Retired; its key cannot be registered again.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Takes nothing any more; its bond is held, and can be slashed, until the time given.',
        'Takes no leases; its bond is on hold, and can be slashed, until the time given.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'How the pods of one task lie to each other.',
        'The affinity or anti-affinity of the pods of one task.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'They may be anywhere.',
        'None: any hosts.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'On as few hosts as have room. Schedulers try to; the chain does not insist on it.',
        'Affinity: on as few hosts as possible. Schedulers try to; the chain does not enforce it.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'When it last said that it is there; 0 where it never did.',
        'The time of its last heartbeat; 0 if there was none.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'How long it was away so far, in milliseconds: at each return from an absence that was reported, or longer than the absence limit, the time since the heartbeat before is added. Never falls.',
        'Its total downtime in milliseconds: at each return from an absence that was reported, or that was longer than the absence limit, the time since the last heartbeat is added. Never falls.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'Since when the host offers at least what is free of it now, and at the same price: the last change of its status, its price, or what it has, or the last time that a lease gave something back.',
        'The time since which the host offers at least its present free resources at its present price: the last change of its status, its price or its resources, or the last release of resources by a lease.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'What no lease holds.',
        'The free resources.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'What the machine has.',
        'The total resources.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'How many leases hold some of it.',
        'The number of leases with resources of it.',
    ),
    Comment(
        'primitives/src/types/hosts.rs',
        'The device that an open challenge is about, until the host has answered. It takes no new lease.',
        'The device of an open challenge, until the host has answered. It takes no new lease.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'Another pod of the same task could not go on.',
        'Another pod of the same task failed.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        "It was a spot task's, made room for a task of higher priority, and the notice is over.",
        'The lease of a spot task that was preempted by a task of higher priority.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'The pod was moved to another host, where it goes on.',
        'The pod migrated to another host.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'How the last segment of a lease that ends for this reason is billed.',
        'Returns how the last segment of a lease that ends for this reason is billed.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'A pod of a job without a result is worth nothing to its tenant, whatever its host did meanwhile: only a signed act of the tenant makes it cost something. A service or rental has been used until then, and is paid pro rata; where its host failed, see [`Lease::end`].',
        'A pod of a job without a result has no value for its tenant: it costs something only if a signed call of the tenant ended it. A service or rental has been used until then, and is paid pro rata; if its host failed, see [`Lease::end`].',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'Where a lease stands. Changes only along `transitions::LEASE_TRANSITIONS`.',
        'The state of a lease. Changes only along `transitions::LEASE_TRANSITIONS`.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'Ended; its data is kept until then.',
        'Ended; its data is retained until then.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'Whether the lease holds something of its host, and so is listed under it.',
        'Whether the lease has resources of its host allocated, and so is on the list of its host.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'A lease. It is kept inside the record of its task, which says who pays and for what; its number is made of the number of the task, `pod` and `generation`.',
        'A lease. It is stored inside the record of its task, which contains the tenant and the spec; its number consists of the number of the task, `pod` and `generation`.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'The provider wants its resources back then. The lease is billed through it and no longer.',
        'The time from which the provider reclaims its resources. The lease is billed until then and no longer.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'When the agenda looks at it next; an entry for any other time is out of date.',
        'When the agenda processes it next; an entry for any other time is outdated.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'While it lives: where its pod goes on if the host fails.',
        'While it is live: the host to which its pod migrates if the present one fails.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'The bonded scheduler that opened it. None where the tenant did. A lease by which a pod goes on at its standby has that of the lease before.',
        'The bonded scheduler that opened it. None if the tenant did. A lease on a standby has the scheduler of the lease before.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'Where that scheduler placed the pod on a host of its own, and answers for the choice: the score of the host then, in parts per million.',
        'If that scheduler placed the pod on a host of its own and is accountable for the choice: the score of the host at that time, in parts per million.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'A place that was named in advance for the pod of a lease. It holds nothing of its host, and costs nothing: its room is taken when it is needed.',
        'A host that was named in advance for the pod of a lease. No resources are allocated, and it costs nothing, until the pod migrates there.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'The rate of the pod there in base units an hour when the place was named. At a higher rate the pod does not go there.',
        'The rate of the pod there in base units per hour when the standby was named. At a higher rate the pod does not migrate there.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'What it holds of its host, where its task asked for `resources`: all of it before and while the pod runs, the disk alone while the machine is stopped or its data is kept, else nothing.',
        'Returns the resources that it has allocated, if its task requests `resources`: all while the pod is pending or runs, the disk alone while the machine is stopped or its data is retained, else none.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'The devices it holds of its host: those of [`Self::holds`].',
        'Returns the devices that it has allocated, as [`Self::holds`].',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        "The time up to which it is billed at `now`: never past the end of the provider's notice.",
        "Returns the time until which it is billed at `now`: never past the end of the provider's notice.",
    ),
    Comment(
        'primitives/src/types/leases.rs',
        "When it is over by itself: when what was paid for is used, or the provider's notice is over. None before the start and after the end. `host_downtime` is in milliseconds.",
        "Returns the time of its end: when its deposit is used, or the provider's notice is over. None before the start and after the end. `host_downtime` is in milliseconds.",
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'The pod has started: the lease is billed from now on, and never past `until`.',
        'Marks the pod as started: the lease is billed from now on, and never past `until`.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'The pod has ended with a result. A host may bill less time than has passed, never more.',
        'Ends the lease with a result. A host may bill less time than has passed, never more.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'The lease ends for any reason but a result; what is owed for it no longer changes.',
        'Ends the lease for any reason but a result; the amount owed no longer changes.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        '`forfeited_ms`: where the host of a service failed, the last so many milliseconds are not billed. The pod goes on elsewhere and the lease is closed at once, so that its tenant could not dispute them. Of a rental nothing is forfeited: it is paid after the dispute window.',
        '`forfeited_ms`: if the host of a service failed, these last milliseconds are not billed. The pod migrates and the lease is closed at once, so that its tenant could not dispute them. For a rental nothing is forfeited: it is paid after the dispute window.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'As [`Self::end`], where the reason alone does not say how the last segment is billed.',
        'As [`Self::end`], if the reason alone does not determine how the last segment is billed.',
    ),
    Comment(
        'primitives/src/types/leases.rs',
        'The disk alone.',
        'Returns the disk alone.',
    ),
    Comment(
        'primitives/src/types/mod.rs',
        'What the chain stores and what crosses a call. Field order and names are those of docs/protocol.md.',
        'Types that the chain stores and that calls carry. Field order and names are those of docs/protocol.md.',
    ),
    Comment(
        'primitives/src/types/mod.rs',
        'The most tasks that one call tells to leave.',
        'The most victims of one preemption notice.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'What is known about the conduct of hosts, tenants and providers.',
        'Types of scores and of the conduct of hosts, tenants and providers.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'What a host promised to be there for tenants, and what of it it was there. Sums; they never fall.',
        'The time that a host promised to tenants, and the part in which it was present. Sums; they never fall.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'For how much of that it was there.',
        'The part in which it was present.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'Time it was there, against time it was not.',
        'Uptime against downtime.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'What tenants thought of it.',
        'Ratings by tenants.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'What it promised and kept.',
        'Its promised and met time.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'A tenant gave it so many stars, 1 to 5.',
        'A tenant gave it this number of stars, 1 to 5.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'Started a pod so many milliseconds after the lease was opened. Said instead of `Started`.',
        'Started a pod this number of milliseconds after the lease was opened. Recorded instead of `Started`.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'Was there for `up_ms` of a lease and away for `down_ms` of it.',
        'Was up for `up_ms` of a lease and down for `down_ms` of it.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'Milliseconds there.',
        'Uptime in milliseconds.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'Milliseconds away.',
        'Downtime in milliseconds.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'What is held against a provider, as it weighed at `updated_at`.',
        'The faults of a provider, with their weight at `updated_at`.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'Leases it let come to their end and paid, against those it called off late.',
        'Leases that ended and were paid, against those that it cancelled late.',
    ),
    Comment(
        'primitives/src/types/reputation.rs',
        'Called a task off after a host had begun to work on it.',
        'Cancelled a task after a host had begun to work on it.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'What a tenant asks for and what became of it.',
        'Types of tasks.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'What sort of work it is.',
        'The kind of a task.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'A machine to log into; its data is kept for a while after it ended.',
        'A machine to log into; its data is retained for a period after its end.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'How many devices; 0 for none, and then the other fields mean nothing.',
        'How many devices; if 0, the other fields have no meaning.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The models that will do; empty for any.',
        'The acceptable models; empty for any.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Jobs only: so many pods, on hosts of different providers, do the same work, and their results are compared.',
        'Jobs only: replicas on hosts of different providers do the same work, and their results are compared.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'What becomes of a pod whose host deteriorates or fails.',
        'What happens to a pod whose host becomes unhealthy or fails.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'It stays where it is, and is begun again elsewhere when it is lost.',
        'It stays on its host, and is started again on another if it is lost.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Jobs and services only: it may be moved to another host, what is left of its deposit with it.',
        'Jobs and services only: it may migrate to another host, with the rest of its deposit.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'As [`Survival::Move`]; and a standby that was named in advance takes over by itself when the host fails.',
        'As [`Survival::Move`], and a standby that was named in advance takes over automatically when the host fails.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Once it runs it may be told to leave, with notice, for a waiting task of higher priority.',
        'It may be preempted, after a notice, by a queued task of higher priority.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether a pod that is lost is replaced while the others go on. Otherwise the whole task waits again.',
        'Whether a lost pod is replaced while the others continue. Otherwise the whole task is requeued.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        "Whether a pod may go on at another host while the task's other pods go on.",
        "Whether a pod may migrate while the task's other pods continue.",
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether the host is to blame. A failure that a tenant can cause is not held against a host.',
        "Whether the host is at fault. A failure that a tenant can cause is not the host's fault.",
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether the chain cannot know who is to blame: how fast an image arrives depends on the host, the registry and what lies between them. Host and tenant pay alike.',
        'Whether the chain cannot know who is at fault: the speed of a download depends on the host, the registry and the network between them. Host and tenant pay alike.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether the tenant is to blame: a pod that does not start for such a reason costs the minimum charge.',
        'Whether the tenant is at fault: a pod that does not start for such a reason costs the minimum charge.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether the host is to blame.',
        'Whether the host is at fault.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether the tenant is to blame.',
        'Whether the tenant is at fault.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether the chain cannot know who is to blame.',
        'Whether the chain cannot know who is at fault.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether it counts among the attempts that came to nothing.',
        'Whether it counts as a failed attempt.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Where a task stands. Changes only along `transitions::TASK_TRANSITIONS`.',
        'The state of a task. Changes only along `transitions::TASK_TRANSITIONS`.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The tenant called it off.',
        'The tenant cancelled it.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Nothing follows a final state.',
        'Whether the state is final: no other follows.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Hosts hold leases for a task in such a state.',
        'Whether a task in this state has live leases.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The list of waiting work on which a task in this state is; none where it is final.',
        'Returns the list that contains the tasks in this state. None if it is final.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The lists of tasks that the chain keeps. A task that is not final is on that of its state.',
        'The lists of tasks. A task that is not final is on the list of its state.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Besides: assigned or running, and to have more pods than it has leases.',
        'In addition: assigned or running, with fewer leases than wanted pods.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'What tasks submitted together have in common. Kept under the number of the first until the last is pruned.',
        'The values that tasks submitted together share. Stored under the number of the first until the last is pruned.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'What was asked for.',
        'What the tenant requested.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Coins of the tenant held while the chain keeps the manifest; 0 once all tasks are final.',
        'Coins of the tenant on hold while the chain stores the manifest; 0 after all tasks are final.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Coins of the tenant held besides for each task until it is pruned.',
        'Coins of the tenant on hold in addition for each task until it is pruned.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'That a spot task was told to leave.',
        'A preemption notice that a spot task has received.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The waiting task for which.',
        'The queued task in whose favour.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Until then it may run on.',
        'The task may continue until then.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether spot tasks were told to leave for a waiting task.',
        'Whether there is a preemption notice in favour of a queued task.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'None were.',
        'There is none.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'They were, and may run on until then. See [`PreemptionNotice`].',
        'There is one; its victims may continue until then. See [`PreemptionNotice`].',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'They were, and did not leave, because the pods of the waiting task did not fit. Until then it makes nobody leave.',
        'There was one, and its victims were not evicted, because the pods of the queued task did not fit. Until then the task preempts no others.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Which spot tasks leave for a waiting task, and where it is placed then.',
        'The spot tasks that are preempted in favour of a queued task, and its placement.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Who leaves.',
        'The preempted tasks.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Where the pods of the waiting task go.',
        "The placements of the queued task's pods.",
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The scheduler that decided it.',
        'The scheduler that gave the notice.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Until then the victims may run on.',
        'The victims may continue until then.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The last state of a pod that its host has kept.',
        'The last checkpoint of a pod.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The host that kept it.',
        'The host that stored it.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'When the host said so.',
        'When the host reported it.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Grows whenever a lease is given up for another, so that no number of a lease is used twice.',
        'Grows whenever a lease is replaced, so that no number of a lease is used twice.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The attempts that came to nothing, the oldest first; of services and rentals, those since the last start.',
        'The failed attempts, the oldest first; for services and rentals, those since the last start.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'How many pods it is to have.',
        'The number of wanted pods.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'It was told to leave, and has not run anew since: while it runs its notice goes on, and while it waits it makes nobody leave.',
        'Set by a preemption notice until the task runs again: while it runs, the notice stands; while it is queued, it preempts no others.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Whether others were told to leave for it.',
        'Whether there is a preemption notice in its favour.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'Its leases in the order of the pods: the live ones, and those that ended and were not given up for others.',
        'Its leases in the order of the pods: the live ones, and those that ended and were not replaced.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The last checkpoint of each pod that has one, in the order of the pods. They outlive leases: whatever runs the pod next goes on from there.',
        'The last checkpoint of each pod that has one, in the order of the pods. They outlive leases: the pod continues from there on its next host.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'What it cost the tenant in all, the fee included.',
        'The total cost for the tenant, including the fee.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'What went back to the tenant.',
        'The amount released to the tenant.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'What a host says about a lease of its own.',
        'A report of a host about a lease of its own.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The pod cannot run here, for the reason given.',
        'The host cannot run the pod, for the reason given.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The data of a rental that ended was lost before it was to be deleted.',
        'The data of an ended rental was lost before the end of its retention.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The host keeps a new checkpoint of the running pod.',
        'The host stored a new checkpoint of the running pod.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'What a pod ended with.',
        'The result of a pod.',
    ),
    Comment(
        'primitives/src/types/tasks.rs',
        'The rate of the pod there in base units an hour, as the scheduler saw it. At a higher rate it is not placed.',
        'The rate of the pod there in base units per hour, as the scheduler saw it. At a higher rate it is not assigned.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What the network does to find out whether a host is honest: challenges, replicated results and disputes.',
        'Types of verification: challenges, replicated results and disputes.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'The random bytes that keep a commitment from being guessed.',
        'Random bytes that hide the value of a commitment.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What a committee is drawn by.',
        'The randomness by which a committee is drawn.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'One thing that is found out.',
        'A matter that verification decides.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'It is.',
        'Yes.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'It is not.',
        'No.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'Where a verifier stands.',
        'The status of a verifier.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'Is not drawn any more; its bond is free from then on, once it has no duties left.',
        'Is no longer drawn; its bond can be released from then on, if it has no duties left.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'An account that judges, and answers for it with a bond.',
        'An account that judges and has posted a bond.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What binds it to its vote.',
        'Its commitment to its vote.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What the present one was drawn by.',
        'The seed by which the present one was drawn.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'Where a challenge stands. Changes only along `verification_tables::CHALLENGE_TRANSITIONS`.',
        'The phase of a challenge. Changes only along `verification_tables::CHALLENGE_TRANSITIONS`.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'Decided. The chain keeps no record of it.',
        'Decided. The chain stores no record of it.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What a host answered.',
        'The answer of a host.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'Which of its committees a challenge has.',
        'The role of a committee of a challenge.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'The second, after a first one that came to no verdict.',
        'The second, after a first one without a verdict.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'One that judges the same answer after a committee that found against the host.',
        'A committee that judges the same answer after a verdict against the host.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What became of a challenge.',
        'The outcome of a challenge.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'Where replicated results stand. Change only along `verification_tables::RESULTS_TRANSITIONS`.',
        'The phase of replicated results. Changes only along `verification_tables::RESULTS_TRANSITIONS`.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What binds the host to its result.',
        'The commitment of the host to its result.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'The results of a task that several hosts of different providers work out.',
        "The results of a task's replicas on hosts of different providers.",
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What became of replicated results.',
        'The outcome of replicated results.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'Where a dispute stands. Changes only along `verification_tables::DISPUTE_TRANSITIONS`.',
        'The phase of a dispute. Changes only along `verification_tables::DISPUTE_TRANSITIONS`.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'The verdict is final. The chain keeps no record of it.',
        'The verdict is final. The chain stores no record of it.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What someone risks for being right.',
        'The stake of a party in a dispute.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'Whose coins they are.',
        'The account.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'A task whose result is called wrong.',
        'A dispute about the result of a task.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'The leases whose results are called wrong, in ascending order; at least one.',
        'The leases whose results are disputed, in ascending order; at least one.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'True once a jury of this level came to no verdict and another was asked for.',
        'True after a jury of this level gave no verdict and another was requested.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What became of a dispute.',
        'The outcome of a dispute.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'No jury came to a verdict: the result stands and nobody loses a stake.',
        'There was no verdict: the result stands and no stake is lost.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'What a host did wrong, as this part of the chain found out.',
        'A misconduct of a host that verification detected.',
    ),
    Comment(
        'primitives/src/types/verification.rs',
        'Where the chain keeps what falls due. All entries of one queue wait for the same time, so they fall due in the order in which they came.',
        'A queue of entries that become due. All entries of one queue wait for the same time, so they become due in the order in which they were added.',
    ),
    Comment(
        'runtime/src/benches.rs',
        "Which benchmarks there are, and the world that some of them need. `scripts/weights` runs them and writes each pallet's weights.",
        "The list of benchmarks, and the set-up that some of them need. `scripts/weights` runs them and writes each pallet's weights.",
    ),
    Comment(
        'runtime/src/charging.rs',
        'What a transaction pays, in which order the pool offers transactions, and what hosts may send free of charge.',
        'The transaction extensions that charge fees, set priorities and admit the free calls of hosts.',
    ),
    Comment(
        'runtime/src/charging.rs',
        'A free call leaves the pool after so many blocks.',
        'The number of blocks after which a free call leaves the pool.',
    ),
    Comment(
        'runtime/src/charging.rs',
        'What is known of a transaction before its call.',
        'The state of the extension between `prepare` and `post_dispatch`.',
    ),
    Comment(
        'runtime/src/charging.rs',
        'Who makes a free call within its allowance.',
        'The host of a free call within its allowance.',
    ),
    Comment(
        'runtime/src/charging.rs',
        'With the second part the call is free.',
        'If the second part is set, the call is free.',
    ),
    Comment(
        'runtime/src/configs/verification.rs',
        'Verification, and what it needs of hosts and tasks.',
        'The configuration of the verification pallet, and its ports to hosts and tasks.',
    ),
    Comment(
        'runtime/src/configs/verification.rs',
        'What is due in verification may take a twentieth of a block; the rest waits for the next.',
        'The weight of the hook: a twentieth of a block. Entries beyond it wait for the next block.',
    ),
    Comment(
        'runtime/src/configs/verification.rs',
        'Does all of something or nothing. That it fails would be a mistake of ours: its conditions were checked before.',
        'Runs `work` in a storage transaction. A failure would be a bug, because the conditions were checked before.',
    ),
    Comment(
        'runtime/src/configs/verification.rs',
        'The hosts pallet, as verification sees it.',
        'The port of verification to the hosts pallet.',
    ),
    Comment(
        'runtime/src/configs/verification.rs',
        "Changes a host's record. Nothing happens where there is no such host.",
        'Changes the record of a host. Does nothing if there is no such host.',
    ),
    Comment(
        'runtime/src/configs/verification.rs',
        'Refused where the bond has become too low or the host is going; then it stays what it is.',
        'Fails if the bond has become too low or the host is leaving; then its status does not change.',
    ),
    Comment(
        'runtime/src/configs/verification.rs',
        'Refused where it is suspended or gone already.',
        'Fails if it is suspended or gone already.',
    ),
    Comment(
        'runtime/src/configs/verification.rs',
        'What tasks find out about results, they write down themselves. A challenge is about no lease and has no fee of one: it weighs as much as a lease with a fee of FEE_UNIT.',
        'The tasks pallet records the conduct in its own leases. A challenge concerns no lease and has no fee of one: it weighs as much as a lease with a fee of FEE_UNIT.',
    ),
    Comment(
        'runtime/src/configs/verification.rs',
        'The tasks pallet, as verification sees it.',
        'The port of verification to the tasks pallet.',
    ),
    Comment(
        'runtime/src/configs/governance.rs',
        'Who decides: the council, its delayed way to root, sudo (development and test networks only), scheduled calls, preimages. See docs/governance.md.',
        'The council, its delayed way to root, sudo (development and test networks only), scheduled calls and preimages. See docs/governance.md.',
    ),
    Comment(
        'runtime/src/configs/fees.rs',
        'What transactions cost and who gets it.',
        'Transaction fees and their receivers.',
    ),
    Comment(
        'runtime/src/configs/migrations.rs',
        'What runs after an upgrade, and how much of a block it may take.',
        'Migrations after an upgrade, and their share of a block.',
    ),
    Comment(
        'runtime/src/configs/proxies.rs',
        'Who may act for whom.',
        'Proxies and the calls that they may make.',
    ),
    Comment(
        'runtime/src/genesis.rs',
        'Periods and amounts of a network that coins depend on. It has nobody in it: validators, council and coins come from a patch, and without them it does not start.',
        'Periods and amounts of a production network. It contains no accounts: validators, council and coins come from a patch, and without them it does not start.',
    ),
    Comment(
        'runtime/src/genesis.rs',
        'How much time things get, and what is allowed.',
        'The periods of a preset, and what it allows.',
    ),
    Comment(
        'runtime/src/genesis.rs',
        'Somebody waits for it at a terminal.',
        'Seconds: a developer waits for it.',
    ),
    Comment(
        'runtime/src/genesis.rs',
        'Somebody watches it for an hour.',
        'Minutes: for trying a network out.',
    ),
    Comment(
        'runtime/src/genesis.rs',
        'Coins depend on it.',
        'Production.',
    ),
    Comment(
        'runtime/src/genesis.rs',
        'Who is in a chain from its start.',
        'The accounts of a chain from its start.',
    ),
    Comment(
        'runtime/src/genesis.rs',
        'Builds the genesis state from complete JSON. Refuses a chain that could make no block, or that nobody could govern.',
        'Builds the genesis state from complete JSON. Fails for a chain that could make no block, or that could not be governed.',
    ),
    Comment(
        'runtime/src/lib.rs',
        'What surrounds every transaction. Nothing here that wallets do not know.',
        'The transaction extensions. All of them are known to wallets.',
    ),
    Comment(
        'runtime/src/lib.rs',
        'Runs blocks.',
        'Executes blocks.',
    ),
    Comment(
        'runtime/src/coins.rs',
        'What is free after `amount` is taken, where this is allowed however careful the taker is.',
        'Returns the free balance after `amount` is taken, if the strictest checks allow it.',
    ),
    Comment(
        'migrations/src/from_3/convert.rs',
        'A task. Release 3 counted attempts that came to nothing and did not store whose they were, so the count begins anew. Notices of preemption are void, because release 3 did not store where the waiting task was to be placed.',
        'A task. Release 3 counted failed attempts and did not store their hosts, so the count starts again. Preemption notices are void, because release 3 did not store the placement of the queued task.',
    ),
    Comment(
        'migrations/src/from_3/convert.rs',
        'What tasks that were submitted together share.',
        'The record that tasks submitted together share.',
    ),
    Comment(
        'mock/src/accounts.rs',
        'Who acts in tests, by number.',
        'Accounts of tests, by number.',
    ),
    Comment(
        'mock/src/accounts.rs',
        'The keys of the host of this number.',
        'Returns the key pair of the host with this number.',
    ),
    Comment(
        'mock/src/accounts.rs',
        'The host of this number, which has keys, unlike an [`account`].',
        'Returns the host with this number. It has a key pair, unlike an [`account`].',
    ),
    Comment(
        'mock/src/accounts.rs',
        'A text as the chain has it.',
        'Returns a text as a bounded vector.',
    ),
    Comment(
        'mock/src/chain.rs',
        'A chain at its beginning, and its coins.',
        'Externalities of a new chain, and the total of its coins.',
    ),
    Comment(
        'mock/src/chain.rs',
        'All coins of all accounts. It stays what was issued, whatever is done.',
        'Returns the sum of all balances, which always equals the total issuance.',
    ),
    Comment(
        'mock/src/lib.rs',
        "What the pallets' tests share. Nothing of it is in a runtime that runs.",
        'Helpers for the tests of several pallets. No real runtime contains them.',
    ),
    Comment(
        'mock/src/lib.rs',
        '`runtime` has what every mock runtime is made of, `accounts` who acts on it, `chain` its beginning and what must be true at its end, and `rng` the numbers of tests that do anything in any order.',
        '`runtime` contains macros that configure mock runtimes, `accounts` the accounts of tests, `chain` a new chain, and `rng` a pseudo-random number generator.',
    ),
    Comment(
        'mock/src/runtime.rs',
        'What mock runtimes are made of. Each macro configures pallets for a runtime of the name `Test`, whose crate depends on these pallets and calls them as the chain does: `System`, `Timestamp`, `Balances`, `Hosts` and so on.',
        'Macros for mock runtimes. Each macro configures pallets for a runtime with the name `Test`, whose crate depends on these pallets and names them as the runtime does: `System`, `Timestamp`, `Balances`, `Hosts` and so on.',
    ),
    Comment(
        'mock/src/runtime.rs',
        'Configures leases that `$lease_store` keeps.',
        'Configures leases that `$lease_store` stores.',
    ),
    Comment(
        'mock/src/rng.rs',
        'Numbers for tests that do anything in any order.',
        'A pseudo-random number generator for tests.',
    ),
    Comment(
        'mock/src/rng.rs',
        'Numbers that look random (SplitMix64), the same for each seed on every machine.',
        'SplitMix64: the same numbers for each seed on every machine.',
    ),
    Comment(
        'mock/src/rng.rs',
        'Any number.',
        'Returns the next number.',
    ),
    Comment(
        'mock/src/rng.rs',
        'A number below `end`.',
        'Returns a number below `end`.',
    ),
    Comment(
        'mock/src/rng.rs',
        'Yes, once in so many `times`.',
        'Returns true once in `times` calls on average.',
    ),
    Comment(
        'mock/src/rng.rs',
        'One of several.',
        'Returns one of the options.',
    ),
    Comment(
        'mock/src/rng.rs',
        'One of several; none where there is none.',
        'Returns one of the options; None if there is none.',
    ),
    Comment(
        'fuzz/src/sequences/chain.rs',
        'The chain that inputs run on: its accounts and hosts, its genesis, and how its blocks follow one another.',
        'The chain on which inputs run: its accounts, hosts, genesis and blocks.',
    ),
    Comment(
        'fuzz/src/sequences/mod.rs',
        '`input.rs` has the forms of an input, `actions/` the table of what a step may do, `choices.rs`, `subjects.rs` and `arguments.rs` how the bytes of a step choose whom and what it is about, `world.rs` the chain that it happens on, `checks.rs` what must be true, `mutations.rs` how inputs are changed, and `shrinking.rs` how a failing one is made shorter.',
        '`input.rs` encodes and decodes inputs, `actions/` contains the table of actions, `choices.rs`, `subjects.rs` and `arguments.rs` choose the caller, the subject and the arguments of a step from its bytes, `chain.rs` contains the chain, `checks.rs` the conditions that must hold, `mutations.rs` the mutations of inputs, and `shrinking.rs` shortens a failing input.',
    ),
    Comment(
        'fuzz/src/sequences/mod.rs',
        'What is told of a step.',
        'An event of a step.',
    ),
    Comment(
        'fuzz/src/sequences/mod.rs',
        'Runs an input on a chain of its own. `listener` is told of each step.',
        'Runs an input on a new chain. `listener` receives the events of each step.',
    ),
    Comment(
        'fuzz/src/sequences/mod.rs',
        'The runtime takes back whatever a refused call did.',
        'The runtime reverts a refused call.',
    ),
    Comment(
        'pallets/tasks/src/mock.rs',
        'What a spot task that is told to leave has left.',
        'The period of a preemption notice.',
    ),
    Comment(
        'pallets/tasks/src/mock.rs',
        'A [`spec`] that may be told to leave.',
        'A [`spec`] that may be preempted.',
    ),
    Comment(
        'pallets/tasks/src/mock.rs',
        'A placement at whatever rate the task allows.',
        'A placement at any rate that the task allows.',
    ),
    Comment(
        'pallets/tasks/src/mock.rs',
        'Time passes, and every host that is there says so as often as it should.',
        'Time passes, and every present host sends its heartbeats.',
    ),
    Comment(
        'pallets/tasks/src/mock.rs',
        'Free and held coins together.',
        'Returns the free balance and the balance on hold.',
    ),
    Comment(
        'pallets/leases/src/mock.rs',
        'A runtime with leases and billing, and a small owner of leases that stores them in a map, to test this pallet alone. The tests of the tasks pallet use the tasks pallet as owner.',
        'A runtime with leases and billing, and a lease store in a map, to test this pallet alone. The tests of the tasks pallet use the tasks pallet as lease store.',
    ),
    Comment(
        'pallets/leases/src/mock.rs',
        'The leases, with all that they hang on.',
        'The leases with their specs.',
    ),
    Comment(
        'pallets/leases/src/mock.rs',
        'Keeps leases of [`TENANT`] on hosts of [`PROVIDER`]. An ended lease is paid at once.',
        'Stores leases of [`TENANT`] on hosts of [`PROVIDER`]. An ended lease is paid at once.',
    ),
    Comment(
        'pallets/leases/src/mock.rs',
        'While `refusing`, the keeper ends no lease.',
        'While `refusing`, the lease store ends no lease.',
    ),
    Comment(
        'pallets/leases/src/mock.rs',
        'What leases hang on. The test of a benchmark clears the whole state after each value of a component.',
        'Creates the host and the balances that leases need. The test of a benchmark clears the whole state after each value of a component.',
    ),
    Comment(
        'pallets/leases/src/mock.rs',
        'Free and held coins together.',
        'Returns the free balance and the balance on hold.',
    ),
    Comment(
        'pallets/verification/src/mock/network.rs',
        'Hosts and tasks that a test creates and inspects, instead of the pallets of these names.',
        'Mocks of the ports to hosts and tasks, which a test creates and inspects.',
    ),
    Comment(
        'pallets/verification/src/mock/network.rs',
        'What the mock knows of hosts and tasks.',
        'The state of the mocks.',
    ),
    Comment(
        'pallets/verification/src/mock/network.rs',
        'The hosts, the tasks, and what this pallet did to them.',
        'The hosts, the tasks, and the calls of this pallet.',
    ),
    Comment(
        'pallets/tasks/src/tests/preemption.rs',
        'Why nobody is told to leave for a task that is to be placed there, without what that cost.',
        'Why a notice for a task with this placement is refused, without the weight.',
    ),
    Comment(
        'pallets/tasks/src/tests/preemption.rs',
        'Nobody was told to leave for the task, and the victim runs on.',
        'Whether there is no notice in favour of the task, and the victim runs without one.',
    ),
    Comment(
        'pallets/tasks/src/tests/mod.rs',
        'The lifecycle of tasks. Every test ends with the invariants of every pallet.',
        'The lifecycle of tasks. Every test ends with a check of the invariants of every pallet.',
    ),
]
