//! Choices that the arguments of a step make. The byte 0 is the ordinary choice, so that a step without arguments is one
//! that usually succeeds; the largest bytes are the unusual ones.

use super::input::ARGUMENTS;

/// From this byte on, a choice is an unusual one: one byte in sixteen.
const UNUSUAL: u8 = 240;

/// The arguments of a step, read one byte for each choice. After the last one every choice is the ordinary one.
pub struct Choices {
    arguments: [u8; ARGUMENTS],
    read: usize,
}

impl Choices {
    /// The choices of these arguments.
    pub fn new(arguments: [u8; ARGUMENTS]) -> Self {
        Self { arguments, read: 0 }
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let byte = self.arguments.get(self.read).copied().unwrap_or_default();
        self.read += 1;
        byte
    }

    /// A number below `end`; 0 is the ordinary one.
    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    /// One of several; the first is the ordinary one.
    pub fn pick<T: Clone>(&mut self, options: &[T]) -> T {
        options[usize::from(self.byte()) % options.len()].clone()
    }

    /// The next byte as eight flags, the lowest bit first.
    pub fn flags(&mut self) -> [bool; 8] {
        let byte = self.byte();
        core::array::from_fn(|bit| byte >> bit & 1 == 1)
    }

    /// One of what suits; none where nothing does, or where the choice is unusual.
    pub fn suitable<T: Clone>(&mut self, options: &[T]) -> Option<T> {
        let byte = self.byte();
        (byte < UNUSUAL && !options.is_empty()).then(|| options[usize::from(byte) % options.len()].clone())
    }

    /// The ordinary value, unless the choice is unusual: then what `other` makes of its number.
    pub fn usually<T>(&mut self, ordinary: T, other: impl FnOnce(u8) -> T) -> T {
        match self.byte().checked_sub(UNUSUAL) {
            None => ordinary,
            Some(number) => other(number),
        }
    }
}
