//! Reports on the wire: written and read again, against bytes worked out by hand, and in pieces.

use gameway_control::{FrameId, SequenceNumber};
use gameway_session::{FeedbackPacket, ReceivedPacket};
use gameway_units::{Duration, Ecn, ReceiverInstant};
use gameway_webrtc::Negotiated;
use gameway_webrtc::feedback::arrival_times::ArrivalTimes;
use gameway_webrtc::feedback::rfc8888::{
    CcFeedbackMetricBlock, CcFeedbackReport, CcFeedbackReportBlock, WireEcn,
};
use gameway_webrtc::feedback::twcc::{TransportFeedback, TransportFeedbackReader};
use gameway_webrtc::feedback::{ReportReader, write_report};
use gameway_webrtc::rtcp::{self, RtcpPacket};
use proptest::prelude::*;
use rtc_shared::marshal::Marshal;

fn terms(arrival_times: bool) -> Negotiated {
    Negotiated { video_ssrc: 77, congestion_control: true, arrival_times, ..Negotiated::default() }
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)]
}

/// A report as a session makes it: ages below 7 s, the last packet arrived.
fn report(max: usize) -> impl Strategy<Value = FeedbackPacket> {
    let packet = prop::option::weighted(0.8, (0..7_000_000_000_i64, ecn()));
    (0..1_u64 << 40, 8_000_000_000..1_i64 << 50, prop::collection::vec(packet, 0..max), ecn())
        .prop_map(|(base, generated, ages, last)| {
            let generated = ReceiverInstant::from_nanos(generated);
            let received = |(age, ecn)| ReceivedPacket {
                arrival: generated.saturating_sub(Duration::from_nanos(age)),
                ecn,
            };
            let ages = ages.into_iter().chain([Some((1_000, last))]);
            FeedbackPacket {
                base: SequenceNumber(base),
                packets: ages.map(|age| age.map(received)).collect(),
                generated,
                ..FeedbackPacket::default()
            }
        })
}

/// The packet of a compound that has one.
fn only(compound: &[u8]) -> RtcpPacket<'_> {
    rtcp::packets(compound).next().expect("a packet")
}

/// Joins parts of a report.
fn joined(reports: &[FeedbackPacket]) -> (u64, Vec<Option<ReceivedPacket>>) {
    let mut packets = Vec::new();
    for report in reports {
        assert_eq!(report.base.0, reports[0].base.0 + packets.len() as u64, "a gap between parts");
        packets.extend_from_slice(&report.packets);
    }
    (reports[0].base.0, packets)
}

proptest! {
    #[test]
    fn a_report_arrives_as_it_left(
        report in report(3_000), fine: bool, behind in 0..30_000_u64, key_frame_request: bool,
    ) {
        let report = FeedbackPacket { key_frame_request, ..report };
        let newest = SequenceNumber(report.base.0 + behind);
        let compounds = write_report(&report, 5, &terms(fine)).unwrap();
        let mut reader = ReportReader::default();
        // A sender has heard of the receiver's clock before.
        let mut back = Vec::new();
        for compound in &compounds {
            prop_assert!(compound.len() <= 1_150);
            back.extend(reader.read(compound, &terms(fine), newest));
        }
        // In one piece, however many datagrams it took.
        prop_assert!(!fine || back.len() == 1, "{} reports", back.len());
        // It counts for what was told of with it: an older part of the report would make it one of before.
        let asks: Vec<bool> = back.iter().map(|part| part.key_frame_request).collect();
        let newest_asks = (1..=back.len()).map(|part| key_frame_request && part == back.len());
        prop_assert_eq!(asks, newest_asks.collect::<Vec<_>>());
        let (base, packets) = joined(&back);
        prop_assert_eq!((base, packets.len()), (report.base.0, report.packets.len()));
        let offset = |time: ReceiverInstant, origin: ReceiverInstant| time.saturating_since(origin);
        for (sent, got) in report.packets.iter().zip(&packets) {
            prop_assert_eq!(sent.map(|it| it.ecn), got.map(|it| it.ecn));
            let (Some(sent), Some(got)) = (sent, got) else { continue };
            if fine {
                let error = offset(sent.arrival, got.arrival).as_nanos();
                prop_assert!((0..1_000).contains(&error), "{} ns", error);
            } else {
                let sent_age = offset(report.generated, sent.arrival);
                let got_age = offset(back[0].generated, got.arrival);
                prop_assert!((sent_age - got_age).as_nanos().abs() <= 490_000);
            }
        }
    }

    #[test]
    fn times_go_on_beyond_the_timestamp_s_wrap(start in 0..200_000_i64, gaps in prop::collection::vec(1..20_000_i64, 1..40)) {
        let mut reader = ReportReader::default();
        let mut time = start;
        let mut before: Option<(i64, ReceiverInstant)> = None;
        for gap in gaps {
            time += gap;
            let generated = ReceiverInstant::from_nanos(time * 1_000_000_000);
            let packet = ReceivedPacket { arrival: generated, ecn: Ecn::NotEct };
            let report = FeedbackPacket { packets: vec![Some(packet)], generated, ..FeedbackPacket::default() };
            let compound = &write_report(&report, 5, &terms(false)).unwrap()[0];
            let read = reader.read(compound, &terms(false), SequenceNumber(0)).remove(0);
            if let Some((then, earlier)) = before {
                let error = read.generated.saturating_since(earlier) - Duration::from_secs(time - then);
                prop_assert!(error.as_nanos().abs() < 31_000, "{}", error);
            }
            before = Some((time, read.generated));
        }
    }

    #[test]
    fn transport_feedback_is_read_as_written(
        base: u16, reference in -(1_i32 << 23)..1 << 23, count: u8,
        packets in prop::collection::vec(prop::option::of(any::<i16>()), 1..400),
    ) {
        let packet = TransportFeedback { sender_ssrc: 1, ssrc: 2, base, reference, count, packets };
        let mut bytes = Vec::new();
        packet.write(&mut bytes).unwrap();
        match TransportFeedback::parse(&only(&bytes)) {
            Ok(read) => prop_assert_eq!(read, packet),
            // rtc-rtcp takes the last word for cut off if no arrival time follows; libwebrtc sends no such report.
            Err(_) => prop_assert!(packet.packets.iter().all(Option::is_none)),
        }
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..3) {
        let mut bytes = bytes;
        if bytes.len() >= 12 {
            // Most inputs should get beyond the first check.
            let head: &[u8] = match kind { 0 => &[0x8B, 205], 1 => &[0x8F, 205], _ => &[0x81, 204] };
            bytes[..2].copy_from_slice(head);
            let words = (bytes.len() / 4 - 1) as u16;
            bytes[2..4].copy_from_slice(&words.to_be_bytes());
            if kind == 2 { bytes[8..12].copy_from_slice(b"GWAT"); }
        }
        for packet in rtcp::packets(&bytes) {
            if let Ok(report) = packet.read::<CcFeedbackReport>() {
                let again = report.marshal().unwrap();
                prop_assert_eq!(only(&again).read::<CcFeedbackReport>().unwrap(), report);
            }
            let _ = TransportFeedback::parse(&packet);
            let _ = ArrivalTimes::parse(packet.bytes());
        }
    }
}

/// RFC 8888 section 3.1, figure 1, by hand: two streams, of which the second has an even number of packets.
#[test]
fn the_layout_is_that_of_the_rfc() {
    let metric = |ecn, arrival_time_offset| CcFeedbackMetricBlock {
        received: true,
        ecn,
        arrival_time_offset,
    };
    let block = |media_ssrc, begin_sequence, metric_blocks| CcFeedbackReportBlock {
        media_ssrc,
        begin_sequence,
        metric_blocks,
    };
    let lost = CcFeedbackMetricBlock::default();
    let packet = CcFeedbackReport {
        sender_ssrc: 0x0102_0304,
        report_blocks: vec![
            block(0xA, 0xFFFF, vec![metric(WireEcn::Ce, 1), lost, metric(WireEcn::NotEct, 0x1FFE)]),
            block(0xB, 7, vec![metric(WireEcn::Ect1, 0), metric(WireEcn::Ect0, 1024)]),
        ],
        report_timestamp: 0xCAFE_0001,
    };
    let bytes = packet.marshal().unwrap();
    let expected = [
        0x8B, 205, 0, 9, 1, 2, 3, 4, // header: 10 words
        0, 0, 0, 0xA, 0xFF, 0xFF, 0, 3, 0xE0, 0x01, 0, 0, 0x9F, 0xFE, 0,
        0, // three reports, padded
        0, 0, 0, 0xB, 0, 7, 0, 2, 0xA0, 0x00, 0xC4, 0x00, // two
        0xCA, 0xFE, 0, 1,
    ];
    assert_eq!(bytes[..], expected);
    assert_eq!(only(&bytes).read::<CcFeedbackReport>().unwrap(), packet);
}

/// The draft's chunks by hand: a run of 3 lost, a vector of one-bit symbols, one of two-bit symbols.
#[test]
fn chunks_of_all_three_kinds_are_read() {
    let mut bytes = vec![0x8F, 205, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFE, 0, 20];
    bytes.extend([0, 0, 2, 9]); // reference 2 * 64 ms, packet 9
    bytes.extend([0x00, 0x03]); // run: 3 not arrived
    bytes.extend([0b1010_0000, 0b0000_0001]); // one-bit: first and last of 14 arrived
    bytes.extend([0b1101_1000, 0b0000_0000]); // two-bit: small, large, then not; 3 of 7 used
    bytes.extend([4, 8, 12, 0xFF, 0xFC, 0]); // differences: 4, 8, 12, -4 quarters of a millisecond
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes[3] = (bytes.len() / 4 - 1) as u8;
    let packet = TransportFeedback::parse(&only(&bytes)).unwrap();
    let arrived: Vec<(usize, i16)> =
        packet.packets.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?))).collect();
    assert_eq!(packet.packets.len(), 20);
    assert_eq!(arrived, [(3, 4), (16, 8), (17, 12), (18, -4)]);
    let read = TransportFeedbackReader::default().to_session(&packet, SequenceNumber(65_560));
    assert_eq!(read.base, SequenceNumber(65_534));
    let last = read.packets.last().unwrap().unwrap();
    assert_eq!(last.arrival.as_nanos(), 128_000_000 + (4 + 8 + 12 - 4) * 250_000);
    assert_eq!(read.generated.as_nanos(), 128_000_000 + 24 * 250_000);
}

/// A report on the `packets` from `base` on, made at this second.
fn report_of(base: u64, packets: usize, second: i64) -> FeedbackPacket {
    let generated = ReceiverInstant::from_nanos(second * 1_000_000_000);
    let packet = ReceivedPacket { arrival: generated, ecn: Ecn::NotEct };
    let packets = vec![Some(packet); packets];
    FeedbackPacket { base: SequenceNumber(base), packets, generated, ..FeedbackPacket::default() }
}

/// What a reader makes of these datagrams: where each report begins, and on how many packets it is.
fn read_all(datagrams: &[&Vec<u8>]) -> Vec<(u64, usize)> {
    let mut reader = ReportReader::default();
    let mut read = Vec::new();
    for datagram in datagrams {
        read.extend(reader.read(datagram, &terms(true), SequenceNumber(3_000)));
    }
    read.iter().map(|report| (report.base.0, report.packets.len())).collect()
}

#[test]
fn a_report_of_which_a_part_is_missing_comes_with_the_next() {
    let whole = |report| write_report(&report, 5, &terms(true)).unwrap();
    let (first, second) = (whole(report_of(0, 700, 1)), whole(report_of(700, 10, 2)));
    let [a, b, c] = &first[..] else { panic!("{} datagrams", first.len()) };
    let [next] = &second[..] else { panic!("{} datagrams", second.len()) };
    let parts: Vec<usize> = [a, b, c].iter().map(|part| read_all(&[part, next])[0].1).collect();
    assert_eq!(parts.iter().sum::<usize>(), 700);
    assert_eq!(read_all(&[a, b, c, next]), [(0, 700), (700, 10)]);
    assert_eq!(read_all(&[a, b]), [], "more is to come");
    assert_eq!(read_all(&[a, b, next]), [(0, parts[0] + parts[1]), (700, 10)]);
    let rest = ((700 - parts[2]) as u64, parts[2]);
    assert_eq!(read_all(&[a, c, next]), [(0, parts[0]), rest, (700, 10)]);
    // What comes out of order is no continuation.
    assert_eq!(read_all(&[b, a, c]), [(parts[0] as u64, parts[1]), (0, parts[0]), rest]);
    // Nor is a report of another time that begins where the one before broke off.
    let later = whole(report_of(parts[0] as u64, 10, 2));
    assert_eq!(read_all(&[a, &later[0]]), [(0, parts[0]), (parts[0] as u64, 10)]);
}

#[test]
fn a_request_for_a_key_frame_travels_with_or_without_a_report() {
    let request = FeedbackPacket { key_frame_request: true, ..FeedbackPacket::default() };
    let compounds = write_report(&request, 5, &terms(true)).unwrap();
    assert_eq!(compounds.len(), 1);
    let mut reader = ReportReader::default();
    let read = reader.read(&compounds[0], &terms(true), SequenceNumber(9));
    assert_eq!((read.len(), read[0].key_frame_request, read[0].packets.len()), (1, true, 0));
    let another = Negotiated { video_ssrc: 78, ..terms(true) };
    assert!(reader.read(&compounds[0], &another, SequenceNumber(9)).is_empty());
}

#[test]
fn what_was_shown_travels_with_a_request_and_with_packets_that_are_asked_for() {
    let newest_shown = Some(FrameId(0x0102_0304));
    let request = FeedbackPacket { key_frame_request: true, newest_shown, ..report_of(5, 10, 1) };
    let read_all = |feedback: &FeedbackPacket, terms: &Negotiated| {
        let compounds = write_report(feedback, 5, terms).unwrap();
        let mut reader = ReportReader::default();
        let read = compounds.iter().flat_map(|it| reader.read(it, terms, SequenceNumber(20)));
        read.collect::<Vec<_>>()
    };
    let told = |feedback: &FeedbackPacket, terms: &Negotiated| {
        let read = read_all(feedback, terms);
        read.iter().map(|it| (it.key_frame_request, it.newest_shown)).collect::<Vec<_>>()
    };
    assert_eq!(told(&request, &terms(true)), [(true, newest_shown)]);
    let asked = vec![SequenceNumber(7)];
    let asks = FeedbackPacket { asked, newest_shown, ..FeedbackPacket::default() };
    let with_nack = Negotiated { nack: true, ..terms(true) };
    assert_eq!(told(&asks, &with_nack), [(false, newest_shown)]);
    let both = FeedbackPacket { asked: vec![SequenceNumber(7)], ..request.clone() };
    assert_eq!(told(&both, &with_nack), [(true, newest_shown), (false, newest_shown)]);
    let silent = FeedbackPacket { newest_shown: None, ..request };
    assert_eq!(told(&silent, &terms(true)), [(true, None)]);
}

#[test]
fn of_reports_that_cannot_be_read_a_datagram_costs_one() {
    let terms = Negotiated { transport_cc: true, ..terms(false) };
    // 65535 packets in eight runs, all of them said to have arrived, and no times.
    let mut lie = vec![0x8F, 205, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0];
    lie.extend([0x3F, 0xFF].repeat(8));
    let request = FeedbackPacket { key_frame_request: true, ..FeedbackPacket::default() };
    let request = &write_report(&request, 5, &terms).unwrap()[0];
    let mut reader = ReportReader::default();
    let read = reader.read(&[&lie[..], &lie, &lie, request].concat(), &terms, SequenceNumber(9));
    assert_eq!((reader.malformed(), read.len()), (1, 1));
    assert!(read[0].key_frame_request);
}
