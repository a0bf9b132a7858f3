//! Writing evidence.

use gantry_primitives::{
    score::{host_ppm, observed},
    Conduct, HostId, Moment,
};

use crate::{Config, Event, HostScores, Pallet};

impl<T: Config> Pallet<T> {
    /// Writes down that `host` did `conduct` at `now`.
    pub fn observe(host: &HostId, conduct: Conduct, now: Moment) {
        let score = observed(&HostScores::<T>::get(host).unwrap_or_default(), conduct, now);
        HostScores::<T>::insert(host, score);
        Self::deposit_event(Event::Scored { host: host.clone(), score_ppm: host_ppm(&score) });
    }

    /// The score of a host in parts per million; one half where nothing is known about it.
    pub fn score_ppm(host: &HostId) -> u32 {
        host_ppm(&HostScores::<T>::get(host).unwrap_or_default())
    }
}
