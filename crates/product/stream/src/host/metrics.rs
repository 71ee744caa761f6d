//! What a monitor reads of a host: counters and histograms of what its tables have row by row, in the text of
//! [OpenMetrics](https://prometheus.io/docs/specs/om/open_metrics_spec/), which Prometheus asks for.
//!
//! It observes the events on their way to the tables, if there are any. So a figure here and one in a table cannot differ in what
//! they count. Figures are sums and histograms since the host has started: rates and quantiles are the
//! monitor's to take.

use crate::host::notes::tell;
use crate::host::signaling::not_there;
use crate::{HostConfig, StreamError};
use gameway_events::{HostFrameRecord, Observed, RunEvent, Sink};
use gameway_serving::scrape::{self, ScrapeServer};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Frames whose capture is remembered until a browser shows them: eight seconds of them.
const REMEMBERED: usize = 512;
/// Bounds of delays in seconds, a frame interval of 60 frames/s among them.
const DELAYS: [f64; 13] =
    [0.001, 0.002, 0.004, 0.008, 0.012, 0.0167, 0.025, 0.0333, 0.05, 0.1, 0.2, 0.5, 1.0];

/// A host's sink, and what serves a monitor.
type Served = (Option<Box<dyn Sink>>, Option<ScrapeServer>);
type Real = Gauge<f64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NameLabel {
    name: String,
}

/// Counts events; see the module's head.
#[derive(Debug)]
pub(super) struct Metrics {
    figures: Figures,
    captured: VecDeque<(u32, i64)>,
}

#[derive(Debug, Clone)]
struct Figures {
    sessions: Counter,
    frames: Counter,
    key_frames: Counter,
    packets: Counter,
    on_wire: Counter,
    repair: Counter,
    shown: Counter,
    target: Gauge,
    picture: Real,
    frame_rate: Real,
    watchers: Real,
    encode: Histogram,
    send: Histogram,
    delay: Histogram,
    events: Family<NameLabel, Counter>,
    controller: Family<NameLabel, Real>,
}

impl Metrics {
    /// The sink of a host, and what serves its figures if a monitor is to ask for them.
    ///
    /// # Errors
    /// If the address is taken.
    pub(super) fn serve(
        config: &HostConfig,
        sink: Option<Box<dyn Sink>>,
    ) -> Result<Served, StreamError> {
        let Some(listen) = config.metrics else { return Ok((sink, None)) };
        let (mut metrics, page) = Self::new();
        let server = ScrapeServer::start(listen, page)
            .map_err(|error| not_there("metrics", listen, &error))?;
        tell("figures for a monitor", &format!("http://{}{}", server.address(), scrape::PATH));
        let count = move |event: &RunEvent| metrics.on(event);
        Ok((Some(Box::new(Observed::new(count, sink))), Some(server)))
    }

    /// Counters of zero, and what makes the page of them.
    fn new() -> (Self, scrape::Page) {
        let figures = Figures::new();
        let mut registry = Registry::with_prefix("gameway");
        figures.register(&mut registry);
        let page = move || {
            let mut text = String::new();
            // A string takes all that is written to it.
            let _ = encode(&mut text, &registry);
            text
        };
        (Self { figures, captured: VecDeque::new() }, Arc::new(page))
    }

    fn on_frame(&mut self, frame: &HostFrameRecord) {
        let figures = &self.figures;
        figures.frames.inc();
        figures.key_frames.inc_by(frame.key_frame.into());
        figures.packets.inc_by(frame.packets.into());
        figures.on_wire.inc_by(frame.wire_bytes.into());
        figures.repair.inc_by(frame.repair_bytes.into());
        figures.target.set(i64::try_from(frame.target_bps).unwrap_or(i64::MAX));
        figures.encode.observe(seconds(frame.encode_ns));
        if let (Some(first), Some(last)) = (frame.first_sent_ns, frame.last_sent_ns) {
            figures.send.observe(seconds(last.saturating_sub(first)));
        }
        if self.captured.len() == REMEMBERED {
            self.captured.pop_front();
        }
        self.captured.push_back((frame.frame, frame.captured_ns));
    }

    fn on_shown(&mut self, frame: u32, at_ns: Option<i64>) {
        let Some(at) = at_ns else { return };
        self.figures.shown.inc();
        let captured = self.captured.iter().rev().find(|(known, _)| *known == frame);
        if let Some((_, captured)) = captured {
            self.figures.delay.observe(seconds(at.saturating_sub(*captured)));
        }
    }

    fn on_event(&mut self, event: &str, value: f64) {
        let figures = &self.figures;
        // A state from then on is not something to count, and what each frame tells is counted as frames.
        let state = match event {
            "picture-size" => Some(&figures.picture),
            "frame-rate" => Some(&figures.frame_rate),
            "watchers" => Some(&figures.watchers),
            _ => None,
        };
        if let Some(state) = state {
            state.set(value);
        }
        if state.is_some() || event.starts_with("page-") {
            return;
        }
        if event == "session" {
            figures.sessions.inc();
            // Numbers of frames begin anew, and another controller may have other variables.
            self.captured.clear();
            figures.controller.clear();
        }
        figures.events.get_or_create(&NameLabel { name: event.to_owned() }).inc();
    }

    fn on(&mut self, event: &RunEvent) {
        match event {
            RunEvent::HostFrame(frame) => self.on_frame(frame),
            RunEvent::ClientFrame(shown) => self.on_shown(shown.frame, shown.decoded_ns),
            RunEvent::Flow(event) => self.on_event(&event.event, event.value),
            RunEvent::Controller(state) => {
                let named = NameLabel { name: state.variable.to_string() };
                self.figures.controller.get_or_create(&named).set(state.value);
            }
            _ => {}
        }
    }
}

impl Figures {
    fn new() -> Self {
        let delays = || Histogram::new(DELAYS);
        Self {
            sessions: Counter::default(),
            frames: Counter::default(),
            key_frames: Counter::default(),
            packets: Counter::default(),
            on_wire: Counter::default(),
            repair: Counter::default(),
            shown: Counter::default(),
            target: Gauge::default(),
            picture: Real::default(),
            frame_rate: Real::default(),
            watchers: Real::default(),
            encode: delays(),
            send: delays(),
            delay: delays(),
            events: Family::default(),
            controller: Family::default(),
        }
    }

    fn register(&self, to: &mut Registry) {
        let own = self.clone();
        to.register("sessions", "Clients that connected", own.sessions);
        to.register("frames", "Frames that were encoded and left or were given up", own.frames);
        to.register("key_frames", "Of these, key frames", own.key_frames);
        to.register("frame_packets", "Packets of frames, with repair", own.packets);
        let on_wire = "Of these packets on the wire, with headers";
        to.register_with_unit("frame", on_wire, Unit::Bytes, own.on_wire);
        let repair = "Of these bytes, those of repair packets that left with the frame";
        to.register_with_unit("frame_repair", repair, Unit::Bytes, own.repair);
        to.register("frames_shown", "Frames that a browser's page says it has shown", own.shown);
        let target = "The newest target of the controller, on the wire, in bits per second";
        to.register("target_bits_per_second", target, own.target);
        to.register("picture_size", "The picture's height as a share of the full one", own.picture);
        to.register("frame_rate", "Frames per second that the ladder allows", own.frame_rate);
        to.register("watchers", "Clients that watch beside the one that plays", own.watchers);
        let encode = "From a frame's capture until it was encoded";
        to.register_with_unit("encode", encode, Unit::Seconds, own.encode);
        let send = "From a frame's first packet to its last one, as they left";
        to.register_with_unit("send", send, Unit::Seconds, own.send);
        let delay = "From a frame's capture until a browser showed it";
        to.register_with_unit("frame_delay", delay, Unit::Seconds, own.delay);
        to.register(
            "events",
            "What happened to the stream, by its name in the table events",
            own.events,
        );
        let state = "The controller's state, by the names of its variables in the tables";
        to.register("controller", state, own.controller);
    }
}

fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_events::{ClientFrameRecord, ControllerRecord, EventRecord};

    fn frame(number: u32, captured_ns: i64) -> RunEvent {
        RunEvent::HostFrame(HostFrameRecord {
            stream: "game".into(),
            session: 0,
            frame: number,
            captured_ns,
            target_bps: 8_000_000,
            encoder_target_bps: 7_000_000,
            payload_bytes: 10_000,
            wire_bytes: 11_000,
            repair_bytes: 1_200,
            packets: 9,
            key_frame: number == 0,
            encode_ns: 3_000_000,
            first_sent_ns: Some(captured_ns + 4_000_000),
            last_sent_ns: Some(captured_ns + 9_000_000),
        })
    }

    fn shown(number: u32, at_ns: i64) -> RunEvent {
        let decoded_ns = Some(at_ns);
        RunEvent::ClientFrame(ClientFrameRecord { frame: number, decoded_ns, ..Default::default() })
    }

    fn event(name: &str, value: f64) -> RunEvent {
        let (flow, event) = ("game".into(), name.into());
        RunEvent::Flow(EventRecord { time_ns: 0, flow, event, value })
    }

    #[test]
    fn figures_are_what_the_events_say() {
        let (mut metrics, page) = Metrics::new();
        let controller = |value| {
            let (stream, variable) = ("game".into(), "queue_s".into());
            RunEvent::Controller(ControllerRecord { stream, time_ns: 0, variable, value })
        };
        let told = [
            event("session", 0.0),
            frame(0, 0),
            frame(1, 16_000_000),
            shown(1, 56_000_000),
            // Of a frame that nobody knows: shown, but how late cannot be said.
            shown(9, 60_000_000),
            event("key-frame-request", 0.0),
            event("key-frame-request", 0.0),
            event("picture-size", 0.75),
            event("watchers", 2.0),
            event("page-presented", 4.0),
            controller(0.25),
        ];
        told.iter().for_each(|event| metrics.on(event));
        let page = page();
        for line in [
            "gameway_sessions_total 1",
            "gameway_frames_total 2",
            "gameway_key_frames_total 1",
            "gameway_frame_packets_total 18",
            "gameway_frame_bytes_total 22000",
            "gameway_frame_repair_bytes_total 2400",
            "gameway_frames_shown_total 2",
            "gameway_target_bits_per_second 8000000",
            "gameway_picture_size 0.75",
            "gameway_watchers 2.0",
            "gameway_encode_seconds_count 2",
            "gameway_encode_seconds_sum 0.006",
            "gameway_send_seconds_bucket{le=\"0.004\"} 0",
            "gameway_send_seconds_bucket{le=\"0.008\"} 2",
            "gameway_frame_delay_seconds_sum 0.04",
            "gameway_frame_delay_seconds_count 1",
            "gameway_events_total{name=\"key-frame-request\"} 2",
            "gameway_controller{name=\"queue_s\"} 0.25",
        ] {
            assert!(page.lines().any(|one| one == line), "{line} is not in\n{page}");
        }
        assert!(!page.contains("page-presented") && page.ends_with("# EOF\n"), "{page}");
    }

    #[test]
    fn another_session_knows_no_frame_and_no_variable_of_the_one_before() {
        let (mut metrics, page) = Metrics::new();
        let state = ControllerRecord {
            stream: "game".into(),
            time_ns: 0,
            variable: "queue_s".into(),
            value: 1.0,
        };
        let told = [frame(1, 0), RunEvent::Controller(state), event("session", 1.0), shown(1, 9)];
        told.iter().for_each(|event| metrics.on(event));
        let page = page();
        assert!(page.contains("gameway_frames_shown_total 1\n"), "{page}");
        assert!(page.contains("gameway_frame_delay_seconds_count 0\n"), "{page}");
        assert!(!page.contains("queue_s"), "{page}");
    }
}
