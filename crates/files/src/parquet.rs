//! Tables in Apache Parquet, for programs that read them (pandas, DuckDB, Arrow).
//!
//! Only what such a table needs is written: one row group, columns of text, flags, whole and real numbers that may lack
//! values, without compression, and texts about the table as a whole. Text is stored as a dictionary and runs of its entries, so that a column of few names is small.
//! The `parquet` crate would write the same with a dozen further crates and half a minute of building.

use std::collections::BTreeMap;

/// A column, a value for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// UTF-8, of any length.
    Text(Vec<Option<String>>),
    /// True or false.
    Flag(Vec<Option<bool>>),
    /// Whole numbers of 64 bits.
    Whole(Vec<Option<i64>>),
    /// Real numbers of 64 bits.
    Real(Vec<Option<f64>>),
}

/// Columns with their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, Column)>,
    metadata: Vec<(String, String)>,
}

const MAGIC: &[u8; 4] = b"PAR1";

/// Numbers of the format's enumerations.
mod number {
    pub(super) const BOOLEAN: i64 = 0;
    pub(super) const INT64: i64 = 2;
    pub(super) const DOUBLE: i64 = 5;
    pub(super) const BYTE_ARRAY: i64 = 6;
    pub(super) const OPTIONAL: i64 = 1;
    pub(super) const UTF8: i64 = 0;
    pub(super) const PLAIN: i64 = 0;
    pub(super) const RLE: i64 = 3;
    pub(super) const RLE_DICTIONARY: i64 = 8;
    pub(super) const DATA_PAGE: i64 = 0;
    pub(super) const DICTIONARY_PAGE: i64 = 2;
    pub(super) const UNCOMPRESSED: i64 = 0;
}

impl Table {
    /// A table without columns.
    pub fn new() -> Self {
        Table::default()
    }

    /// The table with one more column. If other columns are longer, the missing rows have no value.
    #[must_use]
    pub fn with(mut self, name: &str, column: Column) -> Self {
        self.columns.push((name.to_string(), column));
        self
    }

    /// The table with a text about it, by name.
    #[must_use]
    pub fn about(mut self, name: &str, text: &str) -> Self {
        self.metadata.push((name.to_string(), text.to_string()));
        self
    }

    /// The bytes of the file.
    pub fn parquet(&self) -> Vec<u8> {
        let rows = self.columns.iter().map(|(_, c)| c.len()).max().unwrap_or(0);
        let mut file = MAGIC.to_vec();
        let chunks: Vec<Chunk> = self
            .columns
            .iter()
            .map(|(_, column)| column.write(rows, &mut file))
            .collect();
        let footer = self.footer(rows, &chunks);
        file.extend_from_slice(&footer);
        file.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        file.extend_from_slice(MAGIC);
        file
    }

    /// `FileMetaData` of the format.
    fn footer(&self, rows: usize, chunks: &[Chunk]) -> Vec<u8> {
        let mut root = Struct::default();
        root.text(4, "table");
        root.i32(5, self.columns.len() as i64);
        let mut schema = vec![root.end()];
        schema.extend(self.columns.iter().map(|(name, column)| {
            let mut element = Struct::default();
            element.i32(1, column.physical());
            element.i32(3, number::OPTIONAL);
            element.text(4, name);
            if matches!(column, Column::Text(_)) {
                element.i32(6, number::UTF8);
            }
            element.end()
        }));
        let columns = self.columns.iter().zip(chunks);
        let columns = columns.map(|((name, column), chunk)| {
            let mut meta = Struct::default();
            meta.i32(1, column.physical());
            meta.i32s(2, &[number::PLAIN, number::RLE, number::RLE_DICTIONARY]);
            meta.texts(3, &[name]);
            meta.i32(4, number::UNCOMPRESSED);
            meta.i64(5, rows as i64);
            meta.i64(6, chunk.bytes as i64);
            meta.i64(7, chunk.bytes as i64);
            meta.i64(9, chunk.data as i64);
            if let Some(dictionary) = chunk.dictionary {
                meta.i64(11, dictionary as i64);
            }
            let mut column = Struct::default();
            column.i64(2, chunk.data as i64);
            column.nested(3, &meta.end());
            column.end()
        });
        let mut group = Struct::default();
        group.structs(1, &columns.collect::<Vec<_>>());
        group.i64(2, chunks.iter().map(|chunk| chunk.bytes as i64).sum());
        group.i64(3, rows as i64);
        let mut file = Struct::default();
        file.i32(1, 1);
        file.structs(2, &schema);
        file.i64(3, rows as i64);
        file.structs(4, &[group.end()]);
        if !self.metadata.is_empty() {
            let pairs = self.metadata.iter().map(|(name, text)| {
                let mut pair = Struct::default();
                pair.text(1, name);
                pair.text(2, text);
                pair.end()
            });
            file.structs(5, &pairs.collect::<Vec<_>>());
        }
        file.text(6, "nandscope");
        file.end()
    }
}

/// Positions of the pages of a column in the file.
struct Chunk {
    dictionary: Option<usize>,
    data: usize,
    bytes: usize,
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Column::Text(values) => values.len(),
            Column::Flag(values) => values.len(),
            Column::Whole(values) => values.len(),
            Column::Real(values) => values.len(),
        }
    }

    fn physical(&self) -> i64 {
        match self {
            Column::Text(_) => number::BYTE_ARRAY,
            Column::Flag(_) => number::BOOLEAN,
            Column::Whole(_) => number::INT64,
            Column::Real(_) => number::DOUBLE,
        }
    }

    /// Appends the pages of the column.
    fn write(&self, rows: usize, file: &mut Vec<u8>) -> Chunk {
        let begin = file.len();
        let (values, present, dictionary) = match self {
            Column::Text(texts) => {
                let (dictionary, values) = indexed(texts);
                let entries: Vec<u8> = dictionary.iter().flat_map(|text| counted(text)).collect();
                let mut header = Struct::default();
                header.i32(1, dictionary.len() as i64);
                header.i32(2, number::PLAIN);
                page(file, number::DICTIONARY_PAGE, 7, &header.end(), &entries);
                (values, present(texts, rows), true)
            }
            Column::Flag(values) => (bits(values), present(values, rows), false),
            Column::Whole(values) => {
                let bytes = values.iter().flatten().flat_map(|v| v.to_le_bytes());
                (bytes.collect(), present(values, rows), false)
            }
            Column::Real(values) => {
                let bytes = values.iter().flatten().flat_map(|v| v.to_le_bytes());
                (bytes.collect(), present(values, rows), false)
            }
        };
        let data = file.len();
        let mut header = Struct::default();
        header.i32(1, rows as i64);
        header.i32(
            2,
            if dictionary {
                number::RLE_DICTIONARY
            } else {
                number::PLAIN
            },
        );
        header.i32(3, number::RLE);
        header.i32(4, number::RLE);
        let mut body = (present.len() as u32).to_le_bytes().to_vec();
        body.extend(present);
        body.extend::<Vec<u8>>(values);
        page(file, number::DATA_PAGE, 5, &header.end(), &body);
        Chunk {
            dictionary: dictionary.then_some(begin),
            data,
            bytes: file.len() - begin,
        }
    }
}

/// Appends a page with its header, which has `own` as the field of this kind of page.
fn page(file: &mut Vec<u8>, kind: i64, field: i16, own: &[u8], body: &[u8]) {
    let mut header = Struct::default();
    header.i32(1, kind);
    header.i32(2, body.len() as i64);
    header.i32(3, body.len() as i64);
    header.nested(field, own);
    file.extend(header.end());
    file.extend_from_slice(body);
}

/// Whether each row has a value, as runs of one-bit numbers.
fn present<V>(values: &[Option<V>], rows: usize) -> Vec<u8> {
    let bits = values.iter().map(|value| u32::from(value.is_some()));
    let missing = rows.saturating_sub(values.len());
    runs(bits.chain(std::iter::repeat_n(0, missing)), 1)
}

/// The flags that have a value, one bit each, from the lowest bit of each byte.
fn bits(flags: &[Option<bool>]) -> Vec<u8> {
    let flags: Vec<bool> = flags.iter().copied().flatten().collect();
    let byte = |flags: &[bool]| {
        let bits = flags.iter().enumerate();
        bits.fold(0, |byte, (at, flag)| byte | u8::from(*flag) << at)
    };
    flags.chunks(8).map(byte).collect()
}

/// The distinct texts in the order of their first use, and for the rows with a text its index in them, as runs.
fn indexed(texts: &[Option<String>]) -> (Vec<&str>, Vec<u8>) {
    let mut places: BTreeMap<&str, u32> = BTreeMap::new();
    let mut dictionary = Vec::new();
    let indices: Vec<u32> = texts
        .iter()
        .flatten()
        .map(|text| {
            *places.entry(text).or_insert_with(|| {
                dictionary.push(text.as_str());
                dictionary.len() as u32 - 1
            })
        })
        .collect();
    let width = u32::BITS - (dictionary.len().saturating_sub(1) as u32).leading_zeros();
    let mut bytes = vec![width as u8];
    bytes.extend(runs(indices.into_iter(), width));
    (dictionary, bytes)
}

/// The format's hybrid encoding, with run lengths only: length of each run, and its value in whole bytes.
fn runs(values: impl Iterator<Item = u32>, width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |value: u32, count: u64| {
        varint(&mut bytes, count << 1);
        bytes.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
    };
    let mut run: Option<(u32, u64)> = None;
    for value in values {
        run = match run {
            Some((known, count)) if known == value => Some((known, count + 1)),
            Some((known, count)) => {
                put(known, count);
                Some((value, 1))
            }
            None => Some((value, 1)),
        };
    }
    if let Some((value, count)) = run {
        put(value, count);
    }
    bytes
}

fn counted(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A structure in Thrift's compact protocol; fields are written in ascending order of their numbers.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: i16,
}

impl Struct {
    const I32: u8 = 5;
    const I64: u8 = 6;
    const BINARY: u8 = 8;
    const LIST: u8 = 9;
    const STRUCT: u8 = 12;

    /// Begins a field. Its number exceeds that of the field before by at most 15.
    fn field(&mut self, number: i16, kind: u8) {
        let delta = (number - self.last) as u8;
        self.bytes.push(delta << 4 | kind);
        self.last = number;
    }

    fn zigzag(&mut self, value: i64) {
        varint(&mut self.bytes, (value << 1 ^ value >> 63) as u64);
    }

    fn i32(&mut self, number: i16, value: i64) {
        self.field(number, Self::I32);
        self.zigzag(value);
    }

    fn i64(&mut self, number: i16, value: i64) {
        self.field(number, Self::I64);
        self.zigzag(value);
    }

    fn text(&mut self, number: i16, text: &str) {
        self.field(number, Self::BINARY);
        self.binary(text);
    }

    fn binary(&mut self, text: &str) {
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn nested(&mut self, number: i16, value: &[u8]) {
        self.field(number, Self::STRUCT);
        self.bytes.extend_from_slice(value);
    }

    fn list(&mut self, number: i16, kind: u8, length: usize) {
        self.field(number, Self::LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }

    fn i32s(&mut self, number: i16, values: &[i64]) {
        self.list(number, Self::I32, values.len());
        values.iter().for_each(|value| self.zigzag(*value));
    }

    fn texts(&mut self, number: i16, values: &[&str]) {
        self.list(number, Self::BINARY, values.len());
        values.iter().for_each(|value| self.binary(value));
    }

    fn structs(&mut self, number: i16, values: &[Vec<u8>]) {
        self.list(number, Self::STRUCT, values.len());
        values
            .iter()
            .for_each(|value| self.bytes.extend_from_slice(value));
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_name_a_value_and_how_often_it_comes() {
        assert_eq!(runs([1, 1, 1, 0, 1].into_iter(), 1), [6, 1, 2, 0, 2, 1]);
        assert_eq!(runs(std::iter::repeat_n(300, 100), 9), [0xc8, 1, 0x2c, 1]);
        assert_eq!(runs([0; 3].into_iter(), 0), [6]);
        assert_eq!(runs([].into_iter(), 1), [0_u8; 0]);
    }

    #[test]
    fn flags_are_bits() {
        let flags = [true, false, true, true, false, false, false, false, true];
        let mut flags: Vec<Option<bool>> = flags.into_iter().map(Some).collect();
        flags.insert(1, None);
        assert_eq!(bits(&flags), [0b0000_1101, 1]);
    }

    #[test]
    fn a_file_ends_with_the_length_of_its_footer() {
        let table = Table::new().with("a", Column::Real(vec![Some(1.5), None]));
        let file = table.parquet();
        assert_eq!(
            (&file[..4], &file[file.len() - 4..]),
            (&MAGIC[..], &MAGIC[..])
        );
        let length = u32::from_le_bytes(file[file.len() - 8..][..4].try_into().unwrap());
        let footer = &file[file.len() - 8 - length as usize..];
        // Version 1; a schema of two elements.
        assert_eq!(footer[..4], [0x15, 2, 0x19, 0x2c]);
        assert!(file.windows(8).any(|bytes| bytes == 1.5_f64.to_le_bytes()));
    }
}
