//! The root window of an X11 screen, by the shared memory extension (MIT-SHM 1.2).
//!
//! The server writes the screen into a memory file whose descriptor it was sent; it is read back with one
//! copy, so that no memory is mapped that another process changes meanwhile. The BGRA samples become I420
//! (BT.709, limited range), and then the size that is asked for.
//!
//! | deviation | why |
//! |---|---|
//! | no pointer is drawn | games hide it and draw their own |
//!
use super::{CaptureError, FrameSource, colour};
use crate::{Picture, Scaler, Size};
use gameway_desktop::{DesktopError, connect};
use gameway_units::Instant;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use x11rb::connection::Connection;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{self, ImageOrder, Window};
use x11rb::rust_connection::RustConnection;

/// An X11 screen.
pub struct X11Screen {
    connection: RustConnection,
    name: String,
    root: Window,
    segment: shm::Seg,
    memory: File,
    bgra: Vec<u8>,
    /// The screen in its own size.
    screen: Picture,
    scaler: Scaler,
}

impl X11Screen {
    /// Opens a display (":0"; `None` for the environment's), with the cookie in `authority` (`None` for the environment's
    /// file).
    ///
    /// # Errors
    /// [`CaptureError`] when there is none, or one without shared memory or with other than 32-bit
    /// pixels.
    pub fn open(display: Option<&str>, authority: Option<&Path>) -> Result<Self, CaptureError> {
        let name = format!("X11 screen {}", display.unwrap_or("of DISPLAY"));
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            CaptureError::new(&name, format!("{what}: {error}"))
        };
        let (connection, number) = connect(display, authority).map_err(|error| match error {
            DesktopError::Display { reason, .. } => CaptureError::new(&name, reason),
            other => CaptureError::new(&name, other.to_string()),
        })?;
        let setup = connection.setup();
        let root = &setup.roots[number];
        let format = setup.pixmap_formats.iter().find(|format| format.depth == root.root_depth);
        let bits = format.map_or(0, |format| format.bits_per_pixel);
        if bits != 32 || root.root_depth < 24 || setup.image_byte_order != ImageOrder::LSB_FIRST {
            let depth = root.root_depth;
            return Err(failed(
                "24-bit colour in 32-bit little-endian pixels is needed",
                &format!("the screen has depth {depth} in {bits} bits"),
            ));
        }
        // A screen with an odd side loses its last row or column.
        let side = |side: u16| u32::from(side) & !1;
        let own = Size::new(side(root.width_in_pixels), side(root.height_in_pixels))
            .map_err(|error| failed("screen", &error))?;
        let stride = usize::from(root.width_in_pixels) * 4;
        let bytes = stride * own.height();
        let root = root.root;
        connection
            .shm_query_version()
            .map_err(|error| failed("shared memory", &error))?
            .reply()
            .map_err(|error| failed("the server lacks MIT-SHM 1.2", &error))?;
        let memory = memory_file(bytes).map_err(|error| failed("memory file", &error))?;
        let segment = attach(&connection, &memory).map_err(|error| failed("MIT-SHM", &*error))?;
        let (bgra, screen) = (vec![0; bytes], Picture::black(own));
        Ok(Self {
            connection,
            name,
            root,
            segment,
            memory,
            bgra,
            screen,
            scaler: Scaler::default(),
        })
    }

    fn grab(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let height = self.screen.size().height();
        let stride = self.bgra.len() / height;
        let reply = self.connection.shm_get_image(
            self.root,
            0,
            0,
            (stride / 4) as u16,
            height as u16,
            !0,
            xproto::ImageFormat::Z_PIXMAP.into(),
            self.segment,
            0,
        )?;
        reply.reply()?;
        // Every program at a server is told of changes of its keyboard, which each key may be. They must not pile up.
        while self.connection.poll_for_event()?.is_some() {}
        self.memory.read_exact_at(&mut self.bgra, 0)?;
        colour::draw(&self.bgra, stride, &mut self.screen)?;
        Ok(())
    }
}

impl FrameSource for X11Screen {
    fn next(
        &mut self,
        _now: Instant,
        _frame: u64,
        picture: &mut Picture,
    ) -> Result<(), CaptureError> {
        self.grab().map_err(|error| CaptureError::new(&self.name, error.to_string()))?;
        self.scaler.scale(&self.screen, picture);
        Ok(())
    }
}

impl Drop for X11Screen {
    fn drop(&mut self) {
        // The server may be gone, and then so is the segment.
        let _ = shm::detach(&self.connection, self.segment);
        let _ = self.connection.flush();
    }
}

fn memory_file(bytes: usize) -> std::io::Result<File> {
    let descriptor = rustix::fs::memfd_create("gameway-screen", rustix::fs::MemfdFlags::CLOEXEC)?;
    let memory = File::from(descriptor);
    memory.set_len(bytes as u64)?;
    Ok(memory)
}

fn attach(
    connection: &RustConnection,
    memory: &File,
) -> Result<shm::Seg, Box<dyn std::error::Error>> {
    let segment = connection.generate_id()?;
    let copy = std::os::fd::OwnedFd::from(memory.try_clone()?);
    shm::attach_fd(connection, segment, copy, false)?.check()?;
    Ok(segment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_desktop::Screen;
    use x11rb::protocol::xproto::ConnectionExt as _;

    #[test]
    fn what_the_server_tells_everybody_does_not_pile_up() {
        let folder = std::env::temp_dir().join(format!("gameway-told-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let screen = match Screen::start(64, 64, &folder) {
            Err(error @ DesktopError::NotInstalled { .. }) => return eprintln!("skipped: {error}"),
            started => started.expect("a screen"),
        };
        let (display, authority) = (Some(screen.display()), Some(screen.authority()));
        let mut capture = X11Screen::open(display, authority).expect("it is captured");
        let (other, _) = connect(display, authority).expect("a connection");
        let key = other.setup().min_keycode;
        for letter in [0x61, 0x62, 0x63] {
            let changed = other.change_keyboard_mapping(1, key, 1, &[letter]).expect("asked");
            changed.check().expect("the keyboard is changed");
        }
        assert!(other.poll_for_event().expect("it is there").is_some(), "everybody is told");
        capture.grab().expect("a picture");
        assert!(capture.connection.poll_for_event().expect("it is there").is_none());
        drop((capture, other, screen));
        std::fs::remove_dir_all(&folder).expect("it is empty");
    }
}
