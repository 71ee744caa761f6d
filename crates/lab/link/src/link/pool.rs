//! The bytes of the packets in the path: slots of one size, so that a packet in a queue is a number.

/// Enough for a packet of an Ethernet's size; a device with a larger MTU hands over more than fits.
pub const SLOT_BYTES: usize = 2048;
/// Slots that are made at a time.
const CHUNK: u32 = 1024;
/// 512 MB: 6 s of full packets at 500 Mb/s.
const MAX_SLOTS: u32 = 256 * 1024;

/// A slot's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(u32);

/// All slots.
#[derive(Debug)]
pub struct Pool {
    chunks: Vec<Box<[u8]>>,
    free: Vec<Slot>,
}

impl Default for Pool {
    fn default() -> Self {
        let mut pool = Self { chunks: Vec::new(), free: Vec::new() };
        pool.grow();
        pool
    }
}

impl Pool {
    fn grow(&mut self) {
        let first = self.chunks.len() as u32 * CHUNK;
        if first < MAX_SLOTS {
            self.chunks.push(vec![0; SLOT_BYTES * CHUNK as usize].into_boxed_slice());
            self.free.extend((first..first + CHUNK).rev().map(Slot));
        }
    }

    /// A slot; `None` if the most are in use.
    pub fn take(&mut self) -> Option<Slot> {
        if self.free.is_empty() {
            self.grow();
        }
        self.free.pop()
    }

    /// The slot is free again.
    pub fn give(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// Its bytes.
    pub fn bytes(&mut self, Slot(number): Slot) -> &mut [u8] {
        let at = (number % CHUNK) as usize * SLOT_BYTES;
        &mut self.chunks[(number / CHUNK) as usize][at..at + SLOT_BYTES]
    }

    /// Slots in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.chunks.len() * CHUNK as usize - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_apart_and_bounded() {
        let mut pool = Pool::default();
        let slots: Vec<Slot> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(slots.len(), MAX_SLOTS as usize);
        for (number, slot) in slots.iter().enumerate() {
            pool.bytes(*slot)[..8].copy_from_slice(&(number as u64).to_be_bytes());
        }
        for (number, slot) in slots.iter().enumerate() {
            assert_eq!(pool.bytes(*slot)[..8], (number as u64).to_be_bytes());
        }
        pool.give(slots[7]);
        assert_eq!(pool.used(), slots.len() - 1);
        assert_eq!((pool.take(), pool.take()), (Some(slots[7]), None));
    }
}
