//! Proof that a BMC belongs to the host we mean.

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

/// How two system UUIDs agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UuidMatch {
    /// Byte for byte.
    Same,
    /// With the first three groups byte-swapped (SMBIOS before 2.6 against after).
    ByteSwapped,
}

impl fmt::Display for UuidMatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Same => "same byte order",
            Self::ByteSwapped => "SMBIOS byte order swapped",
        })
    }
}

/// Placeholders seen in the field: the AMI/Supermicro default and the counting pattern of
/// unprogrammed boards.
const PLACEHOLDERS: [[u8; 16]; 4] = [
    [0x00; 16],
    [0xff; 16],
    // 03000200-0400-0500-0006-000700080009
    [
        0x03, 0x00, 0x02, 0x00, 0x04, 0x00, 0x05, 0x00, 0x00, 0x06, 0x00, 0x07, 0x00, 0x08, 0x00, 0x09,
    ],
    // 00020003-0004-0005-0006-000700080009, the same with the first groups swapped
    [
        0x00, 0x02, 0x00, 0x03, 0x00, 0x04, 0x00, 0x05, 0x00, 0x06, 0x00, 0x07, 0x00, 0x08, 0x00, 0x09,
    ],
];

impl SystemUuid {
    /// Parses the usual `8-4-4-4-12` form (or 32 digits without hyphens), in any case.
    ///
    /// # Errors
    /// [`UnusableUuid`] when the text is malformed or a known placeholder, which counts as absent.
    pub fn parse(text: &str) -> Result<Self, UnusableUuid> {
        let text = text.trim();
        let grouped = text.contains('-');
        if grouped && text.split('-').map(str::len).ne([8, 4, 4, 4, 12]) {
            return Err(UnusableUuid::Malformed);
        }
        let mut digits = text
            .chars()
            .filter(|character| *character != '-')
            .map(|character| character.to_digit(16));
        let mut bytes = [0_u8; 16];
        for byte in &mut bytes {
            let (Some(Some(high)), Some(Some(low))) = (digits.next(), digits.next()) else {
                return Err(UnusableUuid::Malformed);
            };
            *byte = u8::try_from((high << 4) | low).map_err(|_| UnusableUuid::Malformed)?;
        }
        if digits.next().is_some() {
            return Err(UnusableUuid::Malformed);
        }
        if PLACEHOLDERS.contains(&bytes) {
            return Err(UnusableUuid::Placeholder);
        }
        Ok(Self(bytes))
    }

    /// Compares in both SMBIOS byte orders. `None` means: another host.
    pub fn matches(&self, other: &Self) -> Option<UuidMatch> {
        if self == other {
            Some(UuidMatch::Same)
        } else if self.byte_swapped() == *other {
            Some(UuidMatch::ByteSwapped)
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
/// [`Reason::IdentityMismatch`] when one of them is another, [`Reason::IdentityUnproven`] when there is
/// nothing to compare.
pub fn prove(
    said: Option<&str>,
    system: &str,
    (node, of_node): (&str, Option<&str>),
    stated: Option<&SystemUuid>,
) -> Result<ProvenIdentity, Obstacle> {
    let of_bmc = prove_stated(said, system, stated)?;
    match (of_node.and_then(|uuid| SystemUuid::parse(uuid).ok()), stated) {
        (Some(of_node), _) => match of_node.matches(&of_bmc) {
            Some(how) => Ok(ProvenIdentity {
                uuid: of_bmc,
                how: format!("Node systemUUID, {how}"),
            }),
            None => Err(Obstacle::new(
                Reason::IdentityMismatch,
                format!("the BMC says system UUID {of_bmc}, and Node {node} has {of_node}"),
            )),
        },
        (None, Some(_)) => Ok(ProvenIdentity {
            uuid: of_bmc,
            how: "spec.systemUUID of the host".to_owned(),
        }),
        (None, None) => Err(Obstacle::new(
            Reason::IdentityUnproven,
            format!("Node {node} has no usable system UUID to compare with the BMC's {of_bmc}"),
        )),
    }
}

/// Matches the system UUID that a BMC gave for `system` with the one that a person stated for the host, in both
/// SMBIOS byte orders: the only proof there is without a Node.
///
/// # Errors
/// [`Reason::IdentityMismatch`] when it is another, [`Reason::IdentityUnproven`] when the BMC gives none that
/// can be used.
pub fn prove_by_statement(
    said: Option<&str>,
    system: &str,
    stated: &SystemUuid,
) -> Result<ProvenIdentity, Obstacle> {
    let uuid = prove_stated(said, system, Some(stated))?;
    let order = stated
        .matches(&uuid)
        .map_or_else(String::new, |how| how.to_string());
    Ok(ProvenIdentity {
        uuid,
        how: format!("spec.systemUUID of the host, {order}"),
    })
}

/// Reads the system UUID that a BMC gave for `system`, and compares it with one that was stated, if one was.
///
/// # Errors
/// [`Reason::IdentityUnproven`] when the BMC gives none that can be used, [`Reason::IdentityMismatch`] when
/// another was stated.
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
