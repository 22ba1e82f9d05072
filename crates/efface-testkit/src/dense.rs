//! Small dense linear algebra: double-double vectors, a Cholesky solver and the norm of a design matrix.
//!
//! Sizes are those of test problems (up to a few dozen columns), so the plainest algorithms serve.

use crate::double::DoubleDouble;

/// `aᵀb`.
pub fn dot<A, B>(a: &[A], b: &[B]) -> DoubleDouble
where
    A: Copy + Into<DoubleDouble>,
    B: Copy + Into<DoubleDouble>,
{
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(&a, &b)| a.into() * b.into()).sum()
}

/// `‖a‖₂`.
pub fn norm<A: Copy + Into<DoubleDouble>>(a: &[A]) -> DoubleDouble {
    dot(a, a).sqrt()
}

/// `target += factor · direction`.
pub fn add_scaled<A: Copy + Into<DoubleDouble>>(target: &mut [DoubleDouble], factor: DoubleDouble, direction: &[A]) {
    debug_assert_eq!(target.len(), direction.len());
    for (target, &component) in target.iter_mut().zip(direction) {
        *target += factor * component.into();
    }
}

/// Solves `matrix · x = right` for a symmetric positive definite matrix by its Cholesky factor.
///
/// Reads the lower triangle only. `None` when a pivot is not positive.
pub fn solve_positive_definite(matrix: &[Vec<DoubleDouble>], right: &[DoubleDouble]) -> Option<Vec<DoubleDouble>> {
    let factor = cholesky(matrix)?;
    let mut x = right.to_vec();
    for i in 0..x.len() {
        let known = dot(&factor[i][..i], &x[..i]);
        x[i] = (x[i] - known) / factor[i][i];
    }
    for i in (0..x.len()).rev() {
        let known: DoubleDouble = (i + 1..x.len()).map(|j| factor[j][i] * x[j]).sum();
        x[i] = (x[i] - known) / factor[i][i];
    }
    Some(x)
}

/// ‖X‖₂, the largest singular value of the matrix with the given rows. Relative error below 1e-12.
///
/// The Gram matrix XᵀX is summed in double-double, and its largest eigenvalue found by squaring it.
pub fn design_norm(rows: &[Vec<f64>]) -> f64 {
    let largest = rows.iter().flatten().fold(0.0_f64, |largest, &x| largest.max(x.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let dim = rows[0].len();
    let mut gram = vec![vec![DoubleDouble::ZERO; dim]; dim];
    for row in rows {
        // Scaled so that squares neither overflow nor underflow.
        let scaled: Vec<DoubleDouble> = row.iter().map(|&x| DoubleDouble::from(x) / largest).collect();
        for (gram_row, &x) in gram.iter_mut().zip(&scaled) {
            add_scaled(gram_row, x, &scaled);
        }
    }
    let rounded = gram.iter().map(|row| row.iter().map(|x| x.to_f64()).collect()).collect();
    largest * largest_eigenvalue(rounded).sqrt()
}

/// Lower triangular L with L Lᵀ = matrix; row i has i + 1 entries.
fn cholesky(matrix: &[Vec<DoubleDouble>]) -> Option<Vec<Vec<DoubleDouble>>> {
    let mut factor: Vec<Vec<DoubleDouble>> = Vec::with_capacity(matrix.len());
    for (i, matrix_row) in matrix.iter().enumerate() {
        let mut row = Vec::with_capacity(i + 1);
        for j in 0..i {
            let rest = matrix_row[j] - dot(&row[..j], &factor[j][..j]);
            row.push(rest / factor[j][j]);
        }
        let pivot = matrix_row[i] - dot(&row, &row);
        if pivot.to_f64().is_nan() || pivot <= DoubleDouble::ZERO {
            return None;
        }
        row.push(pivot.sqrt());
        factor.push(row);
    }
    Some(factor)
}

/// Largest eigenvalue of a positive semidefinite matrix: that of a high power of it, whose trace is hardly more.
///
/// ```text
/// A₀ = A,  A_(k+1) = (A_k / t_k)²,  t_k = tr A_k:    λ(A) = Π t_k^(2^−k)
/// ```
fn largest_eigenvalue(mut a: Vec<Vec<f64>>) -> f64 {
    let mut logarithm = 0.0;
    for k in 0..N_SQUARES {
        let trace: f64 = a.iter().enumerate().map(|(i, row)| row[i]).sum();
        logarithm += 0.5_f64.powi(k) * trace.ln();
        let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x / trace * (y / trace)).sum();
        a = a.iter().map(|x| a.iter().map(|y| product(x, y)).collect()).collect();
    }
    logarithm.exp()
}

/// What is left out is a root of so high an order of a number between 1 and the dimension.
const N_SQUARES: i32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solver_is_right_to_the_last_digits_on_an_ill_conditioned_matrix() {
        // The Hilbert matrix of order 6 (condition number 1.5e7) and the solution (1, −1, 1, …).
        let n = 6_u32;
        let hilbert: Vec<Vec<DoubleDouble>> =
            (0..n).map(|i| (0..n).map(|j| DoubleDouble::ONE / f64::from(i + j + 1)).collect()).collect();
        let solution: Vec<DoubleDouble> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }.into()).collect();
        let right: Vec<DoubleDouble> = hilbert.iter().map(|row| dot(row, &solution)).collect();
        let found = solve_positive_definite(&hilbert, &right).expect("the Hilbert matrix is positive definite");
        for (found, exact) in found.iter().zip(&solution) {
            assert!((*found - *exact).abs().to_f64() < 1e-22);
        }
    }

    #[test]
    fn indefinite_matrix_is_refused() {
        let matrix = [vec![1.0.into(), 2.0.into()], vec![2.0.into(), 1.0.into()]];
        assert!(solve_positive_definite(&matrix, &[DoubleDouble::ONE, DoubleDouble::ONE]).is_none());
    }

    #[test]
    fn design_norm_of_known_matrices() {
        // Rows (3, 4) and (0, 5): XᵀX = [[9, 12], [12, 41]], eigenvalues 25 ± √(256 + 144) = 45 and 5.
        let known = design_norm(&[vec![3.0, 4.0], vec![0.0, 5.0]]);
        assert!((known - 45.0_f64.sqrt()).abs() < 1e-14);
        // A single row and a rank-one matrix.
        assert!((design_norm(&[vec![0.6, 0.8, 0.0]]) - 1.0).abs() < 1e-15);
        let rank_one: Vec<Vec<f64>> = (1..=4).map(|i| vec![f64::from(i), 2.0 * f64::from(i)]).collect();
        assert!((design_norm(&rank_one) - 150.0_f64.sqrt()).abs() < 1e-13);
        assert_eq!(design_norm(&[]), 0.0);
        assert_eq!(design_norm(&[vec![0.0; 3]]), 0.0);
        assert!((design_norm(&[vec![1e-200, 1e-200]]) / 1e-200 - 2.0_f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn design_norm_of_a_tridiagonal_matrix_has_a_closed_form() {
        // Gram matrix tridiag(−1, 2, −1) of order n: eigenvalues 2 − 2 cos(kπ/(n+1)). Rows e_i − e_(i+1) give it.
        let n = 40;
        let rows: Vec<Vec<f64>> = (0..=n)
            .map(|i| (0..n).map(|j| f64::from(i8::from(j == i)) - f64::from(i8::from(j + 1 == i))).collect())
            .collect();
        let largest = 2.0 - 2.0 * (std::f64::consts::PI * f64::from(n) / f64::from(n + 1)).cos();
        assert!((design_norm(&rows) - largest.sqrt()).abs() < 1e-13);
    }

    #[test]
    fn norm_sees_digits_beyond_a_double() {
        let value = norm(&[DoubleDouble::ONE, DoubleDouble::from(1e-10)]);
        assert!((value - 1.0 - 5e-21).abs().to_f64() < 1e-31);
    }
}
