# A node made from the number of the named device: no other name or link can lead elsewhere.
DEV=/run/disk
mknod -m 600 "$DEV" b "$MAJOR" "$MINOR" || failed "making a node for the device"
# Programs of this machine may have read what earlier programs wrote past their cache.
fresh() {
    try blockdev --flushbufs "$DEV"
}
# Another medium in the same reader has the same number, but another sequence number (Linux 5.15).
if [ -n "$SEQUENCE" ] && [ "$(cat "$SEQUENCE_FILE" 2>/dev/null)" != "$SEQUENCE" ]; then
    failed "the device is gone, or its medium was changed"
fi
# mkfs.btrfs refuses a UUID that it finds on a device, and all file systems have the same one here.
try wipefs --all --quiet "$DEV"
command sync
