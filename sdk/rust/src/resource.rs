//! Resources of nodes that pods request.

use alloc::borrow::Cow;

use crate::host;

/// A resource of nodes that pods request. CPU is in millicores, memory and storage in bytes, others in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    number: i32,
    name: &'static str,
}

/// Number of predefined resources.
pub(crate) const PREDEFINED: usize = 4;

/// Numbers below this one are read without an allocation. Resources are numbered for all guests together, from 0 up: a
/// single guest may have a higher one.
pub(crate) const FEW: usize = 64;

impl Resource {
    /// CPU, in millicores.
    pub const CPU: Resource = Resource { number: 0, name: "cpu" };
    /// Memory, in bytes.
    pub const MEMORY: Resource = Resource { number: 1, name: "memory" };
    /// Ephemeral storage, in bytes.
    pub const EPHEMERAL_STORAGE: Resource = Resource { number: 2, name: "ephemeral-storage" };
    /// Number of pods.
    pub const PODS: Resource = Resource { number: 3, name: "pods" };

    /// An extended resource, e.g. `nvidia.com/gpu`. Call it once, in `Plugin::new`: a guest has at most 64 resources; one
    /// more is an error. A name from the configuration is kept for the life of the guest.
    pub fn named(name: impl Into<Cow<'static, str>>) -> Resource {
        let name = match name.into() {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.leak(),
        };
        Resource { number: host::resource(name), name }
    }

    /// The name of the resource, e.g. `nvidia.com/gpu`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The scheduler's number of the resource, if it has one.
    #[inline(always)]
    pub(crate) fn number(self) -> Option<usize> {
        usize::try_from(self.number).ok()
    }
}
