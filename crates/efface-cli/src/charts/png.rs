//! Files of pixels from SVG, with the font that comes with this crate, so that they look the same on every machine.

use std::io::Read;
use std::sync::{Arc, LazyLock};

use anyhow::Context;
use flate2::read::GzDecoder;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

/// The picture as PNG, two pixels to a unit.
pub(crate) fn to_png(svg: &str) -> anyhow::Result<Vec<u8>> {
    let fonts = Arc::clone(&FONTS);
    let options = Options { fontdb: fonts, font_family: FAMILY.to_owned(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).context("a picture is no SVG")?;
    let size = tree.size().to_int_size().scale_by(PIXELS_PER_UNIT).context("a picture without a size")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).context("a picture without a size")?;
    resvg::render(&tree, Transform::from_scale(PIXELS_PER_UNIT, PIXELS_PER_UNIT), &mut pixels.as_mut());
    pixels.encode_png().context("a picture cannot be encoded")
}

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut font = Vec::new();
    let mut fonts = Database::new();
    if GzDecoder::new(FONT).read_to_end(&mut font).is_ok() {
        fonts.load_font_data(font);
    }
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// DejaVu Sans; `font/LICENSE` is its licence.
const FONT: &[u8] = include_bytes!("font/DejaVuSans.ttf.gz");
const FAMILY: &str = "DejaVu Sans";
const PIXELS_PER_UNIT: f32 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter alone, as pixels.
    fn letter(letter: char) -> Vec<u8> {
        let text = format!("<text x=\"5\" y=\"25\" font-size=\"20\">{letter}</text>");
        to_png(&format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"40\">{text}</svg>"))
            .expect("drawn")
    }

    #[test]
    fn the_font_has_what_formulas_need() {
        let (nothing, unknown) = (letter(' '), letter('\u{10fffd}'));
        for symbol in "σλεδμγβ‖₂²⁻³≤≥≈−·×∇ℓ√".chars() {
            let drawn = letter(symbol);
            assert!(drawn != nothing && drawn != unknown, "{symbol} has no glyph");
        }
    }

    #[test]
    fn a_picture_is_drawn_at_twice_its_size() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"30\" height=\"20\"><rect width=\"9\" height=\"9\"/></svg>";
        let png = to_png(svg).expect("drawn");
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!((&png[16..20], &png[20..24]), (&60_u32.to_be_bytes()[..], &40_u32.to_be_bytes()[..]));
        assert!(to_png("no picture").is_err());
    }
}
