//! Datagrams on a byte stream (RFC 4571 section 2): each has its length in front, two bytes, big endian. No sockets here.

/// The longest datagram that is taken: as that of the UDP socket.
pub const MAX_FRAME: usize = 2_048;
const LENGTH: usize = 2;

/// What is written for a datagram; `None` if it is too long for anyone.
#[must_use]
pub fn framed(datagram: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(datagram.len()).ok()?;
    Some([&length.to_be_bytes()[..], datagram].concat())
}

/// A frame was longer than [`MAX_FRAME`]: whoever sends that is no peer of ours, and what follows cannot be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Reads datagrams from a byte stream in pieces.
#[derive(Debug, Default)]
pub struct Frames {
    waiting: Vec<u8>,
}

impl Frames {
    /// Takes the next bytes of the stream, and hands out each datagram that is whole.
    ///
    /// # Errors
    /// If a frame is too long.
    pub fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Result<(), TooLong> {
        self.waiting.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(&[high, low]) = self.waiting.get(at..at + LENGTH) {
            let length = usize::from(u16::from_be_bytes([high, low]));
            if length > MAX_FRAME {
                return Err(TooLong);
            }
            let Some(datagram) = self.waiting.get(at + LENGTH..at + LENGTH + length) else { break };
            // RFC 4571 section 2: a length of zero is allowed, and says nothing.
            if length > 0 {
                take(datagram);
            }
            at += LENGTH + length;
        }
        self.waiting.drain(..at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_the_same_however_the_stream_is_cut() {
        let datagrams = [vec![1_u8; 1], vec![2; 700], vec![3; MAX_FRAME], vec![4; 20]];
        let stream: Vec<u8> = datagrams
            .iter()
            .flat_map(|one| [framed(one).expect("short"), vec![0, 0]].concat())
            .collect();
        for piece in [1, 2, 3, 699, 1_448, stream.len()] {
            let (mut frames, mut got) = (Frames::default(), Vec::new());
            for bytes in stream.chunks(piece) {
                frames.push(bytes, |one| got.push(one.to_vec())).expect("no frame is too long");
            }
            assert_eq!(got, datagrams, "in pieces of {piece}");
            assert!(frames.waiting.is_empty());
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_it_is_collected() {
        let mut frames = Frames::default();
        assert_eq!(frames.push(&[8, 1], |_| ()), Err(TooLong));
        assert_eq!(framed(&[0; 65_536]), None);
    }
}
