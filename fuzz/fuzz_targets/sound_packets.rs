//! Packets of sound as an authenticated peer may send them: numbers, times and payloads of any kind. Each is played once and in
//! order, or counted; few are kept; and the decoder gives samples or an error.
#![no_main]

use gameway_codec::audio::{self, PacketDuration};
use gameway_fuzz::Input;
use gameway_stream::client::sound_inbox::{MAX_KEPT, Play, SoundInbox, SoundPacket};
use gameway_units::Instant;
use libfuzzer_sys::fuzz_target;

/// RFC 6716 section 3.2.5: 120 ms, of two channels.
const MAX_SAMPLES: usize = 5_760 * 2;

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let mut inbox = SoundInbox::default();
    let mut decoder = audio::open_decoder(PacketDuration::Ten).expect("a build with opus");
    let (mut now, mut concealed) = (Instant::ZERO, 0);
    while !input.is_empty() {
        now = now.saturating_add(input.pause());
        let number = input.number(200) as u16;
        let length = input.number(40).min(1_500) as usize;
        let payload = (0..length).map(|_| input.any()).collect();
        inbox.put(number, SoundPacket { timestamp: input.any(), arrived: now, payload });
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
        assert_eq!(counts.received, counts.played + counts.late + inbox.len() as u64);
        assert_eq!(counts.concealed, concealed);
    }
});
