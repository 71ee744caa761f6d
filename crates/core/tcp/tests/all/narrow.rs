//! What the receiver's window does to the sender: probes of a closed one, and segments that its end cuts.

use crate::scripted::{Fixed, MSS, Script, at};
use gameway_tcp::{Application, SenderConfig};
use gameway_units::Bytes;

const FULL: u32 = MSS as u32;

fn lengths(script: &mut Script, micros: i64) -> Vec<u32> {
    script.sent(micros).iter().map(|segment| segment.length).collect()
}

/// RFC 9293 section 3.8.6.1: the first probe after a time-out, each other after twice the time of the one before,
/// whatever the answers are.
#[test]
fn a_closed_window_is_probed_at_doubling_intervals_until_it_opens() {
    let mut script = Script::to_narrow(10, SenderConfig::default(), Fixed::new(20));
    assert_eq!(script.sent(20_000).len(), 10);
    script.ack(40_000, 10, &[]);
    assert_eq!(script.sent(40_000), []);
    for due in [260_000, 700_000, 1_580_000] {
        assert_eq!(script.sender.next_deadline(), Some(at(due)));
        let probes: Vec<_> =
            script.sent(due).iter().map(|probe| (probe.sequence, probe.length)).collect();
        assert_eq!(probes, [(10 * MSS - 1, 0)]);
        script.ack(due + 20_000, 10, &[]);
        assert_eq!(script.sent(due + 20_000), []);
    }
    script.edge += 4 * MSS;
    script.ack(1_700_000, 10, &[]);
    assert_eq!(script.places(1_700_000), [10, 11, 12, 13]);
    while let Some(due) = script.sender.next_deadline().filter(|due| *due < at(9_000_000)) {
        script.sent(due.as_nanos() / 1_000);
    }
    let stats = script.sender.stats();
    assert_eq!(stats.window_probes, 3);
    // A tail probe at 1.742 s; what it waited for the window is no reason to wait longer: time-outs of 220 ms, doubled each
    // time, are over at 1.962, 2.402, 3.282, 5.042 and 8.562 s.
    assert_eq!((stats.tail_probes, stats.timeouts), (1, 5));
}

/// Linux `tcp_may_update_window`: what is older tells nothing, and what is not newer takes nothing back.
#[test]
fn a_window_shrinks_only_with_what_is_acknowledged() {
    let mut script = Script::to_narrow(12, SenderConfig::default(), Fixed::new(20));
    let announced = |script: &mut Script, of: u64, edge: u64| {
        script.edge = edge * MSS;
        script.ack(40_000, of, &[]);
        script.sender.stats().announced.get() / MSS
    };
    assert_eq!(script.sent(20_000).len(), 12);
    assert_eq!(announced(&mut script, 0, 8), 12);
    assert_eq!(announced(&mut script, 0, 16), 16);
    assert_eq!(announced(&mut script, 4, 12), 8);
    assert_eq!(announced(&mut script, 3, 40), 8, "one that comes late");
    assert_eq!(announced(&mut script, 4, 14), 10);
}

/// Linux `tcp_mss_split_point`: the end of the window cuts a segment that leaves behind a whole one. Nagle's rule in Minshall's
/// form lets it if no other small one is out; a server of HTTP does without the rule.
#[test]
fn a_cut_segment_leaves_behind_a_whole_one_and_by_nagle_alone() {
    for (on_demand, second) in [(false, vec![FULL]), (true, vec![FULL, 360])] {
        let application = Application { on_demand, ..Application::default() };
        let config = SenderConfig { application, ..SenderConfig::default() };
        let mut script = Script::to_narrow(3, config, Fixed::avoiding(20));
        script.sender.write(Bytes::new(if on_demand { 100 * MSS } else { 0 }));
        assert_eq!(lengths(&mut script, 20_000), [FULL; 3]);
        script.edge = 4 * MSS + 720;
        script.ack(40_000, 1, &[]);
        assert_eq!(lengths(&mut script, 40_000), [FULL, 720]);
        script.edge = 5 * MSS + 720 + 360;
        script.ack(60_000, 2, &[]);
        assert_eq!(lengths(&mut script, 60_000), second, "720 bytes are out");
        // They are acknowledged.
        let left = 5 * MSS + 720 + if on_demand { 360 } else { 0 };
        script.edge = left + MSS + 400;
        script.acknowledge(80_000, 4 * MSS + 720, &[]);
        assert_eq!(lengths(&mut script, 80_000), [FULL, 400]);
        // Where nothing is out, a cut one leaves alone.
        script.edge += 160;
        script.acknowledge(100_000, left + MSS + 400, &[]);
        assert_eq!(lengths(&mut script, 100_000), [160]);
    }
}

#[test]
fn a_cut_segment_does_not_follow_a_retransmission() {
    let mut script = Script::to_narrow(10, SenderConfig::default(), Fixed::avoiding(20));
    assert_eq!(lengths(&mut script, 20_000), [FULL; 10]);
    script.edge += 720;
    script.ack(40_000, 0, &[(1, 4)]);
    assert_eq!(script.places(40_000), [0]);
}
