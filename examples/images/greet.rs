// Greets, and adds the motto of a file if the program has access to it.
fn main() {
    let name = std::env::args().nth(1).unwrap_or("world".to_string());
    println!("Hello, {name}");
    match std::fs::read_to_string("/data/motto.txt") {
        Ok(motto) => print!("motto: {motto}"),
        Err(error) => println!("no motto: {error}"),
    }
}
