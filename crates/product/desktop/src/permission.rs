//! The desktop's permission to capture a screen, kept so that the user is asked once.
//!
//! A portal gives a word at each start and takes it at the next one, once. The file is this user's alone: who has the word
//! captures without a question.

use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// The longest word that is read or kept; those of desktops are UUIDs or some hundred bytes.
const LONGEST: u64 = 4096;

/// The word in this file. None where there is none, or what is no word: the user is asked then.
pub(crate) fn read(file: &Path) -> Option<String> {
    let mut word = String::new();
    File::open(file).ok()?.take(LONGEST + 1).read_to_string(&mut word).ok()?;
    is_word(&word).then_some(word)
}

/// Keeps a word, in place of the one before.
pub(crate) fn write(file: &Path, word: &str) -> io::Result<()> {
    if !is_word(word) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the desktop gave no word"));
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    // A host that ends amid this leaves the word of before.
    let fresh = file.with_extension("new");
    let _ = fs::remove_file(&fresh);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut opened = File::from(rustix::fs::open(&fresh, flags, Mode::RUSR | Mode::WUSR)?);
    opened.write_all(word.as_bytes())?;
    fs::rename(&fresh, file)
}

/// D-Bus takes texts without a zero byte.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() as u64 <= LONGEST && !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_word_is_there_at_the_next_start_and_only_for_this_user() {
        let folder = std::env::temp_dir().join(format!("permission-{}", std::process::id()));
        let file = folder.join("state").join("screen.permission");
        assert_eq!(read(&file), None);
        for word in ["7b7a-11", "another"] {
            write(&file, word).expect("a file");
            assert_eq!(read(&file).as_deref(), Some(word));
            let mode = fs::metadata(&file).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        for word in ["", "a\0b", &"x".repeat(LONGEST as usize + 1)] {
            write(&file, word).expect_err("no word");
            assert_eq!(read(&file).as_deref(), Some("another"), "the one before stays");
        }
        for content in [vec![], vec![0xff, 0xfe], vec![b'x'; LONGEST as usize + 1]] {
            fs::write(&file, content).expect("a file");
            assert_eq!(read(&file), None);
        }
        fs::remove_dir_all(&folder).expect("a folder");
    }
}
