//! Proof that a BMC belongs to the host we mean.

mod placeholders;

use std::fmt;

use crate::facts::Obstacle;
use crate::phase::Reason;

/// A system UUID in canonical lower-case form, known to be usable as an identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemUuid([u8; 16]);

/// Why a string is not a usable system UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableUuid {
    /// Not 32 hexadecimal digits in the usual grouping.
    Malformed,
    /// All zero, all ones, or a value that vendors ship as a placeholder.
    Placeholder,
}

impl SystemUuid {
    /// Parses the usual `8-4-4-4-12` form (or 32 digits without hyphens), in any case. A placeholder counts as absent.
    pub fn parse(text: &str) -> Result<Self, UnusableUuid> {
        let text = text.trim();
        let groups = text.split('-').map(str::len);
        if text.contains('-') && groups.ne([8, 4, 4, 4, 12]) {
            return Err(UnusableUuid::Malformed);
        }
        let digits = text.replace('-', "");
        if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(UnusableUuid::Malformed);
        }
        let number = u128::from_str_radix(&digits, 16).map_err(|_| UnusableUuid::Malformed)?;
        let uuid = Self(number.to_be_bytes());
        if [&uuid, &uuid.byte_swapped()]
            .into_iter()
            .any(placeholders::is_one)
        {
            return Err(UnusableUuid::Placeholder);
        }
        Ok(uuid)
    }

    /// In which byte order another one is the same (SMBIOS 2.6 swapped the first three groups), unless it is another.
    pub fn matches(&self, other: &Self) -> Option<&'static str> {
        if self == other {
            Some("same byte order")
        } else if self.byte_swapped() == *other {
            Some("SMBIOS byte order swapped")
        } else {
            None
        }
    }

    /// One value for both byte orders, by which UUIDs are found that [`Self::matches`] says are the same.
    #[must_use]
    pub fn in_either_order(&self) -> Self {
        let swapped = self.byte_swapped();
        if swapped < *self { swapped } else { self.clone() }
    }

    fn byte_swapped(&self) -> Self {
        let mut bytes = self.0;
        for group in [0..4, 4..6, 6..8] {
            if let Some(group) = bytes.get_mut(group) {
                group.reverse();
            }
        }
        Self(bytes)
    }
}

impl fmt::Display for SystemUuid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                formatter.write_str("-")?;
            }
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// Proof that a BMC belongs to a Node's host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenIdentity {
    /// The UUID as the BMC says it.
    pub uuid: SystemUuid,
    /// By what it is proven.
    pub how: String,
}

/// Matches the system UUID that a BMC gave for `system` with that of a Node (its name and what its status
/// says) and with one that an administrator stated, in both SMBIOS byte orders.
///
/// # Errors
/// [`Reason::IdentityMismatch`] when one is another, [`Reason::IdentityUnproven`] with nothing to compare.
pub fn prove(
    said: Option<&str>,
    system: &str,
    (node, of_node): (&str, Option<&str>),
    stated: Option<&SystemUuid>,
) -> Result<ProvenIdentity, Obstacle> {
    let uuid = prove_stated(said, system, stated)?;
    let how = match (of_node.and_then(|uuid| SystemUuid::parse(uuid).ok()), stated) {
        (Some(of_node), _) => match of_node.matches(&uuid) {
            Some(how) => format!("Node systemUUID, {how}"),
            None => {
                let detail = format!("the BMC says system UUID {uuid}, and Node {node} has {of_node}");
                return Err(Obstacle::new(Reason::IdentityMismatch, detail));
            }
        },
        (None, Some(_)) => "spec.systemUUID of the host".to_owned(),
        (None, None) => {
            let detail = format!("Node {node} has no usable system UUID to compare with the BMC's {uuid}");
            return Err(Obstacle::new(Reason::IdentityUnproven, detail));
        }
    };
    Ok(ProvenIdentity { uuid, how })
}

/// The same with the one that a person stated for the host: the only proof there is without a Node.
pub fn prove_by_statement(
    said: Option<&str>,
    system: &str,
    stated: &SystemUuid,
) -> Result<ProvenIdentity, Obstacle> {
    let uuid = prove_stated(said, system, Some(stated))?;
    let order = stated.matches(&uuid).unwrap_or_default();
    let how = format!("spec.systemUUID of the host, {order}");
    Ok(ProvenIdentity { uuid, how })
}

/// Reads the system UUID that a BMC gave for `system`, and compares it with one that was stated, if one was.
pub fn prove_stated(
    said: Option<&str>,
    system: &str,
    stated: Option<&SystemUuid>,
) -> Result<SystemUuid, Obstacle> {
    let said = said.unwrap_or_default();
    let Ok(of_bmc) = SystemUuid::parse(said) else {
        let detail = format!("the BMC gives no usable system UUID (\"{said}\") for {system}");
        return Err(Obstacle::new(Reason::IdentityUnproven, detail));
    };
    match stated {
        Some(stated) if stated.matches(&of_bmc).is_none() => {
            let detail = format!("the BMC says system UUID {of_bmc}, and spec.systemUUID is {stated}");
            Err(Obstacle::new(Reason::IdentityMismatch, detail))
        }
        Some(_) | None => Ok(of_bmc),
    }
}

#[cfg(test)]
mod tests;
