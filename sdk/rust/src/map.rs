//! Small maps in objects: labels, annotations, node selectors, quantities.

use crate::quantity::Quantity;
use crate::wire::{text, Message};

/// A small read-only map of an object: labels, annotations, a node selector. It stays encoded; a lookup is a scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Map<'a> {
    message: Message<'a>,
    field: u32,
}

impl<'a> Map<'a> {
    pub(crate) fn new(message: Message<'a>, field: u32) -> Self {
        Self { message, field }
    }

    /// The value of a key.
    pub fn get(self, key: &str) -> Option<&'a str> {
        let mut found = None;
        for entry in self.message.messages(self.field) {
            let (name, value) = entry.entry();
            if name == key.as_bytes() {
                found = Some(value); // the last of several counts
            }
        }
        found.map(text)
    }

    /// Whether the key exists.
    pub fn has(self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Number of entries.
    pub fn len(self) -> usize {
        self.message.messages(self.field).count()
    }

    /// Whether there are no entries.
    pub fn is_empty(self) -> bool {
        self.message.messages(self.field).next().is_none()
    }

    /// Keys and values, in the order of the object.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.message.messages(self.field).map(|entry| entry.entry()).map(|(key, value)| (text(key), text(value)))
    }

    /// Whether the map has all entries of another one, such as a node selector.
    pub fn matches(self, wanted: Map<'_>) -> bool {
        wanted.iter().all(|(key, value)| self.get(key) == Some(value))
    }
}

/// Quantities by resource: the requests of a container, the capacity of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantities<'a> {
    message: Message<'a>,
    field: u32,
}

impl<'a> Quantities<'a> {
    pub(crate) fn new(message: Message<'a>, field: u32) -> Self {
        Self { message, field }
    }

    /// The quantity of a resource.
    pub fn get(self, resource: &str) -> Option<Quantity<'a>> {
        self.iter().filter(|(name, _)| *name == resource).last().map(|(_, quantity)| quantity)
    }

    /// Resources and their quantities, in the order of the object.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Quantity<'a>)> + 'a {
        self.message.messages(self.field).map(|entry| (entry.text(1), Quantity(entry.message(2).text(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_all_forms_are_found() {
        // a=1; b without a value; key after the value; a second a; an empty key.
        let bytes = b"\x5a\x06\x0a\x01a\x12\x011\x5a\x03\x0a\x01b\x5a\x06\x12\x012\x0a\x01c\x5a\x06\x0a\x01a\x12\x013\x5a\x03\x12\x014";
        let map = Map::new(Message::new(bytes), 11);
        assert_eq!(["a", "b", "c", "d", ""].map(|key| map.get(key)), [Some("3"), Some(""), Some("2"), None, Some("4")]);
        assert_eq!((map.len(), map.is_empty()), (5, false));
    }
}
