//! Reading the query of a URI.

use super::{Query, Refused};
use axum::http::StatusCode;

use super::expand::{Expand, MAX_LEVELS};
use crate::redfish::message::Base;

impl Query {
    /// Reads the part after the question mark. Unknown parameters are ignored unless they begin with a
    /// dollar sign (DSP0266, "Query parameters").
    ///
    /// # Errors
    /// What to answer: 501 for what is not supported and 400 for what is wrong.
    pub(in crate::redfish) fn parse(query: Option<&str>) -> Result<Self, Refused> {
        let mut parsed = Self::default();
        for part in query
            .unwrap_or_default()
            .split('&')
            .filter(|part| !part.is_empty())
        {
            let (name, value) = part
                .split_once('=')
                .map_or((part, None), |(name, value)| (name, Some(decode(value))));
            parsed.take(&decode(name), value)?;
        }
        if parsed.only && (parsed.expand.is_some() || parsed.select.is_some()) {
            return Err(Refused::bad(Base::QueryCombinationInvalid.message(&[])));
        }
        Ok(parsed)
    }

    fn take(&mut self, name: &str, value: Option<String>) -> Result<(), Refused> {
        let value = value.unwrap_or_default();
        let malformed = || Refused::bad(Base::QueryParameterValueFormatError.message(&[&value, name]));
        match name {
            "only" if value.is_empty() => self.only = true,
            "only" => return Err(malformed()),
            "$expand" => {
                let expand = Expand::parse(&value).ok_or_else(malformed)?;
                if expand.levels == 0 || expand.levels > MAX_LEVELS {
                    let range = format!("1 to {MAX_LEVELS}");
                    let message = Base::QueryParameterOutOfRange.message(&[&value, name, &range]);
                    return Err(Refused::bad(message));
                }
                self.expand = Some(expand);
            }
            "$select" => {
                let paths: Option<Vec<Vec<String>>> = value.split(',').map(path).collect();
                self.select = Some(paths.ok_or_else(malformed)?);
            }
            _ if name.starts_with('$') => {
                let message = Base::QueryParameterUnsupported.message(&[name]);
                return Err(Refused {
                    status: StatusCode::NOT_IMPLEMENTED,
                    message: Box::new(message),
                });
            }
            _ => {}
        }
        Ok(())
    }
}

fn path(text: &str) -> Option<Vec<String>> {
    let names: Vec<String> = text.trim().split('/').map(str::to_owned).collect();
    names.iter().all(|name| !name.is_empty()).then_some(names)
}

/// Resolves percent-encoding; what is not well formed stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let decoded = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match decoded {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::{Query, decode};
    use crate::redfish::query::Expand;
    use proptest::prelude::*;

    fn refused(query: &str) -> u16 {
        Query::parse(Some(query)).unwrap_err().status.as_u16()
    }

    #[test]
    fn reads_what_is_supported_and_ignores_what_is_not() {
        assert!(Query::parse(None).unwrap().is_plain());
        assert!(Query::parse(Some("foo=bar&excerpt")).unwrap().is_plain());
        assert!(Query::parse(Some("only")).unwrap().only);
        let encoded = Query::parse(Some("%24expand=%2A%28%24levels%3D2%29")).unwrap();
        let expand = encoded.expand.unwrap();
        assert_eq!((expand.subordinate, expand.links, expand.levels), (true, true, 2));
        let select = Query::parse(Some("$select=Status/State,Name"))
            .unwrap()
            .select
            .unwrap();
        assert_eq!(select, [vec!["Status", "State"], vec!["Name"]]);
    }

    #[test]
    fn refuses_what_it_must() {
        for (query, status) in [
            ("$rpvunknown", 501),
            ("$filter=a%20eq%20b", 501),
            ("$top=1", 501),
            ("only=foo", 400),
            ("$expand", 400),
            ("$expand=x", 400),
            ("$expand=*($levels=x)", 400),
            ("$expand=*($levels=0)", 400),
            ("$expand=*($levels=99)", 400),
            ("$select=", 400),
            ("$select=a//b", 400),
            ("only&$expand=.", 400),
        ] {
            assert_eq!(refused(query), status, "{query}");
        }
        assert_eq!(Expand::parse("~").unwrap().levels, 1);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(query in "\\PC*") {
            let _ = Query::parse(Some(&query));
            let _ = decode(&query);
        }

        #[test]
        fn percent_encoding_comes_back(text in "[ -~]{0,20}") {
            let encoded: String = text
                .bytes()
                .flat_map(|byte| ['%'].into_iter().chain(format!("{byte:02x}").chars().collect::<Vec<_>>()))
                .collect();
            prop_assert_eq!(decode(&encoded), text);
        }
    }
}
