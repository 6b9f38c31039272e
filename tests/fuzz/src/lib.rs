//! What the fuzz targets share: how an input holds the two files of an IR.

/// Between the text of the `.xml` and the bytes of the `.bin`.
pub const SEPARATOR: &[u8] = b"\n--- bin ---\n";

/// The text and the bytes of the weights. Without a separator the weights are numbers from -1 to 1.
pub fn split(data: &[u8]) -> (&[u8], Vec<u8>) {
    match data.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
        Some(at) => (&data[..at], data[at + SEPARATOR.len()..].to_vec()),
        None => (data, (0..1 << 14).flat_map(|k: u32| (((k * 37) % 127) as f32 / 64.0 - 1.0).to_le_bytes()).collect()),
    }
}
