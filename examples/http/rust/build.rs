//! Exports of the allocator, for the host.

fn main() {
    for name in ["malloc", "free"] {
        println!("cargo:rustc-link-arg=--export={name}");
    }
}
