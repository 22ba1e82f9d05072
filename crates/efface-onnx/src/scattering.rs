//! Scattering as operators: Fourier transforms by matrices, as in the map itself.
//!
//! Images are kept as one list of matrices, whatever they are of: images, directions, or directions of directions.

use efface_features::{AxisMatrices, ImageShape, ScatteringMap};

use crate::graph::{Attribute, GraphBuilder, Value};
use crate::proto::data_type;

/// The scattering of images: batch, height, width and channels, of any brightness and contrast. Features are those of the
/// map to about 1e-5: sums are added up in another order.
pub fn scattering(graph: &mut GraphBuilder, pixels: &Value, map: &ScatteringMap) -> Value {
    let constants = Constants::of(graph, map);
    let image = prepared(graph, pixels, map);
    let spectrum = constants.spectrum(graph, &image);
    let fine = constants.moduli(graph, &spectrum, &constants.fine, &constants.back);
    let coarse = constants.moduli(graph, &spectrum, &constants.coarse, &constants.back_half);
    let fine_spectrum = constants.spectrum(graph, &fine);
    let second = constants.moduli(graph, &fine_spectrum, &constants.coarse, &constants.back_half);
    let paths = [
        constants.cells(graph, &image, &constants.pool, 1),
        constants.cells(graph, &fine, &constants.pool, DIRECTIONS),
        constants.cells(graph, &coarse, &constants.pool_half, DIRECTIONS),
        constants.cells(graph, &second, &constants.pool_half, DIRECTIONS * DIRECTIONS),
    ];
    let paths = graph.node("Concat", &paths.each_ref(), &[("axis", Attribute::Int(1))]);
    compressed(graph, &paths, map.n_features())
}

/// Brightness, of mean zero and deviation 1 in double precision, and a mirrored border.
fn prepared(graph: &mut GraphBuilder, pixels: &Value, map: &ScatteringMap) -> Value {
    let ImageShape { height, width, channels, .. } = map.shape();
    let brightness: &[f32] = if channels == 3 { &[0.299, 0.587, 0.114] } else { &[1.0] };
    let brightness = graph.constant("brightness", &[channels, 1], brightness);
    let grey = graph.node("MatMul", &[pixels, &brightness], &[]);
    let grey = graph.reshape(&grey, &[(height * width)]);
    let grey = cast(graph, &grey, data_type::DOUBLE);

    let over = [("axes", Attribute::Ints(vec![1])), ("keepdims", Attribute::Int(1))];
    let mean = graph.node("ReduceMean", &[&grey], &over);
    let centred = graph.node("Sub", &[&grey, &mean], &[]);
    let squares = graph.node("Mul", &[&centred, &centred], &[]);
    let variance = graph.node("ReduceMean", &[&squares], &over);
    let deviation = graph.node("Sqrt", &[&variance], &[]);
    // An image of one colour is zero, whatever rounding made of it.
    let least = graph.constant("least_contrast", &[1], &[1e-6]);
    let least = cast(graph, &least, data_type::DOUBLE);
    let size = graph.node("Abs", &[&mean], &[]);
    let rounding = graph.node("Mul", &[&size, &least], &[]);
    let has_contrast = graph.node("Greater", &[&deviation, &rounding], &[]);
    let zero = graph.node("Sub", &[&centred, &centred], &[]);
    let standard = graph.node("Div", &[&centred, &deviation], &[]);
    let standard = graph.node("Where", &[&has_contrast, &standard, &zero], &[]);

    let standard = cast(graph, &standard, data_type::FLOAT);
    let image = graph.reshape(&standard, &[height, width]);
    let border = graph.constant_ints("border", &[6], &[0, BORDER, BORDER, 0, BORDER, BORDER]);
    graph.node("Pad", &[&image, &border], &[("mode", Attribute::Text("reflect".to_owned()))])
}

/// `±√|S|`, each path divided by its norm + 0.3, all of them by their norm.
fn compressed(graph: &mut GraphBuilder, paths: &Value, n_features: usize) -> Value {
    let sizes = graph.node("Abs", &[paths], &[]);
    let roots = graph.node("Sqrt", &[&sizes], &[]);
    let signs = graph.node("Sign", &[paths], &[]);
    let roots = graph.node("Mul", &[&roots, &signs], &[]);
    let over = |axis| [("axes", Attribute::Ints(vec![axis])), ("keepdims", Attribute::Int(1))];
    let norms = graph.node("ReduceL2", &[&roots], &over(2));
    let floor = graph.constant("floor", &[1], &[0.3]);
    let divisors = graph.node("Add", &[&norms, &floor], &[]);
    let paths = graph.node("Div", &[&roots, &divisors], &[]);
    let features = graph.reshape(&paths, &[n_features]);
    let norm = graph.node("ReduceL2", &[&features], &over(1));
    let tiny = graph.constant("tiny", &[1], &[f32::MIN_POSITIVE]);
    let norm = graph.node("Max", &[&norm, &tiny], &[]);
    graph.node("Div", &[&features, &norm], &[])
}

/// Matrices and filters in the graph. Spectra are transposed: a row for each frequency across.
struct Constants {
    forward_real: Value,
    forward: Value,
    /// From frequencies to pixels: down, then across.
    back: Back,
    back_half: Back,
    fine: Value,
    coarse: Value,
    pool: [Value; 2],
    pool_half: [Value; 2],
    across: usize,
    down: usize,
    n_cells: usize,
}

/// Inverse transforms to all pixels, or to every other one of every other row.
struct Back {
    down: Value,
    across: Value,
    rows: usize,
    columns: usize,
}

impl Constants {
    fn of(graph: &mut GraphBuilder, map: &ScatteringMap) -> Self {
        let matrices = map.matrices();
        let AxisMatrices { len: w, pixels: width, .. } = matrices.across;
        let AxisMatrices { len: h, pixels: height, .. } = matrices.down;
        let filters = |graph: &mut GraphBuilder, name, spectra: &[Vec<f32>]| {
            // Real parts and imaginary parts are multiplied by the same.
            let twice = spectra.iter().flat_map(|s| s.chunks_exact(h).flat_map(|row| [row, row]).flatten().copied());
            graph.constant(name, &[1, DIRECTIONS, w, 2 * h], &twice.collect::<Vec<f32>>())
        };
        let (columns, rows) = (width / CELL, height / CELL);
        let (across, down) = (&matrices.across, &matrices.down);
        Self {
            forward_real: graph.constant("forward_real", &[w, 2 * w], &across.forward_real),
            forward: graph.constant("forward", &[2 * h, 2 * h], &down.forward),
            back: Back {
                down: graph.constant("back_down", &[2 * h, 2 * h], &down.inverse),
                across: graph.constant("back_across", &[2 * w, 2 * w], &across.inverse),
                rows: h,
                columns: w,
            },
            back_half: Back {
                down: graph.constant("back_down_half", &[2 * h, h], &every_other(&down.inverse)),
                across: graph.constant("back_across_half", &[2 * w, w], &every_other(&across.inverse)),
                rows: h / 2,
                columns: w / 2,
            },
            fine: filters(graph, "fine", &matrices.fine),
            coarse: filters(graph, "coarse", &matrices.coarse),
            pool: [
                graph.constant("pool_across", &[w, columns], &across.pool),
                graph.constant("pool_down", &[h, rows], &down.pool),
            ],
            pool_half: [
                graph.constant("pool_across_half", &[w / 2, columns], &across.pool_half),
                graph.constant("pool_down_half", &[h / 2, rows], &down.pool_half),
            ],
            across: w,
            down: h,
            n_cells: rows * columns,
        }
    }

    /// Fourier transforms of real images.
    fn spectrum(&self, graph: &mut GraphBuilder, images: &Value) -> Value {
        let rows = graph.node("MatMul", &[images, &self.forward_real], &[]);
        let columns = turned(graph, &rows, self.down, self.across);
        graph.node("MatMul", &[&columns, &self.forward], &[])
    }

    /// `|x ⋆ ψ|` for every direction, from the spectra of x.
    fn moduli(&self, graph: &mut GraphBuilder, spectra: &Value, filters: &Value, back: &Back) -> Value {
        let (w, h) = (self.across, self.down);
        let spectra = graph.reshape(spectra, &[1, w, 2 * h]);
        let filtered = graph.node("Mul", &[&spectra, filters], &[]);
        let filtered = graph.reshape(&filtered, &[w, 2 * h]);
        let columns = graph.node("MatMul", &[&filtered, &back.down], &[]);
        let rows = turned(graph, &columns, self.across, back.rows);
        let complex = graph.node("MatMul", &[&rows, &back.across], &[]);
        let parts = graph.reshape(&complex, &[back.rows, 2, back.columns]);
        let over = [("axes", Attribute::Ints(vec![2])), ("keepdims", Attribute::Int(0))];
        graph.node("ReduceL2", &[&parts], &over)
    }

    /// Low-passed images, by image and path.
    fn cells(&self, graph: &mut GraphBuilder, images: &Value, pool: &[Value; 2], n_paths: usize) -> Value {
        let turn = [("perm", Attribute::Ints(vec![0, 2, 1]))];
        let across = graph.node("MatMul", &[images, &pool[0]], &[]);
        let across = graph.node("Transpose", &[&across], &turn);
        let cells = graph.node("MatMul", &[&across, &pool[1]], &[]);
        let cells = graph.node("Transpose", &[&cells], &turn);
        graph.reshape(&cells, &[n_paths, self.n_cells])
    }
}

/// Transposes complex matrices of so many rows and columns.
fn turned(graph: &mut GraphBuilder, matrices: &Value, rows: usize, columns: usize) -> Value {
    let parts = graph.reshape(matrices, &[rows, 2, columns]);
    let turned = graph.node("Transpose", &[&parts], &[("perm", Attribute::Ints(vec![0, 3, 2, 1]))]);
    graph.reshape(&turned, &[columns, 2 * rows])
}

/// Of each complex row, the entries for every other place.
fn every_other(matrix: &[f32]) -> Vec<f32> {
    // Rows have even length, and so have their real parts.
    matrix.iter().step_by(2).copied().collect()
}

fn cast(graph: &mut GraphBuilder, value: &Value, to: i32) -> Value {
    graph.node("Cast", &[value], &[("to", Attribute::Int(to.into()))])
}

const DIRECTIONS: usize = 8;

/// Side of a cell.
const CELL: usize = 4;

/// Width of the mirrored border.
const BORDER: i64 = 4;
