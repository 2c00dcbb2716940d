//! The messages of the Base registry that are sent.

use super::{Definition, Message, Severity};

/// Name and version of the registry, as message ids begin.
pub(super) const PREFIX: &str = "Base.1.19";

macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident $key:literal $severity:ident $text:literal => $resolution:literal;)+) => {
        /// A message of the Base registry (DMTF DSP8011, Base.1.19).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::redfish) enum Base { $($(#[$doc])* $name,)+ }

        impl Base {
            pub(super) const ALL: &[Self] = &[$(Self::$name,)+];

            pub(super) fn definition(self) -> Definition {
                match self { $(Self::$name => Definition {
                    key: $key,
                    severity: Severity::$severity,
                    text: $text,
                    resolution: $resolution,
                },)+ }
            }
        }
    };
}

messages! {
    Success "Success" Ok "The request was carried out." => "Nothing needs to be done.";
    GeneralError "GeneralError" Critical "The request failed; the extended information says why."
        => "Read the extended information.";
    InternalError "InternalError" Critical "The service failed to carry out the request."
        => "Send the request again; restart the service if it fails again.";
    ServiceTemporarilyUnavailable "ServiceTemporarilyUnavailable" Critical
        "The service cannot answer now; try again in %1 seconds." => "Wait that long and send the request again.";
    NoValidSession "NoValidSession" Critical "The credentials are missing or wrong."
        => "Log in with right credentials and send the request again.";
    InsufficientPrivilege "InsufficientPrivilege" Critical "The account lacks a privilege that this needs."
        => "Use an account with another role.";
    PasswordChangeRequired "PasswordChangeRequired" Critical
        "The password has to be changed first: PATCH the property Password of %1."
        => "Change the password with a PATCH of the account.";
    SessionLimitExceeded "SessionLimitExceeded" Critical "As many sessions are open as the service allows."
        => "End a session, or wait until one times out.";
    EventSubscriptionLimitExceeded "EventSubscriptionLimitExceeded" Critical
        "As many subscriptions exist as the service allows." => "Delete a subscription first.";
    CreateLimitReachedForResource "CreateLimitReachedForResource" Critical
        "As many resources exist as the collection can hold." => "Delete one of them first.";
    CreateFailedMissingReqProperties "CreateFailedMissingReqProperties" Critical
        "The property %1 is required to create the resource." => "Add the property.";
    ResourceAlreadyExists "ResourceAlreadyExists" Critical
        "There is a resource of type %1 with the property %2 of value %3 already." => "Choose another value.";
    ResourceCannotBeDeleted "ResourceCannotBeDeleted" Critical "This resource cannot be deleted."
        => "Leave the resource in place.";
    ResourceInUse "ResourceInUse" Warning "The resource is in use or in transition; nothing was changed."
        => "Wait until the resource has settled and send the request again.";
    ResourceMissingAtUri "ResourceMissingAtURI" Critical "There is no resource at the URI %1."
        => "Follow the links from the service root.";
    OperationNotAllowed "OperationNotAllowed" Critical "This resource does not support the method."
        => "Use a method that the header Allow names.";
    ActionParameterMissing "ActionParameterMissing" Critical "The action %1 needs the parameter %2."
        => "Add the parameter, with a value of the right type.";
    ActionParameterNotSupported "ActionParameterNotSupported" Warning
        "The parameter %1 of the action %2 has a value that is not supported here."
        => "Use one of the allowable values.";
    ActionParameterValueConflict "ActionParameterValueConflict" Warning
        "The parameter %1 has the value %2, which the present state does not allow."
        => "Wait until the resource has settled and send the request again.";
    ActionParameterUnknown "ActionParameterUnknown" Warning "The action %1 has no parameter %2."
        => "Leave the parameter out.";
    NoOperation "NoOperation" Warning "There is nothing to do; nothing was changed."
        => "Nothing needs to be done if this was intended.";
    MalformedJson "MalformedJSON" Critical "The body is not a JSON object." => "Send a JSON object.";
    PayloadTooLarge "PayloadTooLarge" Critical "The body is too large." => "Send a smaller body.";
    HeaderInvalid "HeaderInvalid" Critical "The request header %1 has a value that is not supported."
        => "Send another value or leave the header out.";
    PreconditionFailed "PreconditionFailed" Critical "The ETag is not that of the resource as it is now."
        => "Read the resource again and use its ETag.";
    PreconditionRequired "PreconditionRequired" Critical "The change needs the header If-Match."
        => "Read the resource and send its ETag in If-Match.";
    PropertyUnknown "PropertyUnknown" Warning "The resource has no property %1." => "Leave the property out.";
    PropertyNotWritable "PropertyNotWritable" Warning "The property %1 cannot be written."
        => "Leave the property out.";
    PropertyValueTypeError "PropertyValueTypeError" Warning "The value %1 of the property %2 has a wrong type."
        => "Send a value of the type that the schema names.";
    PropertyValueFormatError "PropertyValueFormatError" Warning
        "The value %1 of the property %2 has a form that is not accepted." => "Send a value of another form.";
    PropertyValueNotInList "PropertyValueNotInList" Warning
        "The value %1 of the property %2 is not one of those that are supported."
        => "Send one of the supported values.";
    PropertyValueOutOfRange "PropertyValueOutOfRange" Warning
        "The value %1 of the property %2 is out of range." => "Send a value within the range.";
    QueryParameterUnsupported "QueryParameterUnsupported" Warning "The query parameter %1 is not supported."
        => "Leave the query parameter out.";
    QueryParameterValueFormatError "QueryParameterValueFormatError" Warning
        "The value %1 of the query parameter %2 has a form that is not accepted."
        => "Send a value of another form, or none.";
    QueryParameterOutOfRange "QueryParameterOutOfRange" Warning
        "The value %1 of the query parameter %2 is outside of %3." => "Send a value within the range.";
    QueryNotSupportedOnResource "QueryNotSupportedOnResource" Warning
        "This resource does not support the query." => "Leave the query out.";
    QueryCombinationInvalid "QueryCombinationInvalid" Warning
        "These query parameters cannot be used together." => "Send one of them at a time.";
}

impl Base {
    /// The message with these arguments.
    pub(in crate::redfish) fn message(self, arguments: &[&str]) -> Message {
        Message::of(PREFIX, self.definition(), arguments)
    }
}
