//! Tables of recorded rates against closed forms: serialization, the mean, and the seam where they repeat.

use gameway_path::{Columns, Link, ThroughputError, ThroughputTable};
use gameway_units::{Bytes, Duration, Instant, Rate};

const TWO_COLUMNS: &str = "0 8\n1 4\n2 0\n";

fn table(text: &str) -> ThroughputTable {
    ThroughputTable::parse(text, &Columns::default()).unwrap()
}

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn refused(text: &str, columns: &Columns) -> String {
    ThroughputTable::parse(text, columns).unwrap_err().to_string()
}

#[test]
fn a_packet_takes_its_time_at_the_rate_in_force() {
    let mut link = Link::throughput(table(TWO_COLUMNS));
    // 1000 B are 8 kbit: 1 ms at 8 Mb/s, 2 ms at 4 Mb/s.
    assert_eq!(link.transmit(at(0), Bytes::new(1000)), at(1));
    assert_eq!(link.transmit(at(1500), Bytes::new(1000)), at(1502));
    // Half of it before the change, half after.
    let start = at(1000) - Duration::from_micros(500);
    assert_eq!(link.transmit(start, Bytes::new(1000)), at(1001));
}

#[test]
fn what_meets_an_outage_leaves_when_the_table_begins_anew() {
    let mut link = Link::throughput(table(TWO_COLUMNS));
    // The last rate, 0, holds as long as the one before it: to 3 s.
    assert_eq!(link.transmit(at(2500), Bytes::new(1000)), at(3001));
    assert_eq!(link.transmit(at(3_000_000), Bytes::new(1000)), at(3_000_001));
}

#[test]
fn a_bin_has_what_its_rates_carry_and_all_bins_together_the_whole() {
    let recorded = table("0,8\n0.25,4\n0.75,12\n1.5,0.5\n");
    let link = Link::throughput(recorded.clone());
    let period = recorded.period();
    assert_eq!(period, Duration::from_millis(2250));
    // 8 * 0.25 + 4 * 0.5 + 12 * 0.75 + 0.5 * 0.75 = 13.375 Mbit.
    assert_eq!(link.capacity_between(at(0), at(2250)), Bytes::new(13_375_000 / 8));
    let bins: u64 =
        (0..90).map(|bin| link.capacity_between(at(bin * 100), at(bin * 100 + 100)).get()).sum();
    let whole = link.capacity_between(at(0), at(9000)).get();
    assert!(whole - bins <= 90, "each bin is rounded down by less than a byte");
    assert_eq!(whole, 4 * 13_375_000 / 8);
    let mean = 13_375_000.0 / 2.25;
    assert!((recorded.mean_capacity().as_bps_f64() - mean).abs() <= 8.0);
    assert_eq!(link.nominal_capacity(at(0)), recorded.mean_capacity());
}

#[test]
fn separators_line_ends_comments_and_clocks_are_as_people_have_them() {
    let wanted = table(TWO_COLUMNS);
    for text in [
        "0,8\r\n1,4\r\n2,0\r\n",
        "\u{feff}0;8\n1;4\n2;0",
        "# made by hand\n\n0\t8\n1\t4\n\n2\t0\n",
        "  0   8\n  1   4\n  2   0  \n",
        "1700000000,8\n1700000001,4\n1700000002,0\n",
    ] {
        assert_eq!(table(text), wanted, "{text:?}");
    }
}

#[test]
fn named_columns_in_their_units() {
    let text = "Timestamp (ms),RSRP,\"DL bitrate\"\n1000,-90,8000\n2000,-95,4000\n3000,-99,0\n";
    let columns = Columns {
        time: Some("Timestamp (ms)".to_owned()),
        rate: Some("DL bitrate".to_owned()),
        time_unit: Duration::from_millis(1),
        rate_unit: Rate::from_kbps(1),
    };
    assert_eq!(ThroughputTable::parse(text, &columns).unwrap(), table(TWO_COLUMNS));
    let wrong = Columns { rate: Some("UL bitrate".to_owned()), ..columns.clone() };
    let told = refused(text, &wrong);
    assert!(told.contains("\"UL bitrate\"") && told.contains("\"DL bitrate\""), "{told}");
    assert!(refused(TWO_COLUMNS, &columns).contains("line 1"));
}

#[test]
fn what_is_no_table_is_refused_with_its_line() {
    let columns = Columns::default();
    assert_eq!(refused("", &columns), ThroughputError::TooShort(0).to_string());
    for (text, told) in [
        ("0 8\n", "1 rows"),
        ("time rate\n0 8\n", "1 rows"),
        ("0 8\n1\n", "line 2: has 1 columns"),
        ("0 8\n1 fast\n", "line 2: rate \"fast\""),
        ("0 8\n1 -4\n", "line 2: rate \"-4\""),
        ("0 8\n1 nan\n", "line 2: rate \"nan\""),
        ("0 8\n1 1e30\n", "line 2: rate \"1e30\""),
        ("0 8\nsoon 4\n", "line 2: time \"soon\""),
        ("0 8\n2 4\n1 4\n", "line 3: time \"1\" does not come after"),
        ("0 8\n0 4\n", "line 2: time \"0\""),
        ("0 8\n1 1e13\n", "line 2: rate \"1e13\""),
        // Ten years are the most, and 3.2e8 s are a little more.
        ("0 8\n3.3e8 4\n", "line 2: time \"3.3e8\""),
        ("0 0\n1 0\n", "mean rate of the table is 0 b/s"),
        ("0 8\n0.0001 8\n", "less than 1 ms"),
    ] {
        assert!(refused(text, &columns).contains(told), "{text:?}: {}", refused(text, &columns));
    }
    // The least and the longest that are tables: a millisecond, a kilobit per second, 3.2e8 s.
    assert_eq!(table("0 8\n0.0005 8\n").period(), Duration::from_millis(1));
    assert_eq!(table("0 0.001\n1 0.001\n").mean_capacity(), Rate::from_kbps(1));
    assert_eq!(table("0 8\n3.2e8 4\n").rows(), 2);
}
