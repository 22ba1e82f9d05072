//! Bytes as hexadecimal digits.

/// Two lower-case digits per byte.
pub fn encode(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Exactly `N` bytes, or nothing.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    if rest.is_empty() { bytes.try_into().ok() } else { None }
}
