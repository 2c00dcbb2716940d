//! The fields of a certificate that matter when it is known by its fingerprint: its key, and its last moment.
//!
//! BMCs are delivered with certificates that no strict reader takes: X.509 v1, negative serial numbers, names
//! and extensions of their own making. Whoever pinned one has pinned all of its bytes, so that only where its
//! fields begin and end is read, and that strictly: DER, nothing missing, nothing left.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, alg_id};
use x509_cert::der::asn1::{AnyRef, BitStringRef, UintRef};
use x509_cert::der::{
    Decode as _, Error, ErrorKind, Reader, Result, SliceReader, Tag, TagNumber, Tagged as _,
};
use x509_cert::time::Validity;

use super::Fingerprint;

/// A certificate that a BMC presented, whether it is trusted or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentedCertificate {
    /// Its SHA-256, to compare or to trust it by.
    pub fingerprint: Fingerprint,
    /// Its last moment (RFC 5280, 4.1.2.5), if it can be read.
    pub not_after: Option<Timestamp>,
}

impl PresentedCertificate {
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        Self {
            fingerprint: Fingerprint::of(certificate),
            not_after: not_after(certificate),
        }
    }
}

fn not_after(certificate: &[u8]) -> Option<Timestamp> {
    let seconds = Leaf::read(certificate).ok()?.not_after().ok()?;
    Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
}

/// A certificate, cut into pieces (RFC 5280, section 4.1).
pub(super) struct Leaf<'a> {
    validity: &'a [u8],
    /// The SubjectPublicKeyInfo with its tag and length.
    pub(super) spki: &'a [u8],
}

impl<'a> Leaf<'a> {
    /// Cuts a certificate of any version, or says what is wrong with the DER, and where.
    pub(super) fn read(certificate: &'a [u8]) -> Result<Self> {
        AnyRef::from_der(certificate)?.sequence(|fields| {
            let leaf = AnyRef::decode(fields)?.sequence(Self::read_to_be_signed)?;
            skip(fields, Tag::Sequence)?; // signatureAlgorithm
            skip(fields, Tag::BitString)?; // signatureValue
            Ok(leaf)
        })
    }

    fn read_to_be_signed(fields: &mut SliceReader<'a>) -> Result<Self> {
        let version = Tag::ContextSpecific {
            constructed: true,
            number: TagNumber(0),
        };
        // Left out is how version 1 is written.
        if Tag::peek(fields)? == version {
            skip(fields, version)?;
        }
        skip(fields, Tag::Integer)?; // serialNumber
        skip(fields, Tag::Sequence)?; // signature
        skip(fields, Tag::Sequence)?; // issuer
        let validity = fields.tlv_bytes()?;
        skip(fields, Tag::Sequence)?; // subject
        let spki = fields.tlv_bytes()?;
        while !fields.is_finished() {
            AnyRef::decode(fields)?; // unique identifiers and extensions
        }
        Ok(Self { validity, spki })
    }

    /// Its last moment, in seconds since 1970.
    pub(super) fn not_after(&self) -> Result<u64> {
        let validity: Validity = Validity::from_der(self.validity)?;
        Ok(validity.not_after.to_unix_duration().as_secs())
    }
}

/// A SubjectPublicKeyInfo.
pub(super) struct PublicKey<'a> {
    /// All of it, as DER.
    pub(super) spki: &'a [u8],
    /// What is inside of its AlgorithmIdentifier, the form that webpki's algorithms compare.
    pub(super) algorithm: &'a [u8],
    /// The bits of the key.
    pub(super) bits: &'a [u8],
}

impl<'a> PublicKey<'a> {
    /// Reads it, or says what is wrong with the DER, and where.
    pub(super) fn read(spki: &'a [u8]) -> Result<Self> {
        AnyRef::from_der(spki)?.sequence(|fields| {
            let algorithm = AnyRef::decode(fields)?;
            algorithm.tag().assert_eq(Tag::Sequence)?;
            let bits = BitStringRef::decode(fields)?;
            Ok(Self {
                spki,
                algorithm: algorithm.value(),
                bits: bits.as_bytes().ok_or(ErrorKind::Value { tag: Tag::BitString })?,
            })
        })
    }

    /// How many bits the modulus has, if it is an RSA key (RFC 8017, appendix A.1.1).
    pub(super) fn rsa_bits(&self) -> Option<usize> {
        if self.algorithm != alg_id::RSA_ENCRYPTION.as_ref() {
            return None;
        }
        let modulus = AnyRef::from_der(self.bits).ok()?.sequence(|fields| {
            let modulus = UintRef::decode(fields)?;
            skip(fields, Tag::Integer)?;
            Ok::<_, Error>(modulus.as_bytes())
        });
        let modulus = modulus.ok()?;
        let unused = usize::try_from(modulus.first()?.leading_zeros()).ok()?;
        modulus.len().checked_mul(8)?.checked_sub(unused)
    }
}

/// Reads any bytes as the certificate of a BMC, for fuzzing: whatever they are, this must not panic. Answers
/// whether its key and its last moment can be read.
pub fn read_certificate(bytes: &[u8]) -> bool {
    Leaf::read(bytes).is_ok_and(|leaf| {
        let key = PublicKey::read(leaf.spki);
        let short = key.as_ref().ok().and_then(PublicKey::rsa_bits);
        leaf.not_after().is_ok() && key.is_ok() && short != Some(0)
    })
}

fn skip(fields: &mut SliceReader<'_>, tag: Tag) -> Result<()> {
    AnyRef::decode(fields)?.tag().assert_eq(tag).map(|_| ())
}
