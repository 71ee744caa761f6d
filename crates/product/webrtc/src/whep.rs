//! WHEP (draft-ietf-wish-whep): what each HTTP request of signalling is answered with. No sockets here.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | the player page; it holds no secret |
//! | `POST /whep` with an offer | 201, the answer, and `Location: /whep/SESSION` |
//! | `DELETE /whep/SESSION` | 200, the session ends |
//! | `GET /watch` | 200, as JSON: whether somebody plays, how many may watch beside, and the STUN and TURN servers that a browser is to ask, with credentials |
//! | `POST /watch` with an offer | as `POST /whep`, for a client that watches beside the one that plays; 409 if no more may |
//! | `POST /pair` with a code of six digits | 201 and a key for this device ([`crate::http::PairingConfig`]) |
//! | `POST /pair` without a body | 204; a code is shown where the host runs |
//! | `GET /controller` | 200, the stream's controller and those that there are, as JSON |
//! | `PUT /controller` with a name | the same, once that one has the stream |
//! | `GET /lab`, `POST /lab` with JSON | what the lab behind the host says ([`crate::http::SignalingConfig::lab`]); 404 where there is none |
//! | `PATCH` and others | 405: offer and answer name all candidates, so nothing trickles |
//!
//! The header `Host` must name this host: an address, localhost, or one of its names. Else 421: a page elsewhere whose
//! name was made to resolve to this host (DNS rebinding) would be of one origin with it.
//!
//! The header `Origin`, which browsers send with each request that may change something (Fetch Standard section 3.2), must be
//! this host's own, where it is there. Else 403: a page from elsewhere may neither pair nor start nor end anything. So
//! there are no CORS headers either, and `OPTIONS` is as any other method.
//!
//! Each request under `/whep`, `/watch`, `/controller` and `/lab` needs the token or the key of a device, as `Authorization: Bearer TOKEN`; they
//! are compared in constant time. Without one the answer is 401 and no more, before anything of the body is looked at.
//!
//! A link that is opened in a browser has the token as its fragment (`/#TOKEN`), which is sent to nobody (RFC 9110 section
//! 4.2.5); the page's script shows it. A token in a query would stand in logs, histories and the header `Referer`: 400.
//!
//! A second client that is let in takes over: the first one's session ends once the second is connected. A player who opens
//! the stream on another device, or whose client died, wants the picture there.
//!
//! Over plain HTTP, code, key, token and session description pass in the clear: whoever listens on the local network can
//! take the stream over. Media is encrypted either way, but then only against those who did not listen
//! here. So a host that others reach has a certificate ([`crate::ServerIdentity`]).

use gameway_serving::host::is_served;
use subtle::ConstantTimeEq;

/// The most bytes of a body.
pub const MAX_BODY: usize = 65_536;
/// The resource that offers are posted to.
pub const PATH: &str = "/whep";
/// The resource that offers of those are posted to who watch beside the one that plays.
pub const WATCH: &str = "/watch";
/// The resource that codes are posted to.
pub const PAIR: &str = "/pair";
/// The controller of the stream.
pub const CONTROLLER: &str = "/controller";
/// What the lab behind the host says.
pub const LAB: &str = "/lab";

/// What a request says.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `POST` and so on.
    pub method: &'a str,
    /// Path without the query.
    pub path: &'a str,
    /// The query, without its question mark.
    pub query: &'a str,
    /// The header `Authorization`.
    pub authorization: Option<&'a str>,
    /// The header `Content-Type`.
    pub content_type: Option<&'a str>,
    /// The header `Host`.
    pub host: Option<&'a str>,
    /// The header `Origin`.
    pub origin: Option<&'a str>,
}

/// What a host asks of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// What a client must show that is no paired device.
    pub token: String,
    /// The names under which the host is reached, beside localhost and its addresses.
    pub names: Vec<String>,
    /// Whether it speaks HTTPS itself. Before one that does not there may be a proxy that does.
    pub secure: bool,
}

/// What to do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Give out the player page.
    Page,
    /// Read the body, an offer, and answer it.
    Offer {
        /// Whether who offers watches beside the one that plays.
        watches: bool,
    },
    /// Say whether somebody plays, how many may watch, and which STUN and TURN servers there are.
    Watching,
    /// End this session.
    End(&'a str),
    /// Read the body, a code or nothing, and answer it.
    Pair,
    /// Say which controller the stream has; if it is to change, to the one that the body names.
    Controller {
        /// Whether it is to change.
        change: bool,
    },
    /// Hand the body, JSON or nothing, to the lab, and answer with what it says.
    Lab {
        /// Whether there is a body.
        change: bool,
    },
    /// Refuse with this status and reason.
    Refuse(u16, &'static str),
}

/// Whether a request for this path shows a token, a key or a code.
#[must_use]
pub fn asks_for_secret(path: &str) -> bool {
    [PATH, WATCH, PAIR, CONTROLLER, LAB].iter().any(|resource| path.starts_with(resource))
}

/// Decides. `is_device` says whether a paired device has a key, or nothing if that cannot be known.
#[must_use]
pub fn judge<'a>(
    request: &Request<'a>,
    terms: &Terms,
    is_device: &dyn Fn(&str) -> Option<bool>,
) -> Verdict<'a> {
    let Some(host) = request.host.filter(|host| is_served(host, &terms.names)) else {
        return Verdict::Refuse(
            421,
            "this name is not served: start the host with --host-name NAME",
        );
    };
    let changes = !matches!(request.method, "GET" | "HEAD" | "OPTIONS");
    if changes && request.origin.is_some_and(|origin| !is_own(origin, host, terms.secure)) {
        return Verdict::Refuse(403, "a page from elsewhere may not ask this host for anything");
    }
    if request.query.split('&').any(|pair| pair.split('=').next() == Some("token")) {
        return Verdict::Refuse(
            400,
            "a token in the query stands in logs and histories: open /#TOKEN, or send Authorization: Bearer TOKEN",
        );
    }
    match (request.method, request.path) {
        ("POST", PAIR) => return Verdict::Pair,
        ("GET" | "HEAD", "/") => return Verdict::Page,
        _ => {}
    }
    let Some(verdict) = guarded(request) else {
        return Verdict::Refuse(404, "POST an offer to /whep, or open / in a browser");
    };
    let shown = bearer(request);
    match is_token(shown, &terms.token).then_some(true).or_else(|| is_device(shown)) {
        Some(true) => verdict,
        Some(false) => Verdict::Refuse(401, "wrong or missing token or key"),
        None => Verdict::Refuse(500, "the host cannot read its list of devices"),
    }
}

/// What is for those who are let in; `None` where there is nothing.
fn guarded<'a>(request: &Request<'a>) -> Option<Verdict<'a>> {
    match (request.method, request.path) {
        ("GET", CONTROLLER) => Some(Verdict::Controller { change: false }),
        ("PUT", CONTROLLER) => Some(Verdict::Controller { change: true }),
        (_, CONTROLLER) => Some(Verdict::Refuse(405, "GET or PUT /controller")),
        ("GET", WATCH) => Some(Verdict::Watching),
        ("POST", WATCH) => Some(offer(request, true)),
        (_, WATCH) => Some(Verdict::Refuse(405, "GET or POST /watch")),
        ("GET", LAB) => Some(Verdict::Lab { change: false }),
        ("POST", LAB) => Some(Verdict::Lab { change: true }),
        (_, LAB) => Some(Verdict::Refuse(405, "GET or POST /lab")),
        (_, path) => {
            let rest = path.strip_prefix(PATH)?;
            let session = if rest.is_empty() { "" } else { rest.strip_prefix('/')? };
            Some(resource(request, session))
        }
    }
}

/// Where to ask over HTTPS what was asked in the clear.
///
/// # Errors
/// Status and reason, where nothing can be asked.
pub fn secure_address(request: &Request<'_>, terms: &Terms) -> Result<String, (u16, &'static str)> {
    let Some(host) = request.host.filter(|host| is_served(host, &terms.names)) else {
        return Err((421, "this name is not served: start the host with --host-name NAME"));
    };
    match request.method {
        "GET" | "HEAD" => Ok(format!("https://{host}/")),
        _ => Err((400, "this host speaks HTTPS: give a link that begins with https://")),
    }
}

/// Whether a header `Origin` is this host's: a page of it has the name and port that this request is to.
fn is_own(origin: &str, host: &str, secure: bool) -> bool {
    let plain = origin.strip_prefix("http://").filter(|_| !secure);
    let authority = plain.or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

fn offer<'a>(request: &Request<'a>, watches: bool) -> Verdict<'a> {
    let is_description = request.content_type.is_some_and(|kind| {
        kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/sdp")
    });
    if is_description {
        return Verdict::Offer { watches };
    }
    Verdict::Refuse(415, "Content-Type must be application/sdp")
}

fn resource<'a>(request: &Request<'a>, session: &'a str) -> Verdict<'a> {
    match (request.method, session) {
        ("POST", "") => offer(request, false),
        ("DELETE", session) if !session.is_empty() => Verdict::End(session),
        _ => Verdict::Refuse(405, "POST /whep or DELETE /whep/SESSION; candidates do not trickle"),
    }
}

/// What a request shows, or nothing.
fn bearer<'a>(request: &Request<'a>) -> &'a str {
    let bearer = request.authorization.and_then(|value| {
        let (scheme, given) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(given.trim())
    });
    bearer.unwrap_or("")
}

fn is_token(given: &str, token: &str) -> bool {
    // An empty token would let everyone in.
    !token.is_empty() & bool::from(given.as_bytes().ct_eq(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "c0rrect";
    /// The token of a host that speaks HTTPS.
    const SECURE: &str = "c0rrect over HTTPS";

    fn ask<'a>(method: &'a str, path: &'a str, authorization: Option<&'a str>) -> Request<'a> {
        let content_type = Some("application/sdp");
        Request {
            method,
            path,
            query: "",
            authorization,
            content_type,
            host: Some("192.0.2.1:8443"),
            origin: None,
        }
    }

    fn judge<'a>(request: &Request<'a>, token: &str) -> Verdict<'a> {
        super::judge(
            request,
            &Terms {
                token: token.to_owned(),
                names: vec!["Game-Box".to_owned()],
                secure: token == SECURE,
            },
            &|key| (key != "unclear").then_some(key == "a-device"),
        )
    }

    #[test]
    fn only_the_token_and_the_key_of_a_device_open() {
        let good = ask("POST", PATH, Some("Bearer c0rrect"));
        assert_eq!(judge(&good, TOKEN), Verdict::Offer { watches: false });
        assert_eq!(
            judge(&ask("POST", PATH, Some("Bearer a-device")), TOKEN),
            Verdict::Offer { watches: false }
        );
        let unclear = judge(&ask("POST", PATH, Some("Bearer unclear")), TOKEN);
        assert!(matches!(unclear, Verdict::Refuse(500, _)));
        for wrong in [
            None,
            Some("Bearer"),
            Some("Bearer "),
            Some("Bearer C0rrect"),
            Some("Basic c0rrect"),
            Some("c0rrect"),
        ] {
            for method in ["POST", "DELETE", "PATCH", "GET", "PUT"] {
                for path in [PATH, WATCH, CONTROLLER, LAB] {
                    let verdict = judge(&ask(method, path, wrong), TOKEN);
                    assert!(matches!(verdict, Verdict::Refuse(401, _)), "{method} {wrong:?}");
                }
            }
        }
        assert!(matches!(judge(&ask("POST", PATH, Some("Bearer ")), ""), Verdict::Refuse(401, _)));
    }

    #[test]
    fn a_token_in_the_query_is_refused_even_if_it_is_right() {
        for (method, path) in [("GET", "/"), ("POST", PATH), ("DELETE", "/whep/x")] {
            for query in ["token=c0rrect", "a=b&token=c0rrect", "token"] {
                let good = ask(method, path, Some("Bearer c0rrect"));
                let verdict = judge(&Request { query, ..good }, TOKEN);
                assert!(matches!(verdict, Verdict::Refuse(400, _)), "{method} {query}");
            }
        }
        let other = Request { query: "tokens=2", ..ask("GET", "/", None) };
        assert_eq!(judge(&other, TOKEN), Verdict::Page);
    }

    #[test]
    fn each_method_has_its_answer() {
        let with = |method, path| judge(&ask(method, path, Some("Bearer c0rrect")), TOKEN);
        assert_eq!(with("DELETE", "/whep/abc"), Verdict::End("abc"));
        assert_eq!(with("GET", "/"), Verdict::Page);
        assert_eq!(with("POST", "/pair"), Verdict::Pair);
        assert!(matches!(with("OPTIONS", "/whep"), Verdict::Refuse(405, _)));
        assert_eq!(with("GET", CONTROLLER), Verdict::Controller { change: false });
        assert_eq!(with("PUT", CONTROLLER), Verdict::Controller { change: true });
        assert_eq!(with("GET", WATCH), Verdict::Watching);
        assert_eq!(with("POST", WATCH), Verdict::Offer { watches: true });
        assert!(matches!(with("DELETE", WATCH), Verdict::Refuse(405, _)));
        assert!(matches!(with("GET", "/watch/x"), Verdict::Refuse(404, _)));
        assert_eq!(with("GET", LAB), Verdict::Lab { change: false });
        assert_eq!(with("POST", LAB), Verdict::Lab { change: true });
        assert!(matches!(with("POST", CONTROLLER), Verdict::Refuse(405, _)));
        assert!(matches!(with("DELETE", LAB), Verdict::Refuse(405, _)));
        assert!(matches!(with("GET", "/lab/x"), Verdict::Refuse(404, _)));
        assert!(matches!(with("GET", "/pair"), Verdict::Refuse(404, _)));
        assert!(matches!(with("POST", "/pair/x"), Verdict::Refuse(404, _)));
        assert!(matches!(with("PATCH", "/whep/abc"), Verdict::Refuse(405, _)));
        assert!(matches!(with("DELETE", "/whep"), Verdict::Refuse(405, _)));
        assert!(matches!(with("POST", "/whepper"), Verdict::Refuse(404, _)));
        assert!(matches!(with("GET", "/etc/passwd"), Verdict::Refuse(404, _)));
        for path in [PATH, WATCH] {
            let request = ask("POST", path, Some("Bearer c0rrect"));
            let text = Request { content_type: Some("text/plain"), ..request };
            assert!(matches!(judge(&text, TOKEN), Verdict::Refuse(415, _)));
        }
    }

    #[test]
    fn a_page_from_elsewhere_changes_nothing() {
        let from = |method, path, origin| {
            let request = ask(method, path, Some("Bearer c0rrect"));
            judge(&Request { origin, host: Some("game-box:8443"), ..request }, TOKEN)
        };
        for (method, path) in [
            ("POST", PATH),
            ("POST", WATCH),
            ("POST", PAIR),
            ("POST", LAB),
            ("PUT", CONTROLLER),
            ("DELETE", "/whep/x"),
            ("PUT", "/"),
        ] {
            for own in [None, Some("http://game-box:8443"), Some("https://Game-Box:8443")] {
                let verdict = from(method, path, own);
                assert!(!matches!(verdict, Verdict::Refuse(403, _)), "{method} {own:?}");
            }
            for other in [
                "http://game-box",
                "http://game-box:80",
                "http://game-box:8443.example.org",
                "null",
                "",
                "http://localhost:8443",
                "file://game-box:8443",
                "game-box:8443",
                "http://game-box:8443/",
            ] {
                let verdict = from(method, path, Some(other));
                assert!(matches!(verdict, Verdict::Refuse(403, _)), "{method} {other}");
            }
        }
        assert_eq!(from("GET", "/", Some("http://example.org")), Verdict::Page, "it has no secret");
        let pair = Request { host: Some("game-box:8443"), ..ask("POST", PAIR, None) };
        let clear = Request { origin: Some("http://game-box:8443"), ..pair };
        assert!(matches!(judge(&clear, SECURE), Verdict::Refuse(403, _)), "a page in the clear");
        let own = Request { origin: Some("https://game-box:8443"), ..pair };
        assert_eq!(judge(&own, SECURE), Verdict::Pair);
    }

    #[test]
    fn a_name_that_is_not_the_host_s_gets_nothing() {
        let under = |host| judge(&Request { host, ..ask("GET", "/", None) }, TOKEN);
        let served = [
            "192.0.2.1",
            "192.0.2.1:8443",
            "[2001:db8::1]:8443",
            "[::1]",
            "localhost:80",
            "LOCALHOST",
            "game-box:8443",
            "game-box.",
        ];
        for host in served {
            assert_eq!(under(Some(host)), Verdict::Page, "{host}");
        }
        let others =
            ["", "example.org", "game-box.example.org:8443", "192.0.2.1.example.org", "[x]"];
        for host in others.map(Some).into_iter().chain([None]) {
            assert!(matches!(under(host), Verdict::Refuse(421, _)), "{host:?}");
        }
        let offer =
            Request { host: Some("example.org"), ..ask("POST", PATH, Some("Bearer c0rrect")) };
        assert!(matches!(judge(&offer, TOKEN), Verdict::Refuse(421, _)));
    }
}
