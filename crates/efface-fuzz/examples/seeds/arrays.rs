//! Seeds of arrays: NPY, NPZ, IDX.

use std::io::{Cursor, Write};

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::{gzipped, seed, seed_with_damage};

pub(super) fn write() {
    let f8: Vec<u8> = [0.5_f64, -1.0, 2.0, 3.5, 1e300, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let f4: Vec<u8> = [0.5_f32, -1.0, 2.0, 3.5, 1e30, 0.0].iter().flat_map(|x| x.to_be_bytes()).collect();
    let unicode: Vec<u8> = "ab\0xyzq\0\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    seed_with_damage("npy", "f8", &npy(1, "<f8", false, "(3, 2)", &f8));
    seed("npy", "f4-fortran-big-endian", npy(2, ">f4", true, "(3, 2)", &f4));
    seed("npy", "u1", npy(3, "|u1", false, "(2, 4)", &[1, 2, 3, 4, 5, 6, 7, 8]));
    seed("npy", "b1", npy(1, "|b1", false, "(3, 1)", &[1, 0, 1]));
    seed("npy", "f2-infinite", npy(1, "<f2", false, "(1, 2)", &[0, 0x7c, 0, 0x3c]));
    seed("npy", "i8-ids", npy(1, "<i8", false, "(3,)", &[7_i64, -8, 9].map(i64::to_le_bytes).concat()));
    seed("npy", "u8-ids-too-large", npy(1, "<u8", false, "(3,)", &[0xff; 24]));
    seed("npy", "unicode", npy(1, "<U3", false, "(3,)", &unicode));
    seed("npy", "bytes", npy(1, "|S2", false, "(3,)", b"a\0bbc\0"));
    seed("npy", "announces-too-much", npy(1, "<f8", false, "(4611686018427387904, 4)", &f8));
    seed("npy", "structured", npy(1, "[('a', '<f8')]", false, "(3,)", &f8));

    let x = npy(1, "<f4", false, "(3, 2)", &[0.5_f32, 1.0, 1.5, 2.0, 2.5, 3.0].map(f32::to_le_bytes).concat());
    let y = npy(1, "|u1", false, "(3,)", &[0, 1, 1]);
    let id = npy(1, "<U3", false, "(3,)", &unicode);
    let who = npy(1, "|S2", false, "(3,)", b"a\0bbc\0");
    let members: &[(&str, &[u8])] = &[("x", &x), ("y", &y), ("id", &id), ("who", &who)];
    for (name, method) in [("stored", CompressionMethod::Stored), ("deflated", CompressionMethod::Deflated)] {
        seed_with_damage("npz", name, &npz(members, method));
    }
    seed("npz", "one-member", npz(&[("table", &x)], CompressionMethod::Deflated));
    seed("npz", "no-table", npz(&[("y", &y)], CompressionMethod::Stored));

    let images = idx(8, &[2, 2, 3], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255]);
    seed_with_damage("idx", "images", &images);
    seed("idx", "labels", idx(8, &[3], &[3, 1, 2]));
    seed("idx", "doubles", idx(0x0e, &[1, 2], &[1.5_f64, -2.5].map(f64::to_be_bytes).concat()));
    seed("idx", "shorts", idx(0x0b, &[3, 1], &[0, 1, 0xff, 0xff, 0x80, 0]));
    seed("idx", "announces-too-much", idx(8, &[u32::MAX, u32::MAX, u32::MAX], &[1]));
    seed("idx", "no-features", idx(8, &[3, 0], &[]));

    seed("gz", "idx", gzipped(&images));
    seed("gz", "npy", gzipped(&x));
    seed("gz", "npy-announces-too-much", npy(1, "|u1", false, "(2, 2000)", &[1; 1000]));
    seed("gz", "idx-one-wide-row", idx(8, &[1, 2000], &[1; 1000]));
}

fn npy(version: u8, descr: &str, fortran_order: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let descr = if descr.starts_with('[') { descr.to_owned() } else { format!("'{descr}'") };
    let fortran_order = if fortran_order { "True" } else { "False" };
    let header = format!("{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}, }}\n");
    let length = (header.len() as u32).to_le_bytes();
    let length = if version == 1 { &length[..2] } else { &length[..] };
    [b"\x93NUMPY", &[version, 0][..], length, header.as_bytes(), data].concat()
}

fn npz(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("{name}.npy"), options).expect("in memory");
        writer.write_all(bytes).expect("in memory");
    }
    writer.finish().expect("in memory").into_inner()
}

fn idx(code: u8, shape: &[u32], data: &[u8]) -> Vec<u8> {
    let shape: Vec<u8> = shape.iter().flat_map(|axis| axis.to_be_bytes()).collect();
    [&[0, 0, code, (shape.len() / 4) as u8][..], &shape, data].concat()
}
