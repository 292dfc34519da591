//! SDK for Kubernetes scheduler plugins that run as WebAssembly in kubewasp.
//!
//! A plugin is one type with a trait per extension point: [`Filter`], [`Score`], [`Permit`] and others.
//! [`register!`] makes a guest of it:
//!
//! ```
//! use kubewasp_sdk::*;
//!
//! /// Rejects nodes that are not spot nodes.
//! struct SpotOnly;
//!
//! impl Plugin for SpotOnly {
//!     type State = ();
//!
//!     fn new() -> Result<Self, Error> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl Filter for SpotOnly {
//!     fn filter(&mut self, _: &mut Cycle<()>, node: &Node) -> Verdict {
//!         if node.labels().get("lifecycle") == Some("spot") {
//!             Ok(())
//!         } else {
//!             Err(Status::unresolvable("node is no spot node"))
//!         }
//!     }
//! }
//!
//! register!(SpotOnly);
//!
//! # #[cfg(not(target_arch = "wasm32"))]
//! fn keeps_pods_off_other_nodes() {
//!     use kubewasp_sdk::testing;
//!
//!     let cluster = testing::Cluster::new([
//!         testing::Node::new("a").label("lifecycle", "spot"),
//!         testing::Node::new("b"),
//!     ]);
//!     let plugin = testing::load::<SpotOnly>(cluster, "").unwrap();
//!
//!     assert_eq!(plugin.schedule(testing::Pod::new("web")).node, "a");
//! }
//! # fn main() { keeps_pods_off_other_nodes() }
//! ```
//!
//! `kubewasp plugin build` compiles a plugin; [`testing`] runs it natively, in plain `cargo test`.
//!
//! # Features
//!
//! | feature | default | meaning |
//! | --- | --- | --- |
//! | `std` | yes | the standard library in the guest |
//! | `json` | yes | [`config`], by serde |
//! | `tiny` | no | for `no_std` guests: an allocator and a panic handler |
//!
//! # Cost
//!
//! [`Pod`] and [`Node`] are views: fields are decoded on access. Parts of a node are kept until the node changes;
//! [`NodeCache`] does the same for derived values. Amounts of a node are read without decoding.

#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", not(target_arch = "wasm32")))]
extern crate std;

mod change;
mod config;
mod container;
mod event;
mod guest;
mod hooks;
mod host;
mod key;
pub mod klog;
mod map;
mod mark;
mod metadata;
mod node;
mod node_table;
mod nodes;
mod normalization;
mod pod;
mod purity;
mod quantity;
mod register;
mod resource;
mod signature;
#[cfg(target_arch = "wasm32")]
mod slot;
mod status;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod time;
#[cfg(all(feature = "tiny", target_arch = "wasm32", not(feature = "std")))]
mod tiny;
mod wire;

pub use change::{Change, ClusterEvent, EventAction, EventResource, Hint};
#[cfg(feature = "json")]
pub use config::config;
pub use config::config_text;
pub use container::{Container, Port};
pub use event::{annotate, Event};
pub use hooks::*;
pub use key::{Key, MAX_KEY_LENGTH};
pub use map::{Map, Quantities};
pub use metadata::{ObjectReference, OwnerReference, Taint, Toleration};
pub use node::{Image, Node, NodeCondition};
pub use nodes::{
    allow_waiting_pod, reject_waiting_pod, waiting_pods, Cluster, NodeCache, NodeScores, NodeStatuses, Nodes,
};
pub use normalization::{normalize_scores, Normalization};
pub use pod::{Pod, Pods};
pub use purity::declare_pure;
pub use quantity::Quantity;
pub use resource::Resource;
pub use signature::{sign_all_pods, Hasher};
pub use status::{Code, Error, Status, Verdict};
pub use time::{now, Timestamp};
pub use wire::Message;

/// For [`register!`] only.
#[doc(hidden)]
pub mod __private {
    #[cfg(not(target_arch = "wasm32"))]
    pub use crate::guest::HookTable;
    pub use crate::guest::{Absent, Guest, Hooks};
    #[cfg(target_arch = "wasm32")]
    pub use crate::slot::{construct, Registered, Slot};
}
