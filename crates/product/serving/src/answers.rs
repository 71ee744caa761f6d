//! Answers that are kept by no cache, put into no frame, and read by no page from elsewhere.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};

/// An answer with its whole body.
pub type Answer = Response<Full<Bytes>>;

/// A refusal with its reason as text.
#[must_use]
pub fn refuse(status: u16, reason: String) -> Answer {
    let mut response = respond(status, "text/plain; charset=utf-8", reason + "\n");
    if status == 401 {
        let headers = response.headers_mut();
        headers.insert("www-authenticate", HeaderValue::from_static("Bearer"));
    }
    response
}

/// Nothing is kept by caches, put into frames, told to others by the address of the page, or read by pages from elsewhere.
#[must_use]
pub fn respond(status: u16, kind: &str, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [
        ("content-type", kind),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ];
    for (name, value) in headers {
        if let (false, Ok(value)) = (value.is_empty(), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
