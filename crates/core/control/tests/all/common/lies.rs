//! Feedback that is hostile: what it may say, and a stream's reports that say it.

use super::*;

/// What may happen to feedback while it is hostile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// Arrivals at any time that the clock can show.
    AbsurdTimes,
    /// Arrivals up to a second before or after the true time.
    ScatteredTimes,
    /// The newest first.
    Reversed,
    /// Everything twice, the second time with another fate.
    Contradicted,
    /// Nothing arrived.
    AllLost,
    /// Everything is marked.
    AllMarked,
    /// Any number of bytes in flight.
    AbsurdInFlight,
    /// The report was made at any time.
    AbsurdReportTime,
    /// Everything arrived at one moment.
    Frozen,
    /// Each report is one of the above.
    Any,
    /// The receiver's clock jumps an hour ahead at the end, and stays so.
    JumpAhead,
    /// It jumps an hour back, and stays so.
    JumpBack,
}

pub const LIES: [Lie; 12] = [
    Lie::AbsurdTimes,
    Lie::ScatteredTimes,
    Lie::Reversed,
    Lie::Contradicted,
    Lie::AllLost,
    Lie::AllMarked,
    Lie::AbsurdInFlight,
    Lie::AbsurdReportTime,
    Lie::Frozen,
    Lie::Any,
    Lie::JumpAhead,
    Lie::JumpBack,
];

/// Lies from `from` to `until`.
pub fn liar(lie: Lie, from: Instant, until: Instant, seed: u64) -> Mangle {
    let mut calls = seed.wrapping_mul(1_000_003);
    Box::new(move |now, reports, generated, in_flight| {
        calls = calls.wrapping_add(1);
        let jump = match lie {
            Lie::JumpAhead => Duration::from_secs(3_600),
            Lie::JumpBack => Duration::from_secs(-3_600),
            _ => Duration::ZERO,
        };
        if now >= until {
            *generated += jump;
            for report in reports.iter_mut() {
                report.arrival = report.arrival.map(|time| time + jump);
            }
        } else if now >= from {
            let lie = if lie == Lie::Any { LIES[(hash(calls) % 9) as usize] } else { lie };
            tell_lie(lie, hash(calls), reports, generated, in_flight);
        }
    })
}

fn tell_lie(
    lie: Lie,
    random: u64,
    reports: &mut Vec<PacketReport>,
    generated: &mut ReceiverInstant,
    in_flight: &mut Bytes,
) {
    let any = |index: usize| ReceiverInstant::from_nanos(hash(random ^ index as u64) as i64);
    match lie {
        Lie::Reversed => reports.reverse(),
        Lie::AbsurdInFlight => *in_flight = Bytes::new(random),
        Lie::AbsurdReportTime => *generated = any(0),
        Lie::Contradicted => {
            let mut again = reports.clone();
            for (index, report) in again.iter_mut().enumerate() {
                report.arrival = report.arrival.is_none().then(|| any(index));
            }
            reports.append(&mut again);
        }
        _ => {
            for (index, report) in reports.iter_mut().enumerate() {
                let scatter = (hash(random ^ index as u64) % 2_000_000_000) as i64 - 1_000_000_000;
                match lie {
                    Lie::AbsurdTimes => report.arrival = Some(any(index)),
                    Lie::ScatteredTimes => {
                        let scatter = Duration::from_nanos(scatter);
                        report.arrival = report.arrival.map(|time| time + scatter);
                    }
                    Lie::AllLost => report.arrival = None,
                    Lie::AllMarked => report.ecn = Ecn::Ce,
                    Lie::Frozen => report.arrival = Some(ReceiverInstant::ZERO),
                    _ => {}
                }
            }
        }
    }
}
