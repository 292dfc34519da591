//! Signatures of pods.

use crate::host;
use crate::map::Map;

/// Declares that the results of Filter and Score depend on the Node object only, for all pods: the plugin is then called
/// for changed nodes only. Call it in `Plugin::new`. See [`SignPod`](crate::SignPod).
pub fn sign_all_pods() {
    host::pod_signature(1);
}

/// Builds a signature from the inputs of a policy (SipHash-2-4), always with the same parts in the same order:
///
/// ```
/// # use kubewasp_sdk::Hasher;
/// # let (namespace, cpu) = ("default", 100);
/// Hasher::new().text(namespace).int(cpu).sum()
/// # ;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hasher(u64, u64, u64, u64);

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher {
    /// An empty Hasher. Its key is fixed: all instances of a plugin must agree.
    pub const fn new() -> Self {
        Self(0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573)
    }

    /// Adds a number.
    #[must_use]
    pub fn int(mut self, number: i64) -> Self {
        self.word(number as u64);
        self
    }

    /// Adds a boolean.
    #[must_use]
    pub fn bool(self, value: bool) -> Self {
        self.int(i64::from(value))
    }

    /// Adds a text; `ab` and `c` differ from `a` and `bc`.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.word(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self
    }

    /// Adds all entries of a map, e.g. a node selector.
    #[must_use]
    pub fn map(mut self, entries: Map<'_>) -> Self {
        self.word(entries.len() as u64);
        entries.iter().fold(self, |hasher, (key, value)| hasher.text(key).text(value))
    }

    /// The signature, which is never 0.
    pub fn sum(mut self) -> u64 {
        self.2 ^= 0xff;
        for _ in 0..4 {
            self.round();
        }
        (self.0 ^ self.1 ^ self.2 ^ self.3).max(1)
    }

    fn word(&mut self, word: u64) {
        self.3 ^= word;
        self.round();
        self.round();
        self.0 ^= word;
    }

    fn round(&mut self) {
        self.0 = self.0.wrapping_add(self.1);
        self.1 = self.1.rotate_left(13) ^ self.0;
        self.0 = self.0.rotate_left(32);
        self.2 = self.2.wrapping_add(self.3);
        self.3 = self.3.rotate_left(16) ^ self.2;
        self.0 = self.0.wrapping_add(self.3);
        self.3 = self.3.rotate_left(21) ^ self.0;
        self.2 = self.2.wrapping_add(self.1);
        self.1 = self.1.rotate_left(17) ^ self.2;
        self.2 = self.2.rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_their_limits_count() {
        let sums = [
            Hasher::new().sum(),
            Hasher::new().text("ab").text("c").sum(),
            Hasher::new().text("a").text("bc").sum(),
            Hasher::new().int(0).sum(),
            Hasher::new().int(1).sum(),
            Hasher::new().text("").sum(),
        ];
        let different: std::collections::BTreeSet<_> = sums.iter().collect();
        assert!(different.len() >= sums.len() - 1); // an empty text is the number 0
        assert_eq!(Hasher::new().text("ab").sum(), Hasher::new().text("ab").sum());
    }
}
