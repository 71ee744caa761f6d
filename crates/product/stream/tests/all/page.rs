//! A browser's reports reach the controller: a peer that behaves like Chromium, in virtual time. One has transport-wide
//! feedback each 62 ms and a page that tells of each frame; its two clocks differ, from each other and from ours. The
//! other, of today, reports when a packet asks for it. What is no part of a frame has numbers of its own with it.

use crate::support::{
    FakeEncoder, ONE_WAY, PLAIN, SECOND, Setting, Told, client_address, client_config,
    host_address, host_config, ms, terms,
};
use gameway_control::{PacketKind, SentPacket, SequenceNumber};
use gameway_stream::host::session::Session;
use gameway_testbed::{Ends, Fates, Testbed};
use gameway_units::{Bytes, Duration, Ecn, Instant, ReceiverInstant};
use gameway_webrtc::feedback::frames::{self, FrameNews, FrameRecord, FrameReports};
use gameway_webrtc::feedback::twcc::TransportFeedback;
use gameway_webrtc::sdp::{TRANSPORT_WIDE, TRANSPORT_WIDE_2};
use gameway_webrtc::{Delivery, Event, Extensions, Peer, RtpHeader, Secrets, Transmit};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What Chromium does at 60 frames/s.
const REPORT_INTERVAL: Duration = Duration::from_millis(62);
const PAGE_AHEAD: Duration = Duration::from_secs(-5_000);
const REPORT_AHEAD: Duration = Duration::from_secs(123);
const STEP_NS: i64 = 250_000;

/// What the page says.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Page {
    Silent,
    True,
    /// Times that have nothing to do with arrivals.
    Lies,
}

/// Which browser it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It has neither reports on request nor a stream of retransmissions.
    Plain,
    Chromium,
}

/// As Pudica has it.
const WITH_PROBES: Setting = Setting { in_parts: false, probes: 3, ..PLAIN };

struct Browser {
    peer: Peer,
    /// What came, with the size of its payload.
    packets: Vec<(RtpHeader, Extensions, usize)>,
    page: Page,
    channel: u16,
    /// By transport-wide number, since the last report.
    arrivals: BTreeMap<u16, Instant>,
    next_report: Instant,
    reports: u8,
    /// When the host's last sender report came, and what it calls itself.
    heard: Option<(Instant, u32)>,
}

/// Our own client's offer, made a browser's.
fn as_browser(offer: &str, kind: Kind) -> String {
    let ours = ["x-gameway", "urn:gameway", "rtx", "apt=", "rtcp-fb:96 nack"];
    let own = |line: &&str| !ours.iter().any(|part| line.contains(part)) || line.ends_with("pli");
    let more = match kind {
        Kind::Plain => String::new(),
        Kind::Chromium => {
            format!(
                "a=extmap:12 {TRANSPORT_WIDE_2}\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n"
            )
        }
    };
    let lines = offer.lines().filter(own).map(|line| match line {
        "a=rtcp-fb:* ack ccfb" => {
            format!("a=rtcp-fb:96 transport-cc\r\na=extmap:4 {TRANSPORT_WIDE}\r\n{more}")
        }
        line => format!("{line}\r\n"),
    });
    lines.collect()
}

impl Browser {
    fn on_event(&mut self, event: Event) {
        if let Event::Rtcp { bytes, arrival } = &event {
            assert_eq!((bytes[1], bytes.len()), (200, 28), "a sender report");
            self.heard =
                Some((*arrival, u32::from_be_bytes([bytes[10], bytes[11], bytes[12], bytes[13]])));
        }
        let Event::Rtp { header, extensions, payload, arrival, .. } = event else { return };
        let Some(number) = extensions.transport_wide else { return };
        self.packets.push((header, extensions, payload.len()));
        self.arrivals.insert(number, arrival);
        if let Some(count) = extensions.report_on {
            let first = number.wrapping_sub(count - 1);
            self.arrivals.retain(|at, _| *at >= first);
            self.report_now();
        }
        if !header.marker || self.page == Page::Silent {
            return;
        }
        let ahead = match self.page {
            Page::Lies => PAGE_AHEAD - ms(i64::from(header.sequence_number) * 7_919 % 500),
            _ => PAGE_AHEAD,
        };
        let on_page = |at: Instant, ahead: Duration| {
            let micros = (at.as_nanos() + ahead.as_nanos() + 1_000_000_000_000_000) / 1_000;
            ReceiverInstant::from_nanos(micros * 1_000)
        };
        let news = FrameNews::Received { size: payload.len() as u32, key_frame: false };
        let (rtp_timestamp, time) = (header.timestamp, on_page(arrival, ahead));
        let record = FrameRecord { rtp_timestamp, time, news };
        let generated = on_page(arrival, PAGE_AHEAD);
        let message = FrameReports { generated, records: vec![record] }.to_bytes();
        // The channel opens after the first frames.
        let _ = self.peer.send_data(arrival, self.channel, &message);
    }

    /// By itself, unless it is to be asked.
    fn report(&mut self, now: Instant) {
        self.next_report = now + REPORT_INTERVAL;
        if !self.peer.negotiated().reports_on_request {
            self.report_now();
            self.arrivals.clear();
        }
        self.receiver_report(now, self.peer.negotiated().video_ssrc);
    }

    fn report_now(&mut self) {
        let Some((&base, first)) = self.arrivals.first_key_value() else { return };
        let steps = |at: &Instant| (*at + REPORT_AHEAD).as_nanos() / STEP_NS;
        let reference = steps(first) / 256;
        let mut before = reference * 256;
        let last = *self.arrivals.keys().last().expect("one at least");
        let packets = (base..=last).map(|number| {
            let at = steps(self.arrivals.get(&number)?);
            let difference = at - before;
            before = at;
            Some(difference as i16)
        });
        let packets = packets.collect();
        let ssrc = self.peer.negotiated().video_ssrc;
        let (reference, count) = (reference as i32, self.reports);
        let mut bytes = Vec::new();
        TransportFeedback { sender_ssrc: 1, ssrc, base, reference, count, packets }
            .write(&mut bytes)
            .expect("few packets");
        self.peer.send_rtcp(&bytes).expect("connected");
        self.reports = self.reports.wrapping_add(1);
    }

    /// On what the host last said, some hundred milliseconds after it came.
    fn receiver_report(&mut self, now: Instant, ssrc: u32) {
        let Some((came, heard)) = self.heard.take_if(|(came, _)| now - *came > ms(300)) else {
            return;
        };
        let held = ((now - came).as_nanos() * 65_536 / 1_000_000_000) as u32;
        let mut bytes = vec![0x81, 201, 0, 7, 0, 0, 0, 1];
        bytes.extend(ssrc.to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend(heard.to_be_bytes());
        bytes.extend(held.to_be_bytes());
        self.peer.send_rtcp(&bytes).expect("connected");
    }
}

/// A host and a browser.
struct Stay {
    host: Session,
    browser: Browser,
    encoder: FakeEncoder,
    told: Arc<Mutex<Told>>,
    /// How many of the packets that the controller was told of have left.
    left: usize,
    /// Packets of the host that do not arrive, by what the sender says of them.
    loses: fn(&SentPacket) -> bool,
}

type World = Testbed<Stay, Fates<Transmit, Transmit>>;

fn world(page: Page, kind: Kind, setting: Setting) -> World {
    let (now, told) = (Instant::ZERO, Arc::default());
    let (mut peer, offer) = Peer::offer(now, &client_config(false), Secrets::new([1; 32]));
    let offer = as_browser(&offer, kind);
    let (host, answer) =
        Peer::answer(now, &host_config(false), Secrets::new([2; 32]), &offer).expect("an answer");
    peer.accept_answer(now, &answer).expect("a peer");
    assert!(peer.negotiated().transport_cc && peer.negotiated().frame.is_none());
    let channel = peer.open_channel(frames::LABEL, Delivery::UNRELIABLE).expect("a channel");
    let stay = Stay {
        host: Session::new(0, host, terms(&setting, 0, &told)),
        browser: Browser {
            peer,
            packets: Vec::new(),
            page,
            channel,
            arrivals: BTreeMap::new(),
            next_report: now + SECOND,
            reports: 0,
            heard: None,
        },
        encoder: FakeEncoder::default(),
        told,
        left: 0,
        loses: |_| false,
    };
    Testbed::new(Fates::new(ONE_WAY), vec![stay])
}

impl Ends for Stay {
    type Down = Transmit;
    type Up = Transmit;

    fn on_down(&mut self, now: Instant, Transmit { to, bytes, .. }: Transmit) {
        self.browser.peer.handle_datagram(now, host_address(), to, Ecn::NotEct, &bytes);
        while let Some(event) = self.browser.peer.poll_event() {
            self.browser.on_event(event);
        }
    }
    fn on_up(&mut self, now: Instant, Transmit { to, bytes, .. }: Transmit) {
        self.host.peer().handle_datagram(now, client_address(0), to, Ecn::NotEct, &bytes);
        self.host.advance(now);
    }
    fn next_deadline(&self) -> Option<Instant> {
        let (host, browser) = (self.host.next_deadline(), self.browser.peer.next_deadline());
        let report = Some(self.browser.next_report);
        Instant::first_of([host, browser, self.encoder.due(), report])
    }
    fn on_deadline(&mut self, now: Instant) {
        if let Some(made) = self.encoder.finish(now) {
            self.host.on_made(now, made);
        }
        self.host.on_deadline(now);
        self.browser.peer.handle_timeout(now);
        if self.browser.next_report <= now {
            self.browser.report(now);
        }
    }
    fn poll_down(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(job) = self.host.poll_job() {
            self.encoder.begin(now, job);
        }
        self.host.transmit(now, |_| ());
        self.host.take_events();
        // One datagram for each packet, in order; what is not of the stream begins with another byte.
        while let Some(transmit) = self.host.poll_transmit() {
            let is_rtp = transmit.bytes[0] >= 128 && transmit.bytes[1] & 127 >= 96;
            let packet = self.told.lock().unwrap().sent.get(self.left).copied();
            let packet = packet.filter(|_| is_rtp);
            self.left += usize::from(packet.is_some());
            if !packet.is_some_and(|packet| (self.loses)(&packet)) {
                return Some(transmit);
            }
        }
        self.left = self.told.lock().unwrap().sent.len();
        None
    }
    fn poll_up(&mut self, _now: Instant) -> Option<Transmit> {
        self.browser.peer.poll_transmit()
    }
}

#[test]
fn the_controller_hears_of_a_frame_as_soon_as_the_page_has_it() {
    let mut world = world(Page::True, Kind::Plain, PLAIN);
    world.run_for(SECOND * 4);
    let counts = world.host.page_counts();
    let told = world.told.lock().unwrap();
    assert!((170..=240).contains(&told.frames.len()), "{}", told.frames.len());
    assert_eq!(counts.used, told.frames.len() as u64);
    assert!(counts.received - counts.used <= 80 && counts.strange == 0, "{counts:?}");
    let mut ahead = Duration::ZERO;
    for (now, frame) in &told.frames {
        let last = frame.last;
        assert!(last.last_of_frame && last.frame == frame.frame);
        // The last packet's arrival there, and the page's word of it here.
        let true_one = last.sent + ONE_WAY;
        assert_eq!(*now, true_one + ONE_WAY);
        let error = frame.arrival.as_nanos() - (true_one + REPORT_AHEAD).as_nanos();
        assert!((-STEP_NS..=STEP_NS).contains(&error), "{error} ns");
        let reported = |sequence: SequenceNumber| {
            let batches = told.batches.iter();
            let mut with =
                batches.filter(|(_, it)| it.iter().any(|it| it.packet.sequence == sequence));
            with.next().map(|(at, _)| *at)
        };
        let later = reported(last.sequence).map_or(Duration::ZERO, |at| at - *now);
        ahead += later;
    }
    let mean = ahead / told.frames.len() as i64;
    assert!((ms(20)..=ms(45)).contains(&mean), "half of 62 ms: {mean}");
}

#[test]
fn without_a_page_and_with_a_page_that_lies_it_hears_of_packets_only() {
    let mut batches = Vec::new();
    for page in [Page::Silent, Page::Lies, Page::True] {
        let mut world = world(page, Kind::Plain, PLAIN);
        world.run_for(SECOND * 4);
        let told = world.told.lock().unwrap();
        assert_eq!(told.frames.is_empty(), page != Page::True, "{page:?}");
        let reports: usize = told.batches.iter().map(|(_, reports)| reports.len()).sum();
        batches.push(reports);
        assert_eq!(world.host.page_offset().is_some(), page == Page::True);
    }
    assert!(
        batches[0] > 1_500 && batches.iter().all(|it| it.abs_diff(batches[0]) <= 40),
        "{batches:?}"
    );
}

/// A browser's reports on packets do not say when they were made, those of RTCP for how long it held the host's.
#[test]
fn the_controller_hears_the_round_trips_of_rtcp_once_a_second() {
    let mut world = world(Page::Silent, Kind::Plain, PLAIN);
    world.run_for(SECOND * 8);
    let told = world.told.lock().unwrap();
    assert!((5..=8).contains(&told.round_trips.len()), "{:?}", told.round_trips);
    for (_, round_trip) in &told.round_trips {
        let error = *round_trip - ONE_WAY * 2;
        assert!((ms(-1)..=ms(1)).contains(&error), "{round_trip}");
    }
}

#[test]
fn a_browser_that_can_be_asked_reports_as_soon_as_a_frame_is_there() {
    let mut world = world(Page::Silent, Kind::Chromium, WITH_PROBES);
    world.run_for(SECOND * 4);
    let told = world.told.lock().unwrap();
    let reported: BTreeMap<u64, Instant> = told
        .batches
        .iter()
        .flat_map(|(at, reports)| reports.iter().map(|it| (it.packet.sequence.0, *at)))
        .collect();
    let ends = told.sent.iter().filter(|it| it.last_of_frame);
    let ends: Vec<_> = ends.filter(|it| it.sent < Instant::ZERO + SECOND * 3).collect();
    assert!((170..=181).contains(&ends.len()), "{}", ends.len());
    for end in ends {
        assert_eq!(reported.get(&end.sequence.0), Some(&(end.sent + ONE_WAY * 2)), "{end:?}");
    }
    // Two a frame: at its end, and at that of its probes. The plain one above has one each 62 ms.
    let batches = told.batches.len();
    assert!((420..=480).contains(&batches), "{batches}");
}

/// What arrives of video in a second, in Mb/s, through a window of less than half a frame.
fn through_a_window(report_interval: Option<Duration>, loses: fn(&SentPacket) -> bool) -> f64 {
    let setting = Setting { window: Some(Bytes::new(6_000)), report_interval, ..PLAIN };
    let mut world = world(Page::Silent, Kind::Chromium, setting);
    world.loses = loses;
    world.run_for(SECOND * 4);
    let video = world.browser.peer.negotiated().video_ssrc;
    let packets = world.browser.packets.iter().filter(|(it, ..)| it.ssrc == video);
    packets.map(|(.., size)| *size as f64 * 8e-6).sum::<f64>() / 4.0
}

#[test]
fn a_browser_is_asked_although_the_window_closes_in_the_midst_of_a_frame() {
    // 6 kB in each round trip of 20 ms are 2.4 Mb/s, less headers; reports take 5 ms more, or 10.
    let at_an_interval = through_a_window(Some(ms(5)), |_| false);
    assert!((1.6..2.4).contains(&at_an_interval), "{at_an_interval}");
    let per_frame = through_a_window(None, |_| false);
    assert!((1.2..2.4).contains(&per_frame), "{per_frame}");
    // Where what asks is lost every other time, a window leaves each 280 ms, and not each second
    // for which packets count as in flight: 0.04 Mb/s.
    let lost =
        through_a_window(None, |it| it.kind == PacketKind::Padding && it.sequence.0 % 2 == 0);
    assert!((0.1..0.5 * per_frame).contains(&lost), "{lost}");
}

#[test]
fn what_is_no_part_of_a_frame_has_numbers_of_its_own() {
    for kind in [Kind::Plain, Kind::Chromium] {
        let mut world = world(Page::Silent, kind, WITH_PROBES);
        world.run_for(SECOND * 2);
        let video = world.browser.peer.negotiated().video_ssrc;
        let packets = &world.browser.packets;
        let frames: Vec<_> = packets.iter().filter(|(it, ..)| it.ssrc == video).collect();
        let apart: Vec<_> = packets.iter().filter(|(it, ..)| it.ssrc != video).collect();
        let empty = frames.iter().filter(|(.., size)| *size == 0).count();
        if kind == Kind::Chromium {
            // A gap, or a packet without a part of a frame, would make a browser wait.
            assert_eq!(empty, 0);
            assert!(apart.iter().all(|(it, _, size)| it.payload_type == 97 && *size == 0));
            assert!((300..=360).contains(&apart.len()), "{}", apart.len());
        } else {
            assert!(apart.is_empty() && (300..=360).contains(&empty), "{empty}");
        }
        for stream in [frames, apart] {
            let numbers = stream.iter().map(|(it, ..)| it.sequence_number);
            assert!(numbers.eq(0..stream.len() as u16), "{kind:?}");
        }
        let numbers = packets.iter().map(|(_, it, _)| it.transport_wide);
        assert!(numbers.eq((0..packets.len() as u16).map(Some)), "{kind:?}: one order of all");
    }
}

/// Frames that depend on no other, and how long after the first loss the next of them was captured.
fn key_frames(kind: Kind, loses: fn(&SentPacket) -> bool) -> (Vec<u64>, Option<Duration>) {
    let mut world = world(Page::Silent, kind, WITH_PROBES);
    world.loses = loses;
    world.run_for(SECOND * 2);
    let made = &world.encoder.made;
    let keys = made.iter().filter(|(_, it)| it.key_frame).map(|((_, frame), _)| *frame).collect();
    let told = world.told.lock().unwrap();
    let lost = told.sent.iter().find(|it| loses(it)).map(|it| it.sent);
    let next = made.values().filter(|it| it.key_frame).map(|it| it.captured);
    let delay = lost.and_then(|lost| next.clone().find(|it| *it > lost).map(|it| it - lost));
    (keys, delay)
}

#[test]
fn a_frame_that_is_lost_is_followed_by_a_key_frame_and_a_probe_is_not() {
    let of_frame = |packet: &SentPacket| {
        packet.frame.0 == 50 && packet.kind == PacketKind::Media && !packet.last_of_frame
    };
    let of_first_key_frame = |packet: &SentPacket| packet.frame.0 == 0 && packet.first_of_frame;
    let probe = |packet: &SentPacket| packet.frame.0 == 50 && packet.kind == PacketKind::Probe;
    let (keys, delay) = key_frames(Kind::Chromium, of_frame);
    assert_eq!(keys.len(), 2, "{keys:?}");
    // There and back is 20 ms; the frame takes 13 to leave, and the next capture 17.
    let delay = delay.expect("a key frame");
    assert!((ms(20)..=ms(60)).contains(&delay), "{delay}");
    // By itself a browser reports later.
    let (keys, delay) = key_frames(Kind::Plain, of_frame);
    assert!(keys.len() == 2 && (ms(20)..=ms(120)).contains(&delay.unwrap()), "{keys:?}");
    let (keys, _) = key_frames(Kind::Chromium, of_first_key_frame);
    assert!(keys.len() == 2 && keys[1] < 8, "{keys:?}");
    for kind in [Kind::Plain, Kind::Chromium] {
        let (keys, _) = key_frames(kind, |_| false);
        assert_eq!(keys, [0], "{kind:?}");
    }
    let (keys, _) = key_frames(Kind::Chromium, probe);
    assert_eq!(keys, [0], "nobody waits for a probe");
}
