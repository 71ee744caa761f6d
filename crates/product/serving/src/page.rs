//! A page in one document, so that nothing else is to be served. `make page` builds such documents from `web/page`.
//!
//! Its script and its style run because their SHA-256 stands in the policy (Content Security Policy Level 3 section 2.3.1), and no
//! other does. So the page is the same for everybody, and is compressed once: by gzip it has 40 % of its bytes, which over a new
//! connection is a round trip less (ten segments leave at once, then as many more as were acknowledged: RFC 6928, RFC 5681).

use crate::answers::{Answer, respond};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, HeaderValue};
use sha2::{Digest, Sha256};
use std::io::Write;

/// The page as it is served.
#[derive(Debug)]
pub struct Page {
    plain: &'static str,
    /// By gzip; nothing if that failed.
    packed: Option<Bytes>,
    policy: String,
}

impl Page {
    /// Of a document with one element `script` and one `style`: nothing else runs in it. It stands in no frame, and what it may do
    /// besides is in `more`, directives each with its semicolon in front.
    #[must_use]
    pub fn new(document: &'static str, more: &str) -> Self {
        Self {
            plain: document,
            packed: packed(document.as_bytes()).ok().map(Bytes::from),
            policy: format!(
                "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'{more}",
                source_of(document, "script"),
                source_of(document, "style"),
            ),
        }
    }

    /// The answer to a browser that sends this header `Accept-Encoding`.
    #[must_use]
    pub fn answer(&self, accepted: &str) -> Answer {
        let (body, encoding) = self.for_browser(accepted);
        let mut response = respond(200, "text/html; charset=utf-8", body);
        let headers = response.headers_mut();
        headers.extend(encoding.map(|name| (CONTENT_ENCODING, HeaderValue::from_static(name))));
        if let Ok(policy) = self.policy.parse() {
            headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
        response
    }

    /// The page, and the name of its encoding, if it has one.
    fn for_browser(&self, accepted: &str) -> (Bytes, Option<&'static str>) {
        match &self.packed {
            Some(packed) if takes_gzip(accepted) => (packed.clone(), Some("gzip")),
            _ => (Bytes::from_static(self.plain.as_bytes()), None),
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

/// What the document's one element of this name contains.
fn content_of<'a>(document: &'a str, element: &str) -> &'a str {
    let (begin, end) = (format!("<{element}>"), format!("</{element}>"));
    let inside = document.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
    inside.map_or("", |(content, _)| content)
}

fn source_of(document: &str, element: &str) -> String {
    let digest = Sha256::digest(content_of(document, element).as_bytes());
    format!("sha256-{}", STANDARD.encode(digest))
}

/// What must hold of a built document, for tests of those who serve one.
///
/// # Panics
/// Where it does not hold.
#[doc(hidden)]
pub fn check(document: &'static str, packages: &[&str]) {
    for element in ["script", "style"] {
        assert_eq!(document.matches(&format!("<{element}")).count(), 1, "{element}");
        assert!(content_of(document, element).len() > 1_000, "{element}");
    }
    for refused in [" src=", " href=", " style=\"", "eval(", "new Function"] {
        assert!(!document.contains(refused), "{refused}");
    }
    let page = Page::new(document, "");
    let packed = page.for_browser("gzip").0;
    assert!(2 * packed.len() < document.len(), "{}", packed.len());
    // Licences of what it contains travel with it.
    let comment = document.split("-->").next().unwrap_or_default();
    for wanted in packages.iter().chain(&["Permission is hereby granted"]) {
        assert!(comment.contains(wanted), "{wanted}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    const PAGE: &str = "<html><style>p{color:red}</style><p></p><script>let abc = 'abc';</script>";

    #[test]
    fn its_script_and_style_are_named_by_the_policy() {
        let policy = Page::new(PAGE, "; connect-src 'self'").policy;
        // By `printf %s CONTENT | openssl dgst -sha256 -binary | base64`.
        for hash in [
            "WBYwvRj4IjRvY5Z9rr3ysKpnxJVaZVPXQiO/6Vr1hfA=",
            "p0bF+un5yUb9MBO6xRb8kPHlY2BdpHVtLiFkDrZPF64=",
        ] {
            assert!(policy.contains(&format!("'sha256-{hash}'")), "{policy}");
        }
        assert!(policy.starts_with("default-src 'none'; "));
        assert!(policy.ends_with("frame-ancestors 'none'; connect-src 'self'"));
    }

    #[test]
    fn who_takes_gzip_gets_it() {
        let page = Page::new(PAGE, "");
        let (packed, encoding) = page.for_browser("deflate, GZIP;q=0.5, br");
        assert_eq!(encoding, Some("gzip"));
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).expect("gzip");
        assert_eq!(unpacked, PAGE);
        for refused in ["", "br", "gzip;q=0", "gzip; q=0.0", "x-gzipped"] {
            assert_eq!(page.for_browser(refused), (Bytes::from_static(PAGE.as_bytes()), None));
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read(accepted in ".{0,60}") {
            let is_gzip = accepted.to_ascii_lowercase().contains("gzip");
            prop_assert!(is_gzip || !takes_gzip(&accepted));
        }
    }
}
