//! Who is revoked while it has a stream: the list of devices is read again and again, and the media loop is told which devices it has
//! whenever that has changed. One look takes as long as one key that is shown; an event of the file system would have to follow files that are
//! put in its place, too.
//!
//! | the file | streams that have begun | a key that is shown |
//! |---|---|---|
//! | has the device no more | the device's ends | 401 |
//! | is not there: it has no device | those of all devices end | 401 |
//! | cannot be read or understood | all go on, and whoever runs the host is told: a slip of an editor throws nobody out | 500 |
//!
//! What is not there or cannot be understood counts at the second look in a row: an editor may be about to write it.

use super::{PairingNews, Shared, SignalingRequest};
use crate::devices::{DeviceId, Devices};
use std::io;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(500);

/// What the media loop was told, and what was seen since.
#[derive(Default)]
struct DeviceWatch {
    told: Option<Vec<DeviceId>>,
    /// The look before found no file.
    was_gone: bool,
    /// How often in a row it could not be understood.
    failures: u32,
}

/// What is to be told after a look.
#[derive(Debug, PartialEq)]
enum News {
    Nothing,
    Devices(Vec<DeviceId>),
    Failed(String),
}

impl DeviceWatch {
    fn look(&mut self, found: io::Result<Option<Devices>>) -> News {
        let was_gone = std::mem::replace(&mut self.was_gone, matches!(found, Ok(None)));
        let list = match found {
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                return if self.failures == 2 {
                    News::Failed(error.to_string())
                } else {
                    News::Nothing
                };
            }
            Ok(None) if !was_gone => None,
            Ok(list) => Some(list.unwrap_or_default().ids()),
        };
        self.failures = 0;
        list.filter(|list| self.told.as_ref() != Some(list)).map_or(News::Nothing, News::Devices)
    }
}

/// Looks for ever.
pub(super) async fn watch(shared: &Shared) {
    let mut looks = DeviceWatch::default();
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(found) = shared.access.find() else { return std::future::pending().await };
        match looks.look(found) {
            News::Nothing => {}
            News::Failed(why) => shared.access.tell(PairingNews::Failed(why)),
            News::Devices(let_in) => {
                // A media loop that is busy is told after the next look.
                let told = SignalingRequest::Devices { let_in: let_in.clone() };
                if shared.sender.try_send(told).is_ok() {
                    looks.told = Some(let_in);
                    shared.wake.iter().for_each(|wake| wake());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(keys: &[&str]) -> Devices {
        let mut devices = Devices::default();
        for key in keys {
            devices.add("", key, 1);
        }
        devices
    }

    #[test]
    fn a_list_is_told_when_it_has_changed_and_until_it_was_heard() {
        let mut looks = DeviceWatch::default();
        let two = list(&["one", "two"]);
        for _ in 0..2 {
            assert_eq!(looks.look(Ok(Some(two.clone()))), News::Devices(two.ids()));
        }
        looks.told = Some(two.ids());
        assert_eq!(looks.look(Ok(Some(two))), News::Nothing);
        let one = list(&["two"]);
        assert_eq!(looks.look(Ok(Some(one.clone()))), News::Devices(one.ids()));
    }

    #[test]
    fn a_file_that_is_gone_has_no_device_at_the_second_look() {
        let told = Some(list(&["one"]).ids());
        let mut looks = DeviceWatch { told, ..DeviceWatch::default() };
        for _ in 0..2 {
            // Put in its place anew meanwhile.
            assert_eq!(looks.look(Ok(None)), News::Nothing);
            assert_eq!(looks.look(Ok(Some(list(&["one"])))), News::Nothing);
        }
        assert_eq!(looks.look(Ok(None)), News::Nothing);
        assert_eq!(looks.look(Ok(None)), News::Devices(Vec::new()));
    }

    #[test]
    fn one_that_cannot_be_understood_is_told_once_and_revokes_nobody() {
        let told = Some(list(&["one", "two"]).ids());
        let mut looks = DeviceWatch { told, ..DeviceWatch::default() };
        let bad = || Err(io::Error::other("bad"));
        assert_eq!(looks.look(bad()), News::Nothing, "it may be being written");
        assert_eq!(looks.look(bad()), News::Failed("bad".to_owned()));
        for _ in 0..5 {
            assert_eq!(looks.look(bad()), News::Nothing);
        }
        let one = list(&["two"]);
        assert_eq!(looks.look(Ok(Some(one.clone()))), News::Devices(one.ids()), "mended");
    }
}
