//! Inputs: sequences of steps, as bytes for the fuzzer and as text for people.
//!
//! A line of text is the name of an action and its arguments as decimal bytes; arguments that are left out are 0. What
//! follows a `#` is a comment.

use super::actions::ACTIONS;

/// Bytes of arguments of a step.
pub const ARGUMENTS: usize = 15;
/// Bytes of a step.
pub const STEP_BYTES: usize = 1 + ARGUMENTS;
/// The most steps of an input; further bytes are ignored.
pub const MAX_STEPS: usize = 128;

/// One step of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index into [`ACTIONS`].
    pub action: u8,
    /// What the action chooses by, see [`super::choices::Choices`].
    pub arguments: [u8; ARGUMENTS],
}

impl Step {
    /// The name of its action.
    pub fn name(&self) -> &'static str {
        ACTIONS[usize::from(self.action)].name
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.name())?;
        let used = self.arguments.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.arguments[..used].iter().try_for_each(|byte| write!(f, " {byte}"))
    }
}

/// Decodes bytes; every sequence of bytes is an input.
pub fn decode(bytes: &[u8]) -> Vec<Step> {
    let step = |chunk: &[u8]| {
        let mut arguments = [0; ARGUMENTS];
        arguments[..chunk.len() - 1].copy_from_slice(&chunk[1..]);
        Step { action: (usize::from(chunk[0]) % ACTIONS.len()) as u8, arguments }
    };
    bytes.chunks(STEP_BYTES).take(MAX_STEPS).map(step).collect()
}

/// Encodes steps as bytes.
pub fn encode(steps: &[Step]) -> Vec<u8> {
    steps.iter().flat_map(|step| std::iter::once(step.action).chain(step.arguments)).collect()
}

/// Parses text. Fails with the line that is wrong and why.
pub fn parse(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(name) = words.next() else { continue };
        let action = ACTIONS.iter().position(|action| action.name == name);
        let action = action.ok_or_else(|| format!("line {number}: there is no action {name}"))?;
        let mut arguments = [0; ARGUMENTS];
        for (position, word) in words.enumerate() {
            let byte = word.parse().map_err(|_| format!("line {number}: {word} is not a byte"))?;
            *arguments.get_mut(position).ok_or_else(|| format!("line {number}: too many arguments"))? = byte;
        }
        steps.push(Step { action: action as u8, arguments });
    }
    Ok(steps)
}

/// Writes steps as text.
pub fn print(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("{step}\n")).collect()
}
