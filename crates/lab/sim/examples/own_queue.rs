//! A queue discipline of one's own: first in, first out, with a drop from the front where the queue is full.

use gameway_path::{
    Backlog, Dequeued, Discipline, DropReason, Dropped, Limit, PathPacket, Queue, SizeOption,
};
use gameway_sim::{Registry, RunSpec};
use gameway_units::declared::Configuration;
use gameway_units::{Duration, Instant};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What can be set: each field is an option of the queue in an experiment file.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct HeadDropConfig {
    /// packets that waited longer than this are dropped when they would leave
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h", "x-none" = "never"))]
    expire: Option<Duration>,
}

impl Configuration for HeadDropConfig {
    const NAME: &'static str = "head-drop";
    const SUMMARY: &'static str = "first in, first out; a full queue drops its oldest packet";
    const SOURCE: &'static str = "Lakshman, Neidhardt and Ott, The drop from front strategy, 1996";
}

impl Discipline for HeadDropConfig {
    const SIZE: SizeOption = SizeOption { default: Some("2 bdp"), summary: "what may wait" };

    fn build<P: PathPacket + 'static>(
        self,
        limit: Limit,
        _random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>> {
        let waiting = VecDeque::new();
        Box::new(HeadDrop { config: self, limit, waiting, backlog: Backlog::default() })
    }
}

struct HeadDrop<P> {
    config: HeadDropConfig,
    limit: Limit,
    waiting: VecDeque<Dequeued<P>>,
    backlog: Backlog,
}

impl<P: PathPacket> HeadDrop<P> {
    fn is_full(&self) -> bool {
        match self.limit {
            Limit::Bytes(max) => self.backlog.bytes > max,
            Limit::Packets(max) => self.backlog.packets > max,
        }
    }

    fn pop(&mut self) -> Option<Dequeued<P>> {
        let head = self.waiting.pop_front()?;
        self.backlog.bytes -= head.packet.wire_size();
        self.backlog.packets -= 1;
        Some(head)
    }
}

fn drop_of<P>(head: Dequeued<P>, reason: DropReason) -> Dropped<P> {
    Dropped { packet: head.packet, enqueued: head.enqueued, reason }
}

impl<P: PathPacket> Queue<P> for HeadDrop<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.backlog.bytes += packet.wire_size();
        self.backlog.packets += 1;
        self.waiting.push_back(Dequeued { packet, enqueued: now });
        while self.is_full() {
            let Some(head) = self.pop() else { break };
            dropped.push(drop_of(head, DropReason::Overflow));
        }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        loop {
            let head = self.pop()?;
            match self.config.expire {
                Some(longest) if now - head.enqueued > longest => {
                    dropped.push(drop_of(head, DropReason::Early));
                }
                _ => return Some(head),
            }
        }
    }

    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        into.extend(std::iter::from_fn(|| self.pop()));
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|head| head.enqueued)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

/// One run with that queue.
pub const SPEC: &str = r#"{
    "seed": 1,
    "duration": "20 s",
    "path": { "capacity": "25 Mb/s", "base_rtt": "16 ms",
              "queue": { "kind": "head-drop", "size": "7 bdp", "expire": "50 ms" } },
    "stream": [{ "name": "game", "controller": "gcc", "video": "doom" }],
    "competitor": [{ "name": "download", "kind": "tcp", "congestion_control": "cubic" }]
}"#;

/// What this repository has, and the queue.
pub fn registry() -> Registry {
    Registry::standard().with_queue::<HeadDropConfig>()
}

/// Runs it.
///
/// # Errors
/// If it cannot be run, or the queue did nothing.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec: RunSpec = SPEC.parse()?;
    let folder = std::env::temp_dir().join(format!("own-queue-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let summary = gameway_sim::run_with(&spec, &folder, &registry())?;
    std::fs::remove_dir_all(&folder)?;
    println!("{} of {} packets dropped", summary.dropped_packets, summary.arrived_packets);
    if summary.dropped_packets == 0 || summary.forwarded_packets < 20_000 {
        return Err("a full queue drops some packets and forwards most".into());
    }
    Ok(())
}
