//! Protobuf wire format: messages whose fields are decoded on access.

use core::str;

/// An encoded protobuf message. Fields are decoded on access, by their number in the `.proto` files of the Kubernetes API:
///
/// ```
/// # use kubewasp_sdk::Message;
/// # let pod = Message::new(&[0x12, 2, 88, 1]);
/// let host_network = pod.message(2).boolean(11);
/// # assert!(host_network);
/// ```
///
/// A field that is absent, truncated or of another type has the default value. Invalid bytes never panic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message<'a> {
    bytes: &'a [u8],
    /// 0: the bytes are the message. Otherwise the message is in several parts: all fields of this number in the bytes.
    parts: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Fixed,
}

impl<'a> Message<'a> {
    /// A message of these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, parts: 0 }
    }

    /// Whether the field is present, even if it is empty.
    pub fn has(self, field: u32) -> bool {
        self.fields().any(|(number, _)| number == field)
    }

    /// A string field; empty for invalid UTF-8.
    pub fn text(self, field: u32) -> &'a str {
        text(self.bytes(field))
    }

    /// A bytes field. The last occurrence counts.
    pub fn bytes(self, field: u32) -> &'a [u8] {
        self.all_bytes(field).last().unwrap_or_default()
    }

    /// An integer field. The last occurrence counts.
    pub fn integer(self, field: u32) -> i64 {
        let mut found = 0;
        for (number, value) in self.fields() {
            if let (true, Value::Number(value)) = (number == field, value) {
                found = value;
            }
        }
        found as i64
    }

    /// A boolean field.
    pub fn boolean(self, field: u32) -> bool {
        self.integer(field) != 0
    }

    /// A message field. Several occurrences are merged, as in protobuf.
    pub fn message(self, field: u32) -> Message<'a> {
        let mut occurrences = self.all_bytes(field);
        let Some(first) = occurrences.next() else {
            return Message::default();
        };
        match occurrences.last() {
            None => Message::new(first),
            Some(_) if self.parts == 0 => Message { bytes: self.bytes, parts: field },
            Some(last) => Message::new(last), // parts of parts: the last one
        }
    }

    /// A repeated message field.
    pub fn messages(self, field: u32) -> impl Iterator<Item = Message<'a>> + 'a {
        self.all_bytes(field).map(Message::new)
    }

    /// A repeated string field.
    pub fn texts(self, field: u32) -> impl Iterator<Item = &'a str> + 'a {
        self.all_bytes(field).map(text)
    }

    /// Whether the message has no bytes.
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The encoded message. A message in several parts has the bytes of the message around it.
    pub fn encoded(self) -> &'a [u8] {
        self.bytes
    }

    /// Key and value of an entry of a map, encoded. The first branch is the usual form: both present, both short.
    #[inline]
    pub(crate) fn entry(self) -> (&'a [u8], &'a [u8]) {
        if let [0x0a, length @ 0..=0x7f, rest @ ..] = self.bytes {
            if let Some((key, [0x12, length @ 0..=0x7f, value @ ..])) = rest.split_at_checked(usize::from(*length)) {
                if value.len() == usize::from(*length) {
                    return (key, value);
                }
            }
        }
        (self.bytes(1), self.bytes(2))
    }

    pub(crate) fn all_bytes(self, field: u32) -> impl Iterator<Item = &'a [u8]> + 'a {
        self.fields().filter_map(move |found| match found {
            (number, Value::Bytes(content)) if number == field => Some(content),
            _ => None,
        })
    }

    pub(crate) fn fields(self) -> Fields<'a> {
        let outer = Raw(self.bytes);
        if self.parts == 0 {
            Fields { inner: outer, outer: Raw(&[]), parts: 0 }
        } else {
            Fields { inner: Raw(&[]), outer, parts: self.parts }
        }
    }
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_default()
}

/// Fields of a message, in their order.
pub(crate) struct Fields<'a> {
    inner: Raw<'a>,
    outer: Raw<'a>,
    parts: u32,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(field) = self.inner.next() {
                return Some(field);
            }
            match self.outer.next()? {
                (number, Value::Bytes(content)) if number == self.parts => self.inner = Raw(content),
                _ => {}
            }
        }
    }
}

/// Remaining bytes of a message. HOT PATH: every field of an object is read here.
struct Raw<'a>(&'a [u8]);

impl<'a> Raw<'a> {
    #[inline]
    fn varint(&mut self) -> Option<u64> {
        if let [byte @ 0..=0x7f, rest @ ..] = self.0 {
            self.0 = rest; // most keys and lengths have one byte
            return Some(u64::from(*byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for (place, &byte) in self.0.iter().take(10).enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                self.0 = &self.0[place + 1..];
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let taken = self.0.get(..length)?;
        self.0 = &self.0[length..];
        Some(taken)
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| (1..1 << 29).contains(number))?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        Some((number, value))
    }
}

impl<'a> Iterator for Raw<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let found = self.field();
        if found.is_none() {
            self.0 = &[]; // nothing after invalid bytes
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn fields_of_all_kinds() {
        let message =
            Message::new(&[0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x25, 1, 2, 3, 4]);
        assert_eq!(message.integer(1), 150);
        assert_eq!(message.text(2), "hi");
        assert!(message.has(3) && message.has(4) && !message.has(5));
        assert_eq!((message.text(1), message.integer(2)), ("", 0));
    }

    #[test]
    fn parts_of_a_message_are_merged() {
        let message = Message::new(&[0x12, 2, 0x08, 1, 0x12, 2, 0x10, 7]);
        let merged = message.message(2);
        assert_eq!((merged.integer(1), merged.integer(2)), (1, 7));
    }

    #[test]
    fn the_last_of_several_occurrences_counts() {
        let message = Message::new(&[0x08, 1, 0x08, 2, 0x12, 1, b'a', 0x12, 1, b'b']);
        assert_eq!((message.integer(1), message.text(2)), (2, "b"));
        assert_eq!(message.texts(2).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn invalid_bytes_never_panic() {
        let mut seed = 1_u64;
        for length in 0..4000 {
            let bytes: Vec<u8> = (0..length % 40)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 56) as u8 & if length % 3 == 0 { 0x1f } else { 0xff }
                })
                .collect();
            let message = Message::new(&bytes);
            for field in 1..4 {
                let inner = message.message(field);
                let _ = (inner.text(1), inner.integer(2), inner.message(1).texts(1).count(), message.has(field));
            }
        }
        assert_eq!(Message::new(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]).text(2), "");
        assert_eq!(Message::new(&[0x0a, 1, 0xff]).text(1), "");
    }
}
