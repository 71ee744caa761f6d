//! Headless Chromium plays a stream by WHEP: 60 frames/s, no loss, and each of its kinds of feedback comes back. Skipped,
//! saying so, where `chromium` or `ffmpeg` with x264 is missing.
#![expect(clippy::disallowed_methods, reason = "this test drives a browser in real time")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Draws nothing on a screen, asks nobody outside.
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync \
    --allow-loopback-in-peer-connection --autoplay-policy=no-user-gesture-required";
/// How long the page is watched from its first picture on.
const SECONDS: u64 = 4;
/// Two cores hold one browser at 60 frames/s.
static ALONE: Mutex<()> = Mutex::new(());

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
        || Command::new(program).arg("-version").output().is_ok()
}

/// A scratch folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gameway-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Chromium on its debugging pipe: messages of JSON that end with a zero byte, on descriptors 3 and 4.
struct Browser {
    process: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    count: u64,
}

impl Browser {
    fn start(folder: &Path, extra: &str) -> Self {
        let line = format!(
            "exec chromium {FLAGS} {extra} --user-data-dir='{}' --remote-debugging-pipe about:blank \
             3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null",
            folder.join("profile").display()
        );
        let mut process = Command::new("sh")
            .args(["-c", &line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process: Running(process), input, output, count: 0 }
    }

    fn call(&mut self, method: &str, params: &Value, session: Option<&str>) -> Value {
        self.count += 1;
        let mut message = json!({"id": self.count, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser has ended");
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            if answer["id"] == json!(self.count) {
                return answer["result"].clone();
            }
        }
    }

    fn open(&mut self, url: &str) -> String {
        let target = self.call("Target.createTarget", &json!({"url": url}), None);
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.call("Target.attachToTarget", &attach, None);
        session["sessionId"].as_str().unwrap().to_owned()
    }

    fn evaluate(&mut self, session: &str, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        self.call("Runtime.evaluate", &params, Some(session))["result"]["value"].clone()
    }

    fn close(mut self) {
        self.call("Browser.close", &json!({}), None);
        let _ = self.process.0.wait();
    }
}

fn video(folder: &Path) -> PathBuf {
    let file = folder.join("video.h264");
    let status = Command::new("ffmpeg")
        .args(["-v", "error", "-f", "lavfi", "-i", "testsrc2=s=1280x720:r=60", "-t", "10"])
        .args(["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency"])
        .args(["-profile:v", "baseline", "-pix_fmt", "yuv420p", "-bf", "0", "-g", "600"])
        .args(["-b:v", "6M", "-maxrate", "6M", "-bufsize", "200k"])
        .arg(&file)
        .status()
        .unwrap();
    assert!(status.success(), "ffmpeg has no libx264?");
    file
}

/// The example that streams a file, and the page's address.
fn host(video: &Path, lose: Option<u64>) -> (Running, String, BufReader<ChildStdout>) {
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/whep_file");
    assert!(example.exists(), "build the example first: cargo build -p gameway-webrtc --examples");
    let mut process = Command::new(example)
        .arg(video)
        .args(["127.0.0.1:0", "0123456789abcdef"])
        .args(lose.map(|number| number.to_string()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    let mut ready = String::new();
    output.read_line(&mut ready).unwrap();
    let url = ready.split(' ').nth(1).unwrap().to_owned();
    (Running(process), url, output)
}

/// A number out of the host's last line of statistics.
fn number(line: &str, name: &str) -> u64 {
    let after = line.split(&format!("{name}: ")).nth(1).unwrap_or("0");
    after.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// The page's statistics, the browser's of the video, and what the host says at its end.
fn play(name: &str, extra: &str, lose: Option<u64>) -> Option<(Value, Value, String)> {
    if !is_there("chromium") || !is_there("ffmpeg") {
        eprintln!("skipped: chromium or ffmpeg is not installed");
        return None;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Folder::new(name);
    let (host, url, mut output) = host(&video(&folder.0), lose);
    let mut browser = Browser::start(&folder.0, extra);
    let session = browser.open(&url);
    let statistics = "connection.getStats().then(all => [...all.values()].find(\
                      it => it.type === 'inbound-rtp' && it.kind === 'video'))";
    let before = first_pictures(&mut browser, &session, statistics);
    std::thread::sleep(Duration::from_secs(SECONDS));
    let page = browser.evaluate(&session, "window.gameway");
    let mut video = browser.evaluate(&session, statistics);
    browser.close();
    let grown = |name: &str| video[name].as_f64().unwrap() - before[name].as_f64().unwrap();
    // Milliseconds.
    let rate = 1_000.0 * grown("framesDecoded") / grown("timestamp");
    video["rate"] = json!(rate);
    drop(host);
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    let last = said.lines().rfind(|line| line.starts_with("Statistics")).unwrap_or("").to_owned();
    eprintln!("{page}\n{video}\n{said}");
    Some((page, video, last))
}

/// The statistics once the page plays: on a busy machine a browser takes its time to start.
fn first_pictures(browser: &mut Browser, session: &str, statistics: &str) -> Value {
    for _ in 0..200 {
        // There is no connection yet while the page is being loaded.
        let expression = format!("typeof connection === 'undefined' ? null : {statistics}");
        let video = browser.evaluate(session, &expression);
        if video["framesDecoded"].as_f64().is_some_and(|decoded| decoded >= 1.0) {
            return video;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no picture in twenty seconds");
}

/// Always: Chromium plays a host's stream in `python/tests/test_live_browser.py`, with nothing else on the machine.
#[test]
#[ignore = "of times: make long"]
fn chromium_plays_sixty_frames_a_second_and_reports() {
    let Some((page, video, host)) = play("browser", "", None) else { return };
    assert_eq!(page["connection"], "connected", "{page}");
    assert_eq!(page["size"], "1280x720");
    assert_eq!(video["packetsLost"], json!(0), "{video}");
    let decoded = video["framesDecoded"].as_f64().unwrap();
    let rate = video["rate"].as_f64().unwrap();
    let min = 57.0 * SECONDS as f64;
    assert!(decoded >= min, "{decoded} frames decoded");
    assert!((57.0..=63.0).contains(&rate), "{rate} frames/s");
    assert!(number(&host, "presented_frames") as f64 > 0.6 * min, "{host}");
    // Asked for with each frame; by itself the browser sends one each 62 ms. So the page need not tell of frames.
    let reports = number(&host, "reports") as f64;
    assert!((0.8 * min..=1.3 * decoded).contains(&reports), "{host}");
    assert_eq!(number(&host, "received_frames"), 0);
    assert_eq!(number(&host, "ect1_packets"), 0, "that tells nothing of ECN");
}

#[test]
fn a_frame_that_is_lost_costs_the_page_a_moment() {
    // Amid the second second: four seconds are 2 400 packets.
    let Some((_, video, host)) = play("browser-loss", "", Some(900)) else { return };
    assert_eq!(video["packetsLost"], json!(1), "{video}");
    assert!((1..=3).contains(&number(&host, "key_frame_requests")), "{host}");
    let frozen = video["totalFreezesDuration"].as_f64().unwrap();
    // Two looks of the page; the browser alone asks after three seconds.
    assert!((0.1..=2.0).contains(&frozen), "{frozen} s without a picture");
}

#[test]
fn chromium_reports_ecn_by_rfc_8888_where_it_may() {
    let trial = "--force-fieldtrials=WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/";
    let Some((_, video, host)) = play("browser-ccfb", trial, None) else { return };
    let packets = video["packetsReceived"].as_u64().unwrap();
    let reported = number(&host, "reported_packets");
    // The host's last line is up to a second older than the browser's figure.
    assert!(reported > packets / 2 && reported <= packets * 2, "{reported} of {packets}");
    assert!(number(&host, "ect1_packets") > reported / 2, "{host}");
}
