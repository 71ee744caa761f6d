//! The round trip that COBALT reckons with, by the words of tc-cake(8) (iproute2, `tc/q_cake.c`, `presets`).

use gameway_units::{Duration, UnitError};
use serde::de::{Deserialize, Deserializer, Error};
use std::str::FromStr;

const NAMED: [(&str, Duration); 8] = [
    ("datacentre", Duration::from_micros(100)),
    ("lan", Duration::from_millis(1)),
    ("metro", Duration::from_millis(10)),
    ("regional", Duration::from_millis(30)),
    ("internet", Duration::from_millis(100)),
    ("oceanic", Duration::from_millis(300)),
    ("satellite", Duration::from_secs(1)),
    ("interplanetary", Duration::from_secs(1000)),
];

/// A time, or a word for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoundTrip(Duration);

impl FromStr for RoundTrip {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let named = NAMED.iter().find(|(word, _)| *word == text.trim());
        named.map_or_else(|| text.parse().map(Self), |(_, time)| Ok(Self(*time)))
    }
}

/// Reads a time, or a word for one.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
    text.parse().map(|RoundTrip(time)| time).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_a_word_or_a_time() {
        for (text, millis) in
            [("internet", 100), ("50 ms", 50), ("satellite", 1000), ("interplanetary", 1_000_000)]
        {
            assert_eq!(text.parse(), Ok(RoundTrip(Duration::from_millis(millis))));
        }
        assert_eq!("datacentre".parse(), Ok(RoundTrip(Duration::from_micros(100))));
        assert!("moon".parse::<RoundTrip>().is_err());
    }
}
