//! What a home sends, in front of the provider's queue on the way out: with the gateway's queue there and without.

use crate::home::{Line, SLOW, shaped_home, wait, with_downloads};
use crate::support::{Run, quantile, run, with, with_tcp};
use serde_json::{Value, json};

/// Of the provider's rate, what goes up has.
const UP_PARTS: u32 = 4;

/// A home whose provider has a queue on the way out, too. On its own way out is a hop, which is a shaper or has no rate.
fn home_that_sends(line: Line, seconds: u32, gateway: &str, guards_out: bool) -> Value {
    let up_mbps = line.mbps / UP_PARTS;
    let bytes = up_mbps * line.queue_ms * 125;
    let back = json!({ "capacity": format!("{up_mbps} Mb/s"),
        "queue": { "kind": "drop-tail", "size": format!("{bytes} B") } });
    let target = if gateway == "both" { "30 ms" } else { "5 ms" };
    let queue = json!({ "kind": "fq-codel", "target": target });
    let shaper = json!({ "kind": "htb", "rate": "1 Gb/s", "default": "all", "class": {
        "game": { "rate": "750 Mb/s", "ceil": "1 Gb/s", "priority": 0, "match": { "protocol": "icmp" }, "queue": "fq-codel" },
        "all": { "rate": "250 Mb/s", "ceil": "1 Gb/s", "priority": 1, "queue": queue } } });
    let queue = if guards_out { shaper } else { json!("drop-tail") };
    let hop = json!({ "name": "wan", "place": "out", "capacity": "1 Gb/s", "queue": queue });
    let spec = shaped_home(line, seconds, gateway);
    with(with(spec, "/path/back", back), "/path/hop/-", hop)
}

fn with_uploads(spec: Value, congestion_control: &str, count: u32) -> Value {
    (0..count).fold(spec, |spec, number| {
        let more = json!({ "name": format!("upload-{number}"), "start": "1 s", "direction": "up" });
        with_tcp(spec, congestion_control, more)
    })
}

/// Median and 99 % of what pings wait from the fourth second on, when the link is known, in ms.
fn waits(run: &Run) -> [f64; 2] {
    [0.5, 0.99].map(|part| quantile(&run.rtts(4.0, 14.0), part) - f64::from(SLOW.rtt_ms))
}

/// The twins: no gateway, and one without the queue on the way out. `docs/gateway.md` has these figures.
#[test]
fn a_game_does_not_wait_beside_an_upload_and_without_the_queue_on_the_way_out_does() {
    let up_mbps = f64::from(SLOW.mbps / UP_PARTS);
    for (gateway, (down, up), congestion_control, max_wait_ms) in [
        ("shape", (0, 1), "cubic", 15.0),
        ("both", (0, 1), "cubic", 15.0),
        ("both", (0, 4), "cubic", 15.0),
        ("both", (0, 1), "bbr", 25.0),
        ("both", (1, 1), "cubic", 35.0),
    ] {
        let of = |gateway, guards_out| {
            let spec = home_that_sends(SLOW, 14, gateway, guards_out);
            let spec = with_downloads(spec, congestion_control, down, 0.0);
            run(&with_uploads(spec, congestion_control, up))
        };
        let share = |run: &Run| {
            let of = |number| run.received_mbps(&format!("upload-{number}"), 4.0, 14.0);
            (0..up).map(of).sum::<f64>() / up_mbps
        };
        let what = format!("{gateway}: {down} down and {up} up, {congestion_control}");
        let (alone, without, guarded) = (of("none", false), of(gateway, false), of(gateway, true));
        let [half, max] = waits(&guarded);
        assert!(half > 0.3 && max < max_wait_ms, "{what}: {half} and {max} ms");
        assert!(share(&guarded) < 1.0 && share(&guarded) > 0.92 * share(&alone), "{what}");
        if congestion_control == "cubic" {
            for twin in [alone, without] {
                assert!(waits(&twin)[1] > 180.0, "{what}: {:?} ms without", waits(&twin));
            }
        }
        if down > 0 {
            let had = guarded.received_mbps("download-0", 4.0, 14.0) / f64::from(SLOW.mbps);
            assert!((0.9..1.0).contains(&had), "{what}: {had}");
        }
    }
}

/// Without a queue of the gateway's on the way out, what waits there is none in front: a download keeps most of what it has, and not
/// a tenth, as where pings that wait there count as a queue in front.
#[test]
fn what_waits_on_the_way_out_takes_no_download_away() {
    for (gateway, congestion_control, count, min) in [
        ("windows", "cubic", 1, 0.85),
        ("shape", "cubic", 1, 0.65),
        ("both", "cubic", 1, 0.7),
        ("both", "cubic", 4, 0.7),
        ("both", "bbr", 1, 0.9),
    ] {
        let of = |gateway| {
            let spec = home_that_sends(SLOW, 14, gateway, false);
            let spec = with_downloads(spec, congestion_control, count, 0.0);
            let run = run(&with_uploads(spec, congestion_control, count));
            let had = |number| run.received_mbps(&format!("download-{number}"), 4.0, 14.0);
            (0..count).map(had).sum::<f64>()
        };
        let (with, without) = (of(gateway), of("none"));
        let what = format!("{gateway}: {count} {congestion_control}");
        assert!(with > min * without && with < 20.0, "{what}: {with} and {without} Mb/s");
    }
}

/// A packet takes 12 ms, and two may wait. Where the first estimate was a tenth too high, what waited has to drain some times until the law
/// knows. A law that wants 50 ms to drain never does: half of the pings wait 164 ms beside CUBIC over 10 ms then.
#[test]
fn a_link_of_which_a_packet_takes_12_ms_is_followed_too() {
    for (rtt_ms, congestion_control) in [(10, "cubic"), (10, "bbr"), (30, "cubic"), (30, "bbr")] {
        let line = Line { mbps: 4, rtt_ms, ..SLOW };
        let of = |gateway| {
            let spec = home_that_sends(line, 30, gateway, true);
            let run = run(&with_uploads(spec, congestion_control, 1));
            let waits =
                [0.5, 0.99].map(|part| quantile(&run.rtts(10.0, 30.0), part) - f64::from(rtt_ms));
            (waits, run.received_mbps("upload-0", 10.0, 30.0))
        };
        let what = format!("{rtt_ms} ms, {congestion_control}");
        let ((with, mbps), (without, mbps_without)) = (of("both"), of("none"));
        assert!(with[0] > 5.0 && with[0] < 25.0 && with[1] < 70.0, "{what}: {with:?} ms");
        assert!(mbps > 0.94 * mbps_without && mbps < 1.0, "{what}: {mbps} and {mbps_without} Mb/s");
        assert!(
            congestion_control == "bbr" || without[1] > 180.0,
            "{what}: {without:?} ms without"
        );
    }
}

/// Over twelve round trips: in one run of three a law that rises before it sees the last rise lets packets wait 50 ms.
#[test]
fn a_way_out_that_halves_and_doubles_is_followed() {
    let steps = json!({ "steps": [["0 s", "5 Mb/s"], ["6 s", "2.5 Mb/s"], ["12 s", "5 Mb/s"]] });
    for rtt_ms in 25..37 {
        let line = Line { rtt_ms, ..SLOW };
        let spec = with_uploads(home_that_sends(line, 18, "both", true), "cubic", 2);
        let run = run(&with(spec, "/path/back/capacity", steps.clone()));
        for (from, to, mbps) in [(8.0, 12.0, 2.5), (15.0, 18.0, 5.0)] {
            let waited = wait(&run, line, from, to);
            let share = (0..2)
                .map(|number| run.received_mbps(&format!("upload-{number}"), from, to) / mbps)
                .sum::<f64>();
            assert!((0.5..25.0).contains(&waited), "{rtt_ms} ms, {from} s: {waited} ms");
            assert!((0.94..1.0).contains(&share), "{rtt_ms} ms, {from} s: {share}");
        }
    }
}
