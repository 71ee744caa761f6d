//! What the media loop is asked: offers, who is there, ends of sessions, controllers.

use super::{Places, Reply, Shared, SignalingRequest};
use crate::devices::DeviceId;
use crate::whep::{self, MAX_BODY};
use gameway_serving::answers::{Answer, refuse, respond};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use std::net::SocketAddr;
use tokio::sync::oneshot;

const NAME_BYTES: usize = 64;

/// Who makes an offer: from where, where it reached this port, which device it is, if it is one, and whether it watches beside the client that
/// plays.
pub(super) struct OfferOrigin {
    pub(super) from: SocketAddr,
    pub(super) at: Option<(String, u16)>,
    pub(super) device: Option<DeviceId>,
    pub(super) watches: bool,
}

pub(super) async fn offer(shared: &Shared, who: OfferOrigin, body: Incoming) -> Answer {
    let OfferOrigin { from, at, device, watches } = who;
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return refuse(413, format!("an offer has at most {MAX_BODY} bytes"));
    };
    let Ok(offer) = String::from_utf8(body.to_bytes().to_vec()) else {
        return refuse(400, "the offer is not UTF-8".to_owned());
    };
    // Revoked while its body came, after the media loop was told of the list without it.
    if device.as_ref().is_some_and(|device| !shared.access.has(device)) {
        return refuse(401, "this device was revoked".to_owned());
    }
    let session = shared.word();
    let name = session.clone();
    let request =
        |reply| SignalingRequest::Offer { from, at, session, device, watches, offer, reply };
    match ask(shared, request).await {
        Ok(answer) => {
            let mut response = respond(201, "application/sdp", answer);
            if let Ok(location) = format!("{}/{name}", whep::PATH).parse() {
                response.headers_mut().insert("location", location);
            }
            response
        }
        Err((status, reason)) => refuse(status, reason),
    }
}

pub(super) async fn end(shared: &Shared, session: String) -> Answer {
    match ask(shared, |reply| SignalingRequest::End { session, reply }).await {
        Ok(_) => respond(200, "text/plain", String::new()),
        Err((status, reason)) => refuse(status, reason),
    }
}

#[derive(serde::Serialize)]
struct HostState {
    #[serde(flatten)]
    places: Places,
    #[serde(rename = "iceServers")]
    servers: serde_json::Value,
}

/// All that a browser must know before it makes an offer: whether somebody plays, how many may watch, and which servers it is to ask.
pub(super) async fn watching(shared: &Shared) -> Answer {
    match ask(shared, |reply| SignalingRequest::Watching { reply }).await {
        Ok(places) => {
            let servers = shared.servers.told(super::access::since_1970());
            let told = serde_json::json!(HostState { places, servers });
            respond(200, "application/json", told.to_string())
        }
        Err((status, reason)) => refuse(status, reason),
    }
}

/// Which controller the stream has, once it has the one that the body names, if there is one.
pub(super) async fn controller(shared: &Shared, body: Option<Incoming>) -> Answer {
    let name = match body {
        None => None,
        Some(body) => match text(body, NAME_BYTES).await {
            Some(name) => Some(name.trim().to_owned()),
            None => return refuse(400, "the name of a controller, as text".to_owned()),
        },
    };
    match ask(shared, |reply| SignalingRequest::Controller { name, reply }).await {
        Ok(answer) => respond(200, "application/json", answer),
        Err((status, reason)) => refuse(status, reason),
    }
}

/// A body of text; `None` if it is longer, or no text.
async fn text(body: Incoming, max: usize) -> Option<String> {
    let body = Limited::new(body, max).collect().await.ok()?;
    String::from_utf8(body.to_bytes().to_vec()).ok()
}

async fn ask<T>(
    shared: &Shared,
    request: impl FnOnce(Reply<T>) -> SignalingRequest,
) -> Result<T, (u16, String)> {
    let busy = || (503, "the host is busy; try again".to_owned());
    let (sender, receiver) = oneshot::channel();
    shared.sender.try_send(request(Reply(sender))).map_err(|_| busy())?;
    if let Some(wake) = &shared.wake {
        wake();
    }
    receiver.await.unwrap_or_else(|_| Err(busy()))
}
