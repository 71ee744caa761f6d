//! Quantities as text: what is accepted prints as something that reads back as the same quantity.
#![no_main]

use gameway_units::{Bytes, Duration, QueueSize, Rate, Ratio};
use libfuzzer_sys::fuzz_target;
use std::fmt::{Debug, Display};
use std::str::FromStr;

fn round_trip<T: FromStr<Err: Display> + Display + Debug + PartialEq>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => {
            let printed = value.to_string();
            let again = printed.parse::<T>().unwrap_or_else(|error| panic!("{printed}: {error}"));
            assert_eq!(again, value, "{text:?} prints as {printed:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fuzz_target!(|text: &str| {
    round_trip::<Duration>(text);
    round_trip::<Bytes>(text);
    round_trip::<Rate>(text);
    round_trip::<Ratio>(text);
    round_trip::<QueueSize>(text);
});
