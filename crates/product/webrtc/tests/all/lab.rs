//! What a browser asks of the stream's controller and of the lab behind the host.
#![expect(clippy::disallowed_methods, reason = "this test drives sockets and threads in real time")]

use crate::sockets;
use gameway_webrtc::http::{IceServers, SignalingConfig, SignalingRequest, SignalingServer};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

const TOKEN: &str = "only-me-and-no-other";

fn serve(lab: Option<PathBuf>) -> SignalingServer {
    SignalingServer::start(SignalingConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        token: TOKEN.to_owned(),
        names: Vec::new(),
        pairing: None,
        certificate: None,
        lab,
        servers: IceServers::default(),
        wake: None,
    })
    .unwrap()
}

/// Status and body of the answer to a request that shows this token.
fn ask(address: SocketAddr, request: &str, token: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let answer = sockets::ask("127.0.0.1", address, &text);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (sockets::status(&answer), body.to_owned())
}

/// A lab that answers each line with what `answer` makes of it, as often as it is asked.
fn lab(name: &str, times: usize, answer: impl Fn(&str) -> String + Send + 'static) -> PathBuf {
    let socket = std::env::temp_dir().join(format!("gameway-lab-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(times) {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            stream.write_all(answer(&line).as_bytes()).unwrap();
        }
    });
    socket
}

#[test]
fn a_lab_gets_one_line_of_json_and_its_line_is_the_answer() {
    let socket = lab("echo", 3, |line| format!("{{\"heard\": {}}}\n", line.trim_end()));
    let host = serve(Some(socket));
    let at = host.address();
    assert_eq!(ask(at, "GET /lab", TOKEN, ""), (200, r#"{"heard":{}}"#.to_owned()));
    // A line break in the body is none in the line.
    let (status, body) = ask(at, "POST /lab", TOKEN, "{\"knobs\":\n{\"capacity\": \"5 Mb/s\"}}");
    assert_eq!((status, &*body), (200, r#"{"heard":{"knobs":{"capacity":"5 Mb/s"}}}"#));
    assert_eq!(ask(at, "POST /lab", TOKEN, "no JSON").0, 400);
    assert_eq!(ask(at, "POST /lab", TOKEN, &format!("\"{}\"", "x".repeat(16_384))).0, 413);
    assert_eq!(ask(at, "GET /lab", "another-token-than-mine", "").0, 401);
    assert_eq!(ask(at, "DELETE /lab", TOKEN, "").0, 405);
}

#[test]
fn what_the_lab_refuses_is_a_bad_request_and_a_lab_that_is_gone_a_bad_gateway() {
    let socket =
        lab("refuses", 1, |_| "{\"error\": \"capacity: \\\"x\\\" is no rate\"}\n".to_owned());
    let host = serve(Some(socket.clone()));
    let (status, body) = ask(host.address(), "POST /lab", TOKEN, "{}");
    assert_eq!(status, 400);
    assert!(body.contains("is no rate"), "{body}");
    std::fs::remove_file(socket).unwrap();
    assert_eq!(ask(host.address(), "GET /lab", TOKEN, "").0, 502);
    assert_eq!(ask(serve(None).address(), "GET /lab", TOKEN, "").0, 404);
}

#[test]
fn the_media_loop_is_asked_for_the_controller() {
    let host = serve(None);
    let at = host.address();
    let asked = std::thread::spawn(move || {
        let mut heard = Vec::new();
        while heard.len() < 3 {
            match host.poll() {
                Some(SignalingRequest::Controller { name, reply }) => {
                    match name.as_deref() {
                        Some("nothing") => reply.refuse(400, "known are gcc".to_owned()),
                        _ => reply.accept(r#"{"controller":"gcc"}"#.to_owned()),
                    }
                    heard.push(name);
                }
                Some(other) => panic!("{other:?}"),
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        }
        (heard, host)
    });
    assert_eq!(ask(at, "GET /controller", TOKEN, ""), (200, r#"{"controller":"gcc"}"#.to_owned()));
    assert_eq!(ask(at, "PUT /controller", TOKEN, " gcc\n").0, 200);
    assert_eq!(ask(at, "PUT /controller", TOKEN, "nothing"), (400, "known are gcc\n".to_owned()));
    assert_eq!(ask(at, "PUT /controller", "another-token-than-mine", "gcc").0, 401);
    assert_eq!(ask(at, "PUT /controller", TOKEN, &"x".repeat(65)).0, 400);
    let (heard, _) = asked.join().unwrap();
    assert_eq!(heard, [None, Some("gcc".to_owned()), Some("nothing".to_owned())]);
}
