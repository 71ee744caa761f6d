//! What a browser that is let in is told of STUN and TURN servers (W3C WebRTC 1.0 section 4.2.4: RTCIceServer), as JSON.
//!
//! With a secret that host and TURN server share, each browser gets credentials of its own that end after a day: the name is the time
//! of their end, the password HMAC-SHA-1 of that name under the secret (draft-uberti-behave-turn-rest-00 section 2.2, which coturn
//! has as `use-auth-secret`). So the secret stays here.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fmt;

/// How long credentials are good: longer than anybody plays.
const VALID_S: u64 = 86_400;

/// The servers of a host.
#[derive(Debug, Clone, Default)]
pub struct IceServers {
    /// The URL of a STUN server.
    pub stun: Option<String>,
    /// A TURN server.
    pub turn: Option<TurnServer>,
}

/// A TURN server with what it wants to know.
#[derive(Clone)]
pub struct TurnServer {
    urls: Vec<String>,
    credentials: Credentials,
}

#[derive(Clone)]
enum Credentials {
    User(String, String),
    Secret(String),
}

impl fmt::Debug for TurnServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TurnServer({:?})", self.urls)
    }
}

impl TurnServer {
    /// One that knows this user.
    #[must_use]
    pub fn of_user(urls: Vec<String>, user: &str, password: &str) -> Self {
        Self { urls, credentials: Credentials::User(user.to_owned(), password.to_owned()) }
    }

    /// One that shares this secret.
    #[must_use]
    pub fn of_secret(urls: Vec<String>, secret: &str) -> Self {
        Self { urls, credentials: Credentials::Secret(secret.to_owned()) }
    }

    fn told(&self, now: u64) -> Value {
        let (user, password) = match &self.credentials {
            Credentials::User(user, password) => (user.clone(), password.clone()),
            Credentials::Secret(secret) => {
                let user = format!("{}:gameway", now + VALID_S);
                let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes());
                let password = STANDARD.encode(hmac::sign(&key, user.as_bytes()));
                (user, password)
            }
        };
        json!({ "urls": self.urls, "username": user, "credential": password })
    }
}

impl IceServers {
    /// As a browser takes them, at so many seconds since 1970.
    #[must_use]
    pub fn told(&self, now: u64) -> Value {
        let stun = self.stun.iter().map(|url| json!({ "urls": [url] }));
        stun.chain(self.turn.iter().map(|turn| turn.told(now))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_a_shared_secret_is_what_coturn_reckons() {
        let turn = TurnServer::of_secret(vec!["turn:relay".to_owned()], "north");
        let servers = IceServers { stun: None, turn: Some(turn) };
        let told = servers.told(1_433_808_969);
        let server = &told[0];
        assert_eq!(server["username"], "1433895369:gameway");
        // printf 1433895369:gameway | openssl dgst -sha1 -hmac north -binary | base64
        assert_eq!(server["credential"], "/uLw6LhubWRuQDC5VGhpnyGM9Wg=");
        assert!(!format!("{servers:?}").contains("north"));
    }
}
