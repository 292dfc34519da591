//! A plugin under test.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

use super::cluster::Cluster;
use super::cycle::{Cycle, Instance};
use super::fake::{FakeChange, World};
use super::objects::{Node, Pod};
use super::schedule::Outcome;
use crate::guest::HookTable;
use crate::{Candidates, ClusterEvent, Error, EventAction, EventResource, Hint, Status, Timestamp, Verdict};

/// A plugin with [`register!`](crate::register).
pub trait Registered: crate::Plugin {
    /// Its hooks.
    #[doc(hidden)]
    fn hooks() -> HookTable<Self>;
}

/// A plugin under test. As in the scheduler, each pod in flight has an instance of its own, and instances are used again.
pub struct Plugin<P: Registered> {
    pub(crate) world: Rc<RefCell<World>>,
    pub(crate) idle: Rc<RefCell<Vec<Instance<P>>>>,
    pub(crate) held: RefCell<BTreeMap<String, Cycle<P>>>,
    pub(crate) outcomes: RefCell<BTreeMap<String, Outcome>>,
}

/// Loads a plugin with a configuration; the error is that of `Plugin::new`.
///
/// # Panics
/// If the plugin implements no extension point.
pub fn load<P: Registered>(cluster: Cluster, config: &str) -> Result<Plugin<P>, Error> {
    assert!(P::hooks().implemented != 0, "the plugin implements no extension point such as Filter or Score");
    let world = Rc::new(RefCell::new(World {
        cluster,
        config: config.into(),
        waiting: Vec::new(),
        registered: Vec::new(),
        events: Vec::new(),
        logs: Vec::new(),
    }));
    let plugin =
        Plugin { world: world.clone(), idle: Rc::default(), held: RefCell::default(), outcomes: RefCell::default() };
    let mut instance = Instance::load(world)?;
    if instance.has("enqueue") {
        instance.call("enqueue", |hooks| hooks.enqueue);
    }
    plugin.idle.borrow_mut().push(instance);
    Ok(plugin)
}

impl<P: Registered> Plugin<P> {
    /// The cluster, for changes between calls.
    pub fn cluster(&self) -> RefMut<'_, Cluster> {
        RefMut::map(self.world.borrow_mut(), |world| &mut world.cluster)
    }

    /// Recorded events, as JSON texts.
    pub fn events(&self) -> Vec<String> {
        self.world.borrow().events.clone()
    }

    /// Log lines, each with the letter of its severity: `I "Picked" node="a"`.
    pub fn logs(&self) -> Ref<'_, [String]> {
        Ref::map(self.world.borrow(), |world| &*world.logs)
    }

    /// Events that the plugin registered for; none: all.
    pub fn registered_events(&self) -> Vec<ClusterEvent> {
        self.world.borrow().registered.clone()
    }

    /// An instance without a pod.
    pub(crate) fn acquire(&self) -> Cycle<P> {
        let idle = self.idle.borrow_mut().pop();
        let instance = idle.unwrap_or_else(|| {
            Instance::load(self.world.clone()).unwrap_or_else(|error| panic!("another instance: {error}"))
        });
        Cycle::new(instance, self.idle.clone())
    }

    /// Begins the cycle of a pod with PreFilter, if the plugin has it.
    ///
    /// # Panics
    /// If PreFilter rejects the pod.
    pub fn cycle(&self, pod: Pod) -> Cycle<P> {
        let mut cycle = self.acquire();
        match cycle.begin(pod) {
            Ok(_) => cycle,
            Err(status) if status == Status::skip() => cycle,
            Err(status) => panic!("PreFilter: {status}"),
        }
    }

    /// The result of PreFilter for a pod.
    pub fn pre_filter(&self, pod: Pod) -> Result<Candidates, Status> {
        self.acquire().begin(pod)
    }

    /// The signature of a pod; 0 if it has none.
    pub fn signature(&self, pod: Pod) -> u64 {
        let mut cycle = self.acquire();
        let _ = cycle.begin(pod);
        let of_all = cycle.instance().fake.borrow().signature;
        if !cycle.has("signpod") {
            return of_all;
        }
        match cycle.instance().call("signpod", |hooks| hooks.signpod) {
            0 => of_all,
            signature => signature as u64,
        }
    }

    /// The result of PreEnqueue for a pod.
    pub fn pre_enqueue(&self, pod: &Pod) -> Verdict {
        let mut cycle = self.acquire();
        if !cycle.has("preenqueue") {
            return Ok(());
        }
        cycle.instance().fake.borrow_mut().pod = pod.encode();
        cycle.instance().verdict("preenqueue", |hooks| hooks.preenqueue)
    }

    /// The sort key of a pod.
    pub fn sort_key(&self, pod: &Pod, queued_at: Timestamp) -> Vec<u8> {
        let mut cycle = self.acquire();
        cycle.need("queuesort");
        {
            let mut fake = cycle.instance().fake.borrow_mut();
            (fake.pod, fake.queued_at) = (pod.encode(), queued_at.0);
        }
        cycle.instance().call("queuesort", |hooks| hooks.queuesort);
        let key = cycle.instance().fake.borrow().sort_key.clone();
        key
    }

    /// The queue order of pods that were queued one second apart.
    pub fn queue_order(&self, pods: &[Pod]) -> Vec<String> {
        let began = self.cluster().now();
        let mut keys: Vec<(Vec<u8>, usize)> = pods
            .iter()
            .enumerate()
            .map(|(place, pod)| (self.sort_key(pod, Timestamp(began.0 + place as i64 * 1_000_000_000)), place))
            .collect();
        keys.sort();
        keys.into_iter().map(|(_, place)| pods[place].name.clone()).collect()
    }

    /// The queueing hint for a rejected pod and a change.
    pub fn queueing_hint(&self, pod: &Pod, change: Change) -> Hint {
        let mut cycle = self.acquire();
        cycle.need("queueinghint");
        {
            let mut fake = cycle.instance().fake.borrow_mut();
            (fake.pod, fake.change) = (pod.encode(), Some(change.0));
        }
        match cycle.instance().call("queueinghint", |hooks| hooks.queueinghint) {
            0 => Hint::Skip,
            _ => Hint::Queue,
        }
    }
}

/// A change of the cluster, for [`Plugin::queueing_hint`].
#[derive(Clone, Debug)]
pub struct Change(FakeChange);

impl Change {
    fn new(resource: EventResource, action: EventAction, before: Vec<u8>, after: Vec<u8>) -> Self {
        Self(FakeChange { resource, action, before, after })
    }

    /// A new node.
    pub fn node_added(node: &Node) -> Self {
        Self::new(EventResource::Node, EventAction::ADD, Vec::new(), node.encode())
    }

    /// An updated node.
    pub fn node_changed(before: &Node, after: &Node, action: EventAction) -> Self {
        Self::new(EventResource::Node, action, before.encode(), after.encode())
    }

    /// A new pod.
    pub fn pod_added(pod: &Pod) -> Self {
        Self::new(EventResource::Pod, EventAction::ADD, Vec::new(), pod.encode())
    }

    /// An updated pod.
    pub fn pod_changed(before: &Pod, after: &Pod, action: EventAction) -> Self {
        Self::new(EventResource::Pod, action, before.encode(), after.encode())
    }

    /// A deleted pod.
    pub fn pod_deleted(pod: &Pod) -> Self {
        Self::new(EventResource::Pod, EventAction::DELETE, pod.encode(), Vec::new())
    }
}
