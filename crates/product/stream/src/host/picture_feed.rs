//! The picture that is streamed, for those who watch beside the player: the encoding thread of the player shows each picture that it
//! takes, and each thread of a watcher takes the newest. Without watchers nothing is copied.

use gameway_codec::Picture;
use gameway_codec::capture::{CaptureError, FrameSource};
use gameway_units::Instant;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Default)]
struct Inner {
    watchers: AtomicUsize,
    newest: Mutex<Option<Picture>>,
}

/// The showing end.
#[derive(Debug, Clone, Default)]
pub struct PictureFeed(Arc<Inner>);

/// The end of one watcher: a source of pictures. Black before the first one.
#[derive(Debug)]
pub struct FeedSource(Arc<Inner>);

impl PictureFeed {
    /// Shows a picture to those who watch, if there are any.
    pub fn show(&self, picture: &Picture) {
        if self.0.watchers.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut newest = self.0.newest.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *newest {
            Some(before) => before.copy_from(picture),
            none => *none = Some(picture.clone()),
        }
    }

    /// What one more watcher sees; it watches until this is dropped.
    #[must_use]
    pub fn watch(&self) -> FeedSource {
        self.0.watchers.fetch_add(1, Ordering::Relaxed);
        FeedSource(Arc::clone(&self.0))
    }
}

impl Drop for FeedSource {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl FrameSource for FeedSource {
    fn next(&mut self, _: Instant, _: u64, picture: &mut Picture) -> Result<(), CaptureError> {
        let newest = self.0.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(newest) = &*newest {
            picture.copy_from(newest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_codec::Size;

    fn grey(luma: u8) -> Picture {
        let mut picture = Picture::black(Size::new(32, 16).expect("a size"));
        picture.samples_mut().fill(luma);
        picture
    }

    fn seen(watcher: &mut FeedSource) -> Picture {
        let mut picture = grey(0);
        watcher.next(Instant::ZERO, 0, &mut picture).expect("a picture");
        picture
    }

    #[test]
    fn each_watcher_sees_the_newest_picture_and_nothing_is_kept_for_nobody() {
        let shown = PictureFeed::default();
        shown.show(&grey(10));
        let mut watcher = shown.watch();
        assert_eq!(seen(&mut watcher), grey(0), "nothing was shown since somebody watches");
        shown.show(&grey(20));
        shown.show(&grey(30));
        let mut second = shown.watch();
        assert_eq!([seen(&mut watcher), seen(&mut second)], [grey(30), grey(30)]);
        drop((watcher, second));
        shown.show(&grey(40));
        assert_eq!(seen(&mut shown.watch()), grey(30), "nobody watched");
    }
}
