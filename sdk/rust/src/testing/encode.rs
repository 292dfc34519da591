//! Protobuf encoding of test objects.

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use crate::node_table::varint;
use crate::Timestamp;

/// Writes protobuf.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoder(pub(crate) Vec<u8>);

impl Encoder {
    pub(crate) fn int(&mut self, field: u32, value: i64) {
        varint(&mut self.0, u64::from(field) << 3);
        varint(&mut self.0, value as u64);
    }

    pub(crate) fn bytes(&mut self, field: u32, content: &[u8]) {
        varint(&mut self.0, u64::from(field) << 3 | 2);
        varint(&mut self.0, content.len() as u64);
        self.0.extend_from_slice(content);
    }

    pub(crate) fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub(crate) fn message(&mut self, field: u32, write: impl FnOnce(&mut Encoder)) {
        let mut inner = Encoder::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    pub(crate) fn time(&mut self, field: u32, time: Option<Timestamp>) {
        if let Some(time) = time {
            self.message(field, |inner| {
                inner.int(1, time.unix());
                inner.int(2, time.0.rem_euclid(1_000_000_000));
            });
        }
    }

    pub(crate) fn texts(&mut self, field: u32, entries: &BTreeMap<String, String>) {
        for (key, value) in entries {
            self.message(field, |inner| {
                inner.text(1, key);
                inner.text(2, value);
            });
        }
    }

    pub(crate) fn quantities(&mut self, field: u32, entries: &BTreeMap<String, String>) {
        for (key, value) in entries {
            self.message(field, |inner| {
                inner.text(1, key);
                inner.message(2, |quantity| quantity.text(1, value));
            });
        }
    }
}

/// An object of metadata, spec and status.
pub(crate) fn object(meta: &Encoder, spec: &Encoder, status: &Encoder) -> Vec<u8> {
    let mut whole = Encoder::default();
    whole.bytes(1, &meta.0);
    whole.bytes(2, &spec.0);
    whole.bytes(3, &status.0);
    whole.0
}
