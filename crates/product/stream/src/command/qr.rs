//! A link as a QR code in a terminal.

use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

/// The code, two modules in a character's height, dark on light; `None` for a link that is too long for one.
pub fn qr(link: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(link, EcLevel::L).ok()?;
    // Terminals write light on dark: what is to be light is written.
    let mut picture = code.render::<Dense1x2>();
    Some(picture.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each module is light, row by row, as a terminal shows it.
    fn rows(picture: &str) -> Vec<Vec<bool>> {
        let halves = |character: char| match character {
            '█' => (true, true),
            '▀' => (true, false),
            '▄' => (false, true),
            _ => (false, false),
        };
        let pair = |line: &str| {
            let (upper, lower) = line.chars().map(halves).unzip::<bool, bool, Vec<_>, Vec<_>>();
            [upper, lower]
        };
        picture.lines().flat_map(pair).collect()
    }

    #[test]
    fn another_reader_reads_the_link() {
        let link = "https://198.51.100.7:8443/";
        let rows = rows(&qr(link).expect("a short link"));
        let scale = 4;
        let luma = |x: usize, y: usize| match rows.get(y / scale).and_then(|row| row.get(x / scale))
        {
            Some(false) => 0,
            _ => 255,
        };
        let (width, height) = (rows[0].len() * scale, rows.len() * scale);
        let mut image = rqrr::PreparedImage::prepare_from_greyscale(width, height, luma);
        let found = image.detect_grids();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].decode().expect("a code").1, link);
        // The quiet zone is light on a dark terminal, too.
        assert!(rows[0].iter().all(|light| *light));
        assert_eq!(qr(&"x".repeat(3_000)), None);
    }
}
