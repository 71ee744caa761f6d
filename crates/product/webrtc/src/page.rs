//! The player page: one document, so that nothing else is to be served. `make page` builds it from `web/page`.
//!
//! Its script and its style run because their SHA-256 stands in the policy (Content Security Policy Level 3 section 2.3.1), and no
//! other does. So the page is the same for everybody, and is compressed once: by gzip it has 40 % of its bytes, which over a new
//! connection is a round trip less (ten segments leave at once, then as many more as were acknowledged: RFC 6928, RFC 5681).

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::sync::LazyLock;

const PAGE: &str = include_str!("page.html");

/// The page as it is served.
pub(crate) struct Page {
    plain: Bytes,
    /// By gzip; nothing if that failed.
    packed: Option<Bytes>,
    /// What may run in it: its own script and no other. It talks to this host alone, and stands in no frame. Of images it may show
    /// those that it makes itself, as addresses with all their data: the pointer's shape, for which styles take nothing else.
    pub(crate) policy: String,
}

/// See the module's head.
pub(crate) static OWN: LazyLock<Page> = LazyLock::new(|| Page {
    plain: Bytes::from_static(PAGE.as_bytes()),
    packed: packed(PAGE.as_bytes()).ok().map(Bytes::from),
    policy: format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; worker-src blob:; connect-src 'self'; img-src data:; \
         media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        source_of("script"),
        source_of("style"),
    ),
});

impl Page {
    /// The page for a browser that sends this header `Accept-Encoding`, and the name of its encoding, if it has one.
    pub(crate) fn for_browser(&self, accepted: &str) -> (Bytes, Option<&'static str>) {
        match &self.packed {
            Some(packed) if takes_gzip(accepted) => (packed.clone(), Some("gzip")),
            _ => (self.plain.clone(), None),
        }
    }
}

/// RFC 9110 section 12.5.3; a weight of zero refuses.
fn takes_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused = parts.any(|part| {
            let weight = part.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
            weight.is_some_and(|weight| weight <= 0.0)
        });
        is_gzip && !is_refused
    })
}

fn packed(page: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(page)?;
    encoder.finish()
}

/// What the page's one element of this name contains.
fn content_of(element: &str) -> &'static str {
    let (begin, end) = (format!("<{element}>"), format!("</{element}>"));
    let inside = PAGE.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
    inside.map_or("", |(content, _)| content)
}

fn source_of(element: &str) -> String {
    format!("sha256-{}", STANDARD.encode(digest(&SHA256, content_of(element).as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn its_script_and_style_are_named_by_the_policy_and_nothing_else_could_run() {
        for element in ["script", "style"] {
            assert_eq!(PAGE.matches(&format!("<{element}")).count(), 1, "{element}");
            assert!(content_of(element).len() > 1_000, "{element}");
            assert!(OWN.policy.contains(&format!("{element}-src '{}'", source_of(element))));
        }
        for refused in [" src=", " href=", " style=\"", "eval(", "new Function"] {
            assert!(!PAGE.contains(refused), "{refused}");
        }
    }

    #[test]
    fn who_takes_gzip_gets_less_than_half_of_its_bytes() {
        let (packed, encoding) = OWN.for_browser("deflate, GZIP;q=0.5, br");
        assert_eq!(encoding, Some("gzip"));
        assert!(2 * packed.len() < PAGE.len(), "{}", packed.len());
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).expect("gzip");
        assert_eq!(unpacked, PAGE);
        for refused in ["", "br", "gzip;q=0", "gzip; q=0.0", "x-gzipped"] {
            assert_eq!(OWN.for_browser(refused), (Bytes::from_static(PAGE.as_bytes()), None));
        }
    }

    #[test]
    fn licences_of_what_it_contains_travel_with_it() {
        let comment = PAGE.split("-->").next().unwrap_or_default();
        for wanted in
            ["preact", "Jason Miller", "uplot", "Leon Sorokin", "Permission is hereby granted"]
        {
            assert!(comment.contains(wanted), "{wanted}");
        }
    }
}
