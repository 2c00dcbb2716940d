//! Messages of vendors' registries, in our wording. What clients tell them apart by is the id.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::json;

use super::{Base, Message, Severity};
use crate::fault::VendorError;
use crate::redfish::reply;

/// The error response that a vendor's service would send.
pub(in crate::redfish) fn vendor_error(error: VendorError) -> Response<Body> {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut messages = vec![message(error)];
    if error == VendorError::Sys518 {
        messages.push(Base::ServiceTemporarilyUnavailable.message(&["30"]));
    }
    let list: Vec<_> = messages.iter().map(Message::to_json).collect();
    let general = Base::GeneralError.message(&[]);
    let body = json!({"error": {
        "code": general.id,
        "message": general.text,
        "@Message.ExtendedInfo": list,
    }});
    reply::with_json(status, &body)
}

fn message(error: VendorError) -> Message {
    let (severity, text, resolution) = wording(error);
    Message {
        id: error.message_id().to_owned(),
        text: text.to_owned(),
        severity,
        arguments: Vec::new(),
        resolution,
        related: None,
    }
}

fn wording(error: VendorError) -> (Severity, &'static str, &'static str) {
    const LATER: &str = "Send the request again some minutes later.";
    match error {
        VendorError::Sys518 => (Severity::Ok, "The controller has no data to show yet.", LATER),
        VendorError::Swc0700 => (Severity::Warning, "The controller is not ready yet.", LATER),
        VendorError::Rac0218 => (
            Severity::Ok,
            "As many sessions are open as the controller allows.",
            "End a session first.",
        ),
        VendorError::Psu501 => (
            Severity::Ok,
            "The server has the requested power state already.",
            "Nothing needs to be done.",
        ),
        VendorError::InvalidOperationForSystemState => (
            Severity::Warning,
            "The operation is not possible in the present state of the system.",
            LATER,
        ),
        VendorError::OemLicenseNotPassed => (
            Severity::Warning,
            "A licence is needed for this request.",
            "Activate a licence for remote management.",
        ),
        VendorError::HmcCommuicationFailed => (
            Severity::Warning,
            "The host's controller cannot reach the baseboard's.",
            "Power the host on.",
        ),
    }
}
