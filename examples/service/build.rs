fn main() -> Result<(), cellc::Error> {
    let shape = [Some(1), None, Some(10)]; // batch 1, any number of steps, 10 numbers
    cellc::Builder::new("model.xml").open_shape("x", shape).name("net").compile()?;
    Ok(())
}
