//! Every queue discipline with a game stream and a download.

use crate::support::{Run, empty_path, mean, run, with, with_ping, with_stream, with_tcp};
use gameway_sim::Registry;
use serde_json::{Value, json};
use std::fmt::Write;

const HEAD: &str = "\
25 Mb/s, 16 ms; queues of 100 ms; a GCC stream of recorded frames and a CUBIC download from 2 s on, with and without ECN;
seed 1. HTB: a class for each, of 12.5 Mb/s with a ceiling of 25. All figures are of 10 s to 25 s. Rates are bytes on the
wire at the client, waits are queueing delays, the RTT is that of a ping. Drops are by overflow or by the AQM. CAKE drops from
a queue that empties between frames (cake/cobalt.rs), which GCC takes for a loss of 2 % and does not answer; each drop costs
the frames up to the next key frame. DualPI2 drops as many of the stream's packets as it marks of TCP's, with either ECN: over 20
seeds 9.2 ± 2.7 with classic ECN, 10.7 ± 5.0 without, and 867 and 863 frames are shown; seed 1 has more.

                                                                     stream drops  TCP drops    TCP
                     rate Mb/s   mean wait ms  mean RTT      frames    over-        over-       marked
queue      ECN     stream   TCP  stream   TCP     ms     shown  of      flow   AQM   flow   AQM packets
";

const FROM: f64 = 10.0;
const TO: f64 = 25.0;

fn queue(kind: &str) -> Value {
    let queue = json!({ "kind": kind, "size": "100 ms" });
    if kind != "htb" {
        return queue;
    }
    let class = json!({ "rate": "12.5 Mb/s", "ceil": "25 Mb/s" });
    let game = with(class.clone(), "/match", json!({ "protocol": "udp" }));
    let queue = with(queue, "/class", json!({ "game": game, "rest": class }));
    with(with(queue, "/rate", json!("25 Mb/s")), "/default", json!("rest"))
}

fn scenario(kind: &str, ecn: &str) -> Run {
    let spec = with_stream(empty_path(26), json!("gcc"), json!({ "video": "doom" }));
    let spec = with_tcp(spec, "cubic", json!({ "start": "2 s", "ecn": ecn }));
    run(&with(with_ping(spec, "20 ms"), "/path/queue", queue(kind)))
}

fn row(kind: &str, ecn: &str) -> String {
    let run = scenario(kind, ecn);
    let bins = run.table("bins").between("bin_start_ns", FROM, TO);
    let (game, download) = (bins.only("flow", "game"), bins.only("flow", "download"));
    let frames = run.table("frames").between("captured_ns", FROM, TO);
    format!(
        "{kind:<10} {ecn:<7} {:>6.1} {:>5.1} {:>7.1} {:>5.1} {:>8.1}    {:>5} {:>3} {:>8} {:>5} {:>6} {:>5} {:>7}",
        run.received_mbps("game", FROM, TO),
        run.received_mbps("download", FROM, TO),
        run.mean_wait("game", FROM, TO),
        run.mean_wait("download", FROM, TO),
        mean(&run.rtts(FROM, TO)),
        frames.present("shown_ns").len(),
        frames.rows,
        game.sum("overflow_dropped_packets"),
        game.sum("aqm_dropped_packets"),
        download.sum("overflow_dropped_packets"),
        download.sum("aqm_dropped_packets"),
        download.sum("marked_packets"),
    )
}

pub fn table() -> String {
    let mut text = HEAD.to_owned();
    for queue in Registry::standard().path.known().queues.names() {
        for ecn in ["off", "classic"] {
            writeln!(text, "{}", row(queue, ecn)).unwrap();
        }
    }
    text
}
