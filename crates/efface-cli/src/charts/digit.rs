//! Small grey images of digits.

use std::fmt::Write as _;

use super::text::SVG_NAMESPACE;

/// A grey image of a digit, 8 × 8 pixels of 0 (paper) to 16 (ink), as an inline SVG without a fixed size.
pub(crate) fn digit_svg(image: &[u8; 64]) -> String {
    let mut svg = format!(
        "<svg {SVG_NAMESPACE} class=\"digit\" viewBox=\"0 0 8 8\" shape-rendering=\"crispEdges\" aria-hidden=\"true\">\
         <rect width=\"8\" height=\"8\" fill=\"#fff\"/>"
    );
    for (i, &ink) in image.iter().enumerate().filter(|&(_, &ink)| ink > 0) {
        let grey = 255 - u32::from(ink.min(16)) * 255 / 16;
        let (x, y) = (i % 8, i / 8);
        let _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\" fill=\"#{grey:02x}{grey:02x}{grey:02x}\"/>"
        );
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ink_becomes_darker_with_the_pixel() {
        let mut image = [0; 64];
        (image[0], image[9]) = (16, 8);
        let svg = digit_svg(&image);
        assert!(svg.contains("x=\"0\" y=\"0\" width=\"1\" height=\"1\" fill=\"#000000\""));
        assert!(svg.contains("x=\"1\" y=\"1\" width=\"1\" height=\"1\" fill=\"#808080\""));
        assert_eq!(svg.matches("<rect").count(), 3);
    }
}
