//! The diagrams in docs/invariants.md and docs/verification.md equal those generated from the transition tables.
//!
//! After a change of a table, `GANTRY_DRAW=1 cargo test -p gantry-primitives --test diagrams` generates them again.

use std::{env, fmt::Debug, fs, path::PathBuf};

use gantry_primitives::{
    transitions::{HOST_TRANSITIONS, LEASE_TRANSITIONS, TASK_TRANSITIONS},
    verification_tables::{CHALLENGE_TRANSITIONS, DISPUTE_TRANSITIONS, RESULTS_TRANSITIONS, SERVICE_TRANSITIONS},
};

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// A table as a state diagram: where it begins, each move in the order of the table, and where it ends.
fn drawn<Tag: Copy + Debug + PartialEq>(table: &[(Tag, Tag)]) -> String {
    let mut text = String::from("```mermaid\nstateDiagram-v2\n");
    text += &format!("    [*] --> {:?}\n", table[0].0);
    for (from, to) in table {
        text += &format!("    {from:?} --> {to:?}\n");
    }
    let mut ends: Vec<Tag> = Vec::new();
    for (_, to) in table {
        if !ends.contains(to) && table.iter().all(|(from, _)| from != to) {
            ends.push(*to);
        }
    }
    for end in ends {
        text += &format!("    {end:?} --> [*]\n");
    }
    text + "```\n"
}

/// The page with `diagram` between the markers called `name`.
fn with_diagram(page: &str, name: &str, diagram: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->\n"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("the page has {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("the page has {end}"));
    format!("{before}{begin}{diagram}{end}{after}")
}

/// The page of this name has these diagrams; or they are put there, where they are to be drawn anew.
fn has_drawn(name: &str, diagrams: &[(&str, String)]) {
    let page = page(name);
    let old = fs::read_to_string(&page).unwrap_or_else(|error| panic!("docs/{name} can be read: {error}"));
    let new = diagrams.iter().fold(old.clone(), |text, (place, diagram)| with_diagram(&text, place, diagram));
    if env::var_os("GANTRY_DRAW").is_some() {
        fs::write(&page, &new).unwrap_or_else(|error| panic!("docs/{name} can be written: {error}"));
        return;
    }
    assert!(old == new, "draw them anew: GANTRY_DRAW=1 cargo test -p gantry-primitives --test diagrams");
}

#[test]
fn the_drawn_states_are_those_of_the_tables() {
    let tables =
        [("hosts", drawn(HOST_TRANSITIONS)), ("tasks", drawn(TASK_TRANSITIONS)), ("leases", drawn(LEASE_TRANSITIONS))];
    has_drawn("invariants.md", &tables);
}

#[test]
fn the_drawn_phases_of_verification_are_those_of_the_tables() {
    let tables = [
        ("challenges", drawn(CHALLENGE_TRANSITIONS)),
        ("services", drawn(SERVICE_TRANSITIONS)),
        ("results", drawn(RESULTS_TRANSITIONS)),
        ("disputes", drawn(DISPUTE_TRANSITIONS)),
    ];
    has_drawn("verification.md", &tables);
}
