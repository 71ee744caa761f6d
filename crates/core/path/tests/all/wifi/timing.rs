//! Durations and rates, by hand from the standard's formulas.

use gameway_path::{DataRate, GuardInterval, Spatial, Timing, WifiConfig, WifiError};
use gameway_units::{Bytes, Duration, Rate, Ratio};

fn micros(count: i64) -> Duration {
    Duration::from_micros(count)
}

fn config(data: DataRate) -> WifiConfig {
    WifiConfig::new(data).unwrap()
}

fn spatial(mcs: u32, streams: u32, width_mhz: u32, short: bool) -> Spatial {
    let guard_interval = if short { GuardInterval::Short } else { GuardInterval::Long };
    Spatial { mcs, streams, width_mhz, guard_interval }
}

/// A packet alone: its data frame, and the whole exchange.
fn alone(timing: &Timing, packet: u64) -> (Duration, Duration) {
    let psdu = timing.alone(Bytes::new(packet));
    (timing.data_frame(psdu), timing.exchange(psdu, 1))
}

#[test]
fn a_full_packet_at_54_mbps_takes_what_one_finds_by_hand() {
    let timing = Timing::new(config(DataRate::Ofdm(54)));
    // 1500 + 8 + 28 B are 12 288 bits; with 22 more, 57 symbols of 216 bits; 20 + 57 x 4 + 6 us.
    // The acknowledgement: 14 B and 22 bits are two symbols of 96 bits; 20 + 8 + 6 us.
    assert_eq!(alone(&timing, 1500), (micros(254), micros(254 + 10 + 34)));
    // A TCP acknowledgement of 40 B: 630 bits, three symbols.
    assert_eq!(alone(&timing, 40), (micros(38), micros(38 + 10 + 34)));
    assert_eq!(timing.ifs(), micros(10 + 2 * 9));
    // 14 B at 6 Mb/s: 134 bits, six symbols of 24 bits.
    assert_eq!(timing.eifs(), micros(10 + 20 + 24 + 6 + 28));
    // 7.5 slots on average: 1500 B in 28 + 67.5 + 298 us.
    let saturation = timing.saturation(Bytes::new(1500)).as_mbps_f64();
    assert!((saturation - 12_000.0 / 393.5).abs() < 1e-3, "{saturation}");
}

#[test]
fn slower_rates_and_the_long_slot_take_longer() {
    let slow = Timing::new(config(DataRate::Ofdm(6)));
    // 12 310 bits are 513 symbols of 24 bits.
    assert_eq!(alone(&slow, 1500).0, micros(20 + 513 * 4 + 6));
    let mixed = Timing::new(WifiConfig { slot: micros(20), ..config(DataRate::Ofdm(54)) });
    assert_eq!(mixed.ifs(), micros(50));
    let basic = Timing::new(WifiConfig { basic_mbps: 6, ..config(DataRate::Ofdm(54)) });
    assert_eq!(alone(&basic, 1500).1, micros(254 + 10 + 50));
    // RTS at 9 Mb/s: 20 B and 22 bits are six symbols of 36 bits, CTS with 134 bits four.
    let basic = WifiConfig { basic_mbps: 9, rts_above: Some(Bytes::ZERO), ..*slow.config() };
    let pauses = micros(2 * 10);
    let reserved = micros(20 + 24 + 6) + micros(20 + 16 + 6) + pauses;
    assert_eq!(Timing::new(basic).reservation(Bytes::new(100)), reserved);
}

#[test]
fn rts_and_cts_come_in_front_of_long_frames_only() {
    let with = WifiConfig { rts_above: Some(Bytes::new(500)), ..config(DataRate::Ofdm(54)) };
    let timing = Timing::new(with);
    // RTS: 20 B and 22 bits are two symbols of 96 bits; CTS as an acknowledgement; SIFS behind each.
    let reservation = micros(34 + 10 + 34 + 10);
    assert_eq!(alone(&timing, 1500).1, reservation + micros(298));
    assert_eq!(timing.exposed(timing.alone(Bytes::new(1500))), micros(34));
    assert_eq!(alone(&timing, 40).1, micros(82));
    assert_eq!(timing.exposed(timing.alone(Bytes::new(40))), micros(38));
    // Frames longer than the threshold (dot11RTSThreshold), not those as long.
    assert_eq!(timing.reservation(Bytes::new(500)), Duration::ZERO);
    assert_eq!(timing.reservation(Bytes::new(501)), reservation);
}

#[test]
fn aggregates_of_802_11n_by_hand() {
    let timing = Timing::new(config(DataRate::Ht(spatial(7, 2, 20, false))));
    // 52 subcarriers x 6 bits x 5/6 x 2: 520 bits; 1538 B and 22 bits are 24 symbols; 32 + 2 x 4 us before.
    assert_eq!(alone(&timing, 1500), (micros(40 + 96), micros(136 + 16 + 28)));
    // Ten of 4 + 1540 B: 123 542 bits, 238 symbols; the block acknowledgement: 278 bits, three of 96.
    let ten = Bytes::new(10 * timing.aggregated(Bytes::new(1500)).get());
    assert_eq!(ten, Bytes::new(15_440));
    assert_eq!(timing.data_frame(ten), micros(40 + 952));
    assert_eq!(timing.exchange(ten, 10), micros(992 + 16 + 32));
    assert_eq!(timing.ifs(), micros(16 + 3 * 9));
    // The short guard interval: 24 x 3.6 = 86.4 us, which end with a whole symbol of 4 us.
    let short = Timing::new(config(DataRate::Ht(spatial(7, 2, 20, true))));
    assert_eq!(alone(&short, 1500).0, micros(40 + 88));
}

#[test]
fn frames_of_802_11ac_by_hand() {
    // 36 + 4 us for each long training field, of which three streams need four.
    let preamble = |streams| {
        let timing = Timing::new(config(DataRate::Vht(spatial(0, streams, 20, false))));
        // 22 bits are one symbol.
        timing.data_frame(Bytes::ZERO) - micros(4)
    };
    assert_eq!([1, 2, 3, 4].map(preamble), [40, 44, 52, 52].map(micros));
    // 468 subcarriers x 8 bits x 5/6 x 2: 6240 bits, which three encoders carry with 18 bits of tail.
    let timing = Timing::new(config(DataRate::Vht(spatial(9, 2, 160, false))));
    // 776 B fill a symbol with 16 service bits and the tails; a byte more does not fit.
    let symbols = |bytes| timing.data_frame(Bytes::new(bytes)) - micros(44);
    assert_eq!([775, 776].map(symbols), [4, 8].map(micros));
    // A packet alone is an aggregate: 8 + 30 B around it, to four bytes, and a delimiter.
    assert_eq!(timing.alone(Bytes::new(1499)), Bytes::new(4 + 1540));
}

#[test]
fn an_aggregate_ends_where_bytes_or_time_do() {
    let fast = Timing::new(config(DataRate::Ht(spatial(7, 2, 40, true))));
    assert_eq!(fast.max_bytes(), Bytes::new(65_535));
    // 5484 - 36 us are 1362 symbols of 26 bits (BPSK 1/2): 35 412 - 22 bits.
    let slow = Timing::new(config(DataRate::Ht(spatial(0, 1, 20, false))));
    assert_eq!(slow.max_bytes(), Bytes::new(4_423));
    assert!(slow.data_frame(slow.max_bytes()) <= micros(5_484));
    assert!(slow.data_frame(Bytes::new(4_424)) > micros(5_484));
}

/// What an aggregate has room for fits into it, and a byte more does not.
#[test]
fn the_room_of_an_aggregate_is_its_largest_further_packet() {
    for data in [DataRate::Ht(spatial(0, 1, 20, false)), DataRate::Vht(spatial(8, 1, 20, true))] {
        let timing = Timing::new(config(data));
        let (most, least) = (timing.max_bytes(), timing.aggregated(Bytes::ZERO));
        for left in least.get()..2000 {
            let psdu = most - Bytes::new(left);
            let room = timing.room(psdu);
            assert!(psdu + timing.aggregated(room) <= most, "{left}");
            assert!(psdu + timing.aggregated(room + Bytes::new(1)) > most, "{left}");
        }
        // 8 B of LLC, 30 B of the MAC header, two more to a multiple of four, and the delimiter.
        assert_eq!(least, Bytes::new(44));
        assert_eq!(timing.room(most), Bytes::ZERO);
        assert_eq!(timing.room(most + Bytes::new(1)), Bytes::ZERO);
    }
}

/// Of each generation and with either guard interval: what has the most bytes takes no longer than the longest time,
/// and a byte more would.
#[test]
fn no_frame_of_the_most_bytes_takes_longer_than_the_longest_time() {
    let ht = |short| DataRate::Ht(spatial(0, 1, 20, short));
    // The last one has three encoders. Up to a time in which all of them send less than the most bytes.
    let vht = DataRate::Vht(spatial(9, 2, 160, false));
    for data in [DataRate::Ofdm(6), ht(false), ht(true), vht] {
        for longest in (100..=5_300).map(micros) {
            let mut config = config(data);
            config.aggregation.time = longest;
            let timing = Timing::new(config);
            let most = timing.max_bytes();
            assert!(timing.data_frame(most) <= longest, "{longest}");
            assert!(timing.data_frame(most + Bytes::new(1)) > longest, "{longest}");
        }
    }
}

#[test]
fn rates_are_those_of_the_tables() {
    let mbps = |data: DataRate| data.rate().as_bps() / 100_000;
    assert_eq!(DataRate::Ofdm(54).rate(), Rate::from_mbps(54));
    // Tables of 19.5 and 21.5, in 100 kb/s.
    let ht = [
        (0, 1, 20, false, 65),
        (7, 1, 20, true, 722),
        (7, 2, 40, true, 3000),
        (5, 3, 20, false, 1560),
    ];
    for (mcs, streams, width, short, rate) in ht {
        let data = DataRate::Ht(spatial(mcs, streams, width, short));
        assert_eq!((data.check(), mbps(data)), (Ok(()), rate), "{data:?}");
    }
    let vht = [
        (9, 1, 80, true, 4333),
        (9, 2, 80, false, 7800),
        (8, 1, 20, false, 780),
        (9, 3, 20, false, 2600),
        (9, 2, 160, true, 17_333),
    ];
    for (mcs, streams, width, short, rate) in vht {
        let data = DataRate::Vht(spatial(mcs, streams, width, short));
        assert_eq!((data.check(), mbps(data)), (Ok(()), rate), "{data:?}");
    }
}

#[test]
fn what_the_standard_does_not_have_is_refused() {
    let refused = |data| WifiConfig::new(data).unwrap_err();
    assert_eq!(refused(DataRate::Ofdm(11)), WifiError::Rate(11));
    assert_eq!(
        refused(DataRate::Ht(spatial(8, 1, 20, false))),
        WifiError::Mcs { mcs: 8, highest: 7 }
    );
    assert_eq!(refused(DataRate::Ht(spatial(7, 5, 20, false))), WifiError::Streams(5));
    let width = WifiError::Width { width_mhz: 80, highest: 40 };
    assert_eq!(refused(DataRate::Ht(spatial(7, 1, 80, false))), width);
    for (mcs, streams, width_mhz) in [(9, 1, 20), (6, 3, 80), (9, 3, 160)] {
        let expected = WifiError::LeftOut { mcs, streams, width_mhz };
        assert_eq!(refused(DataRate::Vht(spatial(mcs, streams, width_mhz, false))), expected);
    }
    let g = config(DataRate::Ofdm(54));
    let wrong = |config: WifiConfig| config.check().unwrap_err();
    let windows = WifiConfig { cw_min: 31, cw_max: 15, ..g };
    assert_eq!(wrong(windows), WifiError::Windows { cw_min: 31, cw_max: 15 });
    let longest = WifiConfig { cw_max: 32_767, ..g };
    assert_eq!(longest.check(), Ok(()));
    let longer = WifiError::Windows { cw_min: 15, cw_max: 65_535 };
    assert_eq!(wrong(WifiConfig { cw_max: 65_535, ..g }), longer);
    assert_eq!(wrong(WifiConfig { basic_mbps: 11, ..g }), WifiError::BasicRate(11));
    assert_eq!(wrong(WifiConfig { attempts: 0, ..g }), WifiError::Attempts);
    let always = WifiConfig { error_rate: Ratio::ONE, ..g };
    assert_eq!(wrong(always), WifiError::ErrorRate(Ratio::ONE));
    let mut aggregating = g;
    aggregating.aggregation.packets = 2;
    assert_eq!(wrong(aggregating), WifiError::NoAggregation);
    aggregating.aggregation.packets = 65;
    assert_eq!(wrong(aggregating), WifiError::Aggregate(65));
}
