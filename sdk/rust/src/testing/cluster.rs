//! A fake cluster.

use core::time::Duration;
use std::string::String;
use std::vec;
use std::vec::Vec;

use super::objects::{Node, Pod};
use crate::{container, Message, Quantity, Resource, Timestamp};

/// A fake cluster: nodes, their pods, and a clock. It may change between calls of a plugin.
#[derive(Debug)]
pub struct Cluster {
    now: Timestamp,
    rows: Vec<Option<Row>>,
    generation: i64,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) node: Node,
    pub(crate) object: Vec<u8>,
    pub(crate) pods: Vec<Pod>,
    object_generation: i64,
    generation: i64,
}

impl Cluster {
    /// A cluster of these nodes. Its clock starts at noon on 1 January 2026 (UTC).
    pub fn new(nodes: impl IntoIterator<Item = Node>) -> Self {
        let mut cluster = Self { now: Timestamp::from_unix(1_767_268_800), rows: Vec::new(), generation: 0 };
        for node in nodes {
            cluster.set_node(node);
        }
        cluster
    }

    /// The time of the cluster's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Sets the clock.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Advances the clock.
    pub fn advance(&mut self, by: Duration) {
        self.now = self.now.after(by);
    }

    /// Adds a node, or replaces the node with this name.
    pub fn set_node(&mut self, node: Node) {
        let place = self.row(&node.name).or_else(|| self.rows.iter().position(Option::is_none));
        let place = place.unwrap_or_else(|| {
            self.rows.push(None);
            self.rows.len() - 1
        });
        self.generation += 1;
        let pods = self.rows[place].take().map_or_else(Vec::new, |row| row.pods);
        let (object, generation) = (node.encode(), self.generation);
        self.rows[place] = Some(Row { node, object, pods, object_generation: generation, generation });
    }

    /// Removes a node and the pods on it.
    pub fn remove_node(&mut self, name: &str) {
        if let Some(place) = self.row(name) {
            self.rows[place] = None;
        }
    }

    /// Adds a pod to its node.
    ///
    /// # Panics
    /// Without such a node.
    pub fn add_pod(&mut self, pod: Pod) {
        let place = self.row(&pod.node_name);
        let place = place.unwrap_or_else(|| panic!("pod {}: there is no node {:?}", pod.name, pod.node_name));
        self.generation += 1;
        if let Some(row) = &mut self.rows[place] {
            row.generation = self.generation;
            row.pods.push(pod);
        }
    }

    /// Removes a pod from its node.
    pub fn remove_pod(&mut self, pod: &Pod) {
        for row in self.rows.iter_mut().flatten() {
            let before = row.pods.len();
            row.pods.retain(|other| other.identity() != pod.identity());
            if row.pods.len() < before {
                self.generation += 1;
                row.generation = self.generation;
            }
        }
    }

    /// Names of the pods on a node, in the order of their arrival.
    pub fn pods_on(&self, node: &str) -> Vec<String> {
        let row = self.row(node).and_then(|place| self.rows[place].as_ref());
        row.map_or_else(Vec::new, |row| row.pods.iter().map(|pod| pod.name.clone()).collect())
    }

    pub(crate) fn row(&self, name: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.as_ref().is_some_and(|row| row.node.name == name))
    }

    pub(crate) fn at(&self, place: i32) -> Option<&Row> {
        self.rows.get(usize::try_from(place).ok()?)?.as_ref()
    }

    pub(crate) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Names of all nodes.
    pub fn node_names(&self) -> Vec<String> {
        self.rows.iter().flatten().map(|row| row.node.name.clone()).collect()
    }
}

impl Row {
    /// The numbers of a node, by resource name.
    pub(crate) fn numbers(&self, resources: &[String]) -> Vec<i64> {
        let mut numbers = vec![self.object_generation, self.generation, 0, 0];
        let encoded: Vec<Vec<u8>> = self.pods.iter().map(Pod::encode).collect();
        for pod in &encoded {
            let [cpu, memory] = non_zero(pod);
            numbers[2] += cpu;
            numbers[3] += memory;
        }
        for name in resources {
            let default = if name == "pods" { "110" } else { "0" };
            let quantity = Quantity(self.node.allocatable.get(name).map_or(default, String::as_str));
            numbers.push(if name == "cpu" { quantity.milli_value() } else { quantity.value() });
            numbers.push(encoded.iter().map(|pod| request(pod, name)).sum());
        }
        numbers
    }
}

/// The effective request of an encoded pod.
pub(crate) fn request(pod: &[u8], name: &str) -> i64 {
    let view = crate::Pod::new(Message::new(pod));
    match name {
        "pods" => 1,
        "cpu" => container::requests(&view, Resource::CPU),
        "memory" => container::requests(&view, Resource::MEMORY),
        _ => container::requests_of(&view, name, |quantity| quantity.value()),
    }
}

/// Requests of CPU and memory, with defaults of 100 millicores and 200 MiB for containers without requests.
pub(crate) fn non_zero(pod: &[u8]) -> [i64; 2] {
    let view = crate::Pod::new(Message::new(pod));
    [("cpu", 100), ("memory", 200 << 20)].map(|(name, default)| {
        let without = view.containers().filter(|container| container.requests().get(name).is_none()).count();
        request(pod, name) + default * without as i64
    })
}
