//! The checksum of a record, in two parts: one can be replaced without knowing the other.

/// The checksum of the row at a position; `row_weight` is `None` in a layout without weights.
pub(super) fn checksum(position: usize, label: f64, selector: u64, row_weight: Option<f64>, features: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(position as u64).to_le_bytes());
    hasher.update(&selector.to_le_bytes());
    if let Some(row_weight) = row_weight {
        hasher.update(&row_weight.to_le_bytes());
    }
    hasher.update(features);
    hasher.finalize() ^ of_label(position, label)
}

pub(super) fn relabelled(checksum: u32, position: usize, old: f64, new: f64) -> u32 {
    checksum ^ of_label(position, old) ^ of_label(position, new)
}

fn of_label(position: usize, label: f64) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(position as u64).to_le_bytes());
    hasher.update(&label.to_le_bytes());
    hasher.update(LABEL_MARK);
    hasher.finalize()
}

/// Five bytes, so that the lengths of the two parts never agree and the position does not cancel.
const LABEL_MARK: &[u8; 5] = b"label";

#[cfg(test)]
mod tests {
    use super::*;

    fn of_record(position: usize, label: f64, selector: u64, features: &[u8]) -> u32 {
        checksum(position, label, selector, None, features)
    }

    #[test]
    fn a_weight_is_covered() {
        let of_weight = |row_weight| checksum(3, 1.0, 9, Some(row_weight), &[7; 8]);
        assert_eq!(of_weight(0.5), of_weight(0.5));
        assert_ne!(of_weight(0.5), of_weight(0.5_f64.next_up()));
    }

    #[test]
    fn a_record_in_the_wrong_place_is_noticed_whatever_its_length() {
        for n_bytes in (0..64).step_by(4) {
            let features = vec![7; n_bytes];
            let here = of_record(3, 1.0, 9, &features);
            for other in [0, 1, 2, 4, 1000, 1 << 31] {
                assert_ne!(of_record(other, 1.0, 9, &features), here, "{n_bytes} bytes, position {other}");
            }
        }
    }

    #[test]
    fn a_label_is_replaced_without_the_features() {
        let checksum = of_record(3, 1.0, 9, &[1, 2, 3, 4]);
        assert_eq!(relabelled(checksum, 3, 1.0, 2.0), of_record(3, 2.0, 9, &[1, 2, 3, 4]));
    }
}
