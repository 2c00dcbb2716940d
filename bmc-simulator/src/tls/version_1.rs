//! Certificates of X.509 version 1, which rcgen does not make.

use rcgen::{KeyPair, SigningKey as _};
use rustls::pki_types::CertificateDer;
use yasna::{ASN1Result, construct_der, parse_der};

/// What version 1 does not have (RFC 5280, section 4.1): version, which is `[0]`, and extensions, `[3]`.
const SINCE_VERSION_3: [u8; 2] = [0xa0, 0xa3];

/// The same certificate without them, signed anew by its issuer's key.
pub(super) fn of(
    certificate: &CertificateDer<'_>,
    issuer: &KeyPair,
) -> Result<CertificateDer<'static>, rcgen::Error> {
    let (to_be_signed, algorithm) = parts(certificate).map_err(|_| rcgen::Error::CouldNotParseCertificate)?;
    let to_be_signed = sequence(&to_be_signed);
    let signature = issuer.sign(&to_be_signed)?;
    let signature = construct_der(|writer| {
        writer.write_bitvec_bytes(&signature, signature.len().saturating_mul(8));
    });
    Ok(sequence(&[to_be_signed, algorithm, signature]).into())
}

/// The fields that stay, and the algorithm that the issuer signs with.
fn parts(certificate: &[u8]) -> ASN1Result<(Vec<Vec<u8>>, Vec<u8>)> {
    parse_der(certificate, |reader| {
        reader.read_sequence(|reader| {
            let mut fields = Vec::new();
            reader.next().read_sequence_of(|field| {
                let field = field.read_der()?;
                if !field.first().is_some_and(|tag| SINCE_VERSION_3.contains(tag)) {
                    fields.push(field);
                }
                Ok(())
            })?;
            let algorithm = reader.next().read_der()?;
            reader.next().read_der()?; // the signature
            Ok((fields, algorithm))
        })
    })
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    construct_der(|writer| {
        writer.write_sequence(|writer| {
            for part in parts {
                writer.next().write_der(part);
            }
        });
    })
}
