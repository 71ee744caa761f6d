//! Parsing, printing and arithmetic of units.

use gameway_units::{Bytes, Duration, QueueSize, Rate, Ratio, UnitError};
use proptest::prelude::*;

#[test]
fn experiment_notation_parses_exactly() {
    assert_eq!("25 Mb/s".parse(), Ok(Rate::from_mbps(25)));
    assert_eq!("0.5Mbps".parse(), Ok(Rate::from_kbps(500)));
    assert_eq!("16 ms".parse(), Ok(Duration::from_millis(16)));
    assert_eq!("9 min".parse(), Ok(Duration::from_secs(540)));
    assert_eq!("-1.5 us".parse(), Ok(Duration::from_nanos(-1500)));
    assert_eq!("64 KiB".parse(), Ok(Bytes::new(65_536)));
    assert_eq!("2 %".parse(), Ok(Ratio::from_ppm(20_000)));
    assert_eq!("0.02".parse(), Ok(Ratio::from_ppm(20_000)));
    assert_eq!("2 bdp".parse(), Ok(QueueSize::Bdp(Ratio::from_ppm(2_000_000))));
    assert_eq!("100 packets".parse(), Ok(QueueSize::Packets(100)));
    assert_eq!("300 ms".parse(), Ok(QueueSize::Time(Duration::from_millis(300))));
    assert_eq!("10 kB".parse(), Ok(QueueSize::Bytes(Bytes::new(10_000))));
}

#[test]
fn errors_name_the_text_and_what_is_allowed() {
    let wrong = "25 ms".parse::<Rate>().unwrap_err().to_string();
    assert_eq!(wrong, "\"25 ms\" has \"ms\" as unit; allowed are b/s, kb/s, Mb/s, Gb/s");
    let missing = "25".parse::<Rate>().unwrap_err().to_string();
    assert!(missing.contains("has nothing as unit"), "{missing}");
    assert!(matches!("Mb/s".parse::<Rate>(), Err(UnitError::NoNumber { .. })));
    assert!(matches!("-1 Mb/s".parse::<Rate>(), Err(UnitError::Range { .. })));
    assert!(matches!("0.1 ns".parse::<Duration>(), Err(UnitError::Range { .. })));
    assert!(matches!("1e3 ms".parse::<Duration>(), Err(UnitError::Unit { .. })));
    assert!(matches!("0 bdp".parse::<QueueSize>(), Err(UnitError::Range { .. })));
    let queue = "3 foo".parse::<QueueSize>().unwrap_err().to_string();
    assert!(queue.contains("packets") && queue.contains("bdp"), "{queue}");
}

#[test]
fn values_print_in_the_notation_that_parses() {
    assert_eq!(Rate::from_kbps(12_500).to_string(), "12.5 Mb/s");
    assert_eq!(Duration::from_micros(480).to_string(), "480 us");
    assert_eq!(Bytes::new(1500).to_string(), "1.5 kB");
    assert_eq!(Bytes::new(65_536).to_string(), "64 KiB");
    assert_eq!(Bytes::new(64_000).to_string(), "64 kB");
    assert_eq!(QueueSize::Bdp(Ratio::from_ppm(500_000)).to_string(), "0.5 bdp");
    assert_eq!(Duration::ZERO.to_string(), "0 s");
    assert_eq!((Bytes::ZERO.to_string(), Rate::ZERO.to_string()), ("0 B".into(), "0 b/s".into()));
}

#[test]
fn bandwidth_delay_product_and_serialization_are_exact() {
    let (capacity, rtt) = (Rate::from_mbps(25), Duration::from_millis(16));
    assert_eq!(capacity * rtt, Bytes::new(50_000));
    let half = QueueSize::Bdp(Ratio::from_ppm(500_000));
    assert_eq!(half.in_bytes(capacity, rtt), Some(Bytes::new(25_000)));
    assert_eq!(Bytes::new(1500) / capacity, Duration::from_micros(480));
    assert_eq!(Bytes::new(1500) / Duration::from_micros(480), capacity);
    assert_eq!(Bytes::new(1) / Rate::ZERO, Duration::MAX);
}

proptest! {
    #[test]
    fn printing_and_parsing_agree(value in 0u64..=1 << 60) {
        prop_assert_eq!(Rate::from_bps(value).to_string().parse(), Ok(Rate::from_bps(value)));
        prop_assert_eq!(Bytes::new(value).to_string().parse(), Ok(Bytes::new(value)));
        let span = Duration::from_nanos(value as i64);
        prop_assert_eq!(span.to_string().parse(), Ok(span));
        // Parts per million need more than three decimals of their only unit.
        let share = Ratio::from_ppm(value % 3_000_000);
        prop_assert_eq!(share.to_string().parse(), Ok(share));
        if share > Ratio::ZERO {
            let size = QueueSize::Bdp(share);
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }
    }

    #[test]
    fn any_text_is_a_value_or_an_error(text in ".{0,40}") {
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Duration>();
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Ratio>();
        let _ = text.parse::<QueueSize>();
    }

    /// Serialization is the smallest whole number of nanoseconds that carries the bytes.
    #[test]
    fn serialization_rounds_up(bytes in 1u64..1 << 40, bps in 1u64..1 << 36) {
        let (amount, rate) = (Bytes::new(bytes), Rate::from_bps(bps));
        let span = rate.time_for(amount);
        prop_assume!(span != Duration::MAX);
        let carried = |nanos: i64| u128::from(bps) * nanos as u128;
        let wanted = u128::from(bytes) * 8_000_000_000;
        prop_assert!(carried(span.as_nanos()) >= wanted);
        prop_assert!(carried(span.as_nanos() - 1) < wanted);
    }
}
