//! Frames of encoder models.

use super::*;
use gameway_media::EncoderModel;
use gameway_units::Ratio;

#[test]
fn a_model_that_cuts_slices_keeps_to_the_target() {
    for share in [0, 200_000] {
        let repair_share = Ratio::from_ppm(share);
        let (mut sender, told) = sender(target(Pacing::FrameMultiplier(1.25)), |config| {
            config.repair_share = repair_share;
        });
        told.with(|shared| shared.in_parts = true);
        let mut encoder = EncoderModel::constrained(INTERVAL, 3);
        let (mut wire, mut slices) = (0, 0);
        let count = 600;
        for number in 0..count {
            let now = at(16 * number);
            sender.on_deadline(now);
            let frame = sender.encode_by(&mut encoder).unwrap();
            let after = &frame.after_slices;
            assert_eq!(after.last(), Some(&frame.train.media_packets()));
            slices += after.len();
            wire += frame.train.wire_size().get();
            sender.on_encoded(now, &frame.train, frame.key_frame);
            (0..16)
                .for_each(|millis| _ = transmit(&mut sender, now + Duration::from_millis(millis)));
        }
        let share_of_target = wire as f64 / count as f64 / 20_000.0;
        assert!((0.95..1.02).contains(&share_of_target), "{share_of_target} with {repair_share:?}");
        assert!(slices > 600, "{slices}");
    }
}

#[test]
fn a_bounded_frame_never_has_more_than_its_share() {
    let largest = |bounds: bool| {
        let asking = target(Pacing::Burst).asking(|ask| ask.bounds_frame = bounds);
        let (mut sender, _) = sender(asking, |_| {});
        let mut encoder = EncoderModel::constrained(INTERVAL, 3);
        let sizes = (0..600).map(|number| {
            sender.on_deadline(at(16 * number));
            let frame = sender.encode_by(&mut encoder).unwrap();
            assert!(frame.after_slices.is_empty(), "it leaves whole");
            sender.on_encoded(at(16 * number), &frame.train, frame.key_frame);
            transmit(&mut sender, at(16 * number));
            frame.train.wire_size().get()
        });
        sizes.max().unwrap() as f64 / 20_000.0
    };
    let bounded = largest(true);
    assert!((0.8..=1.0).contains(&bounded), "{bounded}");
    let free = largest(false);
    assert!((1.02..1.5).contains(&free), "{free}");
}
