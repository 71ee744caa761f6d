//! The devices that a host lets in, each by a key of its own: the list, and the file that keeps it.
//!
//! The file has of each key its SHA-256 alone, so who reads it cannot use it. (A key is 144 random bits: nothing can be
//! tried against the digest, so it needs no slow function and no salt.) It is read each time that a key is shown, so a
//! device that was revoked by another program is let in no more; a stream that it has ends soon
//! ([`crate::http::SignalingRequest::Devices`]).
//!
//! | constant | value | origin |
//! |---|---|---|
//! | devices | 64 | a household; each has some 200 bytes in a file that each offer reads |
//! | file | 64 KiB | four times what 64 devices have |
//! | last seen, written again | 60 s later | coming and going does not wear out a disk |

use crate::private_file;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use subtle::ConstantTimeEq;

const MAX_DEVICES: usize = 64;
const MAX_FILE: u64 = 65_536;
const MAX_NAME: usize = 40;
const SEEN_AGAIN_S: u64 = 60;
const VERSION: u32 = 1;
/// What a browser calls itself in `User-Agent`, the more special first: most name others, too.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 8] = [
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
    ("BSD", "BSD"),
];

/// A device that is let in. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// What people call it: no two have one name.
    pub name: String,
    key_sha256: String,
    /// When it was paired.
    pub added: u64,
    /// When it came last.
    pub seen: u64,
}

/// Which device: the same as long as it is not revoked, whatever it is called. One that is paired again is another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceId(String);

impl DeviceId {
    /// That of the device with this key.
    #[must_use]
    pub fn of(key: &str) -> Self {
        Self(digest(key))
    }
}

/// All devices that are let in, in the order in which they were paired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Devices {
    version: u32,
    devices: Vec<Device>,
}

impl Default for Devices {
    fn default() -> Self {
        Self { version: VERSION, devices: Vec::new() }
    }
}

impl Devices {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if read.version != VERSION {
            return Err(format!("version {} is not known", read.version));
        }
        if read.devices.len() > MAX_DEVICES {
            return Err(format!("more than {MAX_DEVICES} devices"));
        }
        let plain = |letter: u8| letter.is_ascii_alphanumeric() || letter == b' ';
        let digest = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
        for (number, device) in read.devices.iter().enumerate() {
            let Device { name, key_sha256, .. } = device;
            if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(plain) {
                return Err(format!("device {}: a name has letters and digits only", number + 1));
            }
            if key_sha256.len() != 64 || !key_sha256.bytes().all(digest) {
                return Err(format!("device {}: key_sha256 has 64 hexadecimal digits", number + 1));
            }
        }
        Ok(read)
    }

    /// The text of a file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("texts and numbers can be written") + "\n"
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Device] {
        &self.devices
    }

    /// Which they are.
    #[must_use]
    pub fn ids(&self) -> Vec<DeviceId> {
        self.devices.iter().map(|device| DeviceId(device.key_sha256.clone())).collect()
    }

    /// Whether no further one can be paired.
    #[must_use]
    pub fn are_full(&self) -> bool {
        self.devices.len() >= MAX_DEVICES
    }

    /// Takes in a device with this key, named after what its browser says it is; gives the name.
    pub fn add(&mut self, user_agent: &str, key: &str, now: u64) -> String {
        let plain = called(user_agent);
        let is_free = |name: &String| self.devices.iter().all(|other| other.name != *name);
        let others = (2..).map(|number| format!("{plain} {number}"));
        let name = std::iter::once(plain.clone()).chain(others).find(is_free).unwrap_or_default();
        let device = Device { name: name.clone(), key_sha256: digest(key), added: now, seen: now };
        self.devices.push(device);
        name
    }

    /// The place of the device with this key. All are compared, each in constant time.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<usize> {
        let shown = digest(key);
        let same =
            |device: &Device| bool::from(device.key_sha256.as_bytes().ct_eq(shown.as_bytes()));
        let places = self.devices.iter().enumerate();
        places.fold(None, |found, (place, device)| if same(device) { Some(place) } else { found })
    }

    /// Whether it is worth while to write down that a device is here.
    fn is_seen_anew(&self, place: usize, now: u64) -> bool {
        self.devices[place].seen.saturating_add(SEEN_AGAIN_S) <= now
    }

    /// Takes out a device by its name, in any case of letters, or by its number in the list, from 1 on; gives its name.
    pub fn revoke(&mut self, which: &str) -> Option<String> {
        let named = self.devices.iter().position(|one| one.name.eq_ignore_ascii_case(which));
        let numbered = || which.parse::<usize>().ok()?.checked_sub(1);
        let place = named.or_else(numbered).filter(|place| *place < self.devices.len())?;
        Some(self.devices.remove(place).name)
    }
}

/// A browser and a system, as far as they are known: never a word of the header itself.
fn called(user_agent: &str) -> String {
    let word = |known: &[(&str, &'static str)]| {
        known.iter().find(|(sign, _)| user_agent.contains(sign)).map(|(_, word)| *word)
    };
    let browser = word(&BROWSERS).unwrap_or("Device");
    word(&SYSTEMS).map_or(browser.to_owned(), |system| format!("{browser} on {system}"))
}

fn digest(key: &str) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, key.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file of a host's devices. Who changes it holds a lock meanwhile, and puts a new file in its place at once.
#[derive(Debug, Clone)]
pub struct DeviceFile(PathBuf);

impl DeviceFile {
    /// There; nothing is read or made yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// What it has; a file that is not there has no device.
    ///
    /// # Errors
    /// If it cannot be read or understood; the error names it.
    pub fn read(&self) -> io::Result<Devices> {
        self.find().map(Option::unwrap_or_default)
    }

    /// What it has, or nothing where it is not there.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn find(&self) -> io::Result<Option<Devices>> {
        self.read_as_it_is().map_err(|error| self.named(&error, "cannot be read"))
    }

    fn read_as_it_is(&self) -> io::Result<Option<Devices>> {
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(MAX_FILE + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_FILE {
            return Err(io::Error::other(format!("it has more than {MAX_FILE} bytes")));
        }
        Devices::parse(&text).map(Some).map_err(io::Error::other)
    }

    /// Changes it, and gives what the change gives. What cannot be read stays as it is.
    ///
    /// # Errors
    /// If it cannot be read, understood or written; the error names it.
    pub fn change<T>(&self, change: impl FnOnce(&mut Devices) -> T) -> io::Result<T> {
        let unwritten = |error| self.named(&error, "cannot be written");
        let lock = private_file::lock(&self.0).map_err(unwritten)?;
        let before = self.read()?;
        let mut devices = before.clone();
        let given = change(&mut devices);
        if devices != before {
            private_file::put(&self.0, &devices.to_text()).map_err(unwritten)?;
        }
        drop(lock);
        Ok(given)
    }

    /// Writes down that the device at this place is here.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub fn see(&self, devices: &Devices, place: usize, now: u64) -> io::Result<()> {
        if !devices.is_seen_anew(place, now) {
            return Ok(());
        }
        // By then it may have another place, or none.
        let key = devices.devices[place].key_sha256.clone();
        self.change(|devices| {
            let same = devices.devices.iter_mut().find(|device| device.key_sha256 == key);
            same.into_iter().for_each(|device| device.seen = now);
        })
    }

    fn named(&self, error: &io::Error, what: &str) -> io::Error {
        let named = format!("the list of devices \"{}\" {what}: {error}", self.0.display());
        io::Error::new(error.kind(), named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";

    /// A folder that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("gameway-devices-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn file(&self) -> DeviceFile {
            DeviceFile::new(self.0.join("state/devices.json"))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_device_is_named_by_what_is_known_alone() {
        for (user_agent, name) in [
            (FIREFOX, "Firefox on Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 \
                 Safari/537.36 Edg/156.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/156.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 26 like Mac OS X) Version/26.0 Safari/604.1",
                "Safari on iPhone",
            ),
            ("curl/8.0", "Device"),
            ("", "Device"),
            ("<script>\u{1b}[2J Firefox/1 \u{202e} Linux", "Firefox on Linux"),
        ] {
            assert_eq!(called(user_agent), name, "{user_agent}");
        }
    }

    #[test]
    fn a_device_is_found_by_its_key_until_it_is_revoked() {
        let mut devices = Devices::default();
        assert_eq!(devices.add(FIREFOX, "one", 10), "Firefox on Linux");
        assert_eq!(devices.add(FIREFOX, "two", 20), "Firefox on Linux 2");
        assert_eq!(devices.add("", "three", 30), "Device");
        assert_eq!(devices.find("two"), Some(1));
        assert_eq!(devices.find("four"), None);
        assert_eq!(devices.find(""), None);
        assert!(!devices.to_text().contains("two"), "the key itself is kept nowhere");
        for which in ["0", "4", "Firefox", "-1", ""] {
            assert_eq!(devices.revoke(which), None, "{which}");
        }
        assert_eq!(devices.revoke("firefox on linux 2").as_deref(), Some("Firefox on Linux 2"));
        assert_eq!(devices.find("two"), None);
        assert_eq!(devices.revoke("2").as_deref(), Some("Device"));
        assert_eq!(devices.add(FIREFOX, "five", 40), "Firefox on Linux 2", "a name is free again");
    }

    #[test]
    fn a_list_reads_what_it_writes_and_refuses_what_it_does_not_know() {
        let mut devices = Devices::default();
        while !devices.are_full() {
            devices.add(FIREFOX, &devices.all().len().to_string(), 1);
        }
        let text = devices.to_text();
        assert!((text.len() as u64) < MAX_FILE / 4, "{}", text.len());
        assert_eq!(Devices::parse(&text), Ok(devices.clone()));
        devices.add(FIREFOX, "one more", 1);
        let many = devices.to_text();
        for (bad, why) in [
            ("", "EOF"),
            (&many, "more than 64 devices"),
            (&text.replacen("\"version\": 1", "\"version\": 2", 1), "version 2"),
            (&text.replacen("Linux", "\\u001b[2J", 1), "device 1: a name"),
            (&text.replacen("\"added\"", "\"born\"", 1), "unknown field"),
            (
                &text.replacen("\"key_sha256\": \"", "\"key_sha256\": \"0", 1),
                "device 1: key_sha256",
            ),
        ] {
            let told = Devices::parse(bad).expect_err(why);
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn a_file_is_for_its_owner_alone_and_each_change_is_whole() {
        let folder = Folder::new("owner");
        let file = folder.file();
        assert_eq!(file.read().expect("no file is no device"), Devices::default());
        assert!(!folder.0.exists(), "reading makes nothing");
        let name = file.change(|devices| devices.add(FIREFOX, "one", 100)).expect("written");
        assert_eq!(name, "Firefox on Linux");
        let mode = |path: PathBuf| path.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(file.0.clone()), 0o600);
        assert_eq!(mode(folder.0.join("state")), 0o700);
        // Seen soon again is not written; later it is.
        let devices = file.read().expect("a list");
        for (now, seen) in [(120, 100), (160, 160)] {
            file.see(&devices, 0, now).expect("written");
            assert_eq!(file.read().expect("a list").all()[0].seen, seen);
        }
        file.change(|devices| devices.revoke("1")).expect("written");
        file.see(&devices, 0, 999).expect("nothing to write");
        assert_eq!(file.read().expect("a list"), Devices::default(), "who is revoked stays so");
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_named_and_stays() {
        let folder = Folder::new("bad");
        let file = folder.file();
        file.change(|devices| devices.add(FIREFOX, "one", 100)).expect("written");
        for bad in ["not JSON".to_owned(), "x".repeat(MAX_FILE as usize + 1)] {
            std::fs::write(&file.0, &bad).expect("written");
            for told in [
                file.read().expect_err("bad").to_string(),
                file.change(|devices| devices.revoke("1")).expect_err("bad").to_string(),
            ] {
                assert!(told.starts_with("the list of devices \"/"), "{told}");
                assert!(told.contains("devices.json\" cannot be read: "), "{told}");
            }
            assert_eq!(std::fs::read_to_string(&file.0).expect("there"), bad);
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "this test is of threads")]
    fn changes_at_once_lose_nothing() {
        let folder = Folder::new("at-once");
        let file = folder.file();
        let threads = (0..8).map(|number| {
            let file = file.clone();
            std::thread::spawn(move || {
                for key in 0..4 {
                    let add =
                        |devices: &mut Devices| devices.add("", &format!("{number} {key}"), 1);
                    file.change(add).expect("written");
                }
            })
        });
        threads.collect::<Vec<_>>().into_iter().for_each(|one| one.join().expect("no panic"));
        assert_eq!(file.read().expect("a list").all().len(), 32);
    }
}
