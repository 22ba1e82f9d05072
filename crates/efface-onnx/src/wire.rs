//! Protobuf messages as lists of fields whose bytes are kept as they are, known or not.

/// A field: its number, what it holds, and all of its bytes.
pub(crate) struct Field<'a> {
    pub(crate) number: u64,
    /// Empty unless the field is of the length-delimited kind, as all messages are.
    pub(crate) payload: &'a [u8],
    pub(crate) whole: &'a [u8],
}

/// The fields of a message in their order, or none if it is not one.
pub(crate) fn fields(mut message: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let start = message;
        let key = varint(&mut message)?;
        let length = match key & 7 {
            0 => {
                varint(&mut message)?;
                0
            }
            1 => 8,
            2 => usize::try_from(varint(&mut message)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (content, rest) = message.split_at_checked(length)?;
        message = rest;
        let payload = if key & 7 == 2 { content } else { &[] };
        fields.push(Field { number: key >> 3, payload, whole: &start[..start.len() - rest.len()] });
    }
    Some(fields)
}

/// Appends a length-delimited field.
pub(crate) fn put(number: u64, payload: &[u8], out: &mut Vec<u8>) {
    put_varint(number << 3 | 2, out);
    put_varint(payload.len() as u64, out);
    out.extend_from_slice(payload);
}

/// Appends a field that is a number.
pub(crate) fn put_number(number: u64, value: u64, out: &mut Vec<u8>) {
    put_varint(number << 3, out);
    put_varint(value, out);
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
