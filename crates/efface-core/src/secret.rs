//! Vectors that must not leave the secret state: wiped when dropped, never printed.

use std::fmt;
use std::ops::{Deref, DerefMut};

use zeroize::Zeroize;

/// Unperturbed weights, perturbations and gradients. It prints as its length only.
#[derive(Clone, Default, PartialEq)]
pub struct SecretVector(Vec<f64>);

impl SecretVector {
    /// All zero.
    pub fn zeros(dim: usize) -> Self {
        Self(vec![0.0; dim])
    }
}

impl From<Vec<f64>> for SecretVector {
    fn from(values: Vec<f64>) -> Self {
        Self(values)
    }
}

impl FromIterator<f64> for SecretVector {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        // Collected into a vector that does not move: a growing one would leave copies behind.
        let values = values.into_iter();
        let mut vector = Vec::with_capacity(values.size_hint().1.unwrap_or(values.size_hint().0));
        vector.extend(values);
        Self(vector)
    }
}

impl Deref for SecretVector {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl DerefMut for SecretVector {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}

impl fmt::Debug for SecretVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretVector({} numbers)", self.0.len())
    }
}

impl Drop for SecretVector {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_no_value() {
        let secret = SecretVector::from(vec![0.125, 7.5]);
        assert_eq!(format!("{secret:?}"), "SecretVector(2 numbers)");
    }
}
