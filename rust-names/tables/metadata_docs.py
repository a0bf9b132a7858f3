"""Comments: file, exact text of a paragraph, new text. Made by expand.py from drafts/."""

from apply import Comment

COMMENTS = [
    Comment(
        'pallets/*/src/lib.rs',
        'Where the task stands now.',
        'The new state of the task.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'What happened.',
        'The events of the pallet.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'Why a call was refused.',
        "The errors of the pallet's calls.",
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'Why coins are held.',
        'The reasons for which the pallet holds coins.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'The cost is greater than any number of coins.',
        'The cost does not fit its type.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'A sum or product does not fit its type.',
        'A sum or product does not fit its type.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'When the lease is over by itself now.',
        'When the lease ends now.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'What it costs from now on, in base units an hour.',
        'The new rate in base units per hour.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'What is owed for the time before.',
        'The amount owed for the time before.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'What the provider got.',
        'The amount that the provider got.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'What went back to the tenant.',
        'The amount released to the tenant.',
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'The part of the fee that the scheduler got.',
        "The scheduler's share of the fee.",
    ),
    Comment(
        'pallets/*/src/lib.rs',
        'The part of the fee that the settler got.',
        "The settler's share of the fee.",
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What tenants want run.',
        'The tasks that tenants submit.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What tasks submitted together share, under the number of the first, until the last is pruned.',
        'The values that tasks submitted together share, under the number of the first, until the last is pruned.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The lists of tasks by what they wait for, in pages of 256: bit `task % 8` of byte `task % 256 / 8` is set where a task is on the list.',
        'The lists of tasks by state, in pages of 256: bit `task % 8` of byte `task % 256 / 8` is set if a task is on the list.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What each tenant has submitted: the first of the tasks submitted together, and how many they were. Until the last is pruned.',
        'The submissions of each tenant: the first of the tasks submitted together, and their number. Until the last is pruned.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What is left of pruned tasks, by their number divided by 4,096.',
        'The archive of pruned tasks, by their number divided by 4,096.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Who may assign tasks of others, each with the bond that is held for it.',
        'The accounts that may assign tasks of others, each with its bond on hold.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Schedulers that have left, each with the bond that is still held and the time of its release.',
        'Schedulers that have left, each with its bond, which is still on hold, and the time of its release.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The digest of the queue definitions by which a scheduler orders tasks, where it has published one.',
        'The digest of the queue definitions by which a scheduler orders tasks, if it has published one.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Of schedulers that lost a part of their bond: the time of the assignment for which. What they assigned until then is not held against them any more.',
        'For schedulers that were penalised: the time of the assignment. Their assignments until then cannot be penalised again.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Which spot tasks were told to leave, by the waiting task for which. While that task waits.',
        'The preemption notices, by the queued task in whose favour they were given. While that task is queued.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The chain keeps tasks and their manifests.',
        'Deposits for stored tasks and manifests.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The first of them; the others have the numbers that follow.',
        'The first of them; the others have the next numbers.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Who pays.',
        'The account that pays.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The sort of work.',
        'The kind of the tasks.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Pods of a task were placed.',
        'Pods of a task were assigned.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'When the lease is over by itself.',
        'When the lease ends.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What it ended with.',
        'Its result.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'An attempt came to nothing: the task waits again, or has failed.',
        'An attempt failed: the task is queued again, or has failed.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The lease because of which.',
        'The lease that failed.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'How many attempts have come to nothing.',
        'The number of failed attempts.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A pod of a service, a rental or a task with replicas came to nothing.',
        'A pod of a service, a rental or a task with replicas failed.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'How many attempts have come to nothing; of services and rentals, how many in a row.',
        'The number of failed attempts; for services and rentals, of consecutive ones.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        "A lease ended because its time is over, or its provider or the tenant's coins ended it.",
        'A lease ended because its time is over, its provider reclaimed it, or its deposit is used up.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A spot task was told to leave for a waiting task of higher priority.',
        'A spot task received a preemption notice in favour of a queued task of higher priority.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The waiting task.',
        'The queued task.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Until then it may run on.',
        'The spot task may continue until then.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The notice of a spot task is void: the task for which it was to leave waits no longer, or its pods did not fit when the notice was over.',
        'The preemption notice of a spot task was withdrawn: the queued task is no longer queued, or its pods did not fit at the end of the notice.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The task that waited.',
        'The task that was queued.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The notice of others is over, and a waiting task could not be assigned in their place: nobody leaves.',
        'A preemption notice is over, and the queued task could not be assigned: no task is evicted.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A spot task left for a waiting task of higher priority, which was assigned in its place. A rental is over, and its data is retained; others wait again.',
        'A spot task was preempted by a queued task of higher priority, which was assigned. A rental has ended, and its data is retained; others are queued again.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        "How its leases were paid; a rental's is when it is settled.",
        'How its leases were paid; that of a rental is paid at its settlement.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A host was named where the pod of a lease goes on if its own fails.',
        'A host was named as the standby of a lease.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A pod goes on at another host, by a new lease that waits for its start.',
        'A pod migrates to another host, by a new lease that is pending.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The lease by which the pod goes on.',
        'The new lease.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What that lease costs in base units an hour.',
        'The rate of that lease in base units per hour.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Its deposit: what was left of the deposit of the lease that ended.',
        'Its deposit: the rest of the deposit of the lease that ended.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A host keeps a new checkpoint of a pod.',
        'A host stored a new checkpoint of a pod.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A tenant called a task off.',
        'A tenant cancelled a task.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A task is to have another number of pods.',
        'A service was scaled, or a further replica was requested.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A final task was put away.',
        'A final task was pruned.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'An item of a batch was refused. It changed nothing; the others were not touched by it.',
        'An item of a batch was refused. It changed nothing and did not affect the others.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'From then on its bond can be released.',
        'The time from which its bond can be released.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'An account that has left the schedulers has its bond back.',
        'The bond of an account that has left the schedulers was released.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A task in this state cannot go to the wanted one.',
        'A task in this state cannot change to the requested one.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A lease in this state cannot go to the wanted one.',
        'A lease in this state cannot change to the requested one.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Pods of rentals, and of tasks whose results are compared, are neither moved nor taken over.',
        'Pods of rentals, and of tasks whose results are compared, do not migrate.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The task waits for no hosts: another scheduler may have been faster.',
        'The task is not queued: another scheduler may have been faster.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The chain still keeps account of data that a host retains for the task.',
        'A host still retains data of the task.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'None of the results is right.',
        'There is no right result.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The layout of the task wants each pod on another host, and another of its pods is on this one.',
        'The layout of the task requires a separate host for each pod, and another of its pods is on this one.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The data is to be kept until its time is over, or the tenant gives it up.',
        'The data must be retained until the end of its period, or until the tenant releases it.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A call tells 1 to 16 tasks to leave, each once.',
        'A preemption notice names 1 to 16 tasks, each once.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The task is not spot: nobody makes it leave.',
        'The task is not spot: it is not preempted.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The priority of the task is not below that of the one that wants its room.',
        'The priority of the task is not below that of the queued task.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The task was told to leave already.',
        'The task has a preemption notice already.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The task was told to leave itself, and makes nobody leave until it runs again.',
        'The task was preempted itself, and preempts no others until it runs again.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Nobody was told to leave for the task.',
        'There is no preemption notice in favour of the task.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The task does not allow that its pods are moved.',
        'The task does not allow that its pods migrate.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The lease has a standby that is in order and has room.',
        'The lease has a standby that is healthy and has free resources.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The host of the lease is in order: only the tenant may move the pod.',
        'The host of the lease is healthy: only the tenant may move the pod.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The pod would go to a host that deteriorates: one that is not online, is silent, or has a poor score.',
        'The new host is not healthy: it is not online, is silent, or has a poor score.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A spot task must have some time to leave.',
        'The notice of a preemption must have some length.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'No score is above 1,000,000 parts per million.',
        'A score is at most 1,000,000 parts per million.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A task remembers no more than 16 attempts.',
        'A task stores at most 16 attempts.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Others were told to leave for the task already.',
        'There is a preemption notice in favour of the task already.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The pods of the task did not fit when the notice of others was over: it may make others leave later.',
        'The pods of the task did not fit at the end of its preemption notice: it may preempt others later.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A task that is to leave has no pod on the hosts where the waiting task is to be placed.',
        'A task that would be preempted has no pod on the hosts of the placement.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The waiting task fits there without anybody leaving.',
        'The queued task fits there without preemption.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A scheduler could have its bond back before the time for evidence is over.',
        'The bond of a scheduler could be released before the time for evidence is over.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'The assignment is too long ago.',
        'The assignment is too long ago for evidence.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Place pods on hosts: all of a waiting task, or any that a service or replicas miss; all that are named or none, and none at a higher rate than its placement names. By a bonded scheduler, or by the tenant.',
        'Assign pods to hosts: all of a queued task, or any that a service or replicas miss. All that are named are assigned or none, and none at a higher rate than its placement names. By a bonded scheduler, or by the tenant.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Give a lease up because its pod did not start in time or its host is lost. By anyone.',
        'Requeue the pod of a lease that did not start in time or whose host is lost. By any account.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'End a lease that has used its duration or its deposit. By anyone. The pod of a job has no result then: it is not paid, and only after `report_grace_ms` can this be called for it.',
        'End a lease that has used its duration or its deposit. By any account. The pod of a job then has no result and is not paid, and the call is possible only after `report_grace_ms`.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Call off a task of the caller. Pods that ran are paid.',
        'Cancel a task of the caller. Pods that ran are paid.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'End a task that still waits after its deadline. By anyone.',
        'End a task that is still queued after its deadline. By any account.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Pay everyone of a task whose result is accepted, or whose dispute window has passed. By anyone.',
        'Settle a task whose result is accepted, or whose dispute window has passed: all parties are paid. By any account.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Become a scheduler: the bond is held, and the caller may assign tasks of others. One that leaves stays.',
        'Become a scheduler: the bond is held, and the caller may assign tasks of others. A scheduler that is leaving becomes active again.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        "What the calling host says about many of its leases. Each report succeeds or is refused by itself; a refused one costs the host's bond a fine. Free of charge where the batch is not longer than the list of the host's leases and its bond covers the fines for all.",
        "Reports of the calling host about many of its leases. Each report succeeds or is refused independently; a refused one is fined. Free of charge if the batch is not longer than the list of the host's leases and its bond covers the fines for all.",
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Pay everyone of many tasks. Each task succeeds or is refused by itself. By anyone.',
        'Settle many tasks. Each task succeeds or is refused independently. By any account.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Put final tasks away: what is left of them is a digest, and their deposits go back. Each task succeeds or is refused by itself. By anyone.',
        'Prune final tasks: only a digest of them remains, and their deposits are released. Each task succeeds or is refused independently. By any account.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Place the pods of many tasks. Each task succeeds or is refused by itself. By a bonded scheduler.',
        'Assign the pods of many tasks. Each task succeeds or is refused independently. By a bonded scheduler.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Give a service of the caller another number of pods, within what its spec says.',
        'Scale a service of the caller to another number of pods, within the limits of its spec.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'What the calling host says about a lease of its own. Free of charge when valid.',
        'A report of the calling host about a lease of its own. Free of charge when valid.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Tell running spot tasks of lower priority to leave for a waiting task, whose pods fit in their place. They run on until the notice is over. By a bonded scheduler.',
        'Give running spot tasks of lower priority a preemption notice in favour of a queued task, whose pods fit in their place. They continue until the notice is over. By a bonded scheduler.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Once the notice of others is over: they are paid until now and wait again, and the waiting task is assigned in their place. Where its pods do not fit, the notice is void and nobody leaves. By anyone.',
        'Finish a preemption whose notice is over: the victims are paid until now and queued again, and the queued task is assigned in their place. If its pods do not fit, the notice is void and no task is evicted. By any account.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Name where the pod of a live lease goes on if its host fails: at a host of another provider, where it fits now at no higher rate than is named. By a bonded scheduler, or by the tenant.',
        'Name the standby of a live lease, to which its pod migrates if its host fails: a host of another provider, where it fits now at no higher rate than is named. By a bonded scheduler, or by the tenant.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'Move the pod of a live lease to another host: the lease is paid, and what is left of its deposit goes on with a new one. By the tenant; or by a bonded scheduler while the host deteriorates. The other host must not ask for a higher rate than is named.',
        'Move the pod of a live lease to another host: the lease is paid, and the rest of its deposit becomes that of a new one. By the tenant; or by a bonded scheduler while the host is not healthy. The rate of the other host must not be above that which is named.',
    ),
    Comment(
        'pallets/tasks/src/lib.rs',
        'A task, and what was asked for.',
        'Returns a task and its spec.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The leases that hold something of each host: those pending, active or suspended, and those whose data is kept.',
        'The leases of each host: those pending, active or suspended, and those whose data is retained.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The leases to be looked at, by bucket of time and page.',
        'The leases that are due, by bucket of time and page.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'What happened. When a lease is opened, started or ended, the keeper of the leases says so.',
        'The events of the pallet. The pallet that stores the leases emits those for opened, started and ended leases.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'A provider wants its resources back.',
        'A provider gave notice that it reclaims its resources.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The time up to which it was paid for.',
        'The time until which it was paid.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'A lease whose deposit is used up was closed by someone who is none of its parties.',
        'A lease whose deposit is used up was closed by an account that is none of its parties.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        "What it got of the provider's share.",
        "The bounty, out of the provider's share.",
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'A tenant had coins held for keeping the data of a rental longer.',
        'A tenant paid for a longer retention of the data of a rental.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The time until which it is kept now.',
        'The new end of the retention.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'A host was paid for keeping data, or what was held for that went back to the tenant.',
        'A host was paid for the retention of data, or the coins held for it were released to the tenant.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The time for a receipt of the purge is over, and the lease no longer holds anything.',
        'The time for a receipt of the purge is over, and the resources of the lease are released.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'What was to be done for a lease at this time was refused; it is tried again.',
        'The processing of a due lease failed; it is retried.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'When it is tried again.',
        'When it is retried.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'Someone had entries of the agenda looked at.',
        'An account had entries of the agenda processed.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'No data is kept for this lease.',
        'No data is retained for this lease.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The data would be kept for longer than the chain allows.',
        'The data would be retained for longer than the chain allows.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'The host has as many leases as the chain keeps for one.',
        'The host has the most leases that the chain stores for one.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'Data is kept at no further cost for longer than it may be kept at all.',
        'The free period of retention is longer than the longest one.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'Deposit more coins for a service or rental of the caller. It goes on for as long as they last.',
        'Deposit more coins for a service or rental of the caller. It continues until they are used up.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        "Stop the machine of a rental of the caller. Its disk is kept at the host's storage price; the rest is given back to the host.",
        "Stop the machine of a rental of the caller. Its disk is retained at the host's storage price; its other resources are released.",
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'Start the machine of a suspended rental of the caller again, at the rate it had. Refused where the host no longer has the resources free.',
        'Start the machine of a suspended rental of the caller again, at its former rate. Fails if the resources of the host are not free.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'Give notice that the resources of a service or rental are wanted back. By the provider of its host.',
        'Give notice that the provider reclaims the resources of a service or rental. By the provider of its host.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        "End a lease whose provider's notice is over. By anyone. The agenda does it, too.",
        "End a lease whose provider's notice is over. By any account. The agenda does it, too.",
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'Pay what a running service or rental owes, or what is due for its kept data, but for the last period that is held back. By anyone.',
        'Pay the amount that a running service or rental owes, or the amount due for its retained data, except for the last period, which is held back. By any account.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'End a service or rental that has used up what was paid for. By anyone; there is a bounty for it where the agenda had a minute to do it and the caller is none of the parties.',
        'End a service or rental whose deposit is used up. By any account; there is a bounty if the agenda had a minute to do it and the caller is none of the parties.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        "Have the data of an ended rental of the caller kept for `ms` milliseconds longer, at the host's present storage price, which is at most `max_rate_per_hour`. The coins are held, and paid as the time passes.",
        "Extend the retention of the data of an ended rental of the caller by `ms` milliseconds, at the host's present storage price, which must be at most `max_rate_per_hour`. The coins are held, and paid as the time passes.",
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'Look at up to `limit` due entries of the agenda, at most 256. By anyone.',
        'Process up to `limit` due entries of the agenda, at most 256. By any account.',
    ),
    Comment(
        'pallets/leases/src/lib.rs',
        'Change the periods of this pallet. By root or whoever governs the chain.',
        'Change the periods of this pallet. By the admin origin.',
    ),
    Comment(
        'pallets/billing/src/lib.rs',
        'What is held for all open escrows together.',
        'The total amount on hold for all open escrows.',
    ),
    Comment(
        'pallets/billing/src/lib.rs',
        'What leases may come to cost.',
        'The escrows of leases.',
    ),
    Comment(
        'pallets/billing/src/lib.rs',
        'Change the amounts and periods of this pallet. By root or whoever governs the chain.',
        'Change the amounts and periods of this pallet. By the admin origin.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'Who offers which machine, at which price, and whether it is there.',
        'The machines that providers offer, their prices and their availability.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'When a host last changed its endpoint, where it ever did.',
        'When a host last changed its endpoint, if it ever did.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'When a host last said which of its devices are out of order, where it ever did.',
        'When a host last reported which of its devices are unhealthy, if it ever did.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'When a host last said how fast its network is, where it ever did.',
        'When a host last reported the speed of its network, if it ever did.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'What a host has used of its allowance of free weight. Removed when its bond is given back.',
        'The part of its allowance of free weight that a host has used. Removed when its bond is released.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'A host said which of its devices are out of order; all others are in order.',
        'A host reported which of its devices are unhealthy; all others are healthy.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'A host is reached in another way.',
        'A host changed its endpoint.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'The host is retired or on its way out.',
        'The host is retiring or retired.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'A host in this status cannot go to the wanted one.',
        'A host in this status cannot change to the requested one.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'A named device is out of order.',
        'A named device is unhealthy.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'The bond of the host is held for a while yet.',
        'The unbonding period of the host is not over.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'Change the periods and amounts of this pallet. By the admin origin.',
        'Change the periods and amounts of this pallet. By the admin origin.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'The calling host says that it is there. Free of charge for the first time and when half a heartbeat period has passed since the last.',
        'A heartbeat of the calling host. Free of charge for the first time and when half a heartbeat period has passed since the last.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'The provider of these hosts, which are in ascending order, says that they are there. Free of charge where a heartbeat of each of them is due.',
        'Heartbeats of these hosts, in ascending order, by their provider. Free of charge if a heartbeat of each of them is due.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'The calling host says how it is reached. Free of charge when it differs and a heartbeat period has passed since the last change.',
        'Change the endpoint of the calling host. Free of charge if it differs and a heartbeat period has passed since the last change.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'A host of the caller finishes what it has and takes nothing new.',
        'Drain a host of the caller: it finishes its leases and takes no new ones.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'Take a host of the caller off the network for ever. It must have no live leases, and its bond is held for the unbonding period: see `withdraw_bond`.',
        'Retire a host of the caller. It must have no live leases, and its bond is held for the unbonding period: see `withdraw_bond`.',
    ),
    Comment(
        'pallets/hosts/src/lib.rs',
        'Keep a host from taking leases. Those it has go on. By the admin origin.',
        'Suspend a host: it takes no new leases, and its present leases continue. By the admin origin.',
    ),
    Comment(
        'pallets/validators/src/lib.rs',
        'Put an account that has session keys on the list. It validates from the session after the next on.',
        'Add an account that has session keys to the list. It validates from the session after the next on.',
    ),
    Comment(
        'pallets/validators/src/lib.rs',
        'Take an account off the list. It validates until the session after the next begins.',
        'Remove an account from the list. It validates until the session after the next begins.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'How the network finds out whether a host is honest.',
        'Verification of hosts: challenges, comparison of results, and disputes.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        "Everyone who has a verifier's bond.",
        "The accounts with a verifier's bond.",
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'What falls due, by queue and place.',
        'The entries of the queues, by queue and position.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Which places of each queue are taken, in the order of [`Queue::ALL`].',
        'The positions of the entries of each queue, in the order of [`Queue::ALL`].',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'What failed and is tried again, by its place, with the queue in which it waited. All entries wait equally long.',
        'The failed entries that are retried, by their position, with their queue. All entries wait equally long.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Which places of [`Retries`] are taken.',
        'The positions of the entries of [`Retries`].',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Someone has a stake back.',
        'A stake was returned.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Whose it is.',
        'Its owner.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Someone lost a stake.',
        'A stake was lost.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Whose it was.',
        'Its former owner.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Someone who was right has the fee of a jury back from those who were wrong.',
        'The fee of a jury was refunded to a winning party by the losing ones.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'What was due could not be done; nothing changed, and it is tried again later. A bug: please report it.',
        'The processing of an entry failed; nothing changed, and it is retried. A bug: please report it.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'What was due.',
        'The matter of the entry.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Whether the complaint is right.',
        'Whether the dispute is upheld.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'The leases whose results are called wrong.',
        'The leases whose results are disputed.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Be drawn no more. The duties that the caller has go on.',
        'Leave the list of verifiers. The present duties of the caller continue.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Get the bond back, once its time has passed and no duties are left.',
        'Release the bond, after its period has passed and if no duties are left.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'Call the results of these leases of a reported task wrong. By its tenant, or by a verifier whose hosts had no part in the task, who stakes coins on it.',
        'Open a dispute about the results of these leases of a reported task. By its tenant, or by a verifier whose hosts had no part in the task. The caller stakes coins on it.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'A member shows the vote that it is bound to. The last one to do so closes the ballot.',
        'A member of a committee or jury reveals its vote. The last one to do so closes the ballot.',
    ),
    Comment(
        'pallets/verification/src/lib.rs',
        'The calling host shows the result that it is bound to. Free of charge when valid.',
        'The calling host reveals the result that it has committed to. Free of charge when valid.',
    ),
]
