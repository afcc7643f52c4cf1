//! Lists of process ids as `/proc` gives them: decimal numbers, whatever stands between.

use super::sys::{self, Fd};

const BUFFER: usize = 1024;

/// The numbers in a `children` file, read from its beginning.
pub(crate) struct Numbers {
    file: Fd,
    buffer: [u8; BUFFER],
    filled: usize,
    at: usize,
    position: usize,
    ended: bool,
}

impl Numbers {
    /// Reads an open `children` file, again from the start.
    pub(crate) const fn of(file: Fd) -> Self {
        Self { file, buffer: [0; BUFFER], filled: 0, at: 0, position: 0, ended: false }
    }

    fn byte(&mut self) -> Option<u8> {
        if self.at == self.filled && !self.ended {
            // A process that is gone reads as an empty list.
            self.filled = sys::pread(self.file, &mut self.buffer, self.position).unwrap_or(0);
            self.position = self.position.wrapping_add(self.filled);
            // Such a file fills the buffer while it has more, see seq_read_iter in fs/seq_file.c.
            self.ended = self.filled < self.buffer.len();
            self.at = 0;
        }
        let byte = self.buffer.get(self.at).copied().filter(|_| self.at < self.filled);
        self.at = self.at.wrapping_add(usize::from(byte.is_some()));
        byte
    }
}

impl Iterator for Numbers {
    type Item = i32;

    fn next(&mut self) -> Option<i32> {
        let mut number = None;
        while let Some(byte) = self.byte() {
            match (byte, number) {
                (b'0'..=b'9', _) => number = Some(with_digit(number.unwrap_or(0), byte)),
                (_, Some(_)) => break,
                (_, None) => {}
            }
        }
        number
    }
}

/// The entries of an open directory whose names are numbers.
pub(crate) struct NumberedEntries {
    dir: Fd,
    buffer: [u8; BUFFER],
    filled: usize,
    at: usize,
}

impl NumberedEntries {
    /// Reads an open directory once.
    pub(crate) const fn of(dir: Fd) -> Self {
        Self { dir, buffer: [0; BUFFER], filled: 0, at: 0 }
    }
}

impl Iterator for NumberedEntries {
    type Item = i32;

    fn next(&mut self) -> Option<i32> {
        // struct linux_dirent64: ino and off, eight bytes each, then reclen, type and the name.
        const RECLEN: usize = 16;
        const NAME: usize = 19;
        loop {
            if self.at >= self.filled {
                self.filled = sys::getdents(self.dir, &mut self.buffer).unwrap_or(0);
                self.at = 0;
                if self.filled == 0 {
                    return None;
                }
            }
            let entry = self.buffer.get(self.at..self.filled)?;
            let len = entry.get(RECLEN..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))?;
            if len == 0 {
                return None;
            }
            self.at = self.at.wrapping_add(usize::from(len));
            let name = entry.get(NAME..)?;
            if name.first().is_some_and(u8::is_ascii_digit) {
                let digits = name.iter().take_while(|byte| byte.is_ascii_digit());
                return Some(digits.fold(0, |number, digit| with_digit(number, *digit)));
            }
        }
    }
}

fn with_digit(number: i32, digit: u8) -> i32 {
    number.wrapping_mul(10).wrapping_add(i32::from(digit.wrapping_sub(b'0')))
}

/// A path beneath `/proc` made of numbers and fixed parts.
pub(crate) struct Path {
    room: [u8; Self::ROOM],
    len: usize,
}

impl Path {
    // Two numbers of ten digits, "/task/" and "/children" are 35 bytes.
    const ROOM: usize = 48;

    /// An empty path.
    pub(crate) const fn new() -> Self {
        Self { room: [0; Self::ROOM], len: 0 }
    }

    /// Adds a fixed part.
    pub(crate) fn text(self, part: &str) -> Self {
        self.bytes(part.as_bytes())
    }

    /// Adds bytes.
    pub(crate) fn bytes(mut self, part: &[u8]) -> Self {
        for byte in part {
            self.push(*byte);
        }
        self
    }

    /// Adds a number.
    pub(crate) fn number(mut self, number: i32) -> Self {
        let mut digits = [b'0'; 10];
        let mut rest = number.unsigned_abs();
        for digit in digits.iter_mut().rev() {
            *digit = digit.wrapping_add(u8::try_from(rest % 10).unwrap_or(0));
            rest /= 10;
        }
        let first = digits.iter().position(|digit| *digit != b'0').unwrap_or(9);
        for digit in digits.iter().skip(first) {
            self.push(*digit);
        }
        self
    }

    /// How many names the file beneath the directory has.
    pub(crate) fn names(&self, dir: Fd) -> sys::Result<u32> {
        sys::stat(dir, self.room.as_ptr()).map(|stat| stat.names)
    }

    /// Opens the file beneath the directory.
    pub(crate) fn open(&self, dir: Fd) -> sys::Result<Fd> {
        self.open_as(dir, 0)
    }

    /// Opens the file beneath the directory with these flags.
    pub(crate) fn open_as(&self, dir: Fd, flags: usize) -> sys::Result<Fd> {
        sys::open_as(dir, self.as_c_str()?, flags)
    }

    /// The path with its NUL.
    pub(crate) fn as_c_str(&self) -> sys::Result<&core::ffi::CStr> {
        core::ffi::CStr::from_bytes_until_nul(&self.room).map_err(|_no_nul| sys::Errno::INVAL)
    }

    /// The path.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.room.get(..self.len).unwrap_or(&[])
    }

    /// Writes a whole small file.
    pub(crate) fn write(&self, text: &[u8]) -> sys::Result<()> {
        let path = core::ffi::CStr::from_bytes_until_nul(&self.room);
        path.map_or(Err(sys::Errno::INVAL), |path| sys::spaces::write_file(path, text))
    }

    fn push(&mut self, byte: u8) {
        // The last byte stays NUL.
        if let Some(place) = self.room.get_mut(self.len).filter(|_| self.len < Self::ROOM - 1) {
            *place = byte;
            self.len = self.len.wrapping_add(1);
        }
    }
}
