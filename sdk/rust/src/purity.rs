//! The declaration of a pure plugin, and the fields of the pod that it reads.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::host;
use crate::mark::Mark;

/// Declares that PreFilter, Filter, PreScore and Score depend on the pod, the configuration and the node at hand with its
/// pods, and on nothing else. The scheduler then calls them again for nodes that have changed since they were called for an
/// equal pod: mostly for the one node that the previous pod is on. Pods are equal if all fields are that the plugin has read.
/// Call it in `Plugin::new`.
///
/// A plugin is not pure if one of these methods reads other nodes, the list of nodes of PreScore, waiting pods, the time,
/// random numbers, or fields of the plugin that other hooks change. Name and uid of the pod, also in a log line, make every
/// pod different. `kubewasp plugin test` compares the answers with those of a plugin that is asked each time.
pub fn declare_pure() {
    PURE.set();
    host::pure();
}

/// A guest that is not pure has no code that notes what it reads.
static PURE: Mark = Mark::new();

/// Fields of the pod that the scheduler knows of, by their numbers: metadata, the two halves of the spec, others.
static READ: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

/// A part of the pod with the number of a field.
#[derive(Clone, Copy)]
pub(crate) enum Field {
    Meta(u32),
    Spec(u32),
    Requests,
    Status,
    Object,
}

#[inline(always)]
pub(crate) fn is_declared() -> bool {
    PURE.is_set()
}

/// Reports that the plugin reads a field.
pub(crate) fn report(field: Field) {
    let (place, number) = match field {
        Field::Meta(number) => (0, number),
        Field::Spec(number) => (1 + number as usize / 32, number % 32),
        Field::Requests => (3, 0),
        Field::Status => (3, 1),
        Field::Object => (3, 2),
    };
    let (known, bit) = (READ[place].load(Ordering::Relaxed), 1 << number);
    if known & bit == 0 {
        READ[place].store(known | bit, Ordering::Relaxed);
        let [metadata, spec, spec_high, others] = core::array::from_fn(|place| READ[place].load(Ordering::Relaxed));
        host::pod_read(metadata, spec, spec_high, others);
    }
}
