//! Decoded parts of nodes, kept until the node changes.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{OnceCell, RefCell};

use crate::host;
use crate::mark::Mark;
use crate::metadata::{ANNOTATIONS, LABELS, META, SPEC, STATUS};
use crate::wire::{Message, Value};

const IMAGES: u32 = 8;
const MANAGED_FIELDS: u32 = 17;

/// Parts of a Node object that are kept separately: objects are large, and most plugins look at one part.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Labels,
    Annotations,
    /// Metadata except labels and annotations.
    Meta,
    Spec,
    /// Status except images.
    Status,
    Images,
}

impl Part {
    const COUNT: usize = 6;

    fn section(self) -> u32 {
        match self {
            Part::Labels | Part::Annotations | Part::Meta => META,
            Part::Spec => SPEC,
            Part::Status | Part::Images => STATUS,
        }
    }

    fn has(self, field: u32) -> bool {
        match self {
            Part::Labels => field == LABELS,
            Part::Annotations => field == ANNOTATIONS,
            Part::Meta => !matches!(field, LABELS | ANNOTATIONS | MANAGED_FIELDS),
            Part::Spec => true,
            Part::Status => field != IMAGES,
            Part::Images => field == IMAGES,
        }
    }
}

/// What is known of a node.
#[derive(Debug)]
pub(crate) struct Entry {
    row: i32,
    generation: i64,
    name: OnceCell<Box<str>>,
    parts: [OnceCell<Box<[u8]>>; Part::COUNT],
}

impl Entry {
    fn new(row: i32, generation: i64) -> Self {
        Self { row, generation, name: OnceCell::new(), parts: [const { OnceCell::new() }; Part::COUNT] }
    }

    pub(crate) fn name(&self) -> &str {
        self.name.get_or_init(|| {
            let name = host::read(|buf| host::node_name(self.row, buf));
            String::from_utf8(name).unwrap_or_default().into_boxed_str()
        })
    }
}

/// Entries by row.
///
/// A reference to an entry lives as long as the borrow of the table, which is that of a hook call. An entry that is
/// replaced meanwhile is kept until [`Table::begin`], which borrows the table mutably: no reference is left then.
#[derive(Debug)]
pub(crate) struct Table {
    kept: OnceCell<Box<Kept>>,
}

/// Set with the first replaced entry.
static REPLACED: Mark = Mark::new();

#[derive(Debug, Default)]
struct Kept {
    rows: RefCell<Vec<Option<Rc<Entry>>>>, // a moved Rc does not end references to its content, a moved Box does
    replaced: RefCell<Vec<Rc<Entry>>>,
    /// The object read last, with its row and generation: several parts of one node are read one after the other.
    object: RefCell<Option<(i32, i64)>>,
    buffer: RefCell<Vec<u8>>,
}

impl Table {
    pub(crate) const fn new() -> Self {
        Self { kept: OnceCell::new() }
    }

    fn kept(&self) -> &Kept {
        self.kept.get_or_init(Box::default)
    }

    /// Whether there may be something to do at the begin of a cycle.
    #[inline(always)]
    pub(crate) fn is_used() -> bool {
        REPLACED.is_set()
    }

    /// Called at the begin of a cycle.
    #[inline(always)]
    pub(crate) fn begin(&mut self) {
        if !REPLACED.is_set() {
            return;
        }
        if let Some(kept) = self.kept.get_mut() {
            kept.replaced.get_mut().clear();
        }
    }

    /// The entry of a row, which is there.
    pub(crate) fn entry(&self, row: i32, generation: i64) -> &Entry {
        let place = usize::try_from(row).unwrap_or(0);
        let mut rows = self.kept().rows.borrow_mut();
        if place >= rows.len() {
            rows.resize_with(place + 1, || None);
        }
        let slot = &mut rows[place];
        if slot.as_ref().is_none_or(|entry| entry.generation != generation) {
            if let Some(old) = slot.replace(Rc::new(Entry::new(row, generation))) {
                self.kept().replaced.borrow_mut().push(old);
                REPLACED.set();
            }
        }
        let entry: *const Entry = &**slot.as_ref().unwrap_or_else(|| unreachable!());
        // SAFETY: the entry is not moved, and is dropped by `begin` or with the table only, which end this borrow.
        unsafe { &*entry }
    }

    /// A part of a node, as a message with the fields of its section.
    pub(crate) fn part<'a>(&'a self, entry: &'a Entry, part: Part) -> Message<'a> {
        Message::new(entry.parts[part as usize].get_or_init(|| {
            let (mut object, mut buffer) = (self.kept().object.borrow_mut(), self.kept().buffer.borrow_mut());
            let wanted = Some((entry.row, entry.generation));
            if *object != wanted {
                host::read_into(&mut buffer, |buf| host::node_object(entry.row, buf));
                *object = wanted;
            }
            let mut kept = Vec::new();
            for (field, value) in Message::new(&buffer).message(part.section()).fields() {
                if part.has(field) {
                    append(&mut kept, field, value);
                }
            }
            kept.into_boxed_slice()
        }))
    }

    /// The whole object, in new memory.
    pub(crate) fn object(row: i32) -> Vec<u8> {
        host::read(|buf| host::node_object(row, buf))
    }
}

fn append(kept: &mut Vec<u8>, field: u32, value: Value<'_>) {
    match value {
        Value::Number(number) => {
            varint(kept, u64::from(field) << 3);
            varint(kept, number);
        }
        Value::Bytes(content) => {
            varint(kept, u64::from(field) << 3 | 2);
            varint(kept, content.len() as u64);
            kept.extend_from_slice(content);
        }
        Value::Fixed => {} // no field of a node has this form
    }
}

pub(crate) fn varint(kept: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        kept.push(number as u8 | 0x80);
        number >>= 7;
    }
    kept.push(number as u8);
}
