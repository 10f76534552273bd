DEV=/dev/vda
if [ -n "$PARTITION" ]; then
    mark partition
    echo "$PARTITION" | sfdisk -q --no-tell-kernel --label dos /dev/vda >/run/said 2>&1 || failed "sfdisk $PARTITION: $(tail -n 1 /run/said)"
    blockdev --rereadpt /dev/vda 2>/run/said || failed "the partition table: $(tail -n 1 /run/said)"
    DEV=/dev/vda1
fi

