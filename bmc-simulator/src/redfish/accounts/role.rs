//! The roles that DSP0266 predefines and their privileges. Roles of one's own are not offered.

/// A privilege (DMTF `Privileges_v1.xml`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redfish) enum Privilege {
    Login,
    ConfigureManager,
    ConfigureUsers,
    ConfigureComponents,
    ConfigureSelf,
}

impl Privilege {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Login => "Login",
            Self::ConfigureManager => "ConfigureManager",
            Self::ConfigureUsers => "ConfigureUsers",
            Self::ConfigureComponents => "ConfigureComponents",
            Self::ConfigureSelf => "ConfigureSelf",
        }
    }
}

/// A role (DSP0266, "Roles").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redfish) enum Role {
    Administrator,
    Operator,
    ReadOnly,
}

impl Role {
    pub(in crate::redfish) const ALL: [Self; 3] = [Self::Administrator, Self::Operator, Self::ReadOnly];

    pub(in crate::redfish) fn as_str(self) -> &'static str {
        match self {
            Self::Administrator => "Administrator",
            Self::Operator => "Operator",
            Self::ReadOnly => "ReadOnly",
        }
    }

    pub(in crate::redfish) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }

    pub(in crate::redfish) fn privileges(self) -> &'static [Privilege] {
        match self {
            Self::Administrator => &[
                Privilege::Login,
                Privilege::ConfigureManager,
                Privilege::ConfigureUsers,
                Privilege::ConfigureComponents,
                Privilege::ConfigureSelf,
            ],
            Self::Operator => &[
                Privilege::Login,
                Privilege::ConfigureComponents,
                Privilege::ConfigureSelf,
            ],
            Self::ReadOnly => &[Privilege::Login, Privilege::ConfigureSelf],
        }
    }
}
