//! Amounts in Kubernetes notation.

use crate::resource::Resource;

/// An amount in Kubernetes notation: `500m`, `2Gi`, `1e3`. Invalid text has the value 0 and is not valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantity<'a>(pub &'a str);

impl Quantity<'_> {
    /// The amount as an integer, rounded away from zero as in Kubernetes, limited to i64.
    pub fn value(self) -> i64 {
        self.scaled(0).unwrap_or(0)
    }

    /// The amount in thousandths, the unit of CPU; otherwise like `value`.
    pub fn milli_value(self) -> i64 {
        self.scaled(3).unwrap_or(0)
    }

    /// Whether the text is a quantity.
    pub fn is_valid(self) -> bool {
        self.scaled(0).is_some()
    }

    /// The amount in scheduler units of the resource: thousandths for CPU, else whole units.
    pub fn of(self, resource: Resource) -> i64 {
        if resource == Resource::CPU {
            self.milli_value()
        } else {
            self.value()
        }
    }

    /// The amount times a power of ten.
    fn scaled(self, power: i32) -> Option<i64> {
        let (negative, text) = sign(self.0);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        let (mut amount, mut fraction, mut lost, mut count, mut point) = (0_u64, 0, false, 0, false);
        for byte in digits.bytes() {
            if byte == b'.' {
                if point {
                    return None;
                }
                point = true;
                continue;
            }
            count += 1;
            match amount.checked_mul(10).and_then(|tenfold| tenfold.checked_add(u64::from(byte - b'0'))) {
                Some(next) => {
                    amount = next;
                    fraction += i32::from(point);
                }
                None => {
                    // Excess digits: the magnitude is kept, and the fact of a remainder.
                    lost |= byte != b'0';
                    fraction -= i32::from(!point);
                }
            }
        }
        if count == 0 {
            return None;
        }
        let (binary, exponent) = suffix(rest)?;
        let mut number = u128::from(amount) << binary;
        let mut exponent = exponent + power - fraction;
        while exponent > 0 && number != 0 {
            number = number.saturating_mul(10);
            exponent -= 1;
            if number == u128::MAX {
                break;
            }
        }
        while exponent < 0 && number != 0 {
            lost |= number % 10 != 0;
            number /= 10;
            exponent += 1;
        }
        let value = i64::try_from(number).unwrap_or(i64::MAX).saturating_add(i64::from(lost));
        Some(if negative { -value } else { value })
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// The multiplier after the digits: a power of two, and one of ten.
fn suffix(text: &str) -> Option<(u32, i32)> {
    Some(match text {
        "" => (0, 0),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        _ => {
            let (negative, digits) = sign(text.strip_prefix(['e', 'E'])?);
            if digits.is_empty() {
                return None;
            }
            let mut exponent = 0;
            for byte in digits.bytes() {
                if !byte.is_ascii_digit() {
                    return None;
                }
                exponent = (exponent * 10 + i32::from(byte - b'0')).min(1000);
            }
            (0, if negative { -exponent } else { exponent })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        for (text, value, milli) in [
            ("0", 0, 0),
            ("500m", 1, 500),
            ("1.5", 2, 1500),
            ("2Gi", 2 << 30, 2000 << 30),
            ("1e3", 1000, 1_000_000),
            ("1E", 1_000_000_000_000_000_000, i64::MAX),
            ("1E2", 100, 100_000),
            ("-1.1", -2, -1100),
            (".5Ki", 512, 512_000),
            ("100n", 1, 1),
            ("9223372036854775808", i64::MAX, i64::MAX),
            ("99999999999999999999999999999999", i64::MAX, i64::MAX),
            ("0.00000000000000000000000000000000001", 1, 1),
            ("1e-1000", 1, 1),
            ("15.99999999999999999999999", 16, 16000),
            ("+7", 7, 7000),
            ("18446744073709551615Ei", i64::MAX, i64::MAX),
        ] {
            assert_eq!((Quantity(text).value(), Quantity(text).milli_value()), (value, milli), "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_quantities() {
        for text in ["", "x", "1x", "1.2.3", "e3", "1e", "1e+", "--1", "1 ", "Ki", "1kI", "."] {
            assert!(!Quantity(text).is_valid(), "{text}");
            assert_eq!(Quantity(text).value(), 0);
        }
    }
}
