//! The words of a document that decide something: kinds, levels, tolerances, reasons.

open_enum! {
    /// Operation on a target.
    #[derive(Default)]
    Operation {
        /// Read.
        #[default]
        Read = "read",
        /// Write.
        Write = "write",
        /// Discard.
        Trim = "trim",
        /// Flush.
        Flush = "flush",
        /// Reads and writes together, as fio reports them with `unified_rw_reporting`.
        Mixed = "mixed",
    }
    /// Operation that this version does not know.
    Other
}

open_enum! {
    /// Kind of a target.
    #[derive(Default)]
    TargetKind {
        /// Simulated device.
        #[default]
        Simulated = "simulated",
        /// Block device.
        BlockDevice = "block device",
        /// File.
        File = "file",
        /// Directory.
        Directory = "directory",
        /// Output of flashbench.
        Recorded = "recorded",
    }
    /// Kind that this version does not know.
    Other
}

open_enum! {
    /// Severity of a notice.
    #[derive(Default)]
    Level {
        /// For information.
        #[default]
        Info = "info",
        /// Limits the use of the numbers.
        Warning = "warning",
        /// Something was not measured, or wrongly.
        Error = "error",
    }
    /// Severity that this version does not know.
    Other
}

open_enum! {
    /// Kind of an event on a time line.
    #[derive(Default)]
    EventKind {
        /// A write cache seems to be full: the write cliff.
        #[default]
        CacheExhausted = "cache exhausted",
        /// The rate no longer drifts from here on.
        SteadyState = "steady state",
        /// The device reports that it throttles.
        Throttling = "throttling",
        /// The device is slower above a temperature, and does not report why.
        SlowerWhileHot = "slower while hot",
        /// No spare blocks are left.
        EndOfLife = "end of life",
    }
    /// Event that this version does not know.
    Other
}

open_enum! {
    /// State of a block that was written to find out whether a device is genuine.
    #[derive(Default)]
    BlockState {
        /// Holds what was written.
        #[default]
        Genuine = "genuine",
        /// Shares memory with another address.
        Aliased = "aliased",
        /// Holds something else than what was written.
        Lost = "lost",
        /// Reads or writes fail.
        Unreadable = "unreadable",
    }
    /// State that this version does not know.
    Other
}

open_enum! {
    /// Unit of a tolerance.
    #[derive(Default)]
    ToleranceKind {
        /// Share of the published value.
        #[default]
        Relative = "relative",
        /// In the unit of the figure.
        Absolute = "absolute",
    }
    /// Kind that this version does not know.
    Other
}

open_enum! {
    /// Relation of a published value to the device that it describes.
    #[derive(Default)]
    Relation {
        /// The value.
        #[default]
        Equal = "=",
        /// About the value.
        About = "~",
        /// Below the value.
        Below = "<",
        /// The value or less.
        AtMost = "<=",
        /// Above the value.
        Above = ">",
        /// The value or more.
        AtLeast = ">=",
        /// The value is the middle of a range.
        Range = "range",
    }
    /// Relation that this version does not know.
    Other
}

open_enum! {
    /// Reason why a step is incomplete.
    StopReason {
        /// The user interrupted it.
        Interrupted = "interrupted before the end",
        /// The time that it may take is used up.
        TimeSpent = "the budget of time is spent",
    }
    /// An error, in words.
    Failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_are_kept() {
        for text in ["\"write\"", "\"append\""] {
            let operation: Operation = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&operation).unwrap(), text);
        }
        assert_eq!(Operation::from("trim"), Operation::Trim);
        assert_eq!(Operation::from("append"), Operation::Other("append".into()));
    }
}
