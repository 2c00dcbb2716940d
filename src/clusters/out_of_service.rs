//! Whether the API server of a cluster knows the out-of-service taint.

/// First minor version of Kubernetes 1 with the out-of-service taint on for everybody (KEP-2268).
const OUT_OF_SERVICE_MINOR: u32 = 28;

/// Whether a server of this version has the out-of-service taint on for everybody.
pub(crate) fn supports_out_of_service(major: &str, minor: &str) -> bool {
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    match (major.parse::<u32>(), digits.parse::<u32>()) {
        (Ok(1), Ok(minor)) => minor >= OUT_OF_SERVICE_MINOR,
        (Ok(major), Ok(_)) => major > 1,
        (Err(_), _) | (_, Err(_)) => false,
    }
}
