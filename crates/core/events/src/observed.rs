use crate::{RunEvent, Sink, SinkError};
use std::fmt::{self, Debug, Formatter};

/// A sink that shows each event to an observer, and then gives it to another sink, if there is one.
///
/// Counters and summaries are observers: they need no copy of an event, and cannot fail.
///
/// # Examples
/// ```
/// use gameway_events::{EventRecord, Observed, RunEvent, Sink};
/// use std::sync::mpsc::channel;
///
/// let (tables, kept) = channel();
/// let (counted, count) = channel();
/// let observer = move |event: &RunEvent| counted.send(event.table()).expect("a receiver");
/// let mut sink = Observed::new(observer, Some(Box::new(tables)));
/// sink.take(RunEvent::Flow(EventRecord::default()));
/// assert_eq!((count.recv(), kept.iter().take(1).count()), (Ok("events"), 1));
/// ```
pub struct Observed<O> {
    observer: O,
    next: Option<Box<dyn Sink>>,
}

impl<O: FnMut(&RunEvent)> Observed<O> {
    /// Shows events to `observer` before they go on to `next`.
    pub fn new(observer: O, next: Option<Box<dyn Sink>>) -> Self {
        Self { observer, next }
    }
}

impl<O: FnMut(&RunEvent)> Sink for Observed<O> {
    fn take(&mut self, event: RunEvent) {
        (self.observer)(&event);
        if let Some(next) = &mut self.next {
            next.take(event);
        }
    }

    fn has_failed(&self) -> bool {
        self.next.as_ref().is_some_and(|next| next.has_failed())
    }

    fn keep(&mut self) {
        if let Some(next) = &mut self.next {
            next.keep();
        }
    }

    fn finish(self: Box<Self>) -> Result<(), SinkError> {
        self.next.map_or(Ok(()), Sink::finish)
    }
}

impl<O> Debug for Observed<O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed").field("next", &self.next).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventRecord;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A sink whose file is full.
    #[derive(Debug)]
    struct Full(Rc<Cell<u32>>);

    impl Sink for Full {
        fn take(&mut self, _: RunEvent) {}
        fn has_failed(&self) -> bool {
            true
        }
        fn keep(&mut self) {
            self.0.set(self.0.get() + 1);
        }
        fn finish(self: Box<Self>) -> Result<(), SinkError> {
            Err(SinkError::new("no space left"))
        }
    }

    #[test]
    fn what_the_next_sink_says_is_passed_on_and_the_observer_sees_what_it_lost() {
        let (seen, kept) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let counted = Rc::clone(&seen);
        let observer = move |_: &RunEvent| counted.set(counted.get() + 1);
        let mut sink = Observed::new(observer, Some(Box::new(Full(Rc::clone(&kept)))));
        sink.take(RunEvent::Flow(EventRecord::default()));
        sink.keep();
        assert_eq!((seen.get(), kept.get(), sink.has_failed()), (1, 1, true));
        assert!(Box::new(sink).finish().is_err_and(|error| error.to_string() == "no space left"));
    }

    #[test]
    fn the_events_go_on_as_they_came() {
        let (sender, received) = std::sync::mpsc::channel();
        let mut sink = Observed::new(|_: &RunEvent| {}, Some(Box::new(sender)));
        let event = |time_ns| RunEvent::Flow(EventRecord { time_ns, ..EventRecord::default() });
        let told = [event(1), event(2), event(3)];
        told.iter().for_each(|one| sink.take(one.clone()));
        assert_eq!(received.try_iter().collect::<Vec<_>>(), told);
    }

    #[test]
    fn without_a_next_sink_nothing_fails() {
        let mut sink = Observed::new(|_: &RunEvent| {}, None);
        sink.take(RunEvent::Flow(EventRecord::default()));
        sink.keep();
        assert!(!sink.has_failed());
        assert!(Box::new(sink).finish().is_ok());
    }
}
