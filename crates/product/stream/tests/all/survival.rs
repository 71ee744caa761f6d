//! What a bad network does to a whole stream: bounds on both sides, and twins that fare worse.

use crate::support::{
    INTERVAL, ONE_WAY, PLAIN, Played, SECOND, Setting, World, at, both_ways, dark, is_media, ms,
    world,
};
use gameway_control::FrameId;
use gameway_stream::client::session::ClientEvent;
use gameway_stream::host::session::SessionEvent;
use gameway_testbed::{Random, arrives, lost_if};
use gameway_units::{Duration, Ecn, Instant, Rate, Ratio, Recovery, VideoCodec};

#[test]
fn frames_arrive_byte_by_byte_in_order_and_once() {
    let mut world = world(PLAIN);
    world.run_for(SECOND * 3);
    let now = world.now;
    world.host.stop(now);
    world.run_for(SECOND);
    let frames: Vec<u64> = world.played.iter().map(|played| played.frame).collect();
    assert_eq!(frames, (0..frames.len() as u64).collect::<Vec<_>>());
    // Connecting takes half a dozen round trips.
    assert!((170..=180).contains(&frames.len()), "{} frames", frames.len());
    assert_eq!(world.encoder.made.len(), frames.len(), "all that were made");
    assert_eq!(world.key_frames(), [(0, 0)], "the first only");
    assert_eq!(world.requests(), 0);
    let ahead = world.ahead as usize;
    assert!(ahead + 2 >= frames.len(), "{ahead} frames went to the decoder before they were whole");
    // Captured, 4 ms encoding, the train over 13.3 ms, 10 ms on the way.
    for played in &world.played {
        let took = played.at - world.encoder.made[&(0, played.frame)].captured;
        assert!((ms(20)..=ms(30)).contains(&took), "frame {}: {took}", played.frame);
    }
}

/// Ten seconds at 30 % loss both ways, then three without: shares shown of both, and requests for key frames.
fn under_loss(repair: &str) -> (f64, f64, World) {
    let repair_share: Ratio = repair.parse().unwrap();
    let mut world = world(Setting { repair_share, ..PLAIN });
    world.run_for(SECOND);
    world.path = both_ways(|now, random| lost_if(now < at(11_000) && random.chance(0.3)));
    world.run_for(SECOND * 13);
    let during = world.shown_share(at(1_000), at(11_000));
    let after = world.shown_share(at(11_200), at(12_200));
    (during, after, world)
}

#[test]
fn with_repair_a_stream_goes_on_at_thirty_percent_loss_and_is_whole_again_after() {
    let (during, after, world) = under_loss("50 %");
    assert!((0.2..=0.7).contains(&during), "{during} shown under loss");
    assert!(after >= 0.99, "{after} shown after");
    assert!(world.requests() > 20, "{} requests", world.requests());
    assert!(world.played.iter().any(|played| played.recovered > 0), "repair brings packets back");
    assert!(world.ahead > world.played.len() as u64 / 2, "{} begun before whole", world.ahead);
    let keys = world.key_frames().len();
    assert!((20..=200).contains(&keys), "{keys} key frames");
    // Each frame has one end only.
    let decided = world.decided();
    assert_eq!(decided, (0..decided.len() as u64).collect::<Vec<_>>());

    let (worse, healed, _) = under_loss("0 %");
    assert!(worse < during / 4.0, "{worse} without repair, {during} with");
    assert!(healed >= 0.99, "{healed} shown after");
}

#[test]
fn packets_that_overtake_each_other_and_come_twice_are_shown_once() {
    let mut world = world(PLAIN);
    world.path = both_ways(|_, random| {
        // A tenth comes 3 ms late, behind three or four others; a tenth comes twice.
        let extra = if random.chance(0.1) { ms(3) } else { Duration::ZERO };
        let again = random.chance(0.1).then(|| ms(random.below(200) as i64));
        [extra].into_iter().chain(again).collect()
    });
    world.run_for(SECOND * 4);
    let now = world.now;
    world.host.stop(now);
    world.run_for(SECOND);
    let frames: Vec<u64> = world.played.iter().map(|played| played.frame).collect();
    assert_eq!(
        frames,
        (0..frames.len() as u64).collect::<Vec<_>>(),
        "none is lost, none comes twice"
    );
    assert_eq!(frames.len(), world.encoder.made.len());
    assert!(frames.len() >= 225, "{} frames", frames.len());
    assert_eq!(world.key_frames().len(), 1);
}

#[test]
fn after_ten_seconds_of_darkness_pictures_come_within_a_second() {
    let mut world = world(PLAIN);
    world.path = dark(at(2_000), at(12_000));
    world.run_for(SECOND * 15);
    let dark = |played: &&Played| (at(2_050)..at(12_000)).contains(&played.at);
    assert_eq!(world.played.iter().filter(dark).count(), 0);
    let back = world.played.iter().find(|played| played.at >= at(12_000)).expect("pictures");
    assert!(back.key_frame);
    let took = back.at - at(12_000);
    assert!((ONE_WAY..=ms(200)).contains(&took), "{took}");
    let share = world.shown_share(at(12_200), at(14_900));
    assert!(share >= 0.99, "{share}");
    let stalls: Vec<Duration> = world
        .client_events
        .iter()
        .filter_map(|(_, event)| match event {
            ClientEvent::Stall(_, pause) => Some(*pause),
            _ => None,
        })
        .collect();
    assert_eq!(stalls.len(), 1);
    assert!((SECOND * 10..=ms(10_300)).contains(&stalls[0]), "{}", stalls[0]);
}

#[test]
fn darkness_longer_than_half_the_sequence_numbers_is_survived() {
    // 58 Mb/s are 5 500 packets/s: sent on, 44 000 of 65 536 numbers would pass in 8 s, so that the next one looked older than
    // the last and the rollover counter of SRTP could not be guessed (RFC 3711 section 3.3.1).
    let mut world = world(Setting { rate: Rate::from_mbps(58), ..PLAIN });
    world.path = dark(at(1_000), at(9_000));
    world.run_for(ms(10_500));
    let sent = world.told.lock().unwrap().sent.len();
    let before = world.told.lock().unwrap().sent.iter().filter(|it| it.sent < at(1_000)).count();
    assert!((16_384..=32_000).contains(&(sent - before)), "{sent} {before}");
    let back = world.played.iter().find(|played| played.at >= at(9_000)).expect("pictures");
    assert!(back.at - at(9_000) <= SECOND, "{}", back.at);
    assert!(world.shown_share(at(10_000), at(10_450)) >= 0.99);
}

#[test]
fn sequence_numbers_wrap_without_harm() {
    let mut world = world(Setting { rate: Rate::from_mbps(60), ..PLAIN });
    let mut count = 0_u64;
    world.path.down = Box::new(move |_, _| {
        // One packet in a thousand is lost, so that reports have gaps around the wrap, too.
        count += 1;
        lost_if(count % 1_000 == 999)
    });
    world.run_for(SECOND * 14);
    let told = world.told.lock().unwrap();
    let sent = told.sent.len() as u64;
    assert!(sent > 70_000, "{sent} packets");
    assert_eq!(told.sent.last().unwrap().sequence.0 + 1, sent, "numbers that do not wrap");
    let reports = || told.batches.iter().flat_map(|(_, reports)| reports);
    let arrived = reports().filter(|report| report.arrival.is_some()).count() as u64;
    let lost = reports().filter(|report| report.arrival.is_none()).count() as u64;
    assert!(arrived + lost + 500 > sent, "{arrived} arrived and {lost} lost of {sent}");
    assert!((sent / 1_000 - 5..=sent / 1_000 + 2).contains(&lost), "{lost} lost of {sent}");
    drop(told);
    let share = world.shown_share(at(1_000), at(13_900));
    // A loss costs the frames of two round trips, about every 12 frames.
    assert!((0.4..0.9).contains(&share), "{share}");
    let late = world.shown_share(at(12_500), at(13_900));
    assert!((0.4..0.9).contains(&late), "{late} after the wrap");
}

#[test]
fn a_client_that_was_killed_and_comes_again_gets_a_key_frame_and_pictures() {
    let mut world = world(PLAIN);
    world.run_for(SECOND * 2);
    let came = world.now;
    world.client_comes_back(came);
    world.run_for(SECOND * 3);
    let first = world.played.iter().find(|played| played.session == 1).expect("pictures");
    assert!(first.key_frame);
    assert_eq!(first.frame, 0);
    let took = first.at - came;
    // Six round trips to connect, then a frame; the process's start is not in it.
    assert!((ms(80)..=ms(400)).contains(&took), "{took}");
    assert!(world.shown_share(came + ms(500), came + ms(2_900)) >= 0.99);
    let told = world.when(|event| *event == ClientEvent::Session(1));
    assert_eq!(told.len(), 1, "the client knows which stay it is");
    assert_eq!(world.when(|event| *event == ClientEvent::Session(0)).len(), 1);
}

#[test]
fn an_encoder_that_dies_amid_a_frame_is_followed_by_a_key_frame() {
    let mut world = world(PLAIN);
    world.run_for(SECOND);
    let before = world.encoder.made.len() as u64;
    world.encoder.dies = true;
    world.run_for(SECOND);
    assert_eq!(world.encoder.died.len(), 1);
    // The frame that broke off was on its way and keeps its number.
    let keys = world.key_frames();
    assert!(keys.len() == 2 && (before + 1..=before + 2).contains(&keys[1].1), "{keys:?}");
    let gap = world.encoder.made[&keys[1]].captured - world.encoder.died[0];
    assert!(gap <= INTERVAL * 2, "{gap}");
    let frames: Vec<u64> = world.played.iter().map(|played| played.frame).collect();
    let broken = keys[1].1 - 1;
    let others = (0..frames.len() as u64 + 1).filter(|frame| *frame != broken);
    assert_eq!(frames, others.collect::<Vec<_>>());
    assert!(world.requests() <= 1, "the key frame is on its way when the frame is given up");
}

#[test]
fn an_encoder_that_dies_is_followed_by_a_key_frame() {
    let mut world = world(Setting { in_parts: false, ..PLAIN });
    world.run_for(SECOND);
    let before = world.encoder.made.len() as u64;
    world.encoder.dies = true;
    world.run_for(SECOND);
    assert_eq!(world.encoder.died.len(), 1);
    // The frame that failed has no number: the next one takes it.
    let keys = world.key_frames();
    assert!(keys.len() == 2 && (before..=before + 1).contains(&keys[1].1), "{keys:?}");
    let gap = world.encoder.made[&keys[1]].captured - world.encoder.died[0];
    assert!(gap <= INTERVAL * 2, "{gap}");
    let frames: Vec<u64> = world.played.iter().map(|played| played.frame).collect();
    assert_eq!(frames, (0..frames.len() as u64).collect::<Vec<_>>());
    assert_eq!(world.requests(), 0, "nobody has to ask");
    let skipped = |event: &&(Instant, SessionEvent)| {
        matches!(event.1, SessionEvent::Sender(gameway_session::SenderEvent::FrameSkipped { .. }))
    };
    assert_eq!(world.host_events.iter().filter(skipped).count(), 1);
}

#[test]
fn marks_of_the_network_reach_the_controller_and_only_they() {
    for ecn in [Ecn::Ect1, Ecn::NotEct] {
        let mut world = world(Setting { ecn, ..PLAIN });
        let mut marked = 0_usize;
        let shared = std::sync::Arc::new(std::sync::Mutex::new(0));
        let count = std::sync::Arc::clone(&shared);
        let mut random = Random::new(1);
        world.path.down = Box::new(move |now, transmit| {
            let capable = is_media(transmit) && transmit.ecn.is_capable();
            if capable && (at(1_000)..at(2_000)).contains(&now) && random.chance(0.2) {
                transmit.ecn = Ecn::Ce;
                marked += 1;
                *count.lock().unwrap() = marked;
            }
            arrives()
        });
        world.run_for(SECOND * 3);
        let told = world.told.lock().unwrap();
        let reports = || told.batches.iter().flat_map(|(_, reports)| reports);
        let ce = reports().filter(|report| report.ecn == Ecn::Ce).count();
        assert_eq!(ce, *shared.lock().unwrap(), "{ecn:?}");
        assert_eq!(ce > 50, ecn == Ecn::Ect1, "{ce} marks on {ecn:?}");
        let other = reports().filter(|report| report.ecn == ecn).count();
        assert!(other > 1_000, "{other} unmarked");
    }
}

/// How far reported arrivals are from the true ones at most: those lie the way's delay after the departure.
fn arrival_error(plain_reports: bool) -> (Duration, usize, f64) {
    let mut world = world(Setting { plain_reports, ..PLAIN });
    world.run_for(SECOND * 3);
    let told = world.told.lock().unwrap();
    let sent: Vec<Instant> = told.sent.iter().map(|packet| packet.sent).collect();
    let reports = told.batches.iter().flat_map(|(_, reports)| reports);
    let errors: Vec<i64> = reports
        .filter_map(|report| {
            let arrival = report.arrival?;
            let true_one = sent[report.packet.sequence.0 as usize] + ONE_WAY;
            Some((arrival.as_nanos() - true_one.as_nanos()).abs())
        })
        .collect();
    let max = Duration::from_nanos(*errors.iter().max().unwrap());
    (max, errors.len(), world.shown_share(at(500), at(2_900)))
}

#[test]
fn reports_without_finer_times_have_those_of_rfc_8888() {
    let (plain, plain_count, plain_share) = arrival_error(true);
    let (fine, fine_count, fine_share) = arrival_error(false);
    // 1/1024 s is rounded to the nearest, the report's own time down to 1/65536 s.
    assert!((Duration::from_micros(400)..=Duration::from_micros(520)).contains(&plain), "{plain}");
    assert!(fine <= Duration::from_micros(20), "{fine}");
    assert!(plain_count > 1_000 && plain_count.abs_diff(fine_count) <= 20);
    assert!(plain_share >= 0.99 && fine_share >= 0.99);
}

#[test]
fn a_frame_lost_whole_is_given_up_and_a_key_frame_heals() {
    let mut world = world(PLAIN);
    world.path.down = Box::new(|now, transmit| {
        lost_if(is_media(transmit) && (at(1_000)..at(1_017)).contains(&now))
    });
    world.run_for(SECOND * 2);
    assert_eq!(world.key_frames().len(), 2);
    assert!((1..=2).contains(&world.requests()), "{}", world.requests());
    let lost: Vec<&FrameId> = world
        .client_events
        .iter()
        .filter_map(|(_, event)| match event {
            ClientEvent::GivenUp(frame, _) => Some(frame),
            _ => None,
        })
        .collect();
    assert!((2..=6).contains(&lost.len()), "{lost:?}");
}

#[test]
fn after_a_loss_frames_refer_to_what_was_shown_where_the_decoder_can_go_on() {
    let mut world = world(Setting { recovery: Recovery::Reference, ..PLAIN });
    world.path.down = Box::new(|now, transmit| {
        lost_if(is_media(transmit) && (at(1_000)..at(1_017)).contains(&now))
    });
    world.run_for(SECOND * 2);
    let made = world.encoder.made.values();
    let older: Vec<u8> = made.map(|it| it.refers_back).filter(|back| *back > 1).collect();
    let key_frames = world.key_frames().len();
    let goes_on = gameway_codec::decoder::passes_over(VideoCodec::H264);
    assert_eq!((key_frames, older.len()), if goes_on { (1, 1) } else { (2, 0) }, "{older:?}");
    assert!(older.iter().all(|back| (3..=8).contains(back)), "{older:?}");
    let last = world.played.last().expect("pictures").frame;
    let shown = world.played.len() as u64;
    assert!((2..=8).contains(&(last + 1 - shown)), "{shown} of {last}");
}
