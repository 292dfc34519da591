//! Strings between a web handler in Rust and its host. Three rules of ownership (docs/web-memory.md):
//!
//! - a string that the guest passes to an imported function stays the guest's: `address`;
//! - a string that the host passes to an exported function is the host's, which frees it: `text`;
//! - a string that the guest returns from an exported function becomes the host's: `transfer`.
//!
//! The host allocates and frees with the guest's `malloc` and `free`, which build.rs exports.
//!
//!     cargo build --release --target wasm32-wasip1 --examples

/// Pointer and length of a string, for an imported function. The borrow keeps it alive during the call.
pub fn address(text: &str) -> (*const u8, usize) {
    (text.as_ptr(), text.len())
}

/// A copy of a string of the host, which may free it afterwards. Invalid UTF-8 is replaced.
///
/// # Safety
/// Pointer and length must come from the host, in this call.
pub unsafe fn text(pointer: *const u8, length: usize) -> String {
    if length == 0 {
        return String::new();
    }
    String::from_utf8_lossy(std::slice::from_raw_parts(pointer, length)).into_owned()
}

/// A copy of a string that an imported function has returned as `pointer << 32 | length`.
///
/// # Safety
/// As for `text`.
pub unsafe fn unpacked(packed: u64) -> String {
    text((packed >> 32) as usize as *const u8, packed as u32 as usize)
}

/// A copy of a string as `pointer << 32 | length`, for the result of an exported function. The host owns it.
pub fn transfer(text: &str) -> u64 {
    let copy = unsafe { malloc(text.len().max(1)) };
    assert!(!copy.is_null(), "out of memory");
    unsafe { copy.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    (copy as usize as u64) << 32 | text.len() as u64
}

extern "C" {
    /// Of the C library of the target. build.rs exports both.
    fn malloc(size: usize) -> *mut u8;
    fn free(pointer: *mut u8);
}

/// Ends the ownership of a string that the host has handed over, packed as `pointer << 32 | length`.
///
/// # Safety
/// Once for each string.
pub unsafe fn release(packed: u64) {
    free((packed >> 32) as usize as *mut u8);
}
