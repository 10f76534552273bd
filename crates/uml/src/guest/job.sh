# A whole job: make a file system, mount it, age and fill it, do the work, leave and check.
queue=/sys/block/vda/queue
echo 0 >$queue/rotational
[ -w $queue/max_sectors_kb ] && echo "$MAX_KB" >$queue/max_sectors_kb
echo $((DIRTY_BYTES * 32)) >/proc/sys/vm/dirty_bytes
echo "$DIRTY_BYTES" >/proc/sys/vm/dirty_background_bytes
mkdir /run/mnt
MNT=/run/mnt

prepare() { :; }
# The functions of a workload, appended here, replace these.
