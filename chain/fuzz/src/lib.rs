//! Coverage-guided fuzzing of the Gantry runtime: `scripts/fuzz chain`. The target is a module that a test of the runtime
//! includes, too.

#[path = "../../runtime/tests/common/mod.rs"]
pub mod common;
pub mod sequences;
