prepare() {
    try perl -e "$TREE_PL" "$MNT/tree" "${BOOT_FILES:-400}"
}

work() {
    try perl -e '
        my ($root, $count) = @ARGV;
        for my $i (0 .. $count - 1) {
            my $n = ($i * 7919) % $count;
            open(my $f, "<", sprintf("%s/part%02d/file%04d.c", $root, $n % 40, $n)) or die "$n: $!";
            1 while sysread($f, my $data, 131072);
        }' "$MNT/tree" "${BOOT_FILES:-400}"
}
