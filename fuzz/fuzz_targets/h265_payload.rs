//! RTP payloads of H.265 from a peer: a frame or an error, and a frame goes through again unchanged.
#![no_main]

use gameway_fuzz::payload_format;
use gameway_units::VideoCodec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| payload_format::check(VideoCodec::H265, bytes));
