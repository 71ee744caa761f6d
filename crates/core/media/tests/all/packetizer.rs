//! Packets of a frame: sizes, counts, and the budget that headers and repair leave.

use gameway_media::{FrameBudget, HEADER, MAX_MEDIA_PACKETS, MAX_PAYLOAD, Overhead, Train};
use gameway_units::{Bytes, Ratio};
use proptest::prelude::*;

fn percent(share: u64) -> Ratio {
    Ratio::from_ppm(share * 10_000)
}

#[test]
fn packet_counts_of_known_frames() {
    let counts = |payload, share| {
        let train = Train::new(Bytes::new(payload), percent(share), Overhead::default());
        (train.media_packets(), train.packets())
    };
    assert_eq!(counts(0, 0), (1, 1), "an empty frame must still be told of");
    assert_eq!(counts(1_200, 0), (1, 1));
    assert_eq!(counts(1_201, 0), (2, 2));
    assert_eq!(counts(1_200, 1), (1, 2), "any share means at least one repair packet");
    assert_eq!(counts(12_000, 20), (10, 12));
    assert_eq!(counts(12_000, 21), (10, 13));
    assert_eq!(counts(12_000, 500), (10, 20), "never more repair than media");
    assert_eq!(counts(u64::MAX, 100), (MAX_MEDIA_PACKETS, 2 * MAX_MEDIA_PACKETS));
}

#[test]
fn a_header_is_48_bytes() {
    assert_eq!(HEADER, Bytes::new(48));
}

#[test]
fn a_frame_cut_elsewhere_keeps_its_packets() {
    let overhead = Overhead::new(Bytes::new(70), Bytes::new(2), None);
    let train = Train::of_packets(vec![1_200, 30, 800, 1_202, 1_202], 3, overhead).unwrap();
    let payloads: Vec<_> = (0..train.packets()).map(|index| train.packet(index).payload).collect();
    assert_eq!(payloads, [1_200, 30, 800, 1_202, 1_202]);
    assert_eq!([2, 3].map(|index| train.packet(index).repair), [false, true]);
    assert_eq!(train.media_packets(), 3);
    assert_eq!(train.payload(), Bytes::new(2_030));
    assert_eq!(train.wire_size(), Bytes::new(2_030 + 2 * 1_202 + 5 * 70));
    assert_eq!(train.repair_size(), Bytes::new(2 * (1_202 + 70)));
    let max = usize::from(MAX_MEDIA_PACKETS);
    for (packets, media, fits) in [
        (0, 0, false),
        (1, 0, false),
        (1, 2, false),
        (4, 2, true),
        (5, 2, false),
        (2 * max, max, true),
        (max + 1, max + 1, false),
    ] {
        let train = Train::of_packets(vec![1; packets], media, overhead);
        assert_eq!(train.is_some(), fits, "{packets} of which {media} media");
    }
}

proptest! {
    #[test]
    fn a_train_carries_its_frame_evenly(payload in 1u64..600_000, share in 0u64..=100) {
        let train = Train::new(Bytes::new(payload), percent(share), Overhead::default());
        let packets: Vec<_> = (0..train.packets()).map(|index| train.packet(index)).collect();
        let media: Vec<u64> =
            packets.iter().filter(|p| !p.repair).map(|p| u64::from(p.payload)).collect();
        prop_assert_eq!(media.iter().sum::<u64>(), payload);
        prop_assert_eq!(media.len(), usize::from(train.media_packets()));
        let (min, max) = (media.iter().min().unwrap(), media.iter().max().unwrap());
        prop_assert!(max - min <= 1 && *max <= MAX_PAYLOAD.get());
        prop_assert!((payload.div_ceil(1_200)) == media.len() as u64, "no more packets than needed");
        let repair = packets.iter().skip(media.len());
        prop_assert!(repair.clone().all(|p| p.repair && u64::from(p.payload) == *max));
        prop_assert_eq!(repair.clone().count() as u64, (media.len() as u64 * share).div_ceil(100));
        let of_repair: u64 = repair.map(|p| u64::from(p.payload) + 48).sum();
        prop_assert_eq!(train.repair_size(), Bytes::new(of_repair));
        let wire: u64 = packets.iter().map(|p| u64::from(p.payload) + 48).sum();
        prop_assert_eq!(train.wire_size(), Bytes::new(wire));
    }

    #[test]
    fn slices_end_with_their_packets_and_small_ones_share_some(
        payload in 1u64..600_000, share in 0u64..=100, cuts in prop::collection::vec(0.01_f64..1.0, 1..6),
    ) {
        let whole: f64 = cuts.iter().sum();
        let shares: Vec<f64> = cuts.iter().map(|cut| cut / whole).collect();
        let size = Bytes::new(payload);
        let train = Train::of_slices(size, &shares, percent(share), Overhead::default());
        let packets: Vec<_> = (0..train.packets()).map(|index| train.packet(index)).collect();
        let media: Vec<u64> =
            packets.iter().filter(|p| !p.repair).map(|p| u64::from(p.payload)).collect();
        prop_assert_eq!(media.iter().sum::<u64>(), payload);
        prop_assert!(media.iter().all(|&packet| (1..=MAX_PAYLOAD.get()).contains(&packet)));
        let even = payload.div_ceil(MAX_PAYLOAD.get());
        prop_assert!((even..even + shares.len() as u64).contains(&(media.len() as u64)));
        // A large slice ends where a packet does.
        let (mut end, mut ends) = (0.0, Vec::new());
        for share in &shares {
            end += share * payload as f64;
            ends.extend((share * payload as f64 > 1_202.0).then_some(end));
        }
        let mut sent = 0;
        let after: Vec<u64> = media.iter().map(|packet| { sent += packet; sent }).collect();
        let met = |end: &f64| after.iter().any(|&at| (at as f64 - end).abs() <= 2.0);
        prop_assert!(ends.iter().all(met), "{ends:?} {after:?}");
        let largest = media.iter().max().unwrap();
        let repair = packets.iter().skip(media.len());
        prop_assert!(repair.clone().all(|p| p.repair && u64::from(p.payload) == *largest));
        prop_assert_eq!(repair.count() as u64, (media.len() as u64 * share).div_ceil(100));
    }

    #[test]
    fn the_budget_is_kept_and_used_up(
        wire in 300u64..300_000,
        share in 0u64..=100,
        (packet, repair) in (28u64..100, 0u64..4),
    ) {
        let overhead = Overhead::new(Bytes::new(packet), Bytes::new(repair), None);
        let repair_share = percent(share);
        let payload = FrameBudget { wire: Bytes::new(wire), repair_share, overhead }.payload();
        let used = |payload: Bytes| Train::new(payload, repair_share, overhead).wire_size().get();
        prop_assert!(used(payload) <= wire, "{} of {wire}", used(payload));
        // A byte more may need a larger repair packet too, but no smaller frame is as good.
        for more in 1..=1_300 {
            let larger = payload + Bytes::new(more);
            prop_assert!(used(larger) > wire, "{larger} fits too: {}", used(larger));
        }
    }
}

#[test]
fn without_repair_the_budget_is_used_to_the_byte_unless_a_header_does_not_fit() {
    for wire in 1_300..20_000u64 {
        let (wire_budget, repair_share, overhead) =
            (Bytes::new(wire), Ratio::ZERO, Overhead::default());
        let budget = FrameBudget { wire: wire_budget, repair_share, overhead };
        let used = Train::new(budget.payload(), repair_share, overhead).wire_size().get();
        assert!(wire - used <= HEADER.get(), "{used} of {wire}");
    }
}

#[test]
fn packets_keep_to_an_mtu_with_headers_and_repair() {
    let (header, repair) = (Bytes::new(61), Bytes::new(3));
    for (mtu, payload) in [(256, 192), (1000, 936), (1500, 1436)] {
        let overhead = Overhead::new(header, repair, Some(Bytes::new(mtu)));
        assert_eq!(overhead.payload, Bytes::new(payload));
        let frame = Bytes::new(50_000);
        let even = Train::new(frame, percent(20), overhead);
        let sliced = Train::of_slices(frame, &[0.3, 0.3, 0.4], percent(20), overhead);
        for train in [&even, &sliced] {
            let sizes = (0..train.packets())
                .map(|index| u64::from(train.packet(index).payload) + header.get());
            let largest = sizes.max().unwrap();
            assert!((mtu * 9 / 10..=mtu).contains(&largest), "{largest} of {mtu}");
        }
        assert_eq!(u64::from(even.media_packets()), 50_000_u64.div_ceil(payload));
        let budget = FrameBudget { wire: even.wire_size(), repair_share: percent(20), overhead };
        assert!(budget.payload() >= frame, "{}", budget.payload());
        let fits = Train::new(budget.payload(), percent(20), overhead);
        assert!(fits.wire_size() <= budget.wire);
    }
    assert_eq!(Overhead::new(header, repair, None).payload, MAX_PAYLOAD);
}

#[test]
fn packets_that_are_sent_again_keep_to_the_mtu_too() {
    let (header, repair) = (Bytes::new(61), Bytes::new(3));
    let overhead = |again: u64, mtu: Option<u64>| {
        let mtu = mtu.map(Bytes::new);
        let overhead = Overhead::new(header, repair, mtu).with_again(Bytes::new(again), mtu);
        assert_eq!((overhead.packet, overhead.repair), (header, repair));
        (overhead.payload.get(), overhead.again.get())
    };
    assert_eq!(overhead(12, Some(1_000)), (1_000 - 61 - 12, 12));
    assert_eq!(overhead(2, Some(1_000)), (1_000 - 61 - 3, 2), "a repair packet has more");
    assert_eq!(overhead(12, None), (1_200, 12));
    assert_eq!(overhead(12, Some(70)), (1, 12));
    // There may be room for more than was meant.
    let meant = Overhead::new(header, repair, Some(Bytes::new(1_000)));
    let room = meant.with_again(Bytes::new(12), Some(Bytes::new(1_500)));
    assert_eq!(room.payload, meant.payload);
}
