//! What a control answers, without a socket and without a link.

use super::*;
use gameway_experiment::RunError;
use proptest::prelude::*;

const PATH: &str = r#"{"capacity": "12 Mb/s", "base_rtt": "20 ms", "nominal_rtt": "30 ms",
    "queue": {"kind": "drop-tail", "size": "10 packets"}, "hop": [{"name": "access", "capacity": "50 Mb/s"}],
    "back": {"capacity": "5 Mb/s", "loss": {"probability": "1 %"}}, "gateway": "none"}"#;

fn registry() -> Arc<LinkRegistry> {
    Arc::new(LinkRegistry::standard())
}

fn requests() -> Requests {
    Requests::new(&PATH.parse().expect("it is a path"), Path::new(""), registry())
}

/// The answer of a link that does all at a second, and whether it was asked.
fn answer(requests: &mut Requests, line: &str) -> (Value, bool) {
    let mut asked = false;
    let answer = requests.answer(line.as_bytes(), |what| {
        asked = true;
        matches!(what, Request::Change(_))
            .then(|| Response::Changed(Instant::from_nanos(1_000_000_000)))
    });
    (answer, asked)
}

#[test]
fn a_path_stands_as_a_file_would_have_it_and_is_read_as_the_same() {
    let requests = requests();
    let document = document_of(&requests.path);
    let mut read = document::read(document.clone()).expect("it can be read");
    read.nominal_rtt = requests.path.nominal_rtt;
    assert_eq!(read, requests.path);
    let expected = json!({
        "capacity": "12 Mb/s", "base_rtt": "20 ms",
        "queue": { "kind": "drop-tail", "size": "10 packets" }, "classifier": "none",
        "hop": [{
            "name": "access", "capacity": "50 Mb/s",
            "queue": { "kind": "drop-tail", "size": "2 bdp" },
        }],
        "back": { "capacity": "5 Mb/s", "loss": { "kind": "random", "probability": "1 %" } },
        "gateway": { "kind": "none" },
    });
    assert_eq!(document, expected);
}

#[test]
fn settings_add_up_and_null_takes_one_away() {
    let mut requests = requests();
    let mut set = |keys: Value| answer(&mut requests, &json!({ "set": keys }).to_string());
    let (first, asked) = set(json!({
        "path.capacity": { "steps": [["0 s", "1 Mb/s"], ["1 s", "2 Mb/s"]] },
        "path.queue": { "kind": "codel" }, "path.queue.target": "20 ms",
        "path.hop.access.capacity": "40 Mb/s", "path.back.loss": null, "path.jitter.deviation": "2 ms",
    }));
    assert!(asked);
    let queue = json!({ "kind": "codel", "target": "20 ms" });
    assert_eq!(first["at_ns"], 1_000_000_000);
    assert_eq!(first["path"]["queue"], queue);
    assert_eq!(first["path"]["back"], json!({ "capacity": "5 Mb/s" }));
    assert_eq!(first["path"]["hop"][0]["capacity"], "40 Mb/s");
    let (second, _) = set(json!({ "path.capacity": "3 Mb/s" }));
    assert_eq!((&second["path"]["capacity"], &second["path"]["queue"]), (&json!("3 Mb/s"), &queue));
    assert_eq!(requests.path.nominal_rtt.map(|rtt| rtt.as_nanos()), Some(30_000_000));
}

/// What is no request, and what cannot be set, each with how the answer begins.
const WRONG: [(&str, &str); 22] = [
    ("", "is no request: "),
    ("{", "is no request: "),
    ("[1]", "is no request: "),
    ("{}", "a request has one key"),
    (r#"{"set": {}, "tell": "now"}"#, "a request has one key"),
    (r#"{"tell": "then"}"#, "is no request: unknown variant `then`"),
    (r#"{"sat": {}}"#, "is no request: unknown field `sat`"),
    (r#"{"set": {"path": 1}}"#, "path: is no key of a path"),
    (r#"{"set": {"seed": 1}}"#, "seed: is no key of a path"),
    (r#"{"set": {"path.capacity": "fast"}}"#, "path.capacity: \"fast\" has no number in front"),
    (r#"{"set": {"path.capacity": "0 b/s"}}"#, "path.capacity: "),
    (r#"{"set": {"path.capacity": null}}"#, "path.capacity: is missing"),
    (
        r#"{"set": {"path.capacity": {"trace": "/none"}}}"#,
        "path.capacity.trace: \"/none\" names no file",
    ),
    (
        r#"{"set": {"path.back.capacity": {"trace": "/dev/zero"}}}"#,
        "path.capacity.trace: \"/dev/zero\" names no file",
    ),
    (r#"{"set": {"path.queue.kind": "codle"}}"#, "path.queue.kind: unknown queue \"codle\""),
    (r#"{"set": {"path.queue": {"kind": "codel", "depth": 1}}}"#, "path.queue.depth: is no option"),
    (r#"{"set": {"path.stalls": {}}}"#, "path.stalls: is no option"),
    (
        r#"{"set": {"path.hop.last.capacity": "1 Mb/s"}}"#,
        "path.hop.last.capacity: leads through what is no table",
    ),
    (
        r#"{"set": {"path.hop.access.place": "in-front"}}"#,
        "path.hop \"access\": place: \"in-front\" cannot take the place of \"behind\"",
    ),
    (r#"{"set": {"path.hop": []}}"#, "path.hop: no hop cannot take the place of \"access\""),
    (r#"{"set": {"path.back.capacity": null}}"#, "path.back.capacity: no bottleneck cannot"),
    // All or nothing.
    (
        r#"{"set": {"path.base_rtt": "10 ms", "path.loss.probability": "200 %"}}"#,
        "path.loss.probability: 200 %",
    ),
];

#[test]
fn what_is_wrong_is_told_with_its_key_and_changes_nothing() {
    let mut requests = requests();
    let before = requests.path.clone();
    let deep = vec!["path"; 20].join(".");
    let deep = json!({ "set": { &deep: 1 } }).to_string();
    let deep = (
        deep.as_str(),
        "path.path.path.path.path.path.path.path.path.path.path.path.: has too many parts",
    );
    for (line, told) in WRONG.into_iter().chain([deep]) {
        let (answer, asked) = answer(&mut requests, line);
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.starts_with(told) && !asked, "{line}: {answer}");
        assert_eq!(requests.path, before, "{line}");
    }
}

#[test]
fn a_link_that_has_ended_or_refuses_does_not_change() {
    let mut requests = requests();
    let before = requests.path.clone();
    let set = br#"{"set": {"path.base_rtt": "10 ms"}}"#;
    assert_eq!(requests.answer(set, |_| None), json!({ "error": "the link has ended" }));
    let refusal = || RunError::Spec { field: "path.queue".into(), why: "no".into() };
    let answer = requests.answer(set, |_| Some(Response::Refused(refusal())));
    assert_eq!(answer, json!({ "error": "path.queue: no" }));
    assert_eq!(requests.path, before);
}

#[test]
fn changes_are_listed_in_the_links_folder() {
    let folder = std::env::temp_dir().join(format!("gameway-changes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut requests = Requests::new(&PATH.parse().expect("it is a path"), &folder, registry());
    for line in [r#"{"set": {"path.base_rtt": "10 ms"}}"#, r#"{"set": {"path.base_rtt": 1}}"#] {
        answer(&mut requests, line);
    }
    let listed = std::fs::read_to_string(folder.join(CHANGES)).expect("a list");
    std::fs::remove_dir_all(&folder).expect("it is there");
    let expected = json!({ "at_ns": 1_000_000_000, "set": { "path.base_rtt": "10 ms" } });
    assert_eq!(listed, format!("{expected}\n"));
}

/// Lines that are nearly requests.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let key = prop::sample::select(vec![
        "path.capacity",
        "path.base_rtt",
        "path.queue",
        "path.queue.kind",
        "path.queue.size",
        "path.loss",
        "path.loss.probability",
        "path.hop.0.capacity",
        "path.hop",
        "path.back",
        "path.gateway.kind",
        "path",
        "",
        "path.",
    ]);
    let value = prop::sample::select(vec![
        r#""1 Mb/s""#,
        r#""20 ms""#,
        r#""codel""#,
        r#"{"kind": "htb", "class": {}}"#,
        "null",
        "[]",
        "[[]]",
        "{}",
        "-1",
        "1e400",
        r#""1 %""#,
        r#""2 bdp""#,
        r#"{"steps": [["0 s", "1 Mb/s"]]}"#,
        "true",
        r#"{"wifi": "802.11n"}"#,
        "\"\u{0}\"",
    ]);
    let pair = (key, value).prop_map(|(key, value)| format!("{key:?}: {value}"));
    let set = prop::collection::vec(pair, 0..5);
    let set = set.prop_map(|pairs| format!("{{\"set\": {{{}}}}}", pairs.join(", ")).into_bytes());
    prop_oneof![prop::collection::vec(any::<u8>(), 0..200), set]
}

proptest! {
    /// Any bytes get an answer, and after it the path can still be built and stands as it is read.
    #[test]
    fn any_line_is_answered(lines in prop::collection::vec(lines(), 1..20)) {
        let mut requests = requests();
        for line in lines {
            let answer = requests.answer(&line, |what| match what {
                Request::Status => None,
                Request::Change(_) => Some(Response::Changed(Instant::ZERO)),
            });
            let is_error = answer["error"].is_string();
            prop_assert!(is_error != answer["path"].is_object(), "{}", answer);
            check_path(registry().known(), &requests.path).expect("it can be built");
            if !is_error {
                prop_assert_eq!(&answer["path"], &document_of(&requests.path));
            }
        }
    }
}
