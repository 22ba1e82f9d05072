//! Rows of grey images, each row under its name and each image over its word.
//!
//! Pixels are vector graphics: runs of equal grey, one path per shade. So a picture is sharp at every size, and needs
//! no format of its own for pixels.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Place;
use super::canvas::{Canvas, MARGIN, TEXT_SIZE};
use super::letters::lines;
use crate::Images;

/// The images as an SVG. A file has a fixed width; on a page, the page decides.
pub(crate) fn images_svg(images: &Images, place: Place) -> String {
    let mut canvas = Canvas::new(place, &images.title);
    let most = images.rows.iter().map(|row| row.images.len()).max().unwrap_or(0).clamp(4, 12);
    let cell = canvas.inner_width() / most as f64;
    // Halves of a unit where that is possible: edges of pixels then fall on pixels of the file.
    let unit = (cell - 12.0).min(150.0) / images.side.max(1) as f64;
    let unit = if unit >= 0.5 { (2.0 * unit).floor() / 2.0 } else { unit };
    let side = unit * images.side as f64;
    for row in &images.rows {
        for line in lines(&row.name, TEXT_SIZE, canvas.inner_width()) {
            canvas.height += 28.0;
            canvas.text((MARGIN, canvas.height - 8.0), "start", TEXT_SIZE, &line);
        }
        for chunk in row.images.chunks(most) {
            let mut n_lines = 0;
            for (i, (pixels, word)) in chunk.iter().enumerate() {
                let x = MARGIN + i as f64 * cell;
                let y = canvas.height;
                let _ = write!(
                    canvas.elements,
                    "<g transform=\"translate({x:.1} {y:.1})\"><rect width=\"{side}\" height=\"{side}\" fill=\"#fff\"/>\
                     <g transform=\"scale({unit})\" shape-rendering=\"crispEdges\">{}</g><rect width=\"{side}\" \
                     height=\"{side}\" fill=\"none\" stroke=\"#8a929b\"/></g>",
                    shades(pixels, images.side),
                );
                let broken = lines(word, WORD_SIZE, cell - 4.0);
                n_lines = n_lines.max(broken.len());
                for (line, words) in broken.iter().enumerate() {
                    let below = y + side + 18.0 + line as f64 * 1.2 * WORD_SIZE;
                    canvas.text((x + 0.5 * side, below), "middle", WORD_SIZE, words);
                }
            }
            canvas.height += side + 14.0 + n_lines as f64 * 1.2 * WORD_SIZE;
        }
        canvas.height += 8.0;
    }
    canvas.finish(&images.caption)
}

/// One path per shade that is not paper.
fn shades(pixels: &[u8], side: usize) -> String {
    let mut paths: BTreeMap<u8, String> = BTreeMap::new();
    for (y, row) in pixels.chunks(side.max(1)).take(side).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|a, b| shade(*a) == shade(*b)) {
            if shade(run[0]) > 0 {
                let n = run.len();
                let _ = write!(paths.entry(shade(run[0])).or_default(), "M{x} {y}h{n}v1h-{n}z");
            }
            x += run.len();
        }
    }
    let mut elements = String::new();
    for (ink, path) in paths {
        let grey = 255 - ink;
        let _ = write!(elements, "<path d=\"{path}\" fill=\"#{grey:02x}{grey:02x}{grey:02x}\"/>");
    }
    elements
}

/// Ink in steps that the eye does not tell apart; paper and full ink stay what they are.
fn shade(ink: u8) -> u8 {
    ((u16::from(ink) + 2) / 5 * 5).min(255) as u8
}

const WORD_SIZE: f64 = TEXT_SIZE - 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_become_runs_of_equal_ink() {
        let drawn = shades(&[0, 255, 255, 0, 128, 0, 0, 0, 255], 3);
        assert_eq!(drawn.matches("<path").count(), 2);
        assert!(drawn.contains("d=\"M1 0h2v1h-2zM2 2h1v1h-1z\" fill=\"#000000\""), "{drawn}");
        assert!(drawn.contains("d=\"M1 1h1v1h-1z\" fill=\"#7d7d7d\""), "{drawn}");
    }

    #[test]
    fn an_image_of_too_few_pixels_is_drawn_as_far_as_it_goes() {
        assert_eq!(shades(&[], 28), "");
        assert!(shades(&[255; 5], 4).contains("M0 1h1v1h-1z"));
        assert_eq!(shades(&[255; 3], 0), "");
    }
}
