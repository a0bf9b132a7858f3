//! The rule by which replicated results agree. Pure.

use gantry_primitives::{Digest, Replica};

/// The key by which results are equal: their digest and the exit code of the first container. Their usage may differ.
pub type ResultKey = (Digest, i32);

/// Returns the key of a revealed result.
pub fn result_key(replica: &Replica) -> Option<ResultKey> {
    replica.result.map(|result| (result.digest, result.exit_code))
}

/// Returns the key that at least two revealed results have in common, and more than half of them.
pub fn agreed(replicas: &[Replica]) -> Option<ResultKey> {
    majority(replicas.iter().filter_map(result_key))
}

/// Whether at least two tags are equal, and more than half of those shown.
pub fn tags_agree(replicas: &[Replica]) -> bool {
    majority(replicas.iter().filter_map(|replica| replica.tag)).is_some()
}

fn majority<E: PartialEq>(all: impl Iterator<Item = E> + Clone) -> Option<E> {
    let count = all.clone().count();
    all.clone().find(|one| {
        let same = all.clone().filter(|other| other == one).count();
        same >= 2 && 2 * same > count
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gantry_primitives::{HostId, PodResult, Usage};

    fn replicas(results: &[Option<(u8, i32)>]) -> Vec<Replica> {
        let usage = |position| Usage { wall_ms: position, cpu_ms: 0, memory_peak_mib: 0 };
        let replica = |(position, result): (usize, &Option<(u8, i32)>)| Replica {
            lease: position as u64,
            host: HostId::new([position as u8; 32]),
            commitment: [0; 32],
            tag: result.map(|(digest, _)| [digest; 32]),
            result: result.map(|(digest, exit_code)| PodResult {
                digest: [digest; 32],
                exit_code,
                usage: usage(position as u64),
            }),
        };
        results.iter().enumerate().map(replica).collect()
    }

    #[test]
    fn two_equal_results_agree_whatever_they_used() {
        assert_eq!(agreed(&replicas(&[Some((1, 0)), Some((1, 0))])), Some(([1; 32], 0)));
        assert_eq!(agreed(&replicas(&[Some((1, 0)), Some((2, 0))])), None);
        assert_eq!(agreed(&replicas(&[Some((1, 0)), Some((1, 1))])), None, "the exit code counts");
    }

    #[test]
    fn tags_agree_as_results_do() {
        assert!(tags_agree(&replicas(&[Some((1, 0)), Some((1, 0)), Some((2, 0))])));
        assert!(tags_agree(&replicas(&[Some((1, 0)), Some((1, 0)), None])), "what was not shown does not count");
        assert!(!tags_agree(&replicas(&[Some((1, 0)), Some((2, 0))])));
        assert!(!tags_agree(&replicas(&[Some((1, 0))])) && !tags_agree(&[]));
    }

    #[test]
    fn one_result_agrees_with_nobody() {
        assert_eq!(agreed(&replicas(&[Some((1, 0))])), None);
        assert_eq!(agreed(&replicas(&[Some((1, 0)), None])), None);
        assert_eq!(agreed(&replicas(&[])), None);
    }

    #[test]
    fn a_third_decides_between_two() {
        assert_eq!(agreed(&replicas(&[Some((1, 0)), Some((2, 0)), Some((2, 0))])), Some(([2; 32], 0)));
        assert_eq!(agreed(&replicas(&[Some((1, 0)), Some((2, 0)), Some((3, 0))])), None);
        assert_eq!(agreed(&replicas(&[Some((1, 0)), Some((1, 0)), Some((2, 0)), Some((2, 0))])), None);
    }
}
