//! WHEP from the client's side (draft-ietf-wish-whep): an offer is posted, an answer comes back.

use crate::StreamError;
use std::time::Duration;

/// How long a host may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most bytes of an answer.
const MAX_ANSWER: u64 = 65_536;

/// Posts an offer to `url`; the answer.
///
/// # Errors
/// If there is no host, or it refuses.
pub fn post_offer(url: &str, token: &str, offer: &str) -> Result<String, StreamError> {
    let silent = |error: ureq::Error| StreamError::NoHost(format!("{url}: {error}"));
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .build()
        .into();
    let mut response = agent
        .post(url)
        .header("Authorization", format!("Bearer {token}"))
        .content_type("application/sdp")
        .send(offer)
        .map_err(silent)?;
    let status = response.status();
    let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_string();
    let body = body.map_err(silent)?;
    if status.as_u16() == 201 {
        return Ok(body);
    }
    Err(StreamError::Host(format!("{url}: the host refuses with {status}: {}", body.trim())))
}
