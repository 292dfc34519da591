//! Views of nodes.

use alloc::vec;
use alloc::vec::Vec;

use crate::host;
use crate::map::{Map, Quantities};
use crate::metadata::{self, ObjectReference, Taint, ANNOTATIONS, LABELS};
use crate::node_table::{Part, Table};
use crate::pod::Pods;
use crate::resource::{Resource, FEW, PREDEFINED};
use crate::time::Timestamp;
use crate::wire::Message;

/// A node with its resource totals and its pods.
///
/// Amounts are numbers of the scheduler. Fields of the object are decoded on first use and kept until the node changes; the
/// rest of the object, which can be large, is not kept.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Row(Row<'a>),
    Encoded(Message<'a>),
}

#[derive(Clone, Copy, Debug)]
struct Row<'a> {
    row: i32,
    object: i64,
    all: i64,
    table: &'a Table,
}

/// An entry of `status.conditions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NodeCondition<'a> {
    pub kind: &'a str,
    pub status: &'a str,
    pub reason: &'a str,
    pub message: &'a str,
    pub last_transition_time: Option<Timestamp>,
}

/// An image on the node, with all its names.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a>(Message<'a>);

impl<'a> Image<'a> {
    /// Names of the image.
    pub fn names(&self) -> impl Iterator<Item = &'a str> + 'a {
        self.0.texts(1)
    }

    /// Its size.
    pub fn size_bytes(&self) -> i64 {
        self.0.integer(2)
    }
}

/// Numbers before those of the resources: generations, non-zero requested CPU and memory.
const FIRST: usize = 4;

impl<'a> Node<'a> {
    /// A view of an encoded node, without amounts and pods.
    pub const fn new(object: Message<'a>) -> Self {
        Self(Source::Encoded(object))
    }

    #[inline]
    pub(crate) const fn at(table: &'a Table, row: i32, object: i64, all: i64) -> Self {
        Self(Source::Row(Row { row, object, all, table }))
    }

    /// The node of a row; none if the row is empty.
    pub(crate) fn of_row(table: &'a Table, row: i32) -> Option<Self> {
        let mut generations = [0; 2];
        (row >= 0 && host::node_info(row, &mut generations) > 0)
            .then(|| Self::at(table, row, generations[0], generations[1]))
    }

    // ------------------------------------------------------------------ amounts

    /// Place of the node in the scheduler's table, a small number. The place of a deleted node may be used again.
    pub fn row(&self) -> usize {
        self.place().map_or(0, |(row, _, _)| row)
    }

    pub(crate) fn place(&self) -> Option<(usize, i64, i64)> {
        match self.0 {
            Source::Row(Row { row, object, all, .. }) => Some((usize::try_from(row).ok()?, object, all)),
            Source::Encoded(_) => None,
        }
    }

    /// The allocatable amount of a resource.
    #[inline]
    pub fn allocatable(&self, resource: Resource) -> i64 {
        self.amounts(resource).0
    }

    /// The sum of the requests of all pods on the node.
    #[inline]
    pub fn requested(&self, resource: Resource) -> i64 {
        self.amounts(resource).1
    }

    /// The allocatable minus the requested amount of a resource.
    #[inline]
    pub fn free(&self, resource: Resource) -> i64 {
        let (allocatable, requested) = self.amounts(resource);
        allocatable.wrapping_sub(requested)
    }

    /// Like `requested`, with a small default for containers that request no CPU or memory. It is meant for scores. For
    /// other resources it equals `requested`.
    pub fn non_zero_requested(&self, resource: Resource) -> i64 {
        match (self.0, resource.number()) {
            (Source::Row(row), Some(number @ (0 | 1))) => {
                let mut numbers = [0; FIRST];
                host::node_info(row.row, &mut numbers);
                numbers[2 + number]
            }
            _ => self.requested(resource),
        }
    }

    /// Number of pods on the node.
    pub fn pod_count(&self) -> i64 {
        self.requested(Resource::PODS)
    }

    /// The pods on the node. They are read from the scheduler with each call.
    pub fn pods(&self) -> Pods {
        match self.0 {
            Source::Row(row) => Pods::new(host::read(|buf| host::node_pods(row.row, buf))),
            Source::Encoded(_) => Pods::default(),
        }
    }

    /// HOT PATH: called for every node. A call of the scheduler costs less than a copy of all numbers.
    #[inline(always)]
    fn amounts(&self, resource: Resource) -> (i64, i64) {
        let (Source::Row(row), Some(number)) = (self.0, resource.number()) else {
            return (0, 0);
        };
        let place = FIRST + 2 * number;
        if number < PREDEFINED {
            let mut numbers = [0; FIRST + 2 * PREDEFINED];
            host::node_info(row.row, &mut numbers[..place + 2]);
            (numbers[place], numbers[place + 1])
        } else if number < FEW {
            let mut numbers = [0; FIRST + 2 * FEW];
            host::node_info(row.row, &mut numbers[..place + 2]);
            (numbers[place], numbers[place + 1])
        } else {
            let mut numbers = vec![0; place + 2];
            host::node_info(row.row, &mut numbers);
            (numbers[place], numbers[place + 1])
        }
    }

    // ------------------------------------------------------------------ the object

    fn part(&self, part: Part) -> Message<'a> {
        match self.0 {
            Source::Row(Row { row, object, table, .. }) if row >= 0 => table.part(table.entry(row, object), part),
            Source::Row(_) => Message::default(),
            Source::Encoded(object) => match part {
                Part::Labels | Part::Annotations | Part::Meta => object.message(metadata::META),
                Part::Spec => object.message(metadata::SPEC),
                Part::Status | Part::Images => object.message(metadata::STATUS),
            },
        }
    }

    /// `metadata.name`
    pub fn name(&self) -> &'a str {
        match self.0 {
            Source::Row(Row { row, object, table, .. }) if row >= 0 => table.entry(row, object).name(),
            _ => self.part(Part::Meta).text(1),
        }
    }

    /// `metadata.uid`
    pub fn uid(&self) -> &'a str {
        self.part(Part::Meta).text(5)
    }

    /// `metadata.creationTimestamp`
    pub fn creation_timestamp(&self) -> Option<Timestamp> {
        Timestamp::read(self.part(Part::Meta), 8)
    }

    /// `metadata.labels`
    pub fn labels(&self) -> Map<'a> {
        Map::new(self.part(Part::Labels), LABELS)
    }

    /// `metadata.annotations`
    pub fn annotations(&self) -> Map<'a> {
        Map::new(self.part(Part::Annotations), ANNOTATIONS)
    }

    /// A reference to the node, for events.
    pub fn reference(&self) -> ObjectReference {
        metadata::reference("Node", self.part(Part::Meta))
    }

    /// `spec.unschedulable`: whether the node is cordoned.
    pub fn unschedulable(&self) -> bool {
        self.part(Part::Spec).boolean(4)
    }

    /// `spec.providerID`
    pub fn provider_id(&self) -> &'a str {
        self.part(Part::Spec).text(3)
    }

    /// `spec.taints`
    pub fn taints(&self) -> impl Iterator<Item = Taint<'a>> + 'a {
        self.part(Part::Spec).messages(5).map(Taint::read)
    }

    /// `status.conditions`
    pub fn conditions(&self) -> impl Iterator<Item = NodeCondition<'a>> + 'a {
        self.part(Part::Status).messages(4).map(|sent| NodeCondition {
            kind: sent.text(1),
            status: sent.text(2),
            reason: sent.text(5),
            message: sent.text(6),
            last_transition_time: Timestamp::read(sent, 4),
        })
    }

    /// The status of a condition, e.g. `True` for `Ready`; empty if it is missing.
    pub fn condition(&self, kind: &str) -> &'a str {
        self.conditions().find(|condition| condition.kind == kind).map_or("", |condition| condition.status)
    }

    /// `status.images`: images that need no pull.
    pub fn images(&self) -> impl Iterator<Item = Image<'a>> + 'a {
        self.part(Part::Images).messages(8).map(Image)
    }

    /// Types and addresses in `status.addresses`.
    pub fn addresses(&self) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.part(Part::Status).messages(5).map(|address| (address.text(1), address.text(2)))
    }

    /// `status.capacity`, as quantities.
    pub fn capacity_quantities(&self) -> Quantities<'a> {
        Quantities::new(self.part(Part::Status), 1)
    }

    /// `status.allocatable`, as quantities; `allocatable` has the numbers.
    pub fn allocatable_quantities(&self) -> Quantities<'a> {
        Quantities::new(self.part(Part::Status), 2)
    }

    /// A new copy of the encoded object, for fields without a method: `Message::new(&node.object())`. The object can be
    /// large: if you need it for every node, keep derived values in a [`NodeCache`](crate::NodeCache).
    pub fn object(&self) -> Vec<u8> {
        match self.0 {
            Source::Row(row) => Table::object(row.row),
            Source::Encoded(object) => object.encoded().to_vec(),
        }
    }
}
