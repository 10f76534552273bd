# Files of 4 KiB made one by one, each brought to the card before the next: what a file costs at least. By sync,
# or with CREATE_FSYNC=1 by fsync.
work() {
    try perl -e '
        use IO::Handle;
        my ($folder, $files, $fsync) = @ARGV;
        for my $n (1 .. $files) {
            open(my $f, ">", "$folder/file$n") or die "$!";
            print $f "c" x 4096;
            $f->flush or die "$!";
            if ($fsync) { $f->sync or die "$!"; }
            close($f) or die "$!";
            $fsync or syscall(162) == 0 or die "$!";
        }' "$MNT" "${CREATE_FILES:-16}" "${CREATE_FSYNC:-0}"
}
