//! Records as release 3 stored them, where this release stores them differently. Types of `gantry_primitives` that have not
//! changed since are used as they are. The upgrade test starts from the runtime of release 3, so it finds a type that no longer
//! decodes what that runtime stored.

pub mod billing;
pub mod hosts;
pub mod tasks;
pub mod verification;
