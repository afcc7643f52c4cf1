//! Finds out what a type reads: it is read from a deserializer that has nothing, gives every type what
//! it asks for, and remembers what that was.

use serde::de::value::{BorrowedStrDeserializer, Error};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

/// Why the shape of a type is not known.
pub(super) type TraceError = Error;

/// What a type reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Number,
    Truth,
    List(Box<Shape>),
    /// A table with these keys.
    Table(Vec<(&'static str, Shape)>),
    /// A table with names for keys.
    Named(Box<Shape>),
    /// It looks at what is there.
    Either,
}

/// The shape of a type.
pub(super) fn shape<T: for<'de> Deserialize<'de>>() -> Result<Shape, TraceError> {
    let mut shape = Shape::Either;
    T::deserialize(Tracer(&mut shape))?;
    Ok(shape)
}

struct Tracer<'s>(&'s mut Shape);

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Shape::Either;
        visitor.visit_str("")
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Shape::Text;
        visitor.visit_str("")
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Shape::Number;
        visitor.visit_u32(0)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u32(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Shape::Truth;
        visitor.visit_bool(false)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut item = Shape::Either;
        let read = visitor.visit_seq(Items { item: &mut item, is_read: false });
        *self.0 = Shape::List(Box::new(item));
        read
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut fields = Vec::new();
        let read = visitor.visit_map(Fields { left: &["name"], known: &mut fields });
        let value = fields.pop().map_or(Shape::Either, |(_, shape)| shape);
        *self.0 = Shape::Named(Box::new(value));
        read
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut known = Vec::new();
        let read = visitor.visit_map(Fields { left: fields, known: &mut known });
        // A value with its place reads the place first and is, in the file, the value.
        let is_placed = name.starts_with("$__serde_spanned");
        *self.0 = match (is_placed, known.pop()) {
            (true, Some((_, value))) => value,
            (_, last) => Shape::Table(known.into_iter().chain(last).collect()),
        };
        read
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct
        tuple tuple_struct enum identifier ignored_any
    }
}

/// The one item of a list.
struct Items<'s> {
    item: &'s mut Shape,
    is_read: bool,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        if std::mem::replace(&mut self.is_read, true) {
            return Ok(None);
        }
        seed.deserialize(Tracer(self.item)).map(Some)
    }
}

/// Every key of a table, once.
struct Fields<'s> {
    left: &'static [&'static str],
    known: &'s mut Vec<(&'static str, Shape)>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((name, left)) = self.left.split_first() else { return Ok(None) };
        self.left = left;
        self.known.push((name, Shape::Either));
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (name, shape) = self.known.last_mut().ok_or_else(|| Error::custom("a key is first"))?;
        if name.starts_with("$__serde_spanned") && !name.ends_with("value") {
            return seed.deserialize(0_usize.into_deserializer());
        }
        seed.deserialize(Tracer(shape))
    }
}
