//! Pictures of known pixels, as PNG and JPEG.

use efface_images::{OtherSizes, Shape, pixels};
use png::{BitDepth, ColorType};

/// `(9 y + 5 x + 20 channel) mod 256`, 16 high and 8 wide, saved with quality 95 by Pillow 12.
const COLOURS: &[u8] = include_bytes!("data/colours.jpg");
/// The first channel of it.
const GREY: &[u8] = include_bytes!("data/grey.jpg");
/// The colours at half the resolution, in several scans.
const PROGRESSIVE: &[u8] = include_bytes!("data/progressive.jpg");

const SMALL: Shape = Shape { height: 2, width: 3, channels: 1 };

fn png(shape: [u32; 2], color: ColorType, depth: BitDepth, palette: Option<&[u8]>, data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, shape[1], shape[0]);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if let Some(palette) = palette {
        encoder.set_palette(palette.to_vec());
    }
    encoder.write_header().unwrap().write_image_data(data).unwrap();
    file
}

fn read(file: &[u8], channels: usize) -> Vec<f32> {
    pixels(file, Shape { channels, ..SMALL }, OtherSizes::Refused).unwrap()
}

fn refused(file: &[u8], shape: Shape, other_sizes: OtherSizes) -> String {
    pixels(file, shape, other_sizes).unwrap_err().to_string()
}

#[test]
fn every_kind_of_png_gives_its_pixels() {
    let grey = [0, 50, 100, 150, 200, 255];
    let as_floats = grey.map(f32::from).to_vec();
    let three_times: Vec<f32> = as_floats.iter().flat_map(|v| [*v; 3]).collect();
    let with = |n: usize, filler: u8| -> Vec<u8> {
        grey.iter().flat_map(|v| std::iter::once(*v).chain(std::iter::repeat_n(filler, n))).collect()
    };
    let palette: Vec<u8> = grey.iter().flat_map(|v| [*v; 3]).collect();
    let thrice: Vec<u8> = grey.iter().flat_map(|v| [*v, *v, *v]).collect();
    let and_alpha: Vec<u8> = grey.iter().flat_map(|v| [*v, *v, *v, 7]).collect();
    for (color, depth, palette, data) in [
        (ColorType::Grayscale, BitDepth::Eight, None, grey.to_vec()),
        (ColorType::Grayscale, BitDepth::Sixteen, None, with(1, 9)),
        (ColorType::GrayscaleAlpha, BitDepth::Eight, None, with(1, 9)),
        (ColorType::Indexed, BitDepth::Four, Some(&palette[..]), vec![0x01, 0x20, 0x34, 0x50]),
        (ColorType::Rgb, BitDepth::Eight, None, thrice),
        (ColorType::Rgba, BitDepth::Eight, None, and_alpha),
    ] {
        let file = png([2, 3], color, depth, palette, &data);
        assert_eq!(read(&file, 3), three_times, "{color:?}");
        let off = read(&file, 1).iter().zip(&as_floats).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 1e-4, "{color:?}: off by {off}");
    }
}

#[test]
fn grey_is_the_brightness_of_colours() {
    let file = png([1, 2], ColorType::Rgb, BitDepth::Eight, None, &[255, 0, 0, 10, 20, 30]);
    let grey = pixels(&file, Shape { height: 1, width: 2, channels: 1 }, OtherSizes::Refused).unwrap();
    assert_eq!(grey, [76.245, 18.15]);
}

#[test]
fn jpegs_are_near_what_was_saved() {
    let saved = |channels: usize| -> Vec<f32> {
        let at = |i: usize| 9 * (i / channels / 8) + 5 * (i / channels % 8) + 20 * (i % channels);
        (0..16 * 8 * channels).map(|i| at(i) as f32).collect()
    };
    for (file, channels, most) in [(COLOURS, 3, 3.0), (GREY, 1, 2.0), (PROGRESSIVE, 3, 6.0)] {
        let shape = Shape { height: 16, width: 8, channels };
        let found = pixels(file, shape, OtherSizes::Refused).unwrap();
        let off = found.iter().zip(saved(channels)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(found.len() == 128 * channels && off <= most, "off by {off}");
    }
}

/// Pillow's `resize` with `BILINEAR`, of floats.
#[test]
fn resizing_is_that_of_pillow() {
    let grey: Vec<u8> = (0..24).map(|i| (i * 3 * 7919 % 251) as u8).collect();
    let file = png([6, 4], ColorType::Grayscale, BitDepth::Eight, None, &grey);
    let resized = |height, width| {
        pixels(&file, Shape { height, width, channels: 1 }, OtherSizes::Resized).unwrap().into_iter().take(6)
    };
    let smaller = [105.755_104, 151.877_55, 123.892_85, 111.107_14, 129.224_49, 129.244_9];
    let larger = [0.0, 40.75, 122.25, 141.0, 97.0, 115.75];
    for (found, expected) in [(resized(3, 2), smaller), (resized(9, 8), larger)] {
        for (a, b) in found.zip(expected) {
            assert!((a - b).abs() < 1e-4, "{a} is not {b}");
        }
    }
}

#[test]
fn channels_are_resized_each_by_itself() {
    let data: Vec<u8> = (0..6).flat_map(|_| [10, 20, 30]).collect();
    let file = png([2, 3], ColorType::Rgb, BitDepth::Eight, None, &data);
    let found = pixels(&file, Shape { height: 5, width: 2, channels: 3 }, OtherSizes::Resized).unwrap();
    assert_eq!(found, [10.0, 20.0, 30.0].repeat(10));
}

#[test]
fn what_is_no_picture_is_refused() {
    let file = png([2, 3], ColorType::Grayscale, BitDepth::Eight, None, &[0; 6]);
    let of = |file: &[u8]| refused(file, SMALL, OtherSizes::Refused);
    assert_eq!(of(b""), "not a PNG or JPEG file");
    assert_eq!(of(b"GIF89a"), "not a PNG or JPEG file");
    assert!(of(&file[..file.len() - 20]).starts_with("the PNG file cannot be decoded: "), "{}", of(&file[..40]));
    let mut damaged = file.clone();
    damaged[45] ^= 0xff;
    assert!(of(&damaged).starts_with("the PNG file cannot be decoded: "), "{}", of(&damaged));
    let of_colours = |file: &[u8]| refused(file, Shape { height: 16, width: 8, channels: 3 }, OtherSizes::Refused);
    for end in [3, 100, 600] {
        assert!(of_colours(&COLOURS[..end]).starts_with("the JPEG file cannot be decoded: "), "cut at {end}");
    }
    assert_eq!(refused(&file, Shape { channels: 2, ..SMALL }, OtherSizes::Refused), "channels must be 1 or 3, got `2`");
}

#[test]
fn other_sizes_and_bombs_are_refused_before_they_are_decoded() {
    let file = png([2, 3], ColorType::Grayscale, BitDepth::Eight, None, &[0; 6]);
    assert_eq!(
        refused(&file, Shape { height: 3, width: 2, channels: 1 }, OtherSizes::Refused),
        "the picture is 3 pixels wide and 2 high, expected 2 wide and 3 high"
    );
    // A header that promises 4 gigapixels, and nothing behind it.
    let mut bomb = file[..33].to_vec();
    bomb[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    let checksum = bomb.len() - 4;
    let crc = crc32(&bomb[12..checksum]).to_be_bytes();
    bomb[checksum..].copy_from_slice(&crc);
    bomb.extend_from_slice(&file[33..]);
    assert_eq!(
        refused(&bomb, SMALL, OtherSizes::Resized),
        "the picture is 65536 pixels wide and 65536 high; at most 33554432 pixels are decoded"
    );
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}
