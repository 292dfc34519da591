//! Changes of the cluster: registered events and queueing hints.

use alloc::vec::Vec;
use core::ops::BitOr;

use crate::host;
use crate::node::Node;
use crate::pod::Pod;
use crate::wire::Message;

/// The kind of object that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(i32)]
pub enum EventResource {
    Pod = 0,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    PodSchedulingContext,
    ResourceClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
    Any,
}

impl EventResource {
    const ALL: [EventResource; 11] = [
        EventResource::Pod,
        EventResource::Node,
        EventResource::PersistentVolume,
        EventResource::PersistentVolumeClaim,
        EventResource::PodSchedulingContext,
        EventResource::ResourceClaim,
        EventResource::StorageClass,
        EventResource::CsiNode,
        EventResource::CsiDriver,
        EventResource::CsiStorageCapacity,
        EventResource::Any,
    ];

    pub(crate) fn from_number(number: i32) -> Self {
        usize::try_from(number).ok().and_then(|place| Self::ALL.get(place).copied()).unwrap_or(Self::Any)
    }
}

/// A set of changes to an object; actions are combined with `|`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventAction(pub u32);

#[allow(missing_docs)]
impl EventAction {
    pub const ADD: Self = Self(1);
    pub const DELETE: Self = Self(1 << 1);
    pub const UPDATE_NODE_ALLOCATABLE: Self = Self(1 << 2);
    pub const UPDATE_NODE_LABEL: Self = Self(1 << 3);
    pub const UPDATE_NODE_TAINT: Self = Self(1 << 4);
    pub const UPDATE_NODE_CONDITION: Self = Self(1 << 5);
    pub const UPDATE_NODE_ANNOTATION: Self = Self(1 << 6);
    pub const UPDATE_NODE_DECLARED_FEATURE: Self = Self(1 << 7);
    pub const UPDATE_POD_LABEL: Self = Self(1 << 8);
    pub const UPDATE_POD_SCALE_DOWN: Self = Self(1 << 9);
    pub const UPDATE_POD_TOLERATION: Self = Self(1 << 10);
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Self = Self(1 << 11);
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: Self = Self(1 << 12);
    pub const UPDATE_OTHER: Self = Self(1 << 13);
    pub const UPDATE: Self = Self((1 << 14) - 4);
    pub const ANY: Self = Self((1 << 14) - 1);

    /// Whether the sets have an action in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for EventAction {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A change that may make a pod schedulable after a rejection by this plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterEvent {
    /// Kind of the object.
    pub resource: EventResource,
    /// Changes to it.
    pub actions: EventAction,
}

/// Decision about a rejected pod after a change of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Hint {
    /// The pod stays rejected.
    Skip = 0,
    /// The pod is tried again.
    Queue = 1,
}

/// A change of the cluster.
#[derive(Clone, Debug)]
pub struct Change {
    /// Kind of the object.
    pub resource: EventResource,
    /// The change.
    pub action: EventAction,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Change {
    pub(crate) fn read() -> Self {
        Self {
            resource: EventResource::from_number(host::event_resource()),
            action: EventAction(host::event_action() as u32),
            before: host::read(host::event_old),
            after: host::read(host::event_new),
        }
    }

    /// The pod before the change; none for a new pod or another kind of object.
    pub fn old_pod(&self) -> Option<Pod<'_>> {
        self.object(EventResource::Pod, &self.before).map(Pod::new)
    }

    /// The pod after the change; none for a deleted pod or another kind of object.
    pub fn new_pod(&self) -> Option<Pod<'_>> {
        self.object(EventResource::Pod, &self.after).map(Pod::new)
    }

    /// The node before the change; none for a new node or another kind of object.
    pub fn old_node(&self) -> Option<Node<'_>> {
        self.object(EventResource::Node, &self.before).map(Node::new)
    }

    /// The node after the change; none for a deleted node or another kind of object.
    pub fn new_node(&self) -> Option<Node<'_>> {
        self.object(EventResource::Node, &self.after).map(Node::new)
    }

    fn object<'a>(&self, kind: EventResource, object: &'a [u8]) -> Option<Message<'a>> {
        (self.resource == kind && !object.is_empty()).then(|| Message::new(object))
    }
}
