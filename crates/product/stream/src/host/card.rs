//! What the test card tells the host of its answers.

use crate::StreamError;
use crate::error::system;
use crate::host::photon::Answered;
use gameway_desktop::card::Answer;
use gameway_runtime::clock::Clock;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// Where a card's answers arrive.
#[derive(Debug)]
pub struct Answers {
    socket: UnixDatagram,
    clock: Clock,
}

impl Answers {
    /// Hears what is told at this place, which must not be there yet.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn hear(place: &Path, clock: Clock) -> Result<Self, StreamError> {
        let socket = UnixDatagram::bind(place).map_err(system("the test card's socket"))?;
        socket.set_nonblocking(true).map_err(system("the test card's socket"))?;
        Ok(Self { socket, clock })
    }

    /// The next one.
    pub fn poll(&mut self) -> Option<Answered> {
        let mut bytes = [0; 64];
        let count = self.socket.recv(&mut bytes).ok()?;
        let Answer { number, got_ns, drawn_ns } = Answer::parse(bytes.get(..count)?)?;
        Some(Answered { number, got: self.clock.at(got_ns), drawn: self.clock.at(drawn_ns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_units::Instant;

    #[test]
    fn answers_are_heard_in_their_order_and_nothing_else() {
        let folder = crate::host::Folder::make().expect("a folder");
        let place = folder.path().join("card");
        let mut answers = Answers::hear(&place, Clock::new(1_000)).expect("a socket");
        assert_eq!(answers.poll(), None);
        let card = UnixDatagram::unbound().expect("a socket");
        let told = |number| Answer { number, got_ns: 5_000, drawn_ns: 6_000 }.to_bytes();
        for bytes in [&told(1)[..], &told(2)] {
            card.send_to(bytes, &place).expect("told");
        }
        let heard = |number| Answered {
            number,
            got: Instant::from_nanos(4_000),
            drawn: Instant::from_nanos(5_000),
        };
        assert_eq!(
            [answers.poll(), answers.poll(), answers.poll()],
            [Some(heard(1)), Some(heard(2)), None]
        );
        card.send_to(b"nonsense", &place).expect("told");
        assert_eq!(answers.poll(), None);
        assert!(Answers::hear(&place, Clock::new(0)).is_err(), "it is there");
    }
}
