//! Scattering of images: how much of each direction and size there is where, and how that varies in turn.

mod axis;
mod filters;
mod image;
mod matrices;

use rayon::prelude::*;

use crate::error::{ApplyError, BuildError, in_range};
use crate::norm::to_unit_norm;
use axis::{Axis, transpose};
use filters::Filters;
pub use matrices::{AxisMatrices, ScatteringMatrices};

/// Morlet scattering of two scales, eight directions and two layers, low-passed to a quarter of the image's sides.
///
/// ```text
/// x = (grey − mean) / deviation, continued by 4 pixels of its mirror image on each side
///
/// S₀ = x ⋆ ϕ      S₁[jθ] = |x ⋆ ψ_jθ| ⋆ ϕ      S₂[θη] = ||x ⋆ ψ_0θ| ⋆ ψ_1η| ⋆ ϕ
///
/// each path p = ±√|S|, p / (‖p‖ + 0.3); then all of them divided by their norm
/// ```
///
/// Mallat 2012, Bruna and Mallat 2013. Convolutions with ψ wrap around the continued image; those with ψ₁ are kept at
/// every other pixel. ϕ is a Gaussian of 1.6 pixels, whose weights add up to 1, at the centres of cells of 4 × 4 pixels.
/// 81 paths: S₀; S₁ by j, then θ; S₂ by θ, then η; each of them row by row. An image of one colour has features of zero.
///
/// Fourier transforms are products with matrices of cosines and sines: at 40 × 40 that is fast, and one order of adding.
pub struct ScatteringMap {
    across: Axis,
    down: Axis,
    channels: usize,
    filters: Filters,
}

impl ScatteringMap {
    /// For images of `height` rows of `width` pixels of `channels` numbers: 1 (grey) or 3 (red, green, blue).
    pub fn new(height: usize, width: usize, channels: usize) -> Result<Self, BuildError> {
        for (name, value) in [("height", height), ("width", width)] {
            in_range(name, value, 8, 128)?;
            if value % 4 != 0 {
                return Err(BuildError::NotAMultipleOfFour { name, value });
            }
        }
        if channels != 1 && channels != 3 {
            return Err(BuildError::Channels { value: channels });
        }
        let (across, down) = (Axis::new(width), Axis::new(height));
        let filters = Filters::new(&across, &down);
        Ok(Self { across, down, channels, filters })
    }

    /// Numbers per image.
    pub fn n_inputs(&self) -> usize {
        self.across.pixels * self.down.pixels * self.channels
    }

    /// Number of features: 81 for each cell of 4 × 4 pixels.
    pub fn n_features(&self) -> usize {
        N_PATHS * self.cells()
    }

    /// Height, width and channels.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.down.pixels, self.across.pixels, self.channels)
    }

    /// Writes the features of images that follow one another, each row by row with its channels together. Brightness
    /// and contrast make no difference: bytes and fractions of 1 give the same.
    pub fn apply_block<T>(&self, images: &[T], out: &mut [f32]) -> Result<(), ApplyError>
    where
        T: Copy + Into<f32> + Sync,
    {
        ApplyError::check(images.len(), self.n_inputs(), out.len(), self.n_features())?;
        let pairs = images.par_chunks(self.n_inputs()).zip(out.par_chunks_mut(self.n_features()));
        let done = pairs
            .enumerate()
            .map_init(Scratch::default, |scratch, (i, (image, out))| self.scatter(i, image, scratch, out).err());
        done.find_map_first(|failed| failed).map_or(Ok(()), Err)
    }

    /// The features of one image, the i-th of a block.
    pub(crate) fn scatter<T>(&self, i: usize, image: &[T], s: &mut Scratch, out: &mut [f32]) -> Result<(), ApplyError>
    where
        T: Copy + Into<f32>,
    {
        image::prepare(image, self.shape(), &mut s.image).map_err(|at| {
            let value: f32 = image[at].into();
            ApplyError::NotFinite { row: i, column: at, value: value.into() }
        })?;
        let (first, rest) = out.split_at_mut(self.cells());
        let (fine, rest) = rest.split_at_mut(ORIENTATIONS * self.cells());
        let (coarse, second) = rest.split_at_mut(ORIENTATIONS * self.cells());

        self.pool(Grid::Full, &s.image, &mut s.work, first);
        self.spectrum(&s.image, &mut s.work, &mut s.spectrum);
        self.fine_band(&s.spectrum, &mut s.work, &mut s.moduli);
        self.pool(Grid::Full, &s.moduli, &mut s.work, fine);
        self.coarse_band(&s.spectrum, &mut s.work, coarse);
        let moduli = s.moduli.chunks_exact(s.image.len());
        for (modulus, out) in moduli.zip(second.chunks_exact_mut(ORIENTATIONS * self.cells())) {
            self.spectrum(modulus, &mut s.work, &mut s.spectrum);
            self.coarse_band(&s.spectrum, &mut s.work, out);
        }
        compress(out, self.cells());
        Ok(())
    }

    /// The Fourier transform of an image, transposed: a row for each frequency across, first real parts, then imaginary.
    fn spectrum(&self, image: &[f32], work: &mut Work, spectrum: &mut Vec<f32>) {
        let (w, h) = (self.across.len, self.down.len);
        let half = work.a(2 * w * h);
        self.across.forward_real.apply(image, half);
        let turned = work.b_of_a(2 * w * h);
        transpose(turned.0, h, w, turned.1);
        spectrum.resize(2 * w * h, 0.0);
        self.down.forward.apply(turned.1, spectrum);
    }

    /// `|x ⋆ ψ_0θ|` for every θ.
    fn fine_band(&self, spectrum: &[f32], work: &mut Work, moduli: &mut Vec<f32>) {
        let (w, h) = (self.across.len, self.down.len);
        let filtered = work.a(ORIENTATIONS * 2 * w * h);
        for (out, filter) in filtered.chunks_exact_mut(2 * w * h).zip(&self.filters.fine) {
            filters::multiply(spectrum, filter, h, out);
        }
        self.back(Grid::Full, work, moduli);
    }

    /// `|x ⋆ ψ_1θ| ⋆ ϕ` for every θ.
    fn coarse_band(&self, spectrum: &[f32], work: &mut Work, out: &mut [f32]) {
        let (w, h) = (self.across.len, self.down.len);
        let filtered = work.a(ORIENTATIONS * w * h / 2);
        for (out, filter) in filtered.chunks_exact_mut(w * h / 2).zip(&self.filters.coarse) {
            filters::multiply_and_fold(spectrum, filter, w, h, out);
        }
        let mut moduli = std::mem::take(&mut work.moduli);
        self.back(Grid::Half, work, &mut moduli);
        self.pool(Grid::Half, &moduli, work, out);
        work.moduli = moduli;
    }

    /// The moduli of the inverse transforms of what is in `work`, for every direction.
    fn back(&self, grid: Grid, work: &mut Work, moduli: &mut Vec<f32>) {
        let (w, h) = (self.across.len / grid.step(), self.down.len / grid.step());
        let (filtered, turned) = work.b_of_a(ORIENTATIONS * 2 * w * h);
        self.down.inverse(grid).apply(filtered, turned);
        for (from, to) in turned.chunks_exact(2 * w * h).zip(filtered.chunks_exact_mut(2 * w * h)) {
            transpose(from, w, h, to);
        }
        self.across.inverse(grid).apply(filtered, turned);
        moduli.clear();
        for row in turned.chunks_exact(2 * w) {
            let (re, im) = row.split_at(w);
            moduli.extend(re.iter().zip(im).map(|(re, im)| (re * re + im * im).sqrt()));
        }
    }

    /// Low-passes images that follow one another to their cells.
    fn pool(&self, grid: Grid, images: &[f32], work: &mut Work, out: &mut [f32]) {
        let (columns, rows) = (self.across.pixels / CELL, self.down.pixels / CELL);
        let h = self.down.len / grid.step();
        let n = out.len() / self.cells();
        let across = work.a(n * h * columns);
        self.across.pool(grid).apply(images, across);
        let (across, turned) = work.b_of_a(n * h * columns);
        for (from, to) in across.chunks_exact(h * columns).zip(turned.chunks_exact_mut(h * columns)) {
            axis::transpose_real(from, h, columns, to);
        }
        let cells = &mut across[..n * self.cells()];
        self.down.pool(grid).apply(turned, cells);
        for (from, to) in cells.chunks_exact(self.cells()).zip(out.chunks_exact_mut(self.cells())) {
            axis::transpose_real(from, columns, rows, to);
        }
    }

    fn cells(&self) -> usize {
        self.across.pixels / CELL * (self.down.pixels / CELL)
    }
}

/// Square roots, each path divided by its norm and a little, all of them scaled to norm 1.
fn compress(features: &mut [f32], cells: usize) {
    for path in features.chunks_exact_mut(cells) {
        for v in path.iter_mut() {
            *v = v.abs().sqrt().copysign(*v);
        }
        let squares: f64 = path.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
        let scale = 1.0 / (squares.sqrt() + 0.3);
        for v in path {
            *v = (f64::from(*v) * scale) as f32;
        }
    }
    to_unit_norm(features);
}

/// Every pixel, or every other one of every other row.
#[derive(Clone, Copy)]
enum Grid {
    Full,
    Half,
}

impl Grid {
    fn step(self) -> usize {
        match self {
            Self::Full => 1,
            Self::Half => 2,
        }
    }
}

/// Memory that one thread uses for image after image.
#[derive(Default)]
pub(crate) struct Scratch {
    image: Vec<f32>,
    spectrum: Vec<f32>,
    moduli: Vec<f32>,
    work: Work,
}

#[derive(Default)]
struct Work {
    a: Vec<f32>,
    b: Vec<f32>,
    moduli: Vec<f32>,
}

impl Work {
    fn a(&mut self, n: usize) -> &mut [f32] {
        if self.a.len() < n {
            self.a.resize(n, 0.0);
        }
        &mut self.a[..n]
    }

    /// What is in `a`, and as much room.
    fn b_of_a(&mut self, n: usize) -> (&mut [f32], &mut [f32]) {
        if self.b.len() < n {
            self.b.resize(n, 0.0);
        }
        (&mut self.a[..n], &mut self.b[..n])
    }
}

const ORIENTATIONS: usize = 8;
const N_PATHS: usize = 1 + 2 * ORIENTATIONS + ORIENTATIONS * ORIENTATIONS;

/// Side of a cell, and the width of the mirrored border.
const CELL: usize = 4;

#[cfg(test)]
mod tests;
