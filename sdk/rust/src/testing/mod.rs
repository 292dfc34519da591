//! Runs a plugin natively, in plain `cargo test`, on a cluster made of [`Node`]s and [`Pod`]s.
//!
//! [`load`] takes the cluster and the configuration. [`Plugin::schedule`] runs a whole cycle of a pod with this plugin alone;
//! [`Plugin::cycle`] calls single hooks.

pub(crate) mod answers;
mod cluster;
mod cycle;
mod encode;
mod fake;
mod objects;
mod plugin;
mod schedule;

pub use cluster::Cluster;
pub use cycle::Cycle;
pub use objects::{Container, Node, Pod};
pub use plugin::{load, Change, Plugin, Registered};
pub use schedule::Outcome;
