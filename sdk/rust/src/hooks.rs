//! Extension points of the scheduling framework: a trait each. A plugin is one type that implements some of them;
//! [`register!`](crate::register) finds out which.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::change::{Change, ClusterEvent, Hint};
use crate::key::Key;
use crate::node::Node;
use crate::nodes::{Cluster, NodeScores, NodeStatuses, Nodes};
use crate::pod::Pod;
use crate::status::{Error, Status, Verdict};
use crate::time::Timestamp;

/// Maximum score of a node.
pub const MAX_SCORE: i64 = 100;

/// A plugin: one value per instance of the guest.
///
/// An instance serves one pod at a time, from PreFilter to PostBind; other pods have other instances. Fields of the plugin
/// are therefore not shared between pods, and no locks are needed.
pub trait Plugin: Sized + 'static {
    /// Values of one pod between hooks, reset for each pod. Preemption trials work on clones. `()` for none.
    type State: Clone + Default;

    /// Creates the plugin, while the guest is loaded. An error refuses the guest.
    fn new() -> Result<Self, Error>;
}

/// The scheduling cycle of a pod.
#[derive(Debug)]
pub struct Cycle<'a, S> {
    /// The pod.
    pub pod: Pod<'a>,
    /// Values of this pod between hooks.
    pub state: &'a mut S,
    /// All nodes.
    pub cluster: Cluster<'a>,
}

// ---------------------------------------------------------------------- queue

/// Cluster events that may make a pod schedulable after a rejection by this plugin. Default: all events.
pub trait EnqueueExtensions: Plugin {
    /// Called once, when the guest is loaded.
    fn events_to_register(&mut self) -> Vec<ClusterEvent>;
}

/// Whether a change may make a pod schedulable. Default: every registered event may.
pub trait QueueingHint: Plugin {
    /// Called for a pod that this plugin rejected, before a registered event wakes it.
    fn queueing_hint(&mut self, pod: &Pod, change: &Change) -> Hint;
}

/// Admission of pods to the queue.
pub trait PreEnqueue: Plugin {
    /// A rejected pod stays gated.
    fn pre_enqueue(&mut self, pod: &Pod) -> Verdict;
}

/// Order of the queue; exactly one plugin of a profile implements it.
pub trait QueueSort: Plugin {
    /// The smaller key goes first. It is computed each time a pod is queued.
    fn sort_key(&mut self, pod: &Pod, queued_at: Timestamp) -> Key;
}

// ---------------------------------------------------------------------- scheduling cycle

/// Result of PreFilter: nodes that may be feasible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// All nodes.
    All,
    /// Nodes with these names. None: the pod is rejected.
    Only(Vec<String>),
}

/// Runs once per pod, before Filter.
pub trait PreFilter: Plugin {
    /// `Status::skip()`: no Filter of this plugin for the pod.
    fn pre_filter(&mut self, cycle: &mut Cycle<Self::State>) -> Result<Candidates, Status>;
}

/// Updates the state written by PreFilter in preemption trials, which add pods to a node or remove them.
pub trait PreFilterExtensions: Plugin {
    /// A pod is added to the node.
    fn add_pod(&mut self, cycle: &mut Cycle<Self::State>, added: &Pod, node: &Node) -> Verdict;
    /// A pod is removed from the node.
    fn remove_pod(&mut self, cycle: &mut Cycle<Self::State>, removed: &Pod, node: &Node) -> Verdict;
}

/// Whether the pod fits on a node.
pub trait Filter: Plugin {
    /// Called once per node.
    fn filter(&mut self, cycle: &mut Cycle<Self::State>, node: &Node) -> Verdict;
}

/// Result of PostFilter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nomination {
    /// An earlier nomination is kept.
    Keep,
    /// The pod fits on this node once there is room.
    Node(String),
    /// The nomination of the pod is cleared.
    Clear,
}

/// Runs if no node is feasible, and may make room.
pub trait PostFilter: Plugin {
    /// `statuses` has the rejected nodes.
    fn post_filter(&mut self, cycle: &mut Cycle<Self::State>, statuses: &NodeStatuses) -> Result<Nomination, Status>;
}

/// Runs once per pod, before Score.
pub trait PreScore: Plugin {
    /// `nodes` are the feasible ones. `Status::skip()`: no Score of this plugin for the pod.
    fn pre_score(&mut self, cycle: &mut Cycle<Self::State>, nodes: &Nodes) -> Verdict;
}

/// Rates nodes; higher is better.
pub trait Score: Plugin {
    /// Called once per node: 0 to [`MAX_SCORE`], unless the plugin has [`NormalizeScore`]; 32 bits in any case.
    fn score(&mut self, cycle: &mut Cycle<Self::State>, node: &Node) -> Result<i64, Status>;
}

/// Normalizes the scores of all nodes in place.
pub trait NormalizeScore: Plugin {
    /// See [`NodeScores::normalize`] and [`NodeScores::stretch`].
    fn normalize_score(&mut self, cycle: &mut Cycle<Self::State>, scores: &mut NodeScores) -> Verdict;
}

/// Lets the scheduler share results between similar pods. All pods with the same signature must have the same results of
/// Filter and Score while the Node object is unchanged, independent of the pods on the node and of the time.
pub trait SignPod: Plugin {
    /// The signature, built with a [`Hasher`](crate::Hasher); 0 for none. Pods are signed in advance, several at a time:
    /// there are no nodes.
    fn sign_pod(&mut self, pod: &Pod) -> u64;
}

// ---------------------------------------------------------------------- binding

/// Runs when the node is selected for the pod.
pub trait Reserve: Plugin {
    /// May [`annotate`](crate::annotate) the pod.
    fn reserve(&mut self, cycle: &mut Cycle<Self::State>, node: &Node) -> Verdict;

    /// Reverts `reserve` when the pod is not bound after all.
    fn unreserve(&mut self, cycle: &mut Cycle<Self::State>, node: &Node) {
        let _ = (cycle, node);
    }
}

/// Result of Permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The pod may be bound.
    Allow,
    /// The pod waits, at most for this time, with a reason. See [`allow_waiting_pod`](crate::allow_waiting_pod).
    Wait(Duration, Cow<'static, str>),
}

/// Approves, rejects or delays the binding. Memory is not shared between pods: [`waiting_pods`](crate::waiting_pods) has
/// the other waiting pods.
pub trait Permit: Plugin {
    /// Called after Reserve.
    fn permit(&mut self, cycle: &mut Cycle<Self::State>, node: &Node) -> Result<Permission, Status>;
}

/// Runs immediately before the binding.
pub trait PreBind: Plugin {
    /// May [`annotate`](crate::annotate) the pod.
    fn pre_bind(&mut self, cycle: &mut Cycle<Self::State>, node: &Node) -> Verdict;
}

/// Binds the pod to its node.
pub trait Bind: Plugin {
    /// `Status::skip()`: the next bind plugin binds it.
    fn bind(&mut self, cycle: &mut Cycle<Self::State>, node: &Node) -> Verdict;
}

/// Runs after the binding.
pub trait PostBind: Plugin {
    /// The pod is bound.
    fn post_bind(&mut self, cycle: &mut Cycle<Self::State>, node: &Node);
}
