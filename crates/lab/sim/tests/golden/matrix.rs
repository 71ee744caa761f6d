//! Three controllers, alone and beside two congestion controls, in two queues.

use crate::support::{Run, empty_path, fixed, mean, run, with, with_ping, with_stream, with_tcp};
use serde_json::json;
use std::fmt::Write;

const HEAD: &str = "\
25 Mb/s, 16 ms, one download from 10 s to 20 s of 30 s; recorded frames; seed 1. Alone: 5 s to 10 s;
competing: 12 s to 20 s. Rates are bytes on the wire at the client, RTTs those of a ping.

                         stream Mb/s        TCP Mb/s  mean RTT ms        frames      queue
controller tcp   queue   alone   competing             alone   competing  shown  of   drops
";

fn scenario(controller: &str, congestion_control: &str, queue: &str) -> Run {
    let chosen = if controller == "fixed" { fixed("12 Mb/s") } else { json!(controller) };
    let spec = with_stream(empty_path(30), chosen, json!({ "video": "doom" }));
    let times = json!({ "start": "10 s", "stop": "20 s" });
    let spec = with_tcp(spec, congestion_control, times);
    run(&with(with_ping(spec, "50 ms"), "/path/queue/size", json!(queue)))
}

fn row(controller: &str, congestion_control: &str, queue: &str) -> String {
    let run = scenario(controller, congestion_control, queue);
    let (alone, competing) = ((5.0, 10.0), (12.0, 20.0));
    let rate = |flow, (from, to)| run.received_mbps(flow, from, to);
    let rtt = |(from, to)| mean(&run.rtts(from, to));
    let frames = run.table("frames");
    format!(
        "{controller:<10} {congestion_control:<5} {queue:<7} {:>5.1} {:>11.1} {:>9.1} {:>10.1} {:>11.1} {:>6} {:>4} {:>6}",
        rate("game", alone),
        rate("game", competing),
        rate("download", competing),
        rtt(alone),
        rtt(competing),
        frames.present("shown_ns").len(),
        frames.rows,
        run.summary.dropped_packets,
    )
}

pub fn table() -> String {
    let mut text = HEAD.to_owned();
    for controller in ["fixed", "gcc", "pudica"] {
        for congestion_control in ["bbr", "cubic"] {
            for queue in ["0.5 bdp", "2 bdp"] {
                writeln!(text, "{}", row(controller, congestion_control, queue)).unwrap();
            }
        }
    }
    text
}
