//! Queues of matters that are due. The chain processes them at the beginning of each block, within a share of its
//! weight; any account can do the same by a call.
//!
//! Each queue contains entries with the same waiting time, so the first entry is due first, and a block without due
//! entries reads one value. Entries that exceed the weight stay for the next block. An entry is outdated if its matter
//! has advanced before; it is then removed without effect. A failed entry is retried later, from a queue of its own, so
//! that it delays no other. Only the chain draws seeds: an account that could choose the block could choose the seed.

use frame_support::{pallet_prelude::*, storage::with_storage_layer, traits::Randomness, weights::WeightMeter};
use gantry_primitives::{commitments::seed_subject, Matter, Moment, Queue, QueueEntry, Seed};
use sp_core::H256;
use sp_runtime::SaturatedConversion;

use crate::{
    Challenges, Config, Disputes, Ends, Error, Event, Pallet, Queued, Results, Retries, RetryEnds, SeenRandomness,
    Services, WeightInfo,
};

/// The least number of blocks between the request of a seed and its draw: then the block before, whose randomness is
/// used, came after the request.
pub const SEED_DELAY: u32 = 2;
/// The delay in milliseconds after which a failed entry is retried.
pub const RETRY_MS: u64 = 600_000;

impl<T: Config> Pallet<T> {
    /// Processes due entries within the weight `limit`. Returns the used weight.
    pub(crate) fn run_queues(limit: Weight) -> Weight {
        let mut meter = WeightMeter::with_limit(limit);
        if meter.try_consume(T::WeightInfo::hook()).is_err() {
            return meter.consumed();
        }
        let fresh = Self::observe_randomness();
        // Each block begins with another queue, so that no queue is starved.
        let queues = Queue::ALL.len() + 1;
        let first = Self::block() as usize % queues;
        for position in 0..queues {
            let done = match Queue::ALL.get((first + position) % queues) {
                Some(Queue::Seed) if !fresh => Ok(()),
                Some(&queue) => Self::run_queue(queue, &mut meter),
                None => Self::run_retries(&mut meter),
            };
            if done.is_err() {
                break;
            }
        }
        meter.consumed()
    }

    /// Processes the due entries of a queue. Fails if the weight is used up.
    pub(crate) fn run_queue(queue: Queue, meter: &mut WeightMeter) -> Result<(), ()> {
        while let Some(entry) = Self::first_due(queue) {
            Self::consume(queue, entry.matter, meter)?;
            Ends::<T>::mutate(|ends| {
                let end = &mut ends[queue as usize];
                Queued::<T>::remove((queue, end.head));
                end.head = end.head.saturating_add(1);
            });
            Self::process_entry(queue, entry.matter);
        }
        Ok(())
    }

    /// Retries the failed entries that are due. Requests of seeds return to their queue. Fails if the weight is used
    /// up.
    fn run_retries(meter: &mut WeightMeter) -> Result<(), ()> {
        loop {
            let end = RetryEnds::<T>::get();
            let first = if end.head == end.tail { None } else { Retries::<T>::get(end.head) };
            let Some((queue, entry)) = first.filter(|(_, entry)| Self::now() > entry.due) else { return Ok(()) };
            Self::consume(queue, entry.matter, meter)?;
            Retries::<T>::remove(end.head);
            RetryEnds::<T>::mutate(|end| end.head = end.head.saturating_add(1));
            match queue {
                Queue::Seed => Self::schedule(queue, entry.matter, Self::block().into()),
                _ => Self::process_entry(queue, entry.matter),
            }
        }
    }

    /// Consumes the weight of processing an entry, or of detecting that it is outdated. Fails if the weight is used up.
    fn consume(queue: Queue, matter: Matter, meter: &mut WeightMeter) -> Result<(), ()> {
        let look = T::WeightInfo::stale_entry();
        meter.try_consume(look)?;
        if Self::is_waiting(queue, matter) {
            let step = T::WeightInfo::advance().max(T::WeightInfo::draw_seed()).max(T::WeightInfo::end_service());
            meter.try_consume(step.saturating_sub(look))?;
        }
        Ok(())
    }

    /// Adds a matter to a queue.
    pub(crate) fn schedule(queue: Queue, matter: Matter, due: u64) {
        Ends::<T>::mutate(|ends| {
            let end = &mut ends[queue as usize];
            Queued::<T>::insert((queue, end.tail), QueueEntry { matter, due });
            end.tail = end.tail.saturating_add(1);
        });
    }

    /// Adds a matter to the queue of seeds. Returns the block of the request.
    pub(crate) fn request_seed(matter: Matter) -> u32 {
        let asked_in = Self::block();
        Self::schedule(Queue::Seed, matter, u64::from(asked_in.saturating_add(SEED_DELAY)));
        asked_in
    }

    pub(crate) fn do_advance(matter: Matter) -> DispatchResult {
        let (queue, until) = Self::queue_and_deadline(matter)?;
        ensure!(queue != Queue::Seed, Error::<T>::WaitsForSeed);
        ensure!(Self::now() > until, Error::<T>::NotDue);
        Self::end_phase(matter)
    }

    /// Returns the queue in which a matter waits, and its deadline.
    pub(crate) fn queue_and_deadline(matter: Matter) -> Result<(Queue, Moment), DispatchError> {
        let (queue, until, missing) = match matter {
            Matter::Challenge(id) => {
                let record = Challenges::<T>::get(id).ok_or(Error::<T>::NoSuchChallenge)?;
                (record.phase.queue(), record.until, Error::<T>::NoSuchChallenge)
            }
            Matter::Dispute(task) => {
                let record = Disputes::<T>::get(task).ok_or(Error::<T>::NoSuchDispute)?;
                (record.phase.queue(), record.until, Error::<T>::NoSuchDispute)
            }
            Matter::Service(lease) => {
                let record = Services::<T>::get(lease).ok_or(Error::<T>::NoSuchCheck)?;
                (record.phase.queue(), record.until, Error::<T>::NoSuchCheck)
            }
            Matter::Results(task) => {
                let record = Results::<T>::get(task).ok_or(Error::<T>::NoSuchResults)?;
                (record.phase.queue(), record.until, Error::<T>::NoSuchResults)
            }
        };
        Ok((queue.ok_or(missing)?, until))
    }

    fn end_phase(matter: Matter) -> DispatchResult {
        match matter {
            Matter::Challenge(id) => Self::end_challenge_phase(id),
            Matter::Dispute(task) => Self::end_dispute_phase(task),
            Matter::Results(task) => Self::end_results_phase(task),
            Matter::Service(lease) => Self::end_service_phase(lease),
        }
    }

    /// Returns the first entry of a queue, if it is due.
    fn first_due(queue: Queue) -> Option<QueueEntry> {
        let end = Ends::<T>::get()[queue as usize];
        if end.head == end.tail {
            return None;
        }
        let entry = Queued::<T>::get((queue, end.head))?;
        let due = match queue {
            Queue::Seed => u64::from(Self::block()) >= entry.due,
            _ => Self::now() > entry.due,
        };
        due.then_some(entry)
    }

    /// Whether an entry of this queue is still valid for its matter.
    fn is_waiting(queue: Queue, matter: Matter) -> bool {
        match Self::queue_and_deadline(matter) {
            Ok((Queue::Seed, _)) => queue == Queue::Seed,
            Ok((waits, until)) => waits == queue && Self::now() > until,
            Err(_) => false,
        }
    }

    /// Processes an entry. A failure is rolled back, and the entry is retried later.
    fn process_entry(queue: Queue, matter: Matter) {
        let done = with_storage_layer(|| match queue {
            _ if !Self::is_waiting(queue, matter) => Ok(()),
            Queue::Seed => Self::draw_seed(matter),
            _ => Self::end_phase(matter),
        });
        if let Err(error) = done {
            let due = Self::now().saturating_add(RETRY_MS);
            RetryEnds::<T>::mutate(|end| {
                Retries::<T>::insert(end.tail, (queue, QueueEntry { matter, due }));
                end.tail = end.tail.saturating_add(1);
            });
            Self::deposit_event(Event::StepFailed { matter, error });
        }
    }

    fn draw_seed(matter: Matter) -> DispatchResult {
        match matter {
            Matter::Challenge(id) => Self::draw_for_challenge(id),
            Matter::Dispute(task) => Self::draw_for_dispute(task),
            Matter::Results(task) => Self::draw_audit(task),
            Matter::Service(lease) => Self::draw_for_service(lease),
        }
    }

    /// Returns the seed of a matter's round, and the block of its randomness. Only the hook calls it.
    pub(crate) fn seed(matter: Matter, round: u8) -> Result<(Seed, u32), DispatchError> {
        let (random, block) = T::Randomness::random(&seed_subject(matter, round));
        Ok((random.ok_or(Error::<T>::WaitsForSeed)?.0, block.saturated_into()))
    }

    /// Returns whether the randomness is that of the block before, and not older. A slot without a VRF output leaves
    /// the randomness of an earlier block in place, which was known when that block was made. So it must differ from
    /// the value one block ago, which the chain stores while any matter waits for a seed.
    fn observe_randomness() -> bool {
        let end = Ends::<T>::get()[Queue::Seed as usize];
        let seen = SeenRandomness::<T>::get();
        if end.head == end.tail {
            if seen.is_some() {
                SeenRandomness::<T>::kill();
            }
            return false;
        }
        let block = Self::block();
        let (Some(random), _) = T::Randomness::random(&seed_subject(Matter::Challenge(0), 0)) else { return false };
        SeenRandomness::<T>::put((random, block));
        seen.is_some_and(|(before, seen_in): (H256, u32)| seen_in.saturating_add(1) == block && before != random)
    }
}
