//! A run of which a part cannot go on is over before its next event.

use crate::support::{empty_path, with, with_stream};
use gameway_control::{
    FeedbackBatch, FeedbackStyle, FrameSent, Pacing, RateController, SentPacket, Target,
};
use gameway_sim::{Registry, RunError, RunSpec};
use gameway_units::declared::Description;
use gameway_units::{Duration, Instant, Rate};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// The frame at which the controller named "fails" cannot go on.
const FRAME: u64 = 100;

/// Tells of each call, and of its failure at a frame.
struct Failing {
    fails: bool,
    failed: Arc<AtomicBool>,
    calls: Sender<(bool, Instant)>,
}

impl Failing {
    fn tell(&self, now: Instant) {
        self.calls.send((self.fails, now)).unwrap();
    }
}

impl RateController for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::PerFrame
    }

    fn on_frame(&mut self, now: Instant, frame: &FrameSent) {
        self.tell(now);
        if self.fails && frame.frame.0 == FRAME {
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    fn on_sent(&mut self, now: Instant, _packet: &SentPacket) {
        self.tell(now);
    }

    fn on_feedback(&mut self, now: Instant, _batch: &FeedbackBatch<'_>) {
        self.tell(now);
    }

    fn on_timer(&mut self, _now: Instant) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn target(&self) -> Target {
        Target::new(Rate::from_mbps(8), Pacing::FrameMultiplier(1.25))
    }

    fn observe(&self, _sink: &mut dyn FnMut(&str, f64)) {}
}

/// Two streams whose controllers tell `calls`; the first of them fails.
fn registry(failed: &Arc<AtomicBool>, calls: &Sender<(bool, Instant)>) -> Registry {
    let standard = Registry::standard();
    let (failed, calls) = (Arc::clone(failed), calls.clone());
    let description = Description::open("failing", "fails at a frame", "this test");
    let controllers = standard.controllers.with_builder(description, move |options, _| {
        let (failed, calls) = (Arc::clone(&failed), calls.clone());
        Ok(Box::new(Failing { fails: options["fails"] == true, failed, calls }))
    });
    Registry { controllers, ..standard }
}

fn spec() -> RunSpec {
    let stream = |spec, name: &str, fails: bool| {
        let controller = json!({ "kind": "failing", "fails": fails });
        with_stream(spec, controller, json!({ "name": name }))
    };
    let spec = stream(stream(empty_path(5), "first", true), "second", false);
    // A path that becomes another one is run piece by piece.
    let change =
        json!([{ "at": "1 s", "capacity": "40 Mb/s" }, { "at": "3 s", "capacity": "30 Mb/s" }]);
    RunSpec::try_from(with(spec, "/path/change", change)).unwrap()
}

/// How a run ends that heeds the failure or not, and of each call whose it was and when.
fn ended(heeds: bool) -> (Result<(), RunError>, Vec<(bool, Instant)>) {
    let failed = Arc::new(AtomicBool::new(false));
    let (calls, heard): (_, Receiver<_>) = channel();
    let (sink, _events) = channel();
    let is_over = || heeds && failed.load(Ordering::Relaxed);
    let registry = registry(&failed, &calls);
    let done = gameway_sim::run_until(&spec(), &registry, Box::new(sink), is_over);
    (done.map(drop), heard.try_iter().collect())
}

#[test]
fn nobody_is_called_after_the_event_in_which_a_part_failed() {
    let (done, calls) = ended(true);
    let Err(RunError::Ended { at }) = done else { panic!("{done:?}") };
    // A hundred frames at 60 frames/s, from a phase of a frame.
    let seconds = (at - Instant::ZERO).as_secs_f64();
    assert!((1.66..1.70).contains(&seconds), "{seconds} s");
    assert!(calls.iter().any(|(fails, _)| !fails), "both are called");
    assert_eq!(calls.iter().map(|(_, now)| *now).max(), Some(at));

    // Its twin, which goes on, does the same until then, and has the next call within a millisecond.
    let (done, twin) = ended(false);
    assert!(done.is_ok(), "{done:?}");
    assert!(twin.starts_with(&calls));
    let next = twin[calls.len()].1;
    assert!(next > at && next < at + Duration::from_millis(1), "{at:?} {next:?}");
    assert!(twin.last().is_some_and(|(_, now)| *now > Instant::from_nanos(4_980_000_000)));
}
