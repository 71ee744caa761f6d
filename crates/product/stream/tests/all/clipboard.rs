//! The clipboard between a page and a host, over a path that loses: only who plays has it, and nothing goes by itself.

use crate::support::{
    PLAIN, SECOND, both_ways, client_address, client_config, host_address, host_config, ms, terms,
};
use gameway_input::clipboard::{Assembly, CHANNEL, MAX_TEXT, Message, Outcome, parts};
use gameway_stream::host::session::{ClipboardRequest, Session};
use gameway_testbed::{Ends, Fates, Testbed, lost_if};
use gameway_units::{Ecn, Instant};
use gameway_webrtc::{Delivery, Event, Peer, Secrets, Transmit};
use std::sync::Arc;

/// A host and a page that has opened the channel of the clipboard.
struct Stay {
    host: Session,
    page: Peer,
    channel: u16,
    heard: Vec<Message>,
    wishes: Vec<ClipboardRequest>,
}

type World = Testbed<Stay, Fates<Transmit, Transmit>>;

fn world(plays: bool, clipboard: bool) -> World {
    let now = Instant::ZERO;
    let (mut page, offer) = Peer::offer(now, &client_config(false), Secrets::new([1; 32]));
    // As a browser: without what only our client has.
    let lines = offer.lines().filter(|line| !line.contains("gameway"));
    let offer: String = lines.map(|line| format!("{line}\r\n")).collect();
    let (host, answer) =
        Peer::answer(now, &host_config(false), Secrets::new([2; 32]), &offer).expect("an answer");
    page.accept_answer(now, &answer).expect("a peer");
    let channel = page.open_channel(CHANNEL, Delivery::RELIABLE).expect("a channel");
    let mut terms = terms(&PLAIN, 0, &Arc::default());
    (terms.plays, terms.clipboard) = (plays, clipboard);
    let host = Session::new(0, host, terms);
    let stay = Stay { host, page, channel, heard: Vec::new(), wishes: Vec::new() };
    let path = both_ways(|_, random| lost_if(random.below(100) < 10));
    let mut world = Testbed::new(path, vec![stay]);
    world.run_for(SECOND * 2);
    world
}

impl Stay {
    fn say(&mut self, now: Instant, message: &Message) {
        self.page.send_data(now, self.channel, &message.to_bytes()).expect("room");
    }

    fn say_text(&mut self, now: Instant, text: &str) {
        parts(text).expect("no longer").for_each(|part| self.say(now, &part));
    }

    /// The text that the page has heard.
    fn text(&self) -> Option<Result<String, Outcome>> {
        let mut assembly = Assembly::default();
        self.heard.iter().find_map(|message| match message {
            Message::Part(part) => assembly.on_part(part),
            _ => None,
        })
    }
}

impl Ends for Stay {
    type Down = Transmit;
    type Up = Transmit;

    fn on_down(&mut self, now: Instant, Transmit { to, bytes, .. }: Transmit) {
        self.page.handle_datagram(now, host_address(), to, Ecn::NotEct, &bytes);
        while let Some(event) = self.page.poll_event() {
            if let Event::Data { label, bytes, .. } = event {
                assert_eq!(label, CHANNEL);
                self.heard.push(Message::parse(&bytes).expect("a message"));
            }
        }
    }
    fn on_up(&mut self, now: Instant, Transmit { to, bytes, .. }: Transmit) {
        self.host.peer().handle_datagram(now, client_address(0), to, Ecn::NotEct, &bytes);
        self.host.advance(now);
        self.wishes.extend(self.host.poll_clipboard_request());
    }
    fn next_deadline(&self) -> Option<Instant> {
        Instant::first_of([self.host.next_deadline(), self.page.next_deadline()])
    }
    fn on_deadline(&mut self, now: Instant) {
        self.host.on_deadline(now);
        self.page.handle_timeout(now);
    }
    fn poll_down(&mut self, now: Instant) -> Option<Transmit> {
        // There are no pictures.
        let _ = self.host.poll_job();
        self.host.transmit(now, |_| ());
        self.host.take_events();
        self.host.poll_transmit()
    }
    fn poll_up(&mut self, _now: Instant) -> Option<Transmit> {
        self.page.poll_transmit()
    }
}

#[test]
fn only_who_plays_has_it_and_only_where_the_host_lets_him() {
    for (plays, clipboard) in [(true, true), (true, false), (false, true)] {
        let mut world = world(plays, clipboard);
        let is_let = plays && clipboard;
        let offered: &[Message] = if is_let { &[Message::Offer] } else { &[] };
        assert_eq!(world.heard, offered, "{plays} {clipboard}");
        let now = world.now;
        world.say_text(now, "secret");
        world.say(now, &Message::Ask);
        world.run_for(SECOND);
        assert_eq!(world.wishes.is_empty(), !is_let);
        let now = world.now;
        world.host.answer_clipboard(now, Ok("of the screen"));
        world.pump();
        world.run_for(SECOND);
        assert_eq!(world.text(), is_let.then(|| Ok("of the screen".to_owned())));
    }
}

#[test]
fn the_longest_text_goes_both_ways_whatever_is_lost() {
    let mut world = world(true, true);
    let text = "猫".repeat(MAX_TEXT / 3);
    let now = world.now;
    world.say_text(now, &text);
    world.run_for(SECOND * 60);
    assert!(world.wishes == [ClipboardRequest::Give(text.clone())]);
    let now = world.now;
    world.host.answer_clipboard(now, Err(Outcome::Taken));
    world.pump();
    world.run_for(SECOND);
    assert_eq!(world.heard, [Message::Offer, Message::Outcome(Outcome::Taken)]);
    let now = world.now;
    world.say(now, &Message::Ask);
    world.run_for(SECOND);
    assert_eq!(world.wishes.pop(), Some(ClipboardRequest::Read));
    let now = world.now;
    world.host.answer_clipboard(now, Ok(&text));
    world.pump();
    // Paced, so that the stream beside it goes on: 64 parts of 20 ms.
    world.run_for(ms(600));
    assert!(world.text().is_none());
    world.run_for(SECOND * 60);
    assert!(world.text() == Some(Ok(text)));
}

#[test]
fn what_is_wanted_while_an_answer_is_on_its_way_is_not_answered_and_nothing_is_after_the_end() {
    let mut world = world(true, true);
    let text = "a".repeat(MAX_TEXT);
    for wanted in 0..3 {
        let now = world.now;
        world.say(now, &Message::Ask);
        world.run_for(ms(300));
        assert_eq!(world.wishes.len(), 1, "{wanted}");
        let now = world.now;
        world.host.answer_clipboard(now, Ok(&text));
        world.pump();
    }
    let now = world.now;
    world.host.end(now, "another client has taken over");
    let now = world.now;
    world.host.answer_clipboard(now, Ok("of the screen"));
    world.pump();
    world.run_for(SECOND * 60);
    assert_eq!((world.text(), world.wishes.len()), (None, 1));
}
