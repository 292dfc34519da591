//! Views of pods.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell};
use core::time::Duration;

use crate::container::{self, Container};
use crate::host;
use crate::map::{Map, Quantities};
use crate::mark::Mark;
use crate::metadata::{
    self, ObjectReference, OwnerReference, Taint, Toleration, ANNOTATIONS, LABELS, META, SPEC, STATUS,
};
use crate::purity::{self, Field};
use crate::resource::{Resource, FEW, PREDEFINED};
use crate::time::Timestamp;
use crate::wire::Message;

/// A view of an encoded pod; fields are decoded on access. The current pod is read on the first one.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Current(&'a CurrentPod),
    Encoded(Message<'a>),
}

const NAME: u32 = 1;
const NAMESPACE: u32 = 3;
const UID: u32 = 5;
const RESOURCE_VERSION: u32 = 6;

/// Set by the first read of a current pod.
static READ: Mark = Mark::new();

/// The pod of a cycle, in memory of its own.
#[derive(Debug)]
pub(crate) struct CurrentPod {
    object: OnceCell<Box<[u8]>>,
    /// Whether the answer of the hook may be shared with other pods, so that it matters what the plugin reads.
    is_shared: Cell<bool>,
}

impl CurrentPod {
    pub(crate) const fn new() -> Self {
        Self { object: OnceCell::new(), is_shared: Cell::new(false) }
    }

    /// Begins a hook.
    #[inline(always)]
    pub(crate) fn begin(&self, is_shared: bool) {
        if purity::is_declared() {
            self.is_shared.set(is_shared);
        }
    }

    #[inline(always)]
    fn reads(&self, field: Field) {
        if purity::is_declared() && self.is_shared.get() {
            purity::report(field);
        }
    }

    fn object(&self) -> &[u8] {
        self.object.get_or_init(|| {
            READ.set();
            host::read(host::current_pod).into_boxed_slice()
        })
    }

    /// Whether there may be something to forget.
    #[inline(always)]
    pub(crate) fn is_used() -> bool {
        READ.is_set()
    }

    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        if READ.is_set() {
            self.object = OnceCell::new();
        }
    }
}

impl<'a> Pod<'a> {
    /// A view of an encoded pod.
    pub const fn new(object: Message<'a>) -> Self {
        Self(Source::Encoded(object))
    }

    pub(crate) const fn current(pod: &'a CurrentPod) -> Self {
        Self(Source::Current(pod))
    }

    /// The whole pod, for fields without a method.
    pub fn proto(&self) -> Message<'a> {
        self.read(Field::Object)
    }

    /// The pod, to read a field of it.
    #[inline]
    fn read(&self, field: Field) -> Message<'a> {
        match self.0 {
            Source::Current(pod) => {
                pod.reads(field);
                Message::new(pod.object())
            }
            Source::Encoded(object) => object,
        }
    }

    fn meta(&self, field: u32) -> Message<'a> {
        self.read(Field::Meta(field)).message(META)
    }

    fn spec(&self, field: u32) -> Message<'a> {
        self.read(Field::Spec(field)).message(SPEC)
    }

    /// `metadata.name`
    pub fn name(&self) -> &'a str {
        self.meta(1).text(1)
    }

    /// `metadata.namespace`
    pub fn namespace(&self) -> &'a str {
        self.meta(3).text(3)
    }

    /// `metadata.uid`
    pub fn uid(&self) -> &'a str {
        self.meta(5).text(5)
    }

    /// `metadata.labels`
    pub fn labels(&self) -> Map<'a> {
        Map::new(self.meta(LABELS), LABELS)
    }

    /// `metadata.annotations`
    pub fn annotations(&self) -> Map<'a> {
        Map::new(self.meta(ANNOTATIONS), ANNOTATIONS)
    }

    /// `metadata.creationTimestamp`
    pub fn creation_timestamp(&self) -> Option<Timestamp> {
        Timestamp::read(self.meta(8), 8)
    }

    /// `metadata.deletionTimestamp`: set while the pod is being deleted.
    pub fn deletion_timestamp(&self) -> Option<Timestamp> {
        Timestamp::read(self.meta(9), 9)
    }

    /// `metadata.ownerReferences`
    pub fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'a>> + 'a {
        metadata::owners(self.meta(13))
    }

    /// A reference to the pod, for events.
    pub fn reference(&self) -> ObjectReference {
        for field in [NAMESPACE, UID, RESOURCE_VERSION] {
            self.meta(field);
        }
        metadata::reference("Pod", self.meta(NAME))
    }

    /// `spec.nodeName`, the node of the pod.
    pub fn node_name(&self) -> &'a str {
        self.spec(10).text(10)
    }

    /// `spec.schedulerName`
    pub fn scheduler_name(&self) -> &'a str {
        self.spec(19).text(19)
    }

    /// `spec.priority`; 0 if there is none.
    pub fn priority(&self) -> i32 {
        self.spec(25).integer(25) as i32
    }

    /// `spec.priorityClassName`
    pub fn priority_class_name(&self) -> &'a str {
        self.spec(24).text(24)
    }

    /// `spec.preemptionPolicy`
    pub fn preemption_policy(&self) -> &'a str {
        self.spec(31).text(31)
    }

    /// `spec.hostNetwork`
    pub fn host_network(&self) -> bool {
        self.spec(11).boolean(11)
    }

    /// `spec.nodeSelector`
    pub fn node_selector(&self) -> Map<'a> {
        Map::new(self.spec(7), 7)
    }

    /// `spec.tolerations`
    pub fn tolerations(&self) -> impl Iterator<Item = Toleration<'a>> + 'a {
        self.spec(22).messages(22).map(Toleration::read)
    }

    /// Whether the pod tolerates the taint.
    pub fn tolerates(&self, taint: &Taint<'_>) -> bool {
        self.tolerations().any(|toleration| toleration.tolerates(taint))
    }

    /// `spec.containers`
    pub fn containers(&self) -> impl Iterator<Item = Container<'a>> + 'a {
        self.spec(2).messages(2).map(Container::new)
    }

    /// `spec.initContainers`
    pub fn init_containers(&self) -> impl Iterator<Item = Container<'a>> + 'a {
        self.spec(20).messages(20).map(Container::new)
    }

    /// `spec.overhead`
    pub fn overhead(&self) -> Quantities<'a> {
        Quantities::new(self.spec(32), 32)
    }

    /// Requests of the pod as a whole: `spec.resources.requests`
    pub fn pod_level_requests(&self) -> Quantities<'a> {
        Quantities::new(self.spec(40).message(40), 2)
    }

    /// Names in `spec.schedulingGates`
    pub fn scheduling_gates(&self) -> impl Iterator<Item = &'a str> + 'a {
        self.spec(38).messages(38).map(|gate| gate.text(1))
    }

    /// `spec.terminationGracePeriodSeconds`; 30 s by default, as in Kubernetes.
    pub fn termination_grace_period(&self) -> Duration {
        let spec = self.spec(4);
        let seconds = if spec.has(4) { spec.integer(4) } else { 30 };
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }

    /// `status.phase`
    pub fn phase(&self) -> &'a str {
        self.read(Field::Status).message(STATUS).text(1)
    }

    /// `status.nominatedNodeName`
    pub fn nominated_node_name(&self) -> &'a str {
        self.read(Field::Status).message(STATUS).text(11)
    }

    /// The effective request for a resource by the rules of the scheduler: containers, init containers, sidecars, overhead,
    /// pod-level resources. CPU is in millicores. For the current pod it is a number of the scheduler.
    #[inline(always)]
    pub fn requests(&self, resource: Resource) -> i64 {
        match (self.0, resource.number()) {
            _ if resource == Resource::PODS => 1,
            (Source::Current(pod), Some(number)) => {
                pod.reads(Field::Requests);
                known(2 + number)
            }
            _ => container::requests(self, resource),
        }
    }

    /// Like `requests`, with a small default for containers that request no CPU or memory. It is available for CPU and
    /// memory of the current pod; otherwise it equals `requests`.
    pub fn non_zero_requests(&self, resource: Resource) -> i64 {
        match (self.0, resource.number()) {
            (Source::Current(pod), Some(number @ (0 | 1))) => {
                pod.reads(Field::Requests);
                known(number)
            }
            _ => self.requests(resource),
        }
    }
}

/// A number that the scheduler has for the current pod.
#[inline(always)]
fn known(place: usize) -> i64 {
    if place < 2 + PREDEFINED {
        let mut numbers = [0; 2 + PREDEFINED];
        host::pod_requests(&mut numbers[..=place]);
        numbers[place]
    } else if place < 2 + FEW {
        let mut numbers = [0; 2 + FEW];
        host::pod_requests(&mut numbers[..=place]);
        numbers[place]
    } else {
        let mut numbers = vec![0; place + 1];
        host::pod_requests(&mut numbers);
        numbers[place]
    }
}

/// A list of pods, in memory of its own: the pods on a node, the pods that wait.
#[derive(Clone, Debug, Default)]
pub struct Pods(Vec<u8>);

impl Pods {
    /// The body of an encoded PodList.
    pub(crate) fn new(list: Vec<u8>) -> Self {
        Self(list)
    }

    /// The pods.
    pub fn iter(&self) -> impl Iterator<Item = Pod<'_>> + '_ {
        const ITEMS: u32 = 2;
        Message::new(&self.0).messages(ITEMS).map(Pod::new)
    }

    /// Number of pods.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}
