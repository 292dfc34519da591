//! Keys of the scheduling queue.

use alloc::vec::Vec;

use crate::time::Timestamp;

/// Maximum length of a key in bytes; longer keys are truncated.
pub const MAX_KEY_LENGTH: usize = 1024;

/// The position of a pod in the scheduling queue, smallest first. It is built part by part, most significant first:
///
/// ```
/// # use kubewasp_sdk::{Key, Timestamp};
/// # let (priority, queued_at) = (7, Timestamp(0));
/// Key::new().int_desc(priority).time(queued_at)
/// # ;
/// ```
///
/// Each part has a `_desc` form with the reverse order. All keys of a plugin must have the same parts in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Vec<u8>);

impl Key {
    /// An empty key.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Sorts smaller numbers first.
    #[must_use]
    pub fn int(self, number: i64) -> Self {
        self.fixed(number as u64 ^ 1 << 63)
    }

    /// Sorts larger numbers first.
    #[must_use]
    pub fn int_desc(self, number: i64) -> Self {
        self.fixed(!(number as u64 ^ 1 << 63))
    }

    /// Sorts smaller numbers first, NaN before all.
    #[must_use]
    pub fn float(self, number: f64) -> Self {
        self.fixed(float_bits(number))
    }

    /// Sorts larger numbers first, NaN after all.
    #[must_use]
    pub fn float_desc(self, number: f64) -> Self {
        self.fixed(!float_bits(number))
    }

    /// Sorts false first.
    #[must_use]
    pub fn bool(mut self, value: bool) -> Self {
        self.0.push(u8::from(value));
        self
    }

    /// Sorts true first.
    #[must_use]
    pub fn bool_desc(self, value: bool) -> Self {
        self.bool(!value)
    }

    /// Sorts earlier times first.
    #[must_use]
    pub fn time(self, time: Timestamp) -> Self {
        self.int(time.0)
    }

    /// Sorts later times first.
    #[must_use]
    pub fn time_desc(self, time: Timestamp) -> Self {
        self.int_desc(time.0)
    }

    /// Sorts by bytes.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.escaped(text, 0)
    }

    /// Sorts by bytes, in reverse order.
    #[must_use]
    pub fn text_desc(self, text: &str) -> Self {
        self.escaped(text, 0xff)
    }

    /// The encoded key, which is compared byte by byte.
    pub fn bytes(&self) -> &[u8] {
        &self.0[..self.0.len().min(MAX_KEY_LENGTH)]
    }

    fn fixed(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    /// A text ends with 0 0, which sorts before any continuation; a 0 in the text becomes 0 255.
    fn escaped(mut self, text: &str, flip: u8) -> Self {
        for byte in text.bytes().take(MAX_KEY_LENGTH) {
            self.0.push(byte ^ flip);
            if byte == 0 {
                self.0.push(0xff ^ flip);
            }
        }
        self.0.extend_from_slice(&[flip, flip]);
        self
    }
}

/// Bits in the order of the number: all inverted for negative numbers, else the sign bit only.
fn float_bits(number: f64) -> u64 {
    if number.is_nan() {
        return 0;
    }
    let bits = (number + 0.0).to_bits(); // -0 + 0 is 0
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_their_parts() {
        let numbers = [i64::MIN, -5, -1, 0, 1, 7, i64::MAX];
        assert!(numbers.windows(2).all(|n| Key::new().int(n[0]) < Key::new().int(n[1])));
        assert!(numbers.windows(2).all(|n| Key::new().int_desc(n[0]) > Key::new().int_desc(n[1])));
        let floats = [f64::NAN, f64::NEG_INFINITY, -1.5, -0.5, 0.0, 0.5, 2.0, f64::INFINITY];
        assert!(floats.windows(2).all(|n| Key::new().float(n[0]) < Key::new().float(n[1])));
        assert!(floats.windows(2).all(|n| Key::new().float_desc(n[0]) > Key::new().float_desc(n[1])));
        assert_eq!(Key::new().float(-0.0), Key::new().float(0.0));
        let texts = ["", "\0", "\0a", "a", "a\0", "ab", "b"];
        assert!(texts.windows(2).all(|t| Key::new().text(t[0]) < Key::new().text(t[1])));
        assert!(texts.windows(2).all(|t| Key::new().text_desc(t[0]) > Key::new().text_desc(t[1])));
        assert!(Key::new().bool(false) < Key::new().bool(true));
    }

    #[test]
    fn the_first_part_is_the_most_significant() {
        assert!(Key::new().text("a").int(9) < Key::new().text("ab").int(1));
        assert!(Key::new().int(1).text("z") < Key::new().int(2).text("a"));
    }

    #[test]
    fn long_keys_are_truncated() {
        assert_eq!(Key::new().text(&"x".repeat(5000)).int(1).bytes().len(), MAX_KEY_LENGTH);
    }
}
