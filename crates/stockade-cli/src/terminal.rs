//! The caller's terminal, while a program in the sandbox has one of its own: every key goes there, and only
//! that terminal interprets it.

use std::io::{self, IsTerminal};
use std::thread;

use rustix::termios::{
    OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
};
use signal_hook::consts::SIGWINCH;
use signal_hook::iterator::Signals;
use stockade::TerminalHandle;
use stockade::call::TerminalSize;

/// The size of a terminal that does not tell.
const USUAL: TerminalSize = TerminalSize { rows: 24, columns: 80 };

/// How large the caller's terminal is.
pub(crate) fn size() -> TerminalSize {
    let found = tcgetwinsize(io::stdout()).or_else(|_none| tcgetwinsize(io::stdin()));
    let size = found.map(|found| TerminalSize { rows: found.ws_row, columns: found.ws_col });
    size.ok().filter(|size| size.rows > 0 && size.columns > 0).unwrap_or(USUAL)
}

/// Passes every change of the size on.
pub(crate) fn follow_size(terminal: TerminalHandle) -> io::Result<()> {
    let mut changes = Signals::new([SIGWINCH])?;
    let follow = move || changes.forever().for_each(|_| terminal.resize(size()));
    thread::Builder::new().name("window".to_owned()).spawn(follow).map(drop)
}

/// Standard input without any interpretation of keys, if it is a terminal. Dropping it puts everything
/// back.
pub(crate) struct RawInput(Option<Termios>);

impl RawInput {
    pub(crate) fn begin() -> io::Result<Self> {
        if !io::stdin().is_terminal() {
            return Ok(Self(None));
        }
        let saved = tcgetattr(io::stdin())?;
        let mut raw = saved.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Drain, &raw)?;
        Ok(Self(Some(saved)))
    }
}

impl Drop for RawInput {
    fn drop(&mut self) {
        let Some(saved) = &self.0 else { return };
        // What nobody has read would be typed into the caller's shell: answers of the terminal to what the
        // program has asked it, for one. A terminal that is gone needs neither.
        let _gone = tcflush(io::stdin(), QueueSelector::IFlush).is_err();
        let _gone = tcsetattr(io::stdin(), OptionalActions::Flush, saved).is_err();
    }
}
