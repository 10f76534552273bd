//! JSON as fio writes it: two spaces per level, a space before each colon, six decimals.

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{Result, Write};

/// The text of a value, with a line end.
pub fn of(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let form = FioForm(PrettyFormatter::new());
    // Keys are strings, numbers are finite, and the writer is memory: nothing here can fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, form));
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

struct FioForm(PrettyFormatter<'static>);

impl Formatter for FioForm {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> Result<()> {
        write!(writer, "{value:.6}")
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b" : ")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_is_laid_out_as_by_fio() {
        let value = serde_json::json!({"a": 1.5, "b": {"c": [1, 2]}, "d": []});
        assert_eq!(
            super::of(&value),
            "{\n  \"a\" : 1.500000,\n  \"b\" : {\n    \"c\" : [\n      1,\n      2\n    ]\n  },\n  \"d\" : []\n}\n"
        );
    }
}
