//! The programs of host and client on loopback, as a person starts and ends them.
#![cfg(feature = "cli")]

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

const HOST: &str = env!("CARGO_BIN_EXE_gameway-host");
const CLIENT: &str = env!("CARGO_BIN_EXE_gameway-client");
const TOKEN: &str = "a-token-of-this-test";

/// A host that is ended with the test.
struct Host {
    process: Child,
    told: BufReader<ChildStderr>,
    link: String,
}

impl Host {
    /// Starts one on a port of the system's choice, and waits for its link. Its signals are as a shell leaves them: tests that run
    /// under nohup ignore SIGHUP, and what they start would, too.
    fn start(options: &[&str]) -> Self {
        let mut process = Command::new("env")
            .args(["--default-signal=HUP", HOST])
            .args(["--listen", "127.0.0.1:0", "--size", "320x180", "--frame-rate", "30"])
            .args(options)
            .env("GAMEWAY_TOKEN", TOKEN)
            .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("a host");
        let mut told = BufReader::new(process.stderr.take().expect("what it tells"));
        let mut link = None;
        while link.is_none() {
            let mut line = String::new();
            assert!(told.read_line(&mut line).expect("a line") > 0, "it ended without a link");
            link = line.split('"').nth(1).filter(|link| link.contains("/#")).map(str::to_owned);
        }
        Self { process, told, link: link.expect("a link") }
    }

    /// Sends a signal, as kill(1) names it; the exit code, and what was told since the link.
    fn end(&mut self, signal: &str) -> (Option<i32>, String) {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().expect("kill").success());
        let mut told = String::new();
        self.told.read_to_string(&mut told).expect("what it tells");
        (self.process.wait().expect("an end").code(), told)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // One that has ended is only reaped again.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn client(words: &[&str]) -> Output {
    Command::new(CLIENT).args(words).env_remove("GAMEWAY_TOKEN").output().expect("a client")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_client_shows_what_a_host_streams_and_both_end_well() {
    let mut host = Host::start(&["--controller", "fixed", "--no-audio"]);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs/measured");
    let _ = std::fs::remove_dir_all(&folder);
    let out = folder.display().to_string();
    let mut words = vec![host.link.as_str(), "--duration", "4 s"];
    if cfg!(feature = "tables") {
        words.extend(["--out", &out]);
    }
    let done = client(&words);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    let counted =
        said.lines().find_map(|line| line.split_once(" frames decoded, ")).expect("frames");
    // Four seconds at 30 frames/s, less what it takes to connect and what a busy machine leaves out.
    let decoded: u32 = counted.0.parse().expect("a number");
    assert!((20..=120).contains(&decoded), "{said}");
    assert!(counted.1.ends_with(&format!("; {decoded} with a stamp")), "{said}");
    assert!(said.contains("no sound came") && said.contains("decoding: "), "{said}");
    assert_eq!(folder.join("client_frames.parquet").is_file(), cfg!(feature = "tables"));
    let (code, told) = host.end("-TERM");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("encoding: ") && !told.contains("nobody came"), "{told}");
}

/// As systemd starts a service: the journal reads a stream whose device and inode stand in `JOURNAL_STREAM`.
#[test]
fn what_is_told_to_the_journal_has_no_token() {
    for is_logged in [true, false] {
        let (mut read, write) = std::io::pipe().expect("a pipe");
        let own =
            std::fs::metadata(format!("/proc/self/fd/{}", write.as_raw_fd())).expect("a file");
        let inode = if is_logged { own.ino() } else { own.ino() + 1 };
        let mut process = Command::new(HOST)
            .args([
                "--listen",
                "127.0.0.1:0",
                "--size",
                "320x180",
                "--no-audio",
                "--duration",
                "1 s",
            ])
            .env("GAMEWAY_TOKEN", TOKEN)
            .env("JOURNAL_STREAM", format!("{}:{inode}", own.dev()))
            .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stderr(write)
            .spawn()
            .expect("a host");
        let mut told = String::new();
        read.read_to_string(&mut told).expect("what it tells");
        assert_eq!(process.wait().expect("an end").code(), Some(0), "{told}");
        assert!(told.contains("watch at http://127.0.0.1:"), "{told}");
        assert_eq!(told.contains(TOKEN), !is_logged, "{told}");
    }
}

#[test]
fn a_client_plays_over_https_by_the_certificate_of_its_link() {
    let mut host = Host::start(&["--https", "--no-audio"]);
    let (_, secrets) = host.link.split_once("/#").expect("a fragment");
    let (token, print) = secrets.split_once('.').expect("a certificate");
    assert!(host.link.starts_with("https://") && token == TOKEN && print.len() == 64);
    let done = client(&[&host.link, "--duration", "4 s"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let others = host.link.replace(print, &print.chars().rev().collect::<String>());
    let done = client(&[&others, "--duration", "1 s"]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("certificate is not that of the link"), "{said}");
    let plain = host.link.replace("https", "http").replace(&format!(".{print}"), "");
    let done = client(&[&plain, "--duration", "1 s"]);
    assert!(text(&done.stderr).contains("this host speaks HTTPS"), "{}", text(&done.stderr));
    let (code, told) = host.end("-INT");
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("a browser asks whether to go on, by the certificate with SHA-256 "),
        "{told}"
    );
}

/// An authority, a host's certificate that it vouches for with it behind, and the key: files in PEM.
fn vouched() -> Result<[PathBuf; 3], rcgen::Error> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs/vouched");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut authority = CertificateParams::new([])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (own, key) = (KeyPair::generate()?, KeyPair::generate()?);
    let authority = CertifiedIssuer::self_signed(authority, own)?;
    let host = CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
    let chain = host.pem() + &authority.pem();
    let files = [("authority", authority.pem()), ("chain", chain), ("key", key.serialize_pem())];
    Ok(files.map(|(name, text)| {
        let file = folder.join(name);
        std::fs::write(&file, text).expect("a file");
        file
    }))
}

#[test]
fn a_certificate_that_an_authority_of_the_system_vouches_for_needs_no_fingerprint() {
    let [authority, chain, key] = vouched().expect("certificates");
    let [chain, key] = [&chain, &key].map(|file| file.display().to_string());
    let mut host = Host::start(&["--certificate", &chain, "--certificate-key", &key, "--no-audio"]);
    assert!(
        host.link.starts_with("https://127.0.0.1:") && host.link.ends_with(&format!("/#{TOKEN}"))
    );
    let words = [host.link.as_str(), "--duration", "4 s"];
    let mut command = Command::new(CLIENT);
    let trusting = command.args(words).env_remove("GAMEWAY_TOKEN").env("SSL_CERT_FILE", authority);
    let done = trusting.output().expect("a client");
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let done = client(&words);
    let said = text(&done.stderr);
    assert!(done.status.code() == Some(2) && said.contains("certificate: UnknownIssuer"), "{said}");
    let (code, told) = host.end("-INT");
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn each_signal_ends_a_host_in_order() {
    for signal in ["-INT", "-HUP"] {
        let (code, told) = Host::start(&["--no-audio"]).end(signal);
        assert_eq!(code, Some(0), "{signal}: {told}");
        assert!(told.contains("nobody came"), "{signal}: {told}");
    }
}

#[test]
fn what_cannot_be_is_told_with_its_option_and_help_is_on_standard_output() {
    let told = |program: &str, words: &[&str]| {
        let done = Command::new(program).args(words).output().expect("a program");
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let (code, _, error) = told(HOST, &["--frame-rate", "0"]);
    assert_eq!((code, error.trim()), (Some(2), "error: --frame-rate: 0 is not between 1 and 1000"));
    let (code, _, error) = told(CLIENT, &["192.0.2.7:8443"]);
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: LINK: \"192.0.2.7:8443\" is no host's link"), "{error}");
    for (program, option) in [(HOST, "--frame-rate <NUMBER>"), (CLIENT, "--codec <WORD>")] {
        let (code, help, error) = told(program, &["--help"]);
        assert_eq!((code, error.as_str()), (Some(0), ""));
        assert!(help.contains(option) && help.contains("[default: "), "{help}");
    }
    // A client that finds nobody says so, and where.
    let (code, _, error) = told(CLIENT, &["http://127.0.0.1:9/#a", "--duration", "1 s"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("127.0.0.1:9"), "{error}");
}
