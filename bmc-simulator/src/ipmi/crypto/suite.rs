//! The cipher suites (section 22.15.2) without xRC4, which no client compared here insists on.

/// RAKP authentication algorithm (table 13-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Authentication {
    None,
    HmacSha1,
    HmacMd5,
    HmacSha256,
}

/// Integrity algorithm (table 13-18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integrity {
    None,
    HmacSha1_96,
    HmacMd5_128,
    Md5_128,
    HmacSha256_128,
}

/// Confidentiality algorithm (table 13-19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confidentiality {
    None,
    AesCbc128,
}

impl Authentication {
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::HmacSha1 => 1,
            Self::HmacMd5 => 2,
            Self::HmacSha256 => 3,
        }
    }
}

impl Integrity {
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::HmacSha1_96 => 1,
            Self::HmacMd5_128 => 2,
            Self::Md5_128 => 3,
            Self::HmacSha256_128 => 4,
        }
    }

    /// Length of the code in a packet's trailer.
    pub(crate) fn code_length(self) -> usize {
        match self {
            Self::None => 0,
            Self::HmacSha1_96 => 12,
            Self::HmacMd5_128 | Self::Md5_128 | Self::HmacSha256_128 => 16,
        }
    }
}

impl Confidentiality {
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::AesCbc128 => 1,
        }
    }
}

/// One cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Suite {
    pub(crate) id: u8,
    pub(crate) authentication: Authentication,
    pub(crate) integrity: Integrity,
    pub(crate) confidentiality: Confidentiality,
}

const fn suite(
    id: u8,
    authentication: Authentication,
    integrity: Integrity,
    confidentiality: Confidentiality,
) -> Suite {
    Suite {
        id,
        authentication,
        integrity,
        confidentiality,
    }
}

const KNOWN: [Suite; 12] = [
    suite(0, Authentication::None, Integrity::None, Confidentiality::None),
    suite(
        1,
        Authentication::HmacSha1,
        Integrity::None,
        Confidentiality::None,
    ),
    suite(
        2,
        Authentication::HmacSha1,
        Integrity::HmacSha1_96,
        Confidentiality::None,
    ),
    suite(
        3,
        Authentication::HmacSha1,
        Integrity::HmacSha1_96,
        Confidentiality::AesCbc128,
    ),
    suite(6, Authentication::HmacMd5, Integrity::None, Confidentiality::None),
    suite(
        7,
        Authentication::HmacMd5,
        Integrity::HmacMd5_128,
        Confidentiality::None,
    ),
    suite(
        8,
        Authentication::HmacMd5,
        Integrity::HmacMd5_128,
        Confidentiality::AesCbc128,
    ),
    suite(
        11,
        Authentication::HmacMd5,
        Integrity::Md5_128,
        Confidentiality::None,
    ),
    suite(
        12,
        Authentication::HmacMd5,
        Integrity::Md5_128,
        Confidentiality::AesCbc128,
    ),
    suite(
        15,
        Authentication::HmacSha256,
        Integrity::None,
        Confidentiality::None,
    ),
    suite(
        16,
        Authentication::HmacSha256,
        Integrity::HmacSha256_128,
        Confidentiality::None,
    ),
    suite(
        17,
        Authentication::HmacSha256,
        Integrity::HmacSha256_128,
        Confidentiality::AesCbc128,
    ),
];

/// The suite of this id; absent when it is not served.
pub(crate) fn find(id: u8) -> Option<Suite> {
    KNOWN.into_iter().find(|suite| suite.id == id)
}
