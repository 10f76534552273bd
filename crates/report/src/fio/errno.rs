//! Texts of Linux' error numbers, as `strerror` has them.

/// The text of an error number; that of 0 is `Success`.
pub fn text(number: u32) -> &'static str {
    match number {
        0 => "Success",
        5 => "Input/output error",
        12 => "Cannot allocate memory",
        22 => "Invalid argument",
        27 => "File too large",
        28 => "No space left on device",
        30 => "Read-only file system",
        61 => "No data available",
        84 => "Invalid or incomplete multibyte or wide character",
        110 => "Connection timed out",
        121 => "Remote I/O error",
        122 => "Disk quota exceeded",
        125 => "Operation canceled",
        _ => "Unknown error",
    }
}
