//! How slices are cut, and what that costs.

use super::*;

/// At most 1200 B in a packet, headers of 48 B.
fn payloads(payload: u64, shares: &[f64], overhead: Overhead) -> Vec<u16> {
    let train = Train::of_slices(Bytes::new(payload), shares, Ratio::ZERO, overhead);
    (0..train.packets()).map(|index| train.packet(index).payload).collect()
}

#[test]
fn small_slices_share_a_packet_while_they_fit_and_large_ones_have_their_own() {
    let cut = |payload, shares: &[f64]| {
        let overhead = Overhead::default();
        let after = packets_after_slices(Bytes::new(payload), shares, overhead);
        (payloads(payload, shares, overhead), after)
    };
    // What is smaller than a packet waits for the next slice.
    assert_eq!(cut(80, &[0.5, 0.5]), (vec![80], vec![0, 1]));
    assert_eq!(cut(1_200, &[0.5, 0.5]), (vec![1_200], vec![0, 1]), "it is just full");
    assert_eq!(cut(1_202, &[0.5, 0.5]), (vec![601, 601], vec![0, 2]));
    assert_eq!(cut(2_000, &[0.5, 0.1, 0.4]), (vec![1_200, 800], vec![0, 0, 2]));
    assert_eq!(cut(2_400, &[0.5, 0.5]), (vec![1_200, 1_200], vec![0, 2]));
    // Evenly, to a byte.
    assert_eq!(cut(7_501, &[0.5, 0.5]), (vec![938, 938, 937, 937, 938, 938, 938, 937], vec![4, 8]));
    assert_eq!(cut(3_100, &[0.1, 0.9]), (vec![310, 930, 930, 930], vec![0, 4]));
    assert_eq!(cut(3_000, &[]), (vec![1_000; 3], vec![]), "one slice");
}

#[test]
fn a_repair_packet_of_slices_replaces_the_largest() {
    let overhead = Overhead::new(Bytes::new(48), Bytes::new(3), None);
    let half = Ratio::from_ppm(500_000);
    let train = Train::of_slices(Bytes::new(3_100), &[0.1, 0.9], half, overhead);
    let of = |index| (train.packet(index).payload, train.packet(index).repair);
    assert_eq!((train.media_packets(), train.packets()), (4, 6));
    assert_eq!([3, 4, 5].map(of), [(930, false), (933, true), (933, true)]);
    assert_eq!(train.wire_size(), Bytes::new(3_100 + 2 * 933 + 6 * 48));
}

#[test]
fn slices_that_need_too_many_packets_are_cut_as_one() {
    // Packets of two bytes at most: slices of 3 and 8187 B take 2 and 4094 of them.
    let overhead = Overhead::new(HEADER, Bytes::ZERO, Some(HEADER + Bytes::new(2)));
    let shares = [3.0 / 8_190.0, 8_187.0 / 8_190.0];
    assert_eq!(payloads(8_190, &shares, overhead).len(), usize::from(MAX_MEDIA_PACKETS));
    let shares = [3.0 / 8_192.0, 8_189.0 / 8_192.0];
    assert_eq!(payloads(8_192, &shares, overhead), [2; 4_096], "else there were 4097");
}

#[test]
fn a_frame_that_was_cut_elsewhere_may_have_no_repair() {
    let train = |media| Train::of_packets(vec![900, 800], media, Overhead::default());
    let without = train(2).expect("all of it is media");
    assert_eq!((without.media_packets(), without.packets()), (2, 2));
    assert_eq!(train(3), None);
}

#[test]
fn each_boundary_of_slices_costs_half_a_header() {
    let headers = |packets, slices, percent: u64| {
        let share = Ratio::from_ppm(percent * 10_000);
        headers_of_slices(packets, slices, share, Bytes::new(48)).get()
    };
    assert_eq!(headers(10, 4, 0), 72);
    assert_eq!(headers(10, 4, 50), 120, "three packets and two of repair");
    assert_eq!(headers(2, 4, 0), 24, "slices that are smaller than a packet share it");
    assert_eq!([headers(10, 1, 50), headers(10, 0, 50), headers(0, 4, 0)], [0, 0, 0]);
}
