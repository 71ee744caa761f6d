//! What was counted at the gateway's own queue, as a status tells it.

use gameway_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Serialize};

/// Of games, or of all others, since the queue is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Class {
    /// Packets that went on to the home.
    pub sent_packets: u64,
    /// Their bytes, with Ethernet headers.
    pub sent_bytes: u64,
    /// Bytes that wait.
    pub backlog_bytes: u64,
    /// Packets that were dropped.
    pub drops: u64,
    /// Packets that got an ECN mark.
    pub marks: u64,
}

impl Class {
    /// How long what waits takes at a rate: the longest that a packet of it waits if nothing of another class goes first.
    #[must_use]
    pub fn wait(&self, rate: Rate) -> Duration {
        rate.time_for(Bytes::new(self.backlog_bytes))
    }

    /// Both together.
    pub fn add(&mut self, other: &Self) {
        self.sent_packets += other.sent_packets;
        self.sent_bytes += other.sent_bytes;
        self.backlog_bytes += other.backlog_bytes;
        self.drops += other.drops;
        self.marks += other.marks;
    }
}

/// The queue at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnQueueStatus {
    /// Of which queues of the kernel it consists.
    pub kind: String,
    /// Why of these.
    pub why: String,
    /// What the home gets at most.
    pub rate_bps: u64,
    /// How often it was put back, as somebody had taken it away.
    pub renewals: u64,
    /// What waited of games and of others at the rate, in microseconds, at looks of the last second, the newest last.
    #[serde(default)]
    pub recent_waits_us: Vec<[u64; 2]>,
    /// What is marked as a game's.
    pub game: Class,
    /// All others.
    pub others: Class,
}

impl OwnQueueStatus {
    /// In lines for a terminal; the first says by this name what it is.
    #[must_use]
    pub fn shown(&self, name: &str) -> String {
        let rate = Rate::from_bps(self.rate_bps);
        // Whoever answers at the socket may not steer the terminal.
        let [kind, why] = [&self.kind, &self.why].map(|one| one.escape_debug());
        let mut text = format!("{name:<28}{kind} at {rate}\n  {why}\n");
        for (name, class) in [("games", &self.game), ("others", &self.others)] {
            let wait = class.wait(rate).as_millis_f64();
            text += &format!(
                "  {name:<26}{wait:.1} ms wait, {} packets sent, {} dropped, {} marked\n",
                class.sent_packets, class.drops, class.marks
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_what_waits_of_games_and_of_others() {
        let game = Class { sent_packets: 60, backlog_bytes: 250, ..Class::default() };
        let others =
            Class { sent_packets: 9000, backlog_bytes: 12_112, drops: 3, marks: 10, ..game };
        let status = OwnQueueStatus {
            kind: "HTB and FQ-CoDel".to_owned(),
            why: "no CAKE\u{1b}[2J in this kernel".to_owned(),
            rate_bps: 20_000_000,
            renewals: 0,
            recent_waits_us: Vec::new(),
            game,
            others,
        };
        let expected = "\
own queue                   HTB and FQ-CoDel at 20 Mb/s
  no CAKE\\u{1b}[2J in this kernel
  games                     0.1 ms wait, 60 packets sent, 0 dropped, 0 marked
  others                    4.8 ms wait, 9000 packets sent, 3 dropped, 10 marked
";
        assert_eq!(status.shown("own queue"), expected);
    }
}
