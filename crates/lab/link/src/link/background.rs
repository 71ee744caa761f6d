//! A sink that works in a thread of its own: a file must not make packets late.

use gameway_events::{RunEvent, Sink, SinkError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Packets that are handed over at a time.
const BATCH: usize = 512;

/// What the thread is to do with its sink.
#[derive(Debug)]
enum Order {
    Take(Vec<RunEvent>),
    Keep,
    Finish,
}

/// See the module's head. Packets come in batches, all else at once and behind the packets before it.
#[derive(Debug)]
pub struct Background {
    batch: Vec<RunEvent>,
    orders: Sender<Order>,
    failed: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), SinkError>>,
}

impl Background {
    /// Hands all that it hears to `sink`. A sink that nobody finishes is dropped as it is.
    #[must_use]
    pub fn new(sink: Box<dyn Sink + Send>) -> Self {
        let (orders, receiver) = channel();
        let failed = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&failed);
        #[expect(clippy::disallowed_methods, reason = "a driver; files must not hold it up")]
        let thread = std::thread::spawn(move || work(sink, &receiver, &told));
        Self { batch: Vec::new(), orders, failed, thread }
    }

    fn hand_over(&mut self) {
        // Who handed over a whole batch logs packets, and fills the next one, too.
        let room = if self.batch.len() == BATCH { BATCH } else { 0 };
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(room));
        self.order(Order::Take(batch));
    }

    fn order(&self, order: Order) {
        // The thread is there until it is told to finish, unless it has panicked: that is told at the end.
        let _ = self.orders.send(order);
    }
}

impl Sink for Background {
    fn take(&mut self, event: RunEvent) {
        let waits = matches!(event, RunEvent::Packet(_));
        self.batch.push(event);
        if !waits || self.batch.len() == BATCH {
            self.hand_over();
        }
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn keep(&mut self) {
        self.hand_over();
        self.order(Order::Keep);
    }

    fn finish(mut self: Box<Self>) -> Result<(), SinkError> {
        self.hand_over();
        self.order(Order::Finish);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn work(
    mut sink: Box<dyn Sink + Send>,
    orders: &Receiver<Order>,
    failed: &AtomicBool,
) -> Result<(), SinkError> {
    for order in orders {
        match order {
            Order::Take(events) => events.into_iter().for_each(|event| sink.take(event)),
            Order::Keep => sink.keep(),
            Order::Finish => return sink.finish(),
        }
        failed.store(sink.has_failed(), Ordering::Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_events::{EventRecord, PacketRecord};

    fn packet(number: u64) -> RunEvent {
        RunEvent::Packet(PacketRecord { number, ..PacketRecord::default() })
    }

    /// Has failed when it has heard so many events, and says so.
    #[derive(Debug)]
    struct Full(u32);

    impl Sink for Full {
        fn take(&mut self, _event: RunEvent) {
            self.0 = self.0.saturating_sub(1);
        }

        fn has_failed(&self) -> bool {
            self.0 == 0
        }

        fn finish(self: Box<Self>) -> Result<(), SinkError> {
            Err(SinkError::new("no space left"))
        }
    }

    #[test]
    fn all_events_come_in_their_order() {
        let (sink, heard) = channel();
        let mut background = Background::new(Box::new(sink));
        let packets = BATCH as u64 + 3;
        (0..packets).for_each(|number| background.take(packet(number)));
        background.take(RunEvent::Flow(EventRecord::default()));
        background.take(packet(packets));
        Box::new(background).finish().unwrap();
        let expected = (0..packets).map(packet);
        let expected = expected.chain([RunEvent::Flow(EventRecord::default()), packet(packets)]);
        assert!(heard.iter().eq(expected));
    }

    #[test]
    fn what_is_no_packet_waits_for_none() {
        let (sink, heard) = channel();
        let mut background = Background::new(Box::new(sink));
        background.take(packet(1));
        background.take(RunEvent::Flow(EventRecord::default()));
        assert_eq!(heard.iter().take(2).count(), 2);
    }

    #[test]
    fn who_drives_sees_that_the_sink_has_failed_and_why() {
        let mut background = Background::new(Box::new(Full(2)));
        background.take(RunEvent::Flow(EventRecord::default()));
        background.take(RunEvent::Flow(EventRecord::default()));
        while !background.has_failed() {
            std::thread::yield_now();
        }
        let error = Box::new(background).finish().unwrap_err();
        assert_eq!(error.to_string(), "no space left");
    }
}
