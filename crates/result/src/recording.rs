//! When the recording of a video keeps up with the camera.

/// Workload of `nandscope fs` that records a video.
pub const CAMERA: &str = "camera";
/// End of the id of the figure of a recording: how late a piece of video was written at most, seconds.
pub const LATE: &str = "late";
/// A recording keeps up if no piece of video is written later than this after it was taken, seconds. The camera holds
/// 10 MB of video of 40 Mbit/s meanwhile.
pub const LATE_MAX_S: f64 = 2.0;
