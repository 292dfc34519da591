//! Makes a kilobyte of garbage for each node. With the configuration `leak`, no memory is freed: the allocator only
//! moves a pointer, as `-gc=leaking` of TinyGo does.

use kubewasp_sdk::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

const PIECES: usize = 4;
const LENGTH: usize = 256;
/// Taken from the system at a time.
const CHUNK: usize = 1 << 20;

static LEAKS: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: a guest has one thread; blocks come from the system or from a chunk of it, and are never given twice.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !LEAKS.load(Relaxed) || layout.size() > CHUNK / 4 {
            // SAFETY: the caller's layout.
            return unsafe { System.alloc(layout) };
        }
        let begin = NEXT.load(Relaxed).next_multiple_of(layout.align());
        if begin + layout.size() <= END.load(Relaxed) {
            NEXT.store(begin + layout.size(), Relaxed);
            return begin as *mut u8;
        }
        // SAFETY: a constant layout with a size.
        let chunk = unsafe { System.alloc(Layout::from_size_align_unchecked(CHUNK, 16)) };
        if chunk.is_null() {
            return chunk;
        }
        NEXT.store(chunk as usize, Relaxed);
        END.store(chunk as usize + CHUNK, Relaxed);
        // SAFETY: the caller's layout.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !LEAKS.load(Relaxed) {
            // SAFETY: nothing leaks, so the block is the system's.
            unsafe { System.dealloc(block, layout) }
        }
    }
}

struct Garbage;

impl Plugin for Garbage {
    type State = ();

    fn new() -> Result<Self, Error> {
        LEAKS.store(config_text() == "leak", Relaxed);
        Ok(Self)
    }
}

impl Score for Garbage {
    /// The number of copies of the node's name.
    fn score(&mut self, _: &mut Cycle<Self::State>, node: &Node) -> Result<i64, Status> {
        let mut made = Vec::new();
        for _ in 0..PIECES {
            let mut text = node.name().repeat(LENGTH / node.name().len() + 1);
            text.truncate(LENGTH);
            made.push(text);
        }
        Ok(black_box(&made).len() as i64)
    }
}

register!(Garbage);
