
# The running kernel, in namespaces of mounts and processes of its own: what is mounted here is mounted nowhere else, and
# is unmounted by the kernel when the first process, which is this shell, ends.
off() {
    exit 0
}

# Adds to `mark` what the kernel counted so far: requests of the disk, bytes of this shell and of its children that ended.
mark() {
    local now=$EPOCHREALTIME disk=() line
    [ -r "$STAT" ] && read -r -a disk <"$STAT"
    while read -r line; do
        [ "${line%% *}" = wchar: ] && echo "@wrote $1 ${line##* }"
    done </proc/self/io
    [ ${#disk[@]} -gt 0 ] && echo "@disk $1 ${disk[*]}"
    # The counting is no part of the work.
    [ "$1" = work ] && now=$EPOCHREALTIME
    echo "@mark $1 $now"
}

# Only the file system under test: other ones of this machine may have much to write.
sync() {
    if [ -n "$TOP" ]; then
        command sync -f "$TOP"
    else
        command sync
    fi
}

mount -t proc proc /proc || { echo "@failed mounting /proc in a namespace"; exit 1; }
mount -t tmpfs tmpfs /run || { echo "@failed mounting a folder in memory in a namespace"; exit 1; }
# A precaution against a script that writes where it should not; file systems mounted below stay writable.
mount -o remount,bind,ro / 2>/dev/null
mkdir /run/work /run/mnt
cd /run/work || failed "no place to work"
ulimit -c 0
MNT=/run/mnt
TOP=

prepare() { :; }
# The functions of a workload, appended here, replace these.
