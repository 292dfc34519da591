//! Options of the linker for a small guest.

fn main() {
    for option in ["--compress-relocations", "-zstack-size=4096", "--stack-first"] {
        println!("cargo:rustc-link-arg-cdylib={option}");
    }
}
