# NILFS2's cleaner, as `mount` would start it: it copies what is still valid out of old segments, so that they can be
# written again. Set as its package sets it, but for the time for which deleted data is kept.
start_cleaner() {
    mkdir -p /dev/shm
    mount -t tmpfs tmpfs /dev/shm
    cat >/run/cleaner.conf <<END
protection_period $CLEANER
min_clean_segments 10%
max_clean_segments 20%
clean_check_interval 10
selection_policy timestamp
nsegments_per_clean 2
mc_nsegments_per_clean 4
cleaning_interval 5
mc_cleaning_interval 1
retry_interval 60
min_reclaimable_blocks 10%
mc_min_reclaimable_blocks 1%
use_set_suinfo
use_mmap
log_priority info
END
    try nilfs_cleanerd -c /run/cleaner.conf "$DEV"
}

# Says where the cleaner is, in /proc; nothing where it does not run.
cleaner() {
    grep -lx nilfs_cleanerd /proc/[0-9]*/comm 2>/dev/null | head -n 1
}

stop_cleaner() {
    found=$(cleaner)
    [ -n "$found" ] || failed "nilfs_cleanerd ended before its file system was unmounted"
    found=${found#/proc/}
    kill "${found%/comm}"
    while [ -n "$(cleaner)" ]; do
        sleep 0.01
    done
}
