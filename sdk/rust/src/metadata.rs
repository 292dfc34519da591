//! Metadata of objects, taints and tolerations.

use alloc::string::String;

use crate::time::Timestamp;
use crate::wire::Message;

pub(crate) const META: u32 = 1;
pub(crate) const SPEC: u32 = 2;
pub(crate) const STATUS: u32 = 3;
pub(crate) const LABELS: u32 = 11;
pub(crate) const ANNOTATIONS: u32 = 12;

/// The owner of an object, e.g. the ReplicaSet of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerReference<'a> {
    /// API group and version.
    pub api_version: &'a str,
    /// Kind of the owner.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its UID.
    pub uid: &'a str,
    /// Whether it controls the object.
    pub controller: bool,
}

pub(crate) fn owners<'a>(meta: Message<'a>) -> impl Iterator<Item = OwnerReference<'a>> + 'a {
    meta.messages(13).map(|owner| OwnerReference {
        api_version: owner.text(5),
        kind: owner.text(1),
        name: owner.text(3),
        uid: owner.text(4),
        controller: owner.boolean(6),
    })
}

/// The object of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ObjectReference {
    pub kind: String,
    pub api_version: String,
    pub name: String,
    pub namespace: String,
    pub uid: String,
    pub resource_version: String,
}

pub(crate) fn reference(kind: &str, meta: Message<'_>) -> ObjectReference {
    ObjectReference {
        kind: kind.into(),
        api_version: "v1".into(),
        name: meta.text(1).into(),
        namespace: meta.text(3).into(),
        uid: meta.text(5).into(),
        resource_version: meta.text(6).into(),
    }
}

/// A taint of a node, which repels pods without a matching toleration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taint<'a> {
    /// Key.
    pub key: &'a str,
    /// Value.
    pub value: &'a str,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: &'a str,
    /// When it was added, if that is known.
    pub time_added: Option<Timestamp>,
}

impl<'a> Taint<'a> {
    pub(crate) fn read(taint: Message<'a>) -> Self {
        Self { key: taint.text(1), value: taint.text(2), effect: taint.text(3), time_added: Timestamp::read(taint, 4) }
    }
}

/// A toleration of a pod for matching taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Toleration<'a> {
    /// Key; empty: all.
    pub key: &'a str,
    /// `Equal` (also if empty) or `Exists`.
    pub operator: &'a str,
    /// Value.
    pub value: &'a str,
    /// Effect; empty: all.
    pub effect: &'a str,
    /// Seconds until eviction after the taint is added; none: never.
    pub seconds: Option<i64>,
}

impl<'a> Toleration<'a> {
    pub(crate) fn read(sent: Message<'a>) -> Self {
        Self {
            key: sent.text(1),
            operator: sent.text(2),
            value: sent.text(3),
            effect: sent.text(4),
            seconds: sent.has(5).then(|| sent.integer(5)),
        }
    }

    /// Whether the toleration matches the taint.
    pub fn tolerates(&self, taint: &Taint<'_>) -> bool {
        let covers = |wanted: &str, given: &str| wanted.is_empty() || wanted == given;
        covers(self.effect, taint.effect)
            && covers(self.key, taint.key)
            && match self.operator {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                _ => false,
            }
    }
}
