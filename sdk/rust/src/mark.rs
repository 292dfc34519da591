//! Marks of a guest that are set once, by the code whose results have to be freed later.
//!
//! The compiler sees a mark that nothing sets as constant: a guest that never reads its pod has no code that frees one. Tests
//! run several guests in one process, where all marks count as set.

#[cfg(target_arch = "wasm32")]
use core::cell::Cell;

/// A mark of the guest.
#[cfg(target_arch = "wasm32")]
pub(crate) struct Mark(Cell<bool>);

// SAFETY: a guest has one thread.
#[cfg(target_arch = "wasm32")]
unsafe impl Sync for Mark {}

#[cfg(target_arch = "wasm32")]
impl Mark {
    pub(crate) const fn new() -> Self {
        Self(Cell::new(false))
    }

    #[inline(always)]
    pub(crate) fn set(&self) {
        self.0.set(true);
    }

    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        self.0.get()
    }
}

/// A mark that is always set.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) struct Mark;

#[cfg(not(target_arch = "wasm32"))]
impl Mark {
    pub(crate) const fn new() -> Self {
        Self
    }

    pub(crate) fn set(&self) {}

    pub(crate) fn is_set(&self) -> bool {
        true
    }
}
