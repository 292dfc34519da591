//! For `no_std` guests: an allocator with a free list for each power of two, and a panic handler that traps.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32;
use core::cell::UnsafeCell;
use core::ptr;

const PAGE: usize = 65536;
const CLASSES: usize = usize::BITS as usize;

struct Memory {
    /// Unused memory between two addresses.
    next: usize,
    end: usize,
    /// The first free block of each size; a block begins with the address of the next one.
    free: [*mut u8; CLASSES],
}

struct Allocator(UnsafeCell<Memory>);

// SAFETY: a guest has one thread.
unsafe impl Sync for Allocator {}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator(UnsafeCell::new(Memory { next: 0, end: 0, free: [ptr::null_mut(); CLASSES] }));

/// Size of a block: a power of two, also its alignment.
fn size(layout: Layout) -> Option<usize> {
    layout.size().max(layout.align()).max(size_of::<usize>()).checked_next_power_of_two()
}

// SAFETY: blocks have the size and alignment of their class, and are in one free list or in use.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(size) = size(layout) else {
            return ptr::null_mut();
        };
        // SAFETY: one thread; no other reference is alive.
        let memory = unsafe { &mut *self.0.get() };
        let class = size.trailing_zeros() as usize;
        let block = memory.free[class];
        if !block.is_null() {
            // SAFETY: a free block holds the address of the next one.
            memory.free[class] = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        memory.take(size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(size) = size(layout) {
            // SAFETY: one thread; no other reference is alive.
            let memory = unsafe { &mut *self.0.get() };
            let class = size.trailing_zeros() as usize;
            // SAFETY: the block is unused and large enough for an address.
            unsafe { block.cast::<*mut u8>().write(memory.free[class]) };
            memory.free[class] = block;
        }
    }
}

impl Memory {
    fn take(&mut self, size: usize) -> *mut u8 {
        let aligned = |next: usize| next.checked_add(size - 1).map(|last| last & !(size - 1));
        let fits = |start: usize, end: usize| start.checked_add(size).is_some_and(|last| last <= end);
        match aligned(self.next).filter(|&start| start != 0 && fits(start, self.end)) {
            Some(start) => {
                self.next = start + size;
                start as *mut u8
            }
            None => {
                // Blocks above a page are aligned to it at most by twice their size.
                let pages = (size.saturating_mul(2)).max(PAGE).div_ceil(PAGE);
                let grown = wasm32::memory_grow::<0>(pages);
                if grown == usize::MAX {
                    return ptr::null_mut();
                }
                (self.next, self.end) = (grown * PAGE, (grown + pages) * PAGE);
                self.take(size)
            }
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    wasm32::unreachable()
}
