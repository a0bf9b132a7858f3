//! The diagrams in docs/invariants.md are drawn from the transition tables.
//!
//! After a change of a table, `GANTRY_DRAW=1 cargo test -p gantry-primitives --test diagrams` draws them anew.

use std::{env, fmt::Debug, fs, path::PathBuf};

use gantry_primitives::transitions::{HOST_TRANSITIONS, LEASE_TRANSITIONS, TASK_TRANSITIONS};

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/invariants.md")
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

#[test]
fn the_drawn_states_are_those_of_the_tables() {
    let old = fs::read_to_string(page()).expect("docs/invariants.md can be read");
    let new = with_diagram(&old, "hosts", &drawn(HOST_TRANSITIONS));
    let new = with_diagram(&new, "tasks", &drawn(TASK_TRANSITIONS));
    let new = with_diagram(&new, "leases", &drawn(LEASE_TRANSITIONS));
    if env::var_os("GANTRY_DRAW").is_some() {
        fs::write(page(), &new).expect("docs/invariants.md can be written");
        return;
    }
    assert!(old == new, "draw them anew: GANTRY_DRAW=1 cargo test -p gantry-primitives --test diagrams");
}
