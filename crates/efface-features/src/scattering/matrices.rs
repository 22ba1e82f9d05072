//! What a scattering map is made of, for those who compute it elsewhere: in an exported model, say.

use super::{Axis, Grid, ScatteringMap};

/// The constants of a [`ScatteringMap`]. Matrices are to the right of rows; complex rows have all real parts first.
pub struct ScatteringMatrices {
    /// For rows.
    pub across: AxisMatrices,
    /// For columns.
    pub down: AxisMatrices,
    /// The spectra of ψ_0θ, which are real: for each frequency across, one number per frequency down.
    pub fine: Vec<Vec<f32>>,
    /// Those of ψ_1θ.
    pub coarse: Vec<Vec<f32>>,
}

/// The matrices for one side of an image, a row per input.
pub struct AxisMatrices {
    /// Pixels of the image.
    pub pixels: usize,
    /// Pixels of the continued image.
    pub len: usize,
    /// The Fourier transform of real numbers, len × 2 len.
    pub forward_real: Vec<f32>,
    /// The Fourier transform, 2 len × 2 len.
    pub forward: Vec<f32>,
    /// The inverse transform, 2 len × 2 len.
    pub inverse: Vec<f32>,
    /// Pooling to cells, len × cells.
    pub pool: Vec<f32>,
    /// Pooling of every other pixel, len/2 × cells.
    pub pool_half: Vec<f32>,
}

impl ScatteringMap {
    /// The constants of this map.
    pub fn matrices(&self) -> ScatteringMatrices {
        let (fine, coarse) = (self.filters.fine.clone(), self.filters.coarse.clone());
        ScatteringMatrices { across: self.across.matrices(), down: self.down.matrices(), fine, coarse }
    }
}

impl Axis {
    fn matrices(&self) -> AxisMatrices {
        AxisMatrices {
            pixels: self.pixels,
            len: self.len,
            forward_real: self.forward_real.dense(),
            forward: self.forward.dense(),
            inverse: self.inverse(Grid::Full).dense(),
            pool: self.pool(Grid::Full).dense(),
            pool_half: self.pool(Grid::Half).dense(),
        }
    }
}
