//! The cases of tests/vectors/committees.json, which the Python tests also run: draws of committees by a released node.

use std::{fs, path::Path};

use gantry_primitives::{AccountId, ListedVerifier, Seed};
use serde_json::Value;

use crate::draw;

/// The block in which the seed was asked for; everyone on the list joined before.
const ASKED_IN: u32 = 2;

fn page() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors/committees.json");
    let text = fs::read_to_string(&path).expect("tests/vectors/committees.json can be read");
    serde_json::from_str(&text).expect("it is JSON")
}

fn bytes(value: &Value) -> [u8; 32] {
    let text = value.as_str().expect("keys and seeds are texts");
    assert_eq!(text.len(), 64, "{text} has 32 bytes");
    core::array::from_fn(|position| {
        u8::from_str_radix(&text[2 * position..2 * position + 2], 16).expect("they are hexadecimal")
    })
}

fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().unwrap_or_else(|| panic!("{name} is a list"))
}

fn places(of: &Value, name: &str) -> Vec<usize> {
    list(of, name).iter().map(|position| position.as_u64().expect("places are numbers") as usize).collect()
}

#[test]
fn committees_are_drawn_as_by_a_released_node() {
    let page = page();
    let verifiers: Vec<AccountId> = list(&page, "verifiers").iter().map(|key| AccountId::new(bytes(key))).collect();
    let listed: Vec<_> = verifiers.iter().map(|who| ListedVerifier { who: who.clone(), since: 1 }).collect();
    let draws = list(&page, "draws");
    assert!(draws.len() >= 10);
    for case in draws {
        let (seed, candidates): (Seed, _) = (bytes(&case["seed"]), places(case, "candidates"));
        let excluded: Vec<&AccountId> = verifiers
            .iter()
            .enumerate()
            .filter(|(position, _)| !candidates.contains(position))
            .map(|(_, who)| who)
            .collect();
        let expected: Vec<_> =
            places(case, "members").into_iter().map(|position| verifiers[position].clone()).collect();
        let drawn = draw::draw(&seed, &listed, expected.len(), ASKED_IN, &excluded, |_| false);
        assert_eq!(drawn, Some(expected), "{case}");
    }
}
