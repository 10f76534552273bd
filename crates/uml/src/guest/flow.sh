mark mkfs
make_it
mark mount
# With -i no helper is asked for: NILFS2's would start a cleaner with the machine's own settings.
try mount -i -t "$FS" -o "$MOUNT_OPTIONS" "$DEV" "$MNT"
[ -n "$CLEANER" ] && start_cleaner

if [ "$FULLNESS" -gt 0 ]; then
    mark fill
    try perl -e "$AGE_PL" "$MNT" "$FULLNESS" "$AGE_ROUNDS"
fi
mark prepare
mkdir "$MNT/w" || failed "mkdir"
TOP=$MNT
MNT=$MNT/w
prepare
cd /run/work
sync
echo 3 >/proc/sys/vm/drop_caches
mark work
work
mark sync
sync
mark idle
sleep "$IDLE_S"
mark umount
[ -n "$CLEANER" ] && stop_cleaner
try umount "$TOP"
mark fsck
if [ -n "$CHECK" ]; then
    try sh -c "$CHECK"
else
    # There is no program that checks it: everything must be readable.
    try mount -i -r -t "$FS" "$DEV" "$TOP"
    try tar -C "$TOP" --ignore-failed-read -cf /dev/null .
    try umount "$TOP"
fi
