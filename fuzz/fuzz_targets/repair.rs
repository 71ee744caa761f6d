//! Payloads of a protected frame, some lost, some forged: repaired payloads or an error; without forgery
//! and with losses within the parity, what was sent.
#![no_main]

use gameway_codec::repair::{Received, RepairDecoder, RepairEncoder, RepairError};
use gameway_fuzz::Input;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let (count, parity) = (1 + input.any::<u8>() % 12, 1 + input.any::<u8>() % 6);
    let payload = |input: &mut Input<'_>| {
        let length = input.any::<u8>() % 40;
        (0..length).map(|_| input.any::<u8>()).collect::<Vec<_>>()
    };
    let media: Vec<_> = (0..count).map(|_| payload(&mut input)).collect();
    let coded =
        RepairEncoder::new().protect(&media, parity.into()).expect("counts and lengths fit");
    let mut forged = false;
    let mut train: Vec<_> = media.iter().chain(&coded).cloned().map(Some).collect();
    let mut lost = 0_usize;
    for slot in &mut train {
        match input.any::<u8>() % 8 {
            0 | 1 => {
                *slot = None;
                lost += 1;
            }
            2 => {
                *slot = Some(payload(&mut input));
                forged = true;
            }
            _ => {}
        }
    }
    let (there, there_parity) = train.split_at(media.len());
    let repaired = RepairDecoder::new().repair(Received { media: there, parity: there_parity });
    if forged {
        return;
    }
    match repaired {
        Ok(repaired) => {
            assert_eq!(repaired.len(), there.iter().filter(|payload| payload.is_none()).count());
            assert!(repaired.iter().all(|(index, payload)| &media[*index] == payload));
        }
        Err(error) => assert!(
            matches!(error, RepairError::TooFew { .. }) && lost > usize::from(parity),
            "{error} with {lost} of {parity} lost"
        ),
    }
});
