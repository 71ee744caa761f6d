//! What a lab behind the host is asked, over its socket: one line of JSON there, one back.

use gameway_serving::answers::{Answer, refuse, respond};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

const QUESTION_BYTES: usize = 16_384;
const ANSWER_BYTES: u64 = 262_144;
const ANSWER_TIME: Duration = Duration::from_secs(5);
const NO_LAB: &str = "there is no lab behind this host: it is `gameway play --lab` that has one";

/// Hands the body, or an empty object, to the lab.
pub(super) async fn ask(socket: Option<&Path>, body: Option<Incoming>) -> Answer {
    let Some(socket) = socket else { return refuse(404, NO_LAB.to_owned()) };
    let question = match body {
        None => serde_json::json!({}),
        Some(body) => match Limited::new(body, QUESTION_BYTES).collect().await {
            Err(_) => return refuse(413, format!("at most {QUESTION_BYTES} bytes")),
            Ok(body) => match serde_json::from_slice(&body.to_bytes()) {
                Ok(value) => value,
                Err(error) => return refuse(400, format!("this is no JSON: {error}")),
            },
        },
    };
    match tokio::time::timeout(ANSWER_TIME, exchange(socket, &question)).await {
        Ok(Ok(answer)) => {
            let status = if answer.get("error").is_some() { 400 } else { 200 };
            respond(status, "application/json", answer.to_string())
        }
        Ok(Err(error)) => refuse(502, format!("the lab does not answer: {error}")),
        Err(_) => refuse(504, "the lab does not answer in time".to_owned()),
    }
}

/// JSON that is written anew has no line break, however it came.
async fn exchange(socket: &Path, question: &serde_json::Value) -> io::Result<serde_json::Value> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(format!("{question}\n").as_bytes()).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer).await?;
    serde_json::from_slice(&answer).map_err(io::Error::other)
}
