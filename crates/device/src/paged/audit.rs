//! The invariants of a device, checked from the ground up, for tests. Slow: it looks at every
//! unit of the flash.

use super::PagedDevice;

impl PagedDevice {
    /// Checks the invariants of the bookkeeping at any instant, and, where nothing is under way,
    /// that nothing was left behind.
    ///
    /// # Errors
    /// The first invariant that does not hold, in words.
    #[doc(hidden)]
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.log.audit()?;
        let (in_use, known) = (
            self.pending.len() - self.free_pending.len(),
            self.outstanding as usize + self.host_queue.len(),
        );
        if in_use != known {
            return Err(format!(
                "{in_use} commands are in use, {known} are outstanding or queued"
            ));
        }
        let idle =
            self.outstanding == 0 && self.array.outstanding() == 0 && !self.background.working();
        if idle { self.audit_idle() } else { Ok(()) }
    }

    fn audit_idle(&self) -> Result<(), String> {
        let in_flight = self.writes.programs_in_flight();
        if in_flight > 0 {
            return Err(format!("idle with {in_flight} programs in flight"));
        }
        let (used, gathered) = (self.writes.used, self.log.gathered_host_units());
        if used != gathered {
            return Err(format!(
                "idle with {used} places of the write buffer taken and {gathered} units in it"
            ));
        }
        if self.writes.outstanding > 0 {
            return Err(format!(
                "idle with {} writes outstanding",
                self.writes.outstanding
            ));
        }
        if let Some((superblock, block)) =
            self.log.blocks.iter().find(|(_, b)| b.programs_pending > 0)
        {
            return Err(format!(
                "idle with {} programs of superblock {superblock} pending",
                block.programs_pending
            ));
        }
        match self.log.waiting_for_erasure() {
            0 => Ok(()),
            n => Err(format!("idle with {n} superblocks waiting for erasure")),
        }
    }
}
