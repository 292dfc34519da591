//! Normalizations of scores.

use crate::hooks::MAX_SCORE;
use crate::host;

/// A normalization of scores by the scheduler itself, without a call of the plugin, in place of `NormalizeScore`:
///
/// ```
/// # use kubewasp_sdk::{normalize_scores, Normalization};
/// # fn new() {
/// normalize_scores(Normalization::PROPORTIONAL.reversed());
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Normalization {
    method: Method,
    reverse: bool,
    maximum: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    None,
    Proportional,
    MinMax,
}

impl Normalization {
    /// Scores stay as they are: they must be from 0 to `MAX_SCORE`.
    pub const NONE: Self = Self::of(Method::None);
    /// Scores become shares of the highest one, rounded down, as by `DefaultNormalizeScore` of kube-scheduler.
    pub const PROPORTIONAL: Self = Self::of(Method::Proportional);
    /// The lowest score becomes 0 and the highest the maximum. Equal scores all become the maximum.
    pub const MIN_MAX: Self = Self::of(Method::MinMax);

    const fn of(method: Method) -> Self {
        Self { method, reverse: false, maximum: MAX_SCORE }
    }

    /// The same with the lowest score as the best.
    pub const fn reversed(self) -> Self {
        Self { reverse: true, ..self }
    }

    /// The same with another score of the best node than `MAX_SCORE`.
    pub const fn up_to(self, maximum: i64) -> Self {
        Self { maximum, ..self }
    }

    /// Normalizes scores in place, as the scheduler does.
    pub fn apply(self, scores: &mut [i64]) {
        match self.method {
            Method::None => {}
            Method::Proportional => self.proportional(scores, i64::MIN),
            Method::MinMax => self.min_max(scores),
        }
    }

    #[cfg(target_arch = "wasm32")]
    pub(crate) const fn numbers(self) -> (i32, bool, i32) {
        (self.method as i32, self.reverse, self.maximum as i32)
    }

    /// Counts scores below the lowest as the lowest.
    pub(crate) fn proportional(self, scores: &mut [i64], lowest: i64) {
        let highest = scores.iter().copied().fold(0, i64::max);
        if highest == 0 && lowest < 0 && !self.reverse {
            return;
        }
        for score in scores {
            let share = if highest > 0 { self.maximum.wrapping_mul((*score).max(lowest)) / highest } else { 0 };
            *score = if self.reverse { self.maximum - share } else { share };
        }
    }

    pub(crate) fn min_max(self, scores: &mut [i64]) {
        let (Some(&lowest), Some(&highest)) = (scores.iter().min(), scores.iter().max()) else { return };
        let whole = highest.abs_diff(lowest);
        for score in scores {
            let part = score.abs_diff(lowest);
            let share = match part.checked_mul(self.maximum as u64) {
                _ if whole == 0 => {
                    *score = self.maximum;
                    continue;
                }
                Some(shares) => (shares / whole) as i64,
                None => (part as f64 / whole as f64 * self.maximum as f64) as i64,
            };
            *score = if self.reverse { self.maximum - share } else { share };
        }
    }
}

/// Declares the normalization of the plugin's scores. Call it in `Plugin::new` of a plugin that implements `Score` and not
/// `NormalizeScore`.
pub fn normalize_scores(normalization: Normalization) {
    host::normalization(normalization);
}

#[cfg(test)]
mod tests {
    use super::Normalization;

    fn applied<const N: usize>(normalization: Normalization, mut scores: [i64; N]) -> [i64; N] {
        normalization.apply(&mut scores);
        scores
    }

    #[test]
    fn shares_of_the_highest_score_are_rounded_towards_zero() {
        assert_eq!(applied(Normalization::PROPORTIONAL, [0, 29, 100, -1, -3]), [0, 29, 100, -1, -3]);
        assert_eq!(applied(Normalization::PROPORTIONAL, [1, 3, -2]), [33, 100, -66]);
        assert_eq!(applied(Normalization::PROPORTIONAL.reversed(), [0, 1, 3]), [100, 67, 0]);
        assert_eq!(applied(Normalization::PROPORTIONAL.up_to(10), [1, 3]), [3, 10]);
    }

    #[test]
    fn without_a_score_above_zero_there_are_no_shares() {
        assert_eq!(applied(Normalization::PROPORTIONAL, [0, -5]), [0, -5]);
        assert_eq!(applied(Normalization::PROPORTIONAL.reversed(), [0, -5]), [100, 100]);
    }

    #[test]
    fn min_max_stretches_the_scores() {
        assert_eq!(applied(Normalization::MIN_MAX, [-5, 0, 5]), [0, 50, 100]);
        assert_eq!(applied(Normalization::MIN_MAX.reversed(), [1, 2, 4]), [100, 67, 0]);
        assert_eq!(applied(Normalization::MIN_MAX, [i64::MIN, i64::MAX, 0]), [0, 100, 50]);
        assert_eq!(applied(Normalization::MIN_MAX.reversed(), [7, 7]), [100, 100]);
    }

    #[test]
    fn none_leaves_the_scores() {
        assert_eq!(applied(Normalization::NONE, [1, 200]), [1, 200]);
    }
}
