//! How a cache keeps an object. Of some kinds there is one for each host, and these are much alike: kept is what tells
//! one from another, the JSON of it as LZ4, with that of a sample of the kind for its dictionary. It is read again whenever it is
//! asked for, which is seldom: nothing goes through all objects but a start.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use remediator_api::guarded::{Guarded, Unreadable};
use serde::Serialize;
use serde_json::Value;

use super::{Indexed, Object};

/// An object as a cache keeps it.
pub(crate) enum Kept<K> {
    Whole(Object<K>),
    Packed(Packed),
}

/// What tells an object from the sample of its kind.
#[derive(Clone)]
pub(crate) struct Packed {
    text: Box<[u8]>,
    sample: Arc<Vec<u8>>,
}

impl<K> Clone for Kept<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Whole(object) => Self::Whole(Arc::clone(object)),
            Self::Packed(packed) => Self::Packed(packed.clone()),
        }
    }
}

impl<K: Indexed> fmt::Debug for Kept<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object().fmt(formatter)
    }
}

impl<K: Indexed> Kept<K> {
    /// The object.
    pub(crate) fn object(&self) -> Object<K> {
        match self {
            Self::Whole(object) => Arc::clone(object),
            Self::Packed(packed) => Arc::new(packed.unpack()),
        }
    }
}

impl Packed {
    fn unpack<K: Indexed>(&self) -> Guarded<K> {
        let text = decompress_size_prepended_with_dict(&self.text, &self.sample).ok();
        let object = text.and_then(|text| K::unpacked(&text));
        // It was read when it was packed. Unknown stops.
        Guarded(object.ok_or_else(|| {
            let why = "what the cache keeps of it cannot be read; restart the daemon".to_owned();
            Unreadable::new(why, ObjectMeta::default(), &Value::Null)
        }))
    }
}

/// Packs the objects of one cache. The first of them is the sample.
#[derive(Debug, Default)]
pub(in crate::watch) struct Packer {
    sample: Option<Arc<Vec<u8>>>,
}

impl Packer {
    /// As it is kept: as it is where its kind is not packed, or where it cannot be read.
    pub(in crate::watch) fn keep<K: Indexed>(&mut self, object: &Object<K>) -> Kept<K> {
        let Some(text) = object.0.as_ref().ok().and_then(K::packed) else {
            return Kept::Whole(Arc::clone(object));
        };
        let sample = self.sample.get_or_insert_with(|| Arc::new(text.clone()));
        Kept::Packed(Packed {
            text: compress_prepend_size_with_dict(&text, sample).into_boxed_slice(),
            sample: Arc::clone(sample),
        })
    }
}

/// The JSON of a form of an object, if the object is read from it as it is. What would come back as another is not packed.
pub(crate) fn text_of<K: Indexed + PartialEq>(object: &K, form: &impl Serialize) -> Option<Vec<u8>> {
    let text = serde_json::to_vec(form).ok()?;
    (K::unpacked(&text).as_ref() == Some(object)).then_some(text)
}

#[cfg(test)]
mod tests;
