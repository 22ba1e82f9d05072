#![doc = include_str!("norm.md")]

/// Scales a row to norm 1, rounded down; a row of zeros stays as it is. The numbers must be finite.
pub fn to_unit_norm(row: &mut [f32]) {
    let squares: f64 = row.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
    if squares > 0.0 {
        let scale = (1.0 - MARGIN) / squares.sqrt();
        for v in row {
            *v = (f64::from(*v) * scale) as f32;
        }
    }
}

/// `√(1 / width)`, rounded down: as many numbers of this size have norm at most 1.
pub(crate) fn equal_share(width: usize) -> f32 {
    let share = (1.0 / width as f64).sqrt() as f32;
    // The product is off by 2^-53 at most: above this it might be more than 1.
    if f64::from(share) * f64::from(share) * width as f64 > 1.0 - 1e-12 { share.next_down() } else { share }
}

/// Four roundings to single precision.
const MARGIN: f64 = 1.0 / (1_u32 << 22) as f64;

#[cfg(test)]
mod tests {
    use super::*;

    /// An upper bound on the norm.
    fn norm(row: &[f32]) -> f64 {
        let squares: f64 = row.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
        squares.sqrt() * (1.0 + 1e-9)
    }

    #[test]
    fn norms_are_below_one_and_hardly_so() {
        for n in [1_u32, 2, 3, 7, 64, 5184, 100_000] {
            for size in [1e-38, 1.0, 1e38] {
                let mut row: Vec<f32> = (1..=n).map(|i| size * ((i * 7919 % 101) as f32 / 101.0)).collect();
                to_unit_norm(&mut row);
                assert!(norm(&row) <= 1.0 && norm(&row) > 1.0 - 1e-6, "{n} numbers of {size}");
            }
        }
    }

    #[test]
    fn nothing_stays_nothing() {
        let mut row = [0.0, -0.0];
        to_unit_norm(&mut row);
        assert_eq!(row, [0.0, 0.0]);
    }

    #[test]
    fn shares_add_up_to_at_most_one() {
        for width in (1..5000).chain([1 << 16, 1 << 20, (1 << 20) - 1]) {
            let row = vec![equal_share(width); width];
            assert!(norm(&row) <= 1.0 + 1.1e-9 && norm(&row) > 1.0 - 1e-6, "{width}");
        }
    }
}
