//! Views of containers, and the effective requests of a pod.

use crate::map::Quantities;
use crate::pod::Pod;
use crate::quantity::Quantity;
use crate::resource::Resource;
use crate::wire::Message;

const RESOURCES: u32 = 8;

/// A view of one container of a pod.
#[derive(Clone, Copy, Debug)]
pub struct Container<'a>(Message<'a>);

/// A port of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Port<'a> {
    pub name: &'a str,
    pub container_port: i32,
    pub host_port: i32,
    pub host_ip: &'a str,
    pub protocol: &'a str,
}

impl<'a> Container<'a> {
    pub(crate) fn new(container: Message<'a>) -> Self {
        Self(container)
    }

    /// The container's name.
    pub fn name(&self) -> &'a str {
        self.0.text(1)
    }

    /// The container's image.
    pub fn image(&self) -> &'a str {
        self.0.text(2)
    }

    /// `resources.requests`
    pub fn requests(&self) -> Quantities<'a> {
        Quantities::new(self.0.message(RESOURCES), 2)
    }

    /// `resources.limits`
    pub fn limits(&self) -> Quantities<'a> {
        Quantities::new(self.0.message(RESOURCES), 1)
    }

    /// The container's ports.
    pub fn ports(&self) -> impl Iterator<Item = Port<'a>> + 'a {
        self.0.messages(6).map(|port| Port {
            name: port.text(1),
            host_port: port.integer(2) as i32,
            container_port: port.integer(3) as i32,
            protocol: port.text(4),
            host_ip: port.text(5),
        })
    }

    /// Whether an init container is a sidecar, which keeps running beside the others.
    pub fn is_sidecar(&self) -> bool {
        self.0.text(24) == "Always"
    }

    /// The whole container, for fields without a method.
    pub fn proto(&self) -> Message<'a> {
        self.0
    }
}

/// Effective requests by the rules of the scheduler. Init containers run one after the other, each beside the sidecars
/// started before it.
pub(crate) fn requests(pod: &Pod<'_>, resource: Resource) -> i64 {
    let total = requests_of(pod, resource.name(), |quantity| quantity.of(resource));
    // Only these have pod-level requests.
    let name = resource.name();
    if resource != Resource::CPU && resource != Resource::MEMORY && !name.starts_with("hugepages-") {
        return total;
    }
    let of = |quantities: Quantities<'_>| quantities.get(name).map(|quantity| quantity.of(resource));
    match of(pod.pod_level_requests()) {
        Some(request) => request.saturating_add(of(pod.overhead()).unwrap_or(0)),
        None => total,
    }
}

/// Sum of containers, init containers and overhead, in a unit.
pub(crate) fn requests_of(pod: &Pod<'_>, name: &str, unit: impl Fn(Quantity<'_>) -> i64) -> i64 {
    let amount = |quantities: Quantities<'_>| quantities.get(name).map_or(0, &unit);
    let (mut running, mut sidecars, mut highest) = (0_i64, 0_i64, 0_i64);
    for container in pod.containers() {
        running = running.saturating_add(amount(container.requests()));
    }
    for container in pod.init_containers() {
        let beside = sidecars.saturating_add(amount(container.requests()));
        if container.is_sidecar() {
            sidecars = beside;
        }
        highest = highest.max(beside);
    }
    running.saturating_add(sidecars).max(highest).saturating_add(amount(pod.overhead()))
}
