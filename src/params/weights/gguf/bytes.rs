//! Reading a file front to back, and never more of it than there is.

use std::io::{BufReader, Read, Seek};

use crate::arrays::{AGAIN, failed_read};
use crate::fault::Fault;
use crate::limits;

/// A reader that knows where it is. Every length is compared with what is left before anything is done with it.
pub(super) struct Bytes<R> {
    source: BufReader<R>,
    at: u64,
    length: u64,
    /// Whether the most significant byte of a number comes first.
    pub(super) big_endian: bool,
}

impl<R: Read + Seek> Bytes<R> {
    /// A file of `length` bytes, at its beginning.
    pub(super) fn new(source: R, length: u64) -> Self {
        Self { source: BufReader::with_capacity(1 << 16, source), at: 0, length, big_endian: false }
    }

    /// Bytes read or passed over so far.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Bytes from here to the end of the file.
    pub(super) fn left(&self) -> u64 {
        self.length - self.at
    }

    fn claim(&mut self, bytes: u64) -> Result<(), Fault> {
        if bytes > self.left() {
            let why =
                format!("at byte {} the header asks for {bytes} bytes, {} are left", self.at, self.left());
            return Err(Fault::new("the file ends inside its header", why, AGAIN));
        }
        self.at += bytes;
        if self.at > limits::GGUF_HEADER_BYTES {
            return Err(Fault::new(
                format!("the header is over {} MiB long", limits::GGUF_HEADER_BYTES >> 20),
                format!(
                    "headers are read up to {} MiB; the largest vocabularies take 20",
                    limits::GGUF_HEADER_BYTES >> 20
                ),
                AGAIN,
            ));
        }
        Ok(())
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.claim(N as u64)?;
        let mut read = [0; N];
        self.source.read_exact(&mut read).map_err(|error| failed_read(&error))?;
        if self.big_endian {
            read.reverse();
        }
        Ok(read)
    }

    /// The first four bytes, in the order of the file.
    pub(super) fn magic(&mut self) -> Result<[u8; 4], Fault> {
        self.fixed()
    }

    pub(super) fn u8(&mut self) -> Result<u8, Fault> {
        self.fixed().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Fault> {
        self.fixed().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        self.fixed().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        self.fixed().map(u64::from_le_bytes)
    }

    /// Passes over so many bytes.
    pub(super) fn skip(&mut self, bytes: u64) -> Result<(), Fault> {
        self.claim(bytes)?;
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX); // within the header's limit: it fits
        self.source.seek_relative(bytes).map_err(|error| failed_read(&error))
    }

    /// Passes over so many strings, each a length and its bytes: what a vocabulary is.
    pub(super) fn skip_strings(&mut self, strings: u64) -> Result<(), Fault> {
        let mut left = strings;
        while left > 0 {
            // Those that stand whole in the buffer at once, then one across its end.
            let (passed, bytes) = whole_strings(self.source.buffer(), left, self.big_endian);
            self.skip(bytes)?;
            left -= passed;
            if left > 0 {
                let length = self.u64()?;
                self.skip(length)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// The next `bytes` bytes; the caller has a limit for them.
    pub(super) fn take(&mut self, bytes: u64) -> Result<Vec<u8>, Fault> {
        self.claim(bytes)?;
        let mut read = Vec::new();
        self.source.by_ref().take(bytes).read_to_end(&mut read).map_err(|error| failed_read(&error))?;
        if (read.len() as u64) < bytes {
            return Err(failed_read(&std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(read)
    }

    /// A string of at most `limit` bytes: its length, then its bytes. `what` it is called in faults.
    pub(super) fn string(&mut self, what: &str, limit: u64) -> Result<String, Fault> {
        let length = self.u64()?;
        if length > limit && length <= self.left() {
            let why = format!("at byte {}; at most {limit} are read", self.at);
            return Err(Fault::new(format!("{what} is {length} bytes long"), why, AGAIN));
        }
        let at = self.at;
        String::from_utf8(self.take(length)?).map_err(|_| not_text(what, at))
    }
}

/// How many strings stand whole at the beginning of `buffer`, up to a number, and how many bytes they take.
fn whole_strings(buffer: &[u8], at_most: u64, big_endian: bool) -> (u64, u64) {
    let (mut strings, mut rest) = (0, buffer);
    while strings < at_most
        && let Some((length, after)) = rest.split_first_chunk()
        && let length = if big_endian { u64::from_be_bytes(*length) } else { u64::from_le_bytes(*length) }
        && let Some(next) = usize::try_from(length).ok().and_then(|length| after.get(length..))
    {
        strings += 1;
        rest = next;
    }
    (strings, (buffer.len() - rest.len()) as u64)
}

/// Bytes that should be text and are not.
pub(super) fn not_text(what: &str, at: u64) -> Fault {
    Fault::new(format!("{what} is not text (UTF-8)"), format!("it stands at byte {at}"), AGAIN)
}
