//! Arithmetic of units against the plain numbers, on values for which no wrong operator gives the same result.
#![expect(clippy::float_cmp, reason = "these values are exact in a float")]

use gameway_units::{Bytes, Duration, Ecn, Instant, Rate, Ratio, SignedBytes};

#[test]
fn bytes_are_counted_as_numbers_are() {
    let (seven, three) = (Bytes::new(7), Bytes::new(3));
    assert_eq!((seven + three).get(), 10);
    assert_eq!((seven - three).get(), 4);
    assert_eq!((seven * 3).get(), 21);
    assert_eq!([seven, three, three].into_iter().sum::<Bytes>().get(), 13);
    let mut count = seven;
    count += three;
    assert_eq!(count.get(), 10);
    count -= seven;
    assert_eq!(count.get(), 3);
    assert_eq!(seven.as_f64(), 7.0);
    assert_eq!(Bytes::from_f64(7.9).get(), 7);
    assert_eq!(Bytes::from_f64(-1.0).get(), 0);
    assert_eq!(Bytes::from_f64(f64::NAN).get(), 0);
}

#[test]
fn amounts_and_differences_are_written_and_read() {
    assert_eq!("2 GiB".parse(), Ok(Bytes::new(2_147_483_648)));
    assert_eq!("3 MiB".parse(), Ok(Bytes::new(3_145_728)));
    assert_eq!(Bytes::new(1_048_576).to_string(), "1 MiB");
    assert_eq!(Bytes::new(1_073_741_824).to_string(), "1 GiB");
    assert_eq!("-14 B".parse(), Ok(SignedBytes::new(-14)));
    assert_eq!("44 B".parse::<SignedBytes>().map(SignedBytes::get), Ok(44));
    assert_eq!(SignedBytes::new(-1_500).to_string(), "-1.5 kB");
    let refused = |text: &str| text.parse::<Bytes>().map_err(|error| error.to_string());
    assert!(refused("-1 B").is_err_and(|why| why.contains("is not negative")));
    assert!(refused("99999999999 GB").is_err_and(|why| why.contains("below 2^64 bytes")));
}

#[test]
fn rates_are_counted_as_numbers_are() {
    let (seven, three) = (Rate::from_bps(7), Rate::from_bps(3));
    assert_eq!((seven + three).as_bps(), 10);
    assert_eq!((seven - three).as_bps(), 4);
    assert_eq!([seven, three, three].into_iter().sum::<Rate>().as_bps(), 13);
    assert_eq!(seven.as_bps_f64(), 7.0);
    assert_eq!(Rate::from_kbps(2_500).as_mbps_f64(), 2.5);
    assert_eq!(Rate::from_bps_f64(6.6).as_bps(), 7);
    assert_eq!(Rate::from_bps_f64(-6.6).as_bps(), 0);
    assert_eq!(Rate::from_bps(50).mul_f64(0.25).as_bps(), 13);
    let refused = |text: &str| text.parse::<Rate>().map_err(|error| error.to_string());
    assert!(refused("-1 b/s").is_err_and(|why| why.contains("is not negative")));
    assert!(refused("99999999999 Gb/s").is_err_and(|why| why.contains("below 2^64 b/s")));
}

/// The short way ends at 2^64 nanobits, some 2.3 GB: the long one goes on from there without a step.
#[test]
fn large_amounts_take_as_long_as_small_ones_say() {
    let rate = Rate::from_bps(8_000);
    for bytes in [2_305_843_008_u64, 2_305_843_009, 2_305_843_010, 5_000_000_000] {
        assert_eq!(rate.time_for(Bytes::new(bytes)), Duration::from_millis(bytes as i64));
    }
}

/// Here, too: 64 bits of nanobits are over after three minutes of 100 Gb/s.
#[test]
fn long_spans_carry_as_much_as_short_ones_say() {
    let rate = Rate::from_bps(100_000_000_000);
    for secs in [184, 185, 3_600] {
        assert_eq!(rate * Duration::from_secs(secs), Bytes::new(12_500_000_000 * secs as u64));
    }
    assert_eq!(Rate::MAX * Duration::MAX, Bytes::MAX);
}

#[test]
fn spans_are_counted_as_numbers_are() {
    let (seven, three) = (Duration::from_nanos(7), Duration::from_nanos(3));
    assert_eq!((seven + three).as_nanos(), 10);
    assert_eq!((seven - three).as_nanos(), 4);
    assert_eq!((-seven).as_nanos(), -7);
    assert_eq!((seven * 3).as_nanos(), 21);
    assert_eq!((seven / 3).as_nanos(), 2);
    assert_eq!(Duration::from_nanos(15) / three, 5.0);
    assert_eq!([seven, three, three].into_iter().sum::<Duration>().as_nanos(), 13);
    let mut span = seven;
    span += three;
    assert_eq!(span.as_nanos(), 10);
    span -= seven;
    assert_eq!(span.as_nanos(), 3);
    assert_eq!(Duration::from_nanos(10).mul_f64(0.25).as_nanos(), 3);
    assert_eq!(
        [-1, 0, 1].map(|nanos| Duration::from_nanos(nanos).is_negative()),
        [true, false, false]
    );
}

#[test]
fn spans_of_other_units_are_the_same_spans() {
    assert_eq!(Duration::from_micros(3).as_nanos(), 3_000);
    assert_eq!(Duration::from_millis(3).as_nanos(), 3_000_000);
    assert_eq!(Duration::from_secs(3).as_nanos(), 3_000_000_000);
    assert_eq!(Duration::from_secs_f64(2.5e-9).as_nanos(), 3);
    assert_eq!(Duration::from_secs_f64(1.5).as_nanos(), 1_500_000_000);
    assert_eq!(Duration::from_millis(2_500).as_secs_f64(), 2.5);
    assert_eq!(Duration::from_micros(2_500).as_millis_f64(), 2.5);
}

#[test]
fn sums_and_differences_of_a_peer_stay_at_the_ends() {
    let (min, max) = (Duration::from_nanos(i64::MIN), Duration::MAX);
    let one = Duration::from_nanos(1);
    assert_eq!((max.saturating_add(one), min.saturating_sub(one)), (max, min));
    assert_eq!(one.saturating_add(one * 3).as_nanos(), 4);
    assert_eq!(one.saturating_sub(one * 3).as_nanos(), -2);
    let (early, late) = (Instant::from_nanos(-5), Instant::from_nanos(7));
    assert_eq!(late.saturating_since(early).as_nanos(), 12);
    assert_eq!(Instant::MAX.saturating_since(early), max);
    assert_eq!(late.saturating_add(one).as_nanos(), 8);
    assert_eq!(late.saturating_sub(one).as_nanos(), 6);
    assert_eq!(Instant::MAX.saturating_add(one), Instant::MAX);
    assert_eq!(Bytes::new(3).saturating_sub(Bytes::new(7)), Bytes::ZERO);
    assert_eq!(Bytes::new(3).saturating_add(Bytes::MAX), Bytes::MAX);
    assert_eq!(Bytes::new(3).saturating_add_signed(SignedBytes::new(-2)).get(), 1);
    assert_eq!(Bytes::new(3).saturating_add_signed(SignedBytes::new(-7)), Bytes::ZERO);
    assert_eq!(Rate::from_bps(3).saturating_sub(Rate::from_bps(7)), Rate::ZERO);
}

#[test]
fn points_in_time_differ_by_spans() {
    let (at, span) = (Instant::from_nanos(2_500_000_000), Duration::from_nanos(7));
    assert_eq!(at.as_secs_f64(), 2.5);
    assert_eq!((at + span).as_nanos(), 2_500_000_007);
    assert_eq!((at - span).as_nanos(), 2_499_999_993);
    assert_eq!((at + span) - at, span);
    let mut later = at;
    later += span;
    assert_eq!(later, at + span);
}

#[test]
fn shares_are_floats_for_estimators() {
    assert_eq!(Ratio::from_ppm(250_000).as_f64(), 0.25);
    assert_eq!(Ratio::from_ppm(2_500_000).as_f64(), 2.5);
}

#[test]
fn all_but_one_ecn_field_can_carry_a_mark() {
    let all = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    assert_eq!(all.map(Ecn::is_capable), [false, true, true, true]);
}

#[test]
fn a_number_may_have_a_sign_and_thirty_digits() {
    assert_eq!("+5 ms".parse(), Ok(Duration::from_millis(5)));
    let zeros = |count| format!("{}1 b/s", "0".repeat(count)).parse::<Rate>();
    assert_eq!(zeros(29), Ok(Rate::from_bps(1)));
    assert!(zeros(30).is_err());
    assert_eq!("1_000 ms".parse(), Ok(Duration::from_secs(1)));
    for wrong in ["1.2.3 ms", "- ms", "1-2 ms", "\u{0663} ms"] {
        assert!(wrong.parse::<Duration>().is_err(), "{wrong}");
    }
}
