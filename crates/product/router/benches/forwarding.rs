//! What a router forwards on one core, bare and with the gateway: frames of 1514 bytes from one namespace through a second, which
//! forwards them, to a third, which drops them. The sender and all that the kernel does to its frames is on the first core, the
//! gateway's program on the second. What a packet takes is the sender's time on its core, which others may use meanwhile. Needs root
//! and two cores.
//!
//! outside -- wan (router) lan -- home

#[path = "../tests/all/packets.rs"]
#[allow(dead_code, reason = "what its tests use")]
mod packets;
// What `packets` uses.
#[path = "../tests/all/kernel.rs"]
#[allow(dead_code, reason = "what its tests use")]
mod kernel;

use gameway_runtime::clock::{Clock, sleep};
use gameway_units::Duration;
use packets::{Wanted, datagram, packet, plain};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gameway-gateway");
/// Of UDP and of TCP: 1500 bytes of IP.
const PAYLOADS: [usize; 2] = [1472, 1460];
const FRAME_BITS: f64 = 1500.0 * 8.0;
const BATCH: usize = 64;
const SPAN_S: i64 = 3;
/// 1 Gb/s of packets of 1500 bytes.
const GIGABIT: u64 = 83_333;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let [_, role, protocol, flows, rate, mac] = &words[..]
        && role == "send"
    {
        let number = |text: &str| text.parse::<u64>().expect("a number");
        send(protocol == "tcp", number(flows) as u16, number(rate), mac);
        return;
    }
    let place = Place::new();
    println!("as fast as it can        bare, of a core       with the gateway, of a core");
    for protocol in ["udp", "tcp"] {
        for flows in [10, 10_000] {
            let bare = place.run(protocol, flows, 0);
            let gateway = Gateway::start(&place);
            let with = place.run(protocol, flows, 0);
            let (share, lost) = gateway.end(&place);
            println!(
                "{protocol}, {flows:6} flows   {:6.2} Gb/s {:5.0} ns   {:6.2} Gb/s {:5.0} ns; its program {share:3.0} % of a core, {lost} not told",
                bare.gbps(bare.busy),
                bare.ns(),
                with.gbps(with.busy),
                with.ns(),
            );
        }
    }
    println!("\n1 Gb/s of 10,000 flows");
    for protocol in ["udp", "tcp"] {
        let bare = place.run(protocol, 10_000, GIGABIT);
        let gateway = Gateway::start(&place);
        let with = place.run(protocol, 10_000, GIGABIT);
        let (share, lost) = gateway.end(&place);
        for (what, one) in [("bare", &bare), ("with the gateway", &with)] {
            println!(
                "{protocol}, {what:16}  {:.3} Gb/s, {} of {} lost, {:3.0} % of the first core",
                one.gbps(one.seconds),
                one.sent.saturating_sub(one.arrived),
                one.sent,
                one.busy * 100.0 / one.seconds
            );
        }
        println!("{protocol}, its program      {share:3.0} % of the second core, {lost} not told");
    }
}

/// What came of some seconds.
struct Run {
    sent: u64,
    arrived: u64,
    seconds: f64,
    /// Seconds on the first core.
    busy: f64,
}

impl Run {
    /// Gb/s, if they came within these seconds.
    fn gbps(&self, seconds: f64) -> f64 {
        self.arrived as f64 * FRAME_BITS / seconds / 1e9
    }

    fn ns(&self) -> f64 {
        self.busy * 1e9 / self.arrived as f64
    }
}

fn ip(line: &str) -> String {
    let done = Command::new("ip").args(line.split_whitespace()).output().expect("ip");
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

/// The namespaces; they go with it.
struct Place {
    names: [String; 3],
    wan: String,
}

impl Place {
    fn new() -> Self {
        let names =
            ["out", "router", "home"].map(|one| format!("gwf-{one}-{}", std::process::id()));
        let [out, router, home] = &names;
        for name in &names {
            ip(&format!("netns add {name}"));
            // Nothing else passes.
            ip(&format!("netns exec {name} sysctl -q -w net.ipv6.conf.default.disable_ipv6=1"));
        }
        let mut place = Self { names: names.clone(), wan: String::new() };
        ip(&format!("-n {router} link add wan type veth peer name eth netns {out}"));
        ip(&format!("-n {router} link add lan type veth peer name eth netns {home}"));
        for (space, device) in [(out, "eth"), (router, "wan"), (router, "lan"), (home, "eth")] {
            ip(&format!("-n {space} link set {device} up"));
        }
        ip(&format!("-n {router} address add 198.51.100.1/24 dev wan"));
        ip(&format!("-n {router} address add 192.168.7.1/24 dev lan"));
        ip(&format!("-n {router} route add 203.0.113.0/24 dev wan"));
        let mac = |space: &str, device: &str| {
            let told = ip(&format!("-n {space} -j link show {device}"));
            let told: Value = serde_json::from_str(&told).expect("JSON");
            told[0]["address"].as_str().expect("an address").to_owned()
        };
        // Nobody at home has that address: what comes is dropped, and nothing answers.
        let home = mac(home, "eth");
        ip(&format!("-n {router} neigh add 192.168.7.2 lladdr {home} dev lan"));
        ip(&format!(
            "netns exec {router} sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.wan.rp_filter=0"
        ));
        place.wan = mac(router, "wan");
        place
    }

    fn arrived(&self) -> u64 {
        let told = ip(&format!("-n {} -s -j link show eth", self.names[2]));
        let told: Value = serde_json::from_str(&told).expect("JSON");
        told[0]["stats64"]["rx"]["packets"].as_u64().expect("a count")
    }

    /// Sends for some seconds: so many packets a second, or as many as go.
    fn run(&self, protocol: &str, flows: u32, rate: u64) -> Run {
        let before = self.arrived();
        let own = std::env::current_exe().expect("a program");
        let mut words = Command::new("ip");
        words.args(["netns", "exec", &self.names[0], "taskset", "-c", "0"]).arg(own);
        words.args(["send", protocol, &flows.to_string(), &rate.to_string(), &self.wan]);
        let done = words.output().expect("it sends");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let told: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let figure = |name: &str| told[name].as_f64().expect("a figure");
        let arrived = self.arrived() - before;
        let (sent, seconds) = (figure("sent") as u64, figure("seconds"));
        Run { sent, arrived, seconds, busy: figure("busy") }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.names.iter().for_each(|name| drop(ip(&format!("netns delete {name}"))));
    }
}

/// The program on the second core.
struct Gateway {
    child: Child,
    control: String,
    busy: f64,
    began: i64,
}

impl Gateway {
    fn start(place: &Place) -> Self {
        let control = format!("/tmp/{}.sock", place.names[1]);
        let words = format!(
            "netns exec {} taskset -c 1 {PROGRAM} up --home lan --control {control}",
            place.names[1]
        );
        let mut child = Command::new("ip")
            .args(words.split_whitespace())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        // It is attached when it tells for the first time; what it tells then is read away until it ends.
        let mut lines = lines.lines();
        lines.next().expect("a line").expect("text");
        #[expect(clippy::disallowed_methods, reason = "a driver")]
        std::thread::spawn(move || lines.for_each(drop));
        let busy = busy(child.id());
        Self { child, control, busy, began: Clock::monotonic_ns() }
    }

    /// Its share of a core in percent, and how many packets it was not told of.
    fn end(mut self, place: &Place) -> (f64, u64) {
        let seconds = (Clock::monotonic_ns() - self.began) as f64 * 1e-9;
        let share = (busy(self.child.id()) - self.busy) * 100.0 / seconds;
        sleep(Duration::from_millis(1_100));
        let words = format!(
            "netns exec {} {PROGRAM} status --json --control {}",
            place.names[1], self.control
        );
        let told: Value = serde_json::from_str(&ip(&words)).expect("JSON");
        let count = |name: &str| told[name].as_u64().expect("a count");
        let lost = count("lost_records") + count("lost_datagrams");
        ip(&format!("netns exec {} {PROGRAM} down --control {}", place.names[1], self.control));
        assert!(self.child.wait().expect("it ends").success());
        (share, lost)
    }
}

/// Seconds that a process has been on a core (proc(5), `stat`, in hundredths).
fn busy(process: u32) -> f64 {
    let told = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it is there");
    let (_, fields) = told.rsplit_once(')').expect("its name");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) / 100.0
}

/// The frame of each flow.
fn frames(is_tcp: bool, flows: u16, mac: &str) -> Vec<Vec<u8>> {
    let mac: Vec<u8> =
        mac.split(':').map(|byte| u8::from_str_radix(byte, 16).expect("an address")).collect();
    let frame = |flow: u16| {
        let wanted = Wanted { ports: (10_000 + flow, 443), payload: PAYLOADS[1], ..plain() };
        let mut bytes = match is_tcp {
            true => packet(&wanted, true),
            false => datagram(&wanted, true, &[0xc0; PAYLOADS[0]]),
        };
        bytes[..6].copy_from_slice(&mac);
        bytes
    };
    (0..flows).map(frame).collect()
}

/// The sender: a process in its namespace, which tells what it did as JSON.
fn send(is_tcp: bool, flows: u16, rate: u64, mac: &str) {
    let socket = Socket::at("eth");
    let frames = frames(is_tcp, flows, mac);
    let began = Clock::monotonic_ns();
    let (mut sent, end) = (0_u64, began + SPAN_S * 1_000_000_000);
    let mut next = 0;
    let mut now = began;
    while now < end {
        let batch: Vec<&[u8]> =
            (0..BATCH).map(|index| &frames[(next + index) % frames.len()][..]).collect();
        next = (next + BATCH) % frames.len();
        sent += socket.send(&batch);
        now = Clock::monotonic_ns();
        if rate > 0 {
            let due = began + (sent as f64 * 1e9 / rate as f64) as i64;
            sleep(Duration::from_nanos((due - now).max(0)));
            now = Clock::monotonic_ns();
        }
    }
    let seconds = (now - began) as f64 * 1e-9;
    let busy = busy(std::process::id());
    println!("{}", serde_json::json!({ "sent": sent, "seconds": seconds, "busy": busy }));
}

/// Frames as they are (packet(7)).
struct Socket(i32);

#[allow(unsafe_code, reason = "no safe wrapper")]
impl Socket {
    fn at(interface: &str) -> Self {
        let index = std::fs::read_to_string(format!("/sys/class/net/{interface}/ifindex"));
        let index = index.expect("it is there").trim().parse::<i32>().expect("a number");
        // SAFETY: the calls have no pointers but those to values that live while they run, with their sizes.
        unsafe {
            let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            (address.sll_family, address.sll_ifindex) = (libc::AF_PACKET as u16, index);
            let size = size_of::<libc::sockaddr_ll>() as u32;
            assert_eq!(libc::bind(socket, (&raw const address).cast(), size), 0);
            let one = 1_i32;
            let option = libc::PACKET_QDISC_BYPASS;
            let set =
                libc::setsockopt(socket, libc::SOL_PACKET, option, (&raw const one).cast(), 4);
            assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
            Self(socket)
        }
    }

    /// How many of them were sent.
    fn send(&self, frames: &[&[u8]]) -> u64 {
        let mut pieces: Vec<libc::iovec> = frames
            .iter()
            .map(|one| libc::iovec { iov_base: one.as_ptr().cast_mut().cast(), iov_len: one.len() })
            .collect();
        // SAFETY: all that the call reads is plain numbers or lives while it runs; it writes into `messages` alone.
        unsafe {
            let mut messages: Vec<libc::mmsghdr> = pieces
                .iter_mut()
                .map(|piece| {
                    let mut message: libc::mmsghdr = std::mem::zeroed();
                    message.msg_hdr.msg_iov = piece;
                    message.msg_hdr.msg_iovlen = 1;
                    message
                })
                .collect();
            let done = libc::sendmmsg(self.0, messages.as_mut_ptr(), messages.len() as u32, 0);
            assert!(done > 0, "{}", std::io::Error::last_os_error());
            done as u64
        }
    }
}
