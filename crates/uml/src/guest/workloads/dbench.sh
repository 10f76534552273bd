# The operations of an office: documents made, written in small pieces, read again, renamed, deleted; a
# folder each; the same number of operations in every run, unlike dbench itself, which runs for a time.
work() {
    try perl -e '
        use strict; use warnings;
        use Fcntl;
        use IO::Handle;
        my ($root, $clients, $rounds) = @ARGV;
        my $text = "d" x 65536;
        sub client {
            my $id = shift;
            my $state = 4242 + $id;
            my $draw = sub { $state = ($state * 1103515245 + 12345) % 2147483648; int($state / 65536) % shift };
            my $home = "$root/client$id";
            mkdir $home; mkdir "$home/$_" for 1 .. 4;
            for my $n (1 .. $rounds) {
                my $name = sprintf("%s/%d/document%d", $home, 1 + $n % 4, $draw->(60));
                sysopen(my $f, $name, O_RDWR | O_CREAT) or die "$name: $!";
                for (1 .. 1 + $draw->(8)) {
                    my $size = (512, 4096, 8192, 16384, 65536)[$draw->(5)];
                    sysseek($f, 4096 * $draw->(32), 0);
                    syswrite($f, $text, $size) == $size or die "$!";
                }
                sysseek($f, 0, 0);
                1 while sysread($f, my $data, 16384);
                $f->sync or die "$!" if $n % 20 == 0;
                close($f);
                rename($name, "$name.old") or die "$!" if $n % 5 == 0;
                unlink("$name.old") if $n % 7 == 0;
                unlink($name) if $n % 3 == 0;
            }
        }
        my @children;
        for my $id (1 .. $clients) {
            my $child = fork();
            die "$!" unless defined $child;
            if (!$child) { client($id); exit 0; }
            push @children, $child;
        }
        for (@children) { waitpid($_, 0); exit 1 if $?; }
    ' "$MNT" "${DBENCH_CLIENTS:-4}" "${DBENCH_ROUNDS:-100}"
}
