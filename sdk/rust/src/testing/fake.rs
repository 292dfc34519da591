//! The fake scheduler of one instance of a plugin.

use std::cell::RefCell;
use std::rc::Rc;
use std::string::String;
use std::thread_local;
use std::vec::Vec;

use super::cluster::Cluster;
use super::objects::Pod;
use super::schedule::Waiting;
use crate::{ClusterEvent, EventAction, EventResource, Normalization};

thread_local! {
    /// The scheduler of the instance that runs now.
    static CURRENT: RefCell<Option<Rc<RefCell<Fake>>>> = const { RefCell::new(None) };
}

/// Shared by all instances of a plugin.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) config: String,
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) registered: Vec<ClusterEvent>,
    pub(crate) events: Vec<String>,
    pub(crate) logs: Vec<String>,
}

/// A change that a queueing hint is asked about.
#[derive(Clone, Debug)]
pub(crate) struct FakeChange {
    pub(crate) resource: EventResource,
    pub(crate) action: EventAction,
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
}

/// Inputs and results of hooks.
#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) world: Rc<RefCell<World>>,
    pub(crate) resources: Vec<String>,
    pub(crate) cycles: i32,
    // Inputs.
    pub(crate) hook: &'static str,
    pub(crate) pod: Vec<u8>,
    pub(crate) target: Vec<u8>,
    pub(crate) row: i32,
    pub(crate) feasible: Vec<i32>,
    pub(crate) scores: Vec<i64>,
    pub(crate) statuses: Vec<i32>,
    pub(crate) queued_at: i64,
    pub(crate) change: Option<FakeChange>,
    pub(crate) state: i32,
    // Results.
    pub(crate) reason: String,
    pub(crate) hint: String,
    pub(crate) nodes: Option<Vec<String>>,
    pub(crate) nominated: String,
    pub(crate) sort_key: Vec<u8>,
    pub(crate) sent: Option<Vec<i64>>,
    pub(crate) signature: u64,
    pub(crate) normalization: Option<Normalization>,
    pub(crate) annotations: Vec<(String, String)>,
}

impl Fake {
    pub(crate) fn new(world: Rc<RefCell<World>>) -> Self {
        Self {
            world,
            resources: ["cpu", "memory", "ephemeral-storage", "pods"].map(String::from).to_vec(),
            cycles: 0,
            hook: "",
            pod: Vec::new(),
            target: Vec::new(),
            row: -1,
            feasible: Vec::new(),
            scores: Vec::new(),
            statuses: Vec::new(),
            queued_at: 0,
            change: None,
            state: 0,
            reason: String::new(),
            hint: String::new(),
            nodes: None,
            nominated: String::new(),
            sort_key: Vec::new(),
            sent: None,
            signature: 0,
            normalization: None,
            annotations: Vec::new(),
        }
    }

    /// Prepares the cycle of a pod.
    pub(crate) fn begin(&mut self, pod: &Pod) {
        self.cycles += 1;
        self.pod = pod.encode();
        self.target.clear();
        (self.row, self.state) = (-1, 0);
        self.nodes = None;
        self.feasible.clear();
        self.scores.clear();
        self.statuses.clear();
        self.annotations.clear();
    }
}

/// Runs a hook with this scheduler.
pub(crate) fn with_fake<T>(fake: &Rc<RefCell<Fake>>, run: impl FnOnce() -> T) -> T {
    struct Restore(Option<Rc<RefCell<Fake>>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            CURRENT.with(|current| *current.borrow_mut() = before);
        }
    }
    let before = CURRENT.with(|current| current.borrow_mut().replace(fake.clone()));
    let _restore = Restore(before);
    run()
}

/// The scheduler of the instance that runs now.
pub(crate) fn ask<T>(question: impl FnOnce(&mut Fake) -> T) -> T {
    let fake = CURRENT.with(|current| current.borrow().clone());
    let fake = fake.unwrap_or_else(|| {
        panic!("there is no scheduler here: natively, call this in a hook or constructor of a plugin made by testing::load")
    });
    let mut fake = fake.borrow_mut();
    question(&mut fake)
}
