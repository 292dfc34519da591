//! Pods and nodes for tests.

use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

use super::encode::{object, Encoder};
use crate::Timestamp;

type Texts = BTreeMap<String, String>;

/// A pod for a test: `Pod::new("web").request("cpu", "500m").label("app", "web")`. Empty fields have the defaults of
/// Kubernetes; the namespace is `default`, the UID is derived from namespace and name.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Pod {
    pub name: String,
    pub namespace: String,
    pub uid: String,
    pub labels: Texts,
    pub annotations: Texts,
    pub creation_timestamp: Option<Timestamp>,
    pub deletion_timestamp: Option<Timestamp>,
    /// API version, kind, name and UID of the controlling owner.
    pub owner: Option<[String; 4]>,
    pub node_name: String,
    pub scheduler_name: String,
    pub priority: i32,
    pub priority_class_name: String,
    pub preemption_policy: String,
    pub node_selector: Texts,
    /// Key, operator, value and effect.
    pub tolerations: Vec<[String; 4]>,
    pub host_network: bool,
    pub overhead: Texts,
    pub scheduling_gates: Vec<String>,
    pub termination_grace_seconds: Option<i64>,
    pub phase: String,
    pub nominated_node_name: String,
    pub containers: Vec<Container>,
    pub init_containers: Vec<Container>,
    /// Requests of the pod as a whole.
    pub pod_requests: Texts,
}

/// A container of a pod. An init container that is a sidecar keeps running beside the others.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Container {
    pub name: String,
    pub image: String,
    pub requests: Texts,
    pub limits: Texts,
    /// Container port, host port and protocol.
    pub ports: Vec<(i32, i32, String)>,
    pub sidecar: bool,
}

/// A node for a test: `Node::new("a").label("zone", "b").allocatable("cpu", "4")`. It takes 110 pods by default.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Node {
    pub name: String,
    pub uid: String,
    pub labels: Texts,
    pub annotations: Texts,
    pub creation_timestamp: Option<Timestamp>,
    pub unschedulable: bool,
    pub provider_id: String,
    /// Key, value and effect.
    pub taints: Vec<[String; 3]>,
    pub allocatable: Texts,
    pub capacity: Texts,
    /// Type and status.
    pub conditions: Vec<[String; 2]>,
    /// Type and address.
    pub addresses: Vec<[String; 2]>,
    /// Names and size.
    pub images: Vec<(Vec<String>, i64)>,
}

impl Container {
    /// A container.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Sets its image.
    #[must_use]
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = image.into();
        self
    }

    /// Adds a request.
    #[must_use]
    pub fn request(mut self, resource: impl Into<String>, quantity: impl Into<String>) -> Self {
        self.requests.insert(resource.into(), quantity.into());
        self
    }

    /// Makes it a sidecar.
    #[must_use]
    pub fn sidecar(mut self) -> Self {
        self.sidecar = true;
        self
    }

    fn encode(&self, to: &mut Encoder) {
        to.text(1, &self.name);
        to.text(2, &self.image);
        for (port, host, protocol) in &self.ports {
            to.message(6, |inner| {
                inner.int(2, i64::from(*host));
                inner.int(3, i64::from(*port));
                inner.text(4, protocol);
            });
        }
        to.message(8, |inner| {
            inner.quantities(1, &self.limits);
            inner.quantities(2, &self.requests);
        });
        if self.sidecar {
            to.text(24, "Always");
        }
    }
}

impl Pod {
    /// A pod of one container.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), namespace: "default".into(), ..Self::default() }
    }

    /// Sets the namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }

    /// Adds a request of the first container.
    #[must_use]
    pub fn request(mut self, resource: impl Into<String>, quantity: impl Into<String>) -> Self {
        self.first().requests.insert(resource.into(), quantity.into());
        self
    }

    /// Sets the image of the first container.
    #[must_use]
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.first().image = image.into();
        self
    }

    /// Adds a container.
    #[must_use]
    pub fn container(mut self, container: Container) -> Self {
        self.containers.push(container);
        self
    }

    /// Adds an init container.
    #[must_use]
    pub fn init_container(mut self, container: Container) -> Self {
        self.init_containers.push(container);
        self
    }

    /// Sets the priority.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Places the pod on a node.
    #[must_use]
    pub fn on(mut self, node: impl Into<String>) -> Self {
        self.node_name = node.into();
        self
    }

    fn first(&mut self) -> &mut Container {
        if self.containers.is_empty() {
            self.containers.push(Container::new("main"));
        }
        &mut self.containers[0]
    }

    /// The UID; derived from namespace and name if it is empty.
    pub(crate) fn identity(&self) -> String {
        if self.uid.is_empty() {
            format!("{}/{}", self.namespace, self.name)
        } else {
            self.uid.clone()
        }
    }

    /// The pod in protobuf, in the form of the API server.
    pub fn encode(&self) -> Vec<u8> {
        let (mut meta, mut spec, mut status) = (Encoder::default(), Encoder::default(), Encoder::default());
        meta.text(1, &self.name);
        meta.text(3, &self.namespace);
        meta.text(5, &self.identity());
        meta.time(8, self.creation_timestamp);
        meta.time(9, self.deletion_timestamp);
        meta.texts(11, &self.labels);
        meta.texts(12, &self.annotations);
        if let Some([api_version, kind, name, uid]) = &self.owner {
            meta.message(13, |inner| {
                inner.text(1, kind);
                inner.text(3, name);
                inner.text(4, uid);
                inner.text(5, api_version);
                inner.int(6, 1);
            });
        }
        let single = vec![Container::new("main")];
        let containers = if self.containers.is_empty() { &single } else { &self.containers };
        for container in containers {
            spec.message(2, |inner| container.encode(inner));
        }
        if let Some(seconds) = self.termination_grace_seconds {
            spec.int(4, seconds);
        }
        spec.texts(7, &self.node_selector);
        spec.text(10, &self.node_name);
        spec.int(11, i64::from(self.host_network));
        spec.text(19, &self.scheduler_name);
        for container in &self.init_containers {
            spec.message(20, |inner| container.encode(inner));
        }
        for [key, operator, value, effect] in &self.tolerations {
            spec.message(22, |inner| {
                for (field, text) in (1..).zip([key, operator, value, effect]) {
                    inner.text(field, text);
                }
            });
        }
        spec.text(24, &self.priority_class_name);
        spec.int(25, i64::from(self.priority));
        if !self.preemption_policy.is_empty() {
            spec.text(31, &self.preemption_policy);
        }
        spec.quantities(32, &self.overhead);
        for gate in &self.scheduling_gates {
            spec.message(38, |inner| inner.text(1, gate));
        }
        if !self.pod_requests.is_empty() {
            spec.message(40, |inner| inner.quantities(2, &self.pod_requests));
        }
        status.text(1, &self.phase);
        status.text(11, &self.nominated_node_name);
        object(&meta, &spec, &status)
    }
}

impl Node {
    /// A node.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }

    /// Sets the allocatable amount of a resource.
    #[must_use]
    pub fn allocatable(mut self, resource: impl Into<String>, quantity: impl Into<String>) -> Self {
        self.allocatable.insert(resource.into(), quantity.into());
        self
    }

    /// Adds a taint.
    #[must_use]
    pub fn taint(mut self, key: impl Into<String>, value: impl Into<String>, effect: impl Into<String>) -> Self {
        self.taints.push([key.into(), value.into(), effect.into()]);
        self
    }

    /// The node in protobuf, in the form of the API server.
    pub fn encode(&self) -> Vec<u8> {
        let (mut meta, mut spec, mut status) = (Encoder::default(), Encoder::default(), Encoder::default());
        meta.text(1, &self.name);
        meta.text(5, &if self.uid.is_empty() { format!("node/{}", self.name) } else { self.uid.clone() });
        meta.time(8, self.creation_timestamp);
        meta.texts(11, &self.labels);
        meta.texts(12, &self.annotations);
        spec.text(3, &self.provider_id);
        spec.int(4, i64::from(self.unschedulable));
        for [key, value, effect] in &self.taints {
            spec.message(5, |inner| {
                for (field, text) in (1..).zip([key, value, effect]) {
                    inner.text(field, text);
                }
            });
        }
        status.quantities(1, &self.capacity);
        status.quantities(2, &self.allocatable);
        for (field, pairs) in [(4, &self.conditions), (5, &self.addresses)] {
            for [kind, value] in pairs {
                status.message(field, |inner| {
                    inner.text(1, kind);
                    inner.text(2, value);
                });
            }
        }
        for (names, size) in &self.images {
            status.message(8, |inner| {
                for name in names {
                    inner.text(1, name);
                }
                inner.int(2, *size);
            });
        }
        object(&meta, &spec, &status)
    }
}
