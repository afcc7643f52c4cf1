//! Keys of `[box]` for single ports of the loopback: `box.publish` and `box.host_ports`.

use std::num::NonZeroU16;
use std::ops::Range;

use toml::Spanned;

use crate::config::file::{BoxTable, PortList};
use crate::config::source::Source;
use crate::confine::{Network, Ports};
use crate::{LoadError, Policy};

/// The keys of a file that are about this, each with its place. They open the sandbox, so a project's
/// file cannot have them until it is trusted.
pub(crate) fn keys(boxed: &BoxTable) -> [(&'static str, Option<Range<usize>>); 2] {
    let place = |ports: &PortList| ports.as_ref().map(Spanned::span);
    [("box.publish", place(&boxed.publish)), ("box.host_ports", place(&boxed.host_ports))]
}

impl Source {
    /// Takes the ports of a trusted file, whose network is known by now. A file that
    /// takes the network away takes the ports of other files away too.
    pub(crate) fn apply_ports(
        &self,
        boxed: &BoxTable,
        policy: &mut Policy,
    ) -> Result<(), LoadError> {
        let Policy { ports, network, .. } = policy;
        let lists = [(&boxed.publish, &mut ports.publish), (&boxed.host_ports, &mut ports.host)];
        for ((key, place), (list, into)) in keys(boxed).into_iter().zip(lists) {
            let Some(list) = list else { continue };
            *into = self.ports(key, list)?;
            if let (Network::None, Some(span), false) = (*network, place, into.is_empty()) {
                let why = format!(
                    "`{key}` needs a network, and `box.net` is \"none\"; hint: set box.net = \
                     \"loopback\", or remove `{key}`"
                );
                return Err(self.port_error(&span, why));
            }
        }
        if *network == Network::None {
            *ports = Ports::default();
        }
        Ok(())
    }

    fn ports(
        &self,
        key: &str,
        list: &Spanned<Vec<Spanned<u32>>>,
    ) -> Result<Vec<NonZeroU16>, LoadError> {
        let mut ports = Vec::new();
        for one in list.get_ref() {
            let number = *one.get_ref();
            let port = u16::try_from(number).ok().and_then(NonZeroU16::new);
            let port = port.ok_or_else(|| {
                let why = format!("`{key}`: {number} is not a port; expected 1 to 65535");
                self.port_error(&one.span(), why)
            })?;
            if ports.contains(&port) {
                return Err(self.port_error(&one.span(), format!("`{key}` lists {port} twice")));
            }
            ports.push(port);
        }
        if ports.len() > Ports::MAX {
            let why = format!("`{key}` lists {} ports; at most {}", ports.len(), Ports::MAX);
            return Err(self.port_error(&list.span(), why));
        }
        Ok(ports)
    }

    fn port_error(&self, span: &Range<usize>, message: String) -> LoadError {
        LoadError::Value { path: self.path.clone(), line: self.line(span), message }
    }
}
