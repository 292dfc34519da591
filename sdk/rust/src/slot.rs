//! The one guest of a wasm module.

use core::cell::UnsafeCell;

use crate::guest::Guest;
use crate::hooks::Plugin;
use crate::host;

/// A plugin with a guest.
pub trait Registered: Plugin {
    /// The guest.
    fn guest() -> &'static mut Guest<Self>;
}

/// Memory of the guest.
pub struct Slot<P: Plugin>(UnsafeCell<Guest<P>>);

// SAFETY: a guest has one thread.
unsafe impl<P: Plugin> Sync for Slot<P> {}

impl<P: Plugin> Slot<P> {
    /// A guest without its plugin.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(UnsafeCell::new(Guest::new()))
    }

    /// Creates the plugin, and declares its hooks unless there are none to declare.
    ///
    /// # Safety
    /// Called once, before `guest`.
    #[inline(always)]
    pub unsafe fn start(&self, hooks: u32) {
        // SAFETY: there is no other reference.
        if let Err(error) = unsafe { &mut *self.0.get() }.load() {
            host::refuse(error.text());
        }
        if hooks != 0 {
            host::implemented(hooks);
        }
    }

    /// The guest.
    ///
    /// # Safety
    /// Only one reference at a time.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub unsafe fn guest(&self) -> &mut Guest<P> {
        // SAFETY: as required of the caller.
        unsafe { &mut *self.0.get() }
    }
}

/// Calls the constructors of the C library. Without this call the linker lets every export call them.
///
/// # Safety
/// Called once, first.
#[inline(always)]
pub unsafe fn construct() {
    #[cfg(target_os = "wasi")]
    {
        extern "C" {
            fn __wasm_call_ctors();
        }
        // SAFETY: as required of the caller.
        unsafe { __wasm_call_ctors() }
    }
}
