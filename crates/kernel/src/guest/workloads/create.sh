# Files of 4 KiB made one by one, each brought to the card before the next: what a file costs at least.
work() {
    try perl -e '
        my ($folder, $files) = @ARGV;
        for my $n (1 .. $files) {
            open(my $f, ">", "$folder/file$n") or die "$!";
            print $f "c" x 4096;
            close($f) or die "$!";
            syscall(162) == 0 or die "$!";
        }' "$MNT" "${CREATE_FILES:-16}"
}
