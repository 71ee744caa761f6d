//! Buffers of a PipeWire stream: where the pixels of one are, and its header.
//!
//! Source: PipeWire 0.3.65, `spa/buffer/buffer.h` and `spa/buffer/meta.h`. The binding has neither a buffer's metadata nor a safe way to its memory.
//!
//! What another process may change meanwhile is never mapped by us and read once: pixels by pread(2), so that a file that its owner
//! cuts short is an error and no SIGBUS; the chunk's numbers by volatile reads.

use pipewire::spa::sys as spa;
use pipewire::stream::Stream;
use pipewire::sys::pw_buffer;
use rustix::fd::BorrowedFd;
use std::io;
use std::ptr::{self, NonNull};

/// A buffer that was taken from a stream, which has it back when this is dropped.
pub(crate) struct DequeuedBuffer<'s> {
    buffer: NonNull<pw_buffer>,
    stream: &'s Stream,
}

/// What a buffer says of its only plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plane {
    /// Where its part of the file begins, and how long that is.
    pub(crate) place: u32,
    pub(crate) length: u32,
    /// Where in this part the picture begins, and what it takes.
    pub(crate) offset: u32,
    pub(crate) size: u32,
    /// From row to row.
    pub(crate) stride: i32,
}

impl<'s> DequeuedBuffer<'s> {
    /// The newest buffer, if there is any; older ones go back unread.
    pub(crate) fn newest(stream: &'s Stream) -> Option<Self> {
        let mut newest = None;
        loop {
            // SAFETY: the stream lives as long as this; each buffer is given back once, by the drop.
            let buffer = NonNull::new(unsafe { stream.dequeue_raw_buffer() });
            let Some(buffer) = buffer else { return newest };
            newest = Some(Self { buffer, stream });
        }
    }

    fn buffer(&self) -> Option<&spa::spa_buffer> {
        // SAFETY: libpipewire made both, and keeps them while the buffer is taken; neither is in shared memory.
        unsafe { self.buffer.as_ref().buffer.as_ref() }
    }

    fn data(&self) -> Option<&spa::spa_data> {
        let buffer = self.buffer()?;
        if buffer.n_datas == 0 {
            return None;
        }
        // SAFETY: an array of `n_datas`, at least one.
        unsafe { buffer.datas.as_ref() }.filter(|data| data.type_ == spa::SPA_DATA_MemFd)
    }

    /// The plane, if there is a whole picture in shared memory.
    pub(crate) fn plane(&self) -> Option<Plane> {
        let data = self.data()?;
        let chunk = NonNull::new(data.chunk)?;
        // SAFETY: it points to a chunk in shared memory, which any process with the buffer may write: only plain reads of integers.
        let chunk = unsafe { ptr::read_volatile(chunk.as_ptr()) };
        let is_corrupted = chunk.flags as u32 & spa::SPA_CHUNK_FLAG_CORRUPTED != 0;
        let is_whole = chunk.size > 0 && !is_corrupted && !self.is_corrupted();
        is_whole.then_some(Plane {
            place: data.mapoffset,
            length: data.maxsize,
            offset: chunk.offset,
            size: chunk.size,
            stride: chunk.stride,
        })
    }

    /// Whether its header says so.
    fn is_corrupted(&self) -> bool {
        self.header().is_some_and(|header| header.flags & spa::SPA_META_HEADER_FLAG_CORRUPTED != 0)
    }

    /// When the picture was shown, in nanoseconds of CLOCK_MONOTONIC, if the compositor says so.
    pub(crate) fn shown(&self) -> Option<i64> {
        self.header().map(|header| header.pts).filter(|shown| *shown > 0)
    }

    fn header(&self) -> Option<spa::spa_meta_header> {
        let buffer = self.buffer()?;
        let count = if buffer.metas.is_null() { 0 } else { buffer.n_metas as usize };
        // SAFETY: an array of `n_metas`, in libpipewire's own memory.
        let metas = (0..count).map(|index| unsafe { &*buffer.metas.add(index) });
        let header = metas.filter(|meta| {
            let needed = size_of::<spa::spa_meta_header>();
            meta.type_ == spa::SPA_META_Header && meta.size as usize >= needed
        });
        let header = NonNull::new(header.map(|meta| meta.data).next()?)?;
        // SAFETY: as large as a header, in shared memory: only plain reads of integers.
        Some(unsafe { ptr::read_volatile(header.cast::<spa::spa_meta_header>().as_ptr()) })
    }

    /// Reads the file behind the plane, from this byte on.
    pub(crate) fn read(&self, from: u64, into: &mut [u8]) -> io::Result<()> {
        let lacks = || io::Error::new(io::ErrorKind::UnexpectedEof, "its memory is shorter");
        let descriptor = self.data().and_then(|data| i32::try_from(data.fd).ok());
        let descriptor = descriptor.filter(|number| *number >= 0).ok_or_else(lacks)?;
        // SAFETY: libpipewire keeps it open while the buffer is taken.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let mut read = 0;
        while read < into.len() {
            match rustix::io::pread(file, &mut into[read..], from + read as u64) {
                Ok(0) => return Err(lacks()),
                Ok(count) => read += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Drop for DequeuedBuffer<'_> {
    fn drop(&mut self) {
        // SAFETY: it came from this stream, and is given back once.
        unsafe { self.stream.queue_raw_buffer(self.buffer.as_ptr()) };
    }
}
