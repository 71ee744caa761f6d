//! What is so at a moment: as the control socket and the lines of the program tell it, and as a terminal shows it.

use crate::games::status::GamesStatus;
use crate::own_queue::OwnQueueStatus;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::net::SocketAddr;

/// What is so at a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The process of the gateway.
    pub process: u32,
    /// The interface towards the home.
    pub home: String,
    /// Seconds since the start.
    pub time_s: f64,
    /// How long packets waited in front of the home in the last period, if a connection could tell within a second.
    pub wait_ms: Option<f64>,
    /// What told that: `tcp`, `spin-bit` or `pings`.
    #[serde(default)]
    pub wait_told_by: Option<String>,
    /// The same in periods of the last second, at most one in 100 ms, the newest last.
    pub recent_waits_ms: Vec<f64>,
    /// The same over the last minute.
    pub wait_minute: Option<WaitMinute>,
    /// How long a packet waits in the kernel's queues at the home's interface, in mode `windows`, if there are any.
    #[serde(default)]
    pub wait_behind_ms: Option<f64>,
    /// The gateway's own queue, in mode `shape`.
    #[serde(default)]
    pub own_queue: Option<OwnQueueStatus>,
    /// How long packets of the home waited at the provider on their way out in the last period, if pings could tell.
    #[serde(default)]
    pub wait_out_ms: Option<f64>,
    /// The gateway's queue for what the home sends.
    #[serde(default)]
    pub own_queue_out: Option<OwnQueueStatus>,
    /// TCP connections whose windows are lowered.
    pub limited: usize,
    /// TCP segments that passed since the start.
    pub segments: u64,
    /// Windows that were lowered since the start.
    pub lowered: u64,
    /// Segments of which the program was not told, since it came too late to the ring.
    pub lost_records: u64,
    /// Fragments of IP, left alone.
    pub fragments: u64,
    /// Packets that are neither TCP nor UDP or were not understood, left alone.
    pub others: u64,
    /// Datagrams of UDP that passed since the start.
    pub datagrams: u64,
    /// Datagrams of which the program was not told, since it came too late to the ring.
    pub lost_datagrams: u64,
    /// Packets to the home that counted as a game's, since the start.
    pub game_packets: u64,
    /// The same of what left for the provider, where there is a queue for what the home sends.
    #[serde(default)]
    pub games_out: u64,
    /// What is a game.
    pub games: GamesStatus,
    /// TCP and UDP to the home in the last second, on the wire.
    pub to_home_bps: u64,
    /// TCP and UDP from the home in the last second, on the wire.
    pub from_home_bps: u64,
    /// Rules by hand.
    pub exceptions: usize,
    /// Those with the highest rates of data to the home.
    pub connections: Vec<Connection>,
    /// Connections beyond these.
    pub more_connections: usize,
}

/// Waits over a minute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WaitMinute {
    /// Half waited no longer.
    pub median_ms: f64,
    /// 99 % waited no longer.
    pub p99_ms: f64,
    /// Of so many periods.
    pub readings: usize,
}

/// A connection that sends to the home.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Outside.
    pub sender: SocketAddr,
    /// At home.
    pub receiver: SocketAddr,
    /// In the last second, on the wire.
    pub rate_bps: u64,
    /// What its sender may have under way, if it is limited.
    pub limit_bytes: Option<u64>,
    /// For how long.
    pub limited_s: Option<f64>,
    /// By a rule by hand.
    pub left_alone: bool,
}

/// What a line of the program has of it, each second.
#[derive(Debug, Serialize)]
struct Line {
    time_s: f64,
    wait_ms: Option<f64>,
    limited: usize,
    segments: u64,
    lowered: u64,
    lost_records: u64,
    datagrams: u64,
    lost_datagrams: u64,
    games: usize,
}

impl Status {
    /// A line of JSON with the figures alone.
    #[must_use]
    pub fn line(&self) -> String {
        let line = Line {
            time_s: self.time_s,
            wait_ms: self.wait_ms,
            limited: self.limited,
            segments: self.segments,
            lowered: self.lowered,
            lost_records: self.lost_records,
            datagrams: self.datagrams,
            lost_datagrams: self.lost_datagrams,
            games: self.games.found.len() + self.games.more,
        };
        serde_json::to_string(&line).unwrap_or_default()
    }

    fn datagrams_shown(&self) -> String {
        let out = match &self.own_queue_out {
            Some(_) => format!(", {} from the home", self.games_out),
            None => String::new(),
        };
        format!(
            "datagrams of UDP            {}; {} packets of games{out}; {} records lost\n",
            self.datagrams, self.game_packets, self.lost_datagrams
        )
    }

    /// For a terminal.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = format!(
            "gateway at {}, process {}, for {}\n\n",
            // Whoever answers at the socket may not steer the terminal.
            self.home.escape_debug(),
            self.process,
            span(self.time_s)
        );
        let wait = self.wait_ms.map_or("no download can tell".to_owned(), millis);
        let by = match self.wait_told_by.as_deref() {
            Some("tcp") => " by TCP",
            Some("spin-bit") => " by QUIC's spin bit",
            Some("pings") => " by pings",
            _ => "",
        };
        let _ = write!(text, "wait in front of the home   {wait}{by}");
        if let Some(minute) = &self.wait_minute {
            let (median, p99) = (millis(minute.median_ms), millis(minute.p99_ms));
            let _ = write!(text, "; last minute {median} (median), {p99} (99 %)");
        }
        text.push('\n');
        text += &self.queues_shown();
        let (to, from) = (rate(self.to_home_bps), rate(self.from_home_bps));
        let _ = writeln!(text, "to the home, from it        {to}, {from}");
        let _ = writeln!(
            text,
            "segments                    {}; {} windows lowered; {} records lost",
            self.segments, self.lowered, self.lost_records
        );
        text += &self.datagrams_shown();
        let rules = match self.exceptions {
            0 => String::new(),
            1 => "; 1 rule leaves others alone".to_owned(),
            count => format!("; {count} rules leave others alone"),
        };
        let _ = writeln!(text, "connections limited         {}{rules}", self.limited);
        if !self.connections.is_empty() {
            let _ =
                writeln!(text, "\n{:>10}  {:>10}  {:>10}  from -> to", "rate", "limited to", "for");
        }
        self.connections.iter().for_each(|one| text += &one.shown());
        if self.more_connections > 0 {
            let _ = writeln!(text, "{:>10} more", self.more_connections);
        }
        text + &self.games.shown()
    }

    fn queues_shown(&self) -> String {
        let mut text = String::new();
        if let Some(wait) = self.wait_behind_ms {
            let _ = writeln!(text, "wait behind the gateway     {}", millis(wait));
        }
        if let Some(queue) = &self.own_queue {
            text += &queue.shown("own queue");
        }
        if let Some(queue) = &self.own_queue_out {
            let wait = self.wait_out_ms.map_or("no ping can tell".to_owned(), millis);
            let _ = writeln!(text, "wait on the way out         {wait}");
            text += &queue.shown("own queue on the way out");
        }
        text
    }
}

impl Connection {
    fn shown(&self) -> String {
        let limit = match self.limit_bytes {
            Some(bytes) => size(bytes),
            None if self.left_alone => "left alone".to_owned(),
            None => "-".to_owned(),
        };
        let since = self.limited_s.map_or("-".to_owned(), span);
        let (rate, from, to) = (rate(self.rate_bps), self.sender, self.receiver);
        // A datagram has no window.
        let udp = if self.protocol == "udp" { " (UDP)" } else { "" };
        format!("{rate:>10}  {limit:>10}  {since:>10}  {from} -> {to}{udp}\n")
    }
}

fn millis(value: f64) -> String {
    if value < 10.0 { format!("{value:.1} ms") } else { format!("{value:.0} ms") }
}

fn rate(bps: u64) -> String {
    let mbps = bps as f64 / 1e6;
    if mbps < 10.0 { format!("{mbps:.2} Mb/s") } else { format!("{mbps:.1} Mb/s") }
}

fn size(bytes: u64) -> String {
    let kilobytes = bytes as f64 / 1e3;
    match kilobytes {
        less if less < 10.0 => format!("{less:.1} kB"),
        some if some < 1000.0 => format!("{some:.0} kB"),
        more => format!("{:.2} MB", more / 1e3),
    }
}

/// In the two largest units.
fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{whole} s"),
        (0, 0, _) => format!("{minutes} min {} s", whole % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An example.
    pub(crate) fn status() -> Status {
        let connection = |port: u16, rate_bps, limit_bytes: Option<u64>, left_alone| Connection {
            protocol: "tcp".to_owned(),
            sender: format!("203.0.113.9:{port}").parse().expect("an end"),
            receiver: "192.168.7.2:40000".parse().expect("an end"),
            rate_bps,
            limit_bytes,
            limited_s: limit_bytes.map(|_| 75.2),
            left_alone,
        };
        Status {
            process: 42,
            home: "br-lan".to_owned(),
            time_s: 3725.5,
            wait_ms: Some(12.34),
            wait_told_by: Some("spin-bit".to_owned()),
            recent_waits_ms: vec![11.5, 12.34],
            wait_minute: Some(WaitMinute { median_ms: 9.87, p99_ms: 18.2, readings: 300 }),
            wait_behind_ms: Some(0.42),
            own_queue: None,
            wait_out_ms: None,
            own_queue_out: None,
            limited: 1,
            segments: 123_456,
            lowered: 789,
            lost_records: 0,
            fragments: 1,
            others: 2,
            datagrams: 3,
            lost_datagrams: 0,
            game_packets: 4,
            games_out: 0,
            games: GamesStatus::default(),
            to_home_bps: 19_300_000,
            from_home_bps: 412_000,
            exceptions: 1,
            connections: vec![
                connection(443, 12_300_000, Some(48_000), false),
                connection(80, 7_000_000, None, true),
            ],
            more_connections: 3,
        }
    }

    #[test]
    fn a_terminal_shows_who_has_what() {
        let expected = "\
gateway at br-lan, process 42, for 1 h 2 min

wait in front of the home   12 ms by QUIC's spin bit; last minute 9.9 ms (median), 18 ms (99 %)
wait behind the gateway     0.4 ms
to the home, from it        19.3 Mb/s, 0.41 Mb/s
segments                    123456; 789 windows lowered; 0 records lost
datagrams of UDP            3; 4 packets of games; 0 records lost
connections limited         1; 1 rule leaves others alone

      rate  limited to         for  from -> to
 12.3 Mb/s       48 kB  1 min 15 s  203.0.113.9:443 -> 192.168.7.2:40000
 7.00 Mb/s  left alone           -  203.0.113.9:80 -> 192.168.7.2:40000
         3 more
";
        assert_eq!(status().shown(), expected);
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let shown = Status { home: "a\u{1b}[2J".to_owned(), ..status() }.shown();
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn it_is_read_as_it_was_written_and_a_line_has_the_figures() {
        let text = serde_json::to_string(&status()).expect("JSON");
        assert_eq!(serde_json::from_str::<Status>(&text).expect("a status"), status());
        assert_eq!(
            status().line(),
            r#"{"time_s":3725.5,"wait_ms":12.34,"limited":1,"segments":123456,"lowered":789,"lost_records":0,"datagrams":3,"lost_datagrams":0,"games":0}"#
        );
    }

    #[test]
    fn quantities_have_the_digits_that_matter() {
        assert_eq!(
            [3.0, 60.0, 3599.0, 90_000.0].map(span),
            ["3 s", "1 min 0 s", "59 min 59 s", "1 d 1 h"]
        );
        assert_eq!([2920, 48_000, 2_500_000].map(size), ["2.9 kB", "48 kB", "2.50 MB"]);
        assert_eq!([0.25, 120.0].map(millis), ["0.2 ms", "120 ms"]);
    }
}
