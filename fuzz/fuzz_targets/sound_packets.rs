//! Packets of sound as an authenticated peer may send them: numbers, times and payloads of any kind, with copies of older ones. Each is played once and in
//! order, or counted; few are kept; and the decoder gives samples or an error.
#![no_main]

use gameway_codec::audio::{self, PacketDuration};
use gameway_fuzz::Input;
use gameway_stream::client::sound_inbox::{MAX_KEPT, Play, SoundInbox};
use gameway_units::Instant;
use gameway_webrtc::{Negotiated, RtpHeader};
use libfuzzer_sys::fuzz_target;

/// RFC 6716 section 3.2.5: 120 ms, of two channels.
const MAX_SAMPLES: usize = 5_760 * 2;

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let mut inbox = SoundInbox::default();
    let mut decoder = audio::open_decoder(PacketDuration::Ten).expect("a build with opus");
    let (mut now, mut concealed) = (Instant::ZERO, 0);
    let terms = Negotiated { audio: Some(111), red: Some(63), ..Negotiated::default() };
    while !input.is_empty() {
        now = now.saturating_add(input.pause());
        let header = RtpHeader {
            payload_type: if input.any::<u8>() < 128 { 111 } else { 63 },
            sequence_number: input.number(200) as u16,
            timestamp: input.any(),
            ..RtpHeader::default()
        };
        let length = input.number(40).min(1_500) as usize;
        let payload: Vec<u8> = (0..length).map(|_| input.any()).collect();
        assert!(inbox.take(&terms, &header, &payload, now), "it is sound");
        while let Some(play) = inbox.poll(now) {
            let decoded = match &play {
                Play::Packet(packet) => decoder.decode(Some(&packet.payload)),
                Play::Concealment => decoder.decode(None),
            };
            concealed += u64::from(play == Play::Concealment);
            if let Ok(samples) = decoded {
                assert!(samples.len() <= MAX_SAMPLES && samples.len() % audio::CHANNELS == 0);
            }
        }
        let counts = inbox.counts();
        assert!(inbox.len() <= MAX_KEPT);
        let useful = counts.received + counts.repaired - counts.late;
        assert_eq!(useful, counts.played + inbox.len() as u64);
        assert_eq!(counts.concealed, concealed);
    }
});
