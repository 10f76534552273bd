work() {
    try perl -e '
        use strict; use warnings;
        use Fcntl;
        use IO::Handle;
        my ($folder, $seconds) = @ARGV;
        my $second = "v" x 5000000;
        sysopen(my $video, "$folder/video.mov", O_WRONLY | O_CREAT) or die "$!";
        sysopen(my $index, "$folder/video.idx", O_WRONLY | O_CREAT) or die "$!";
        for my $n (1 .. $seconds) {
            for (my $at = 0; $at < 5000000; $at += 250000) {
                syswrite($video, $second, 250000, $at) == 250000 or die "$!";
                select(undef, undef, undef, 0.05);
            }
            syswrite($index, pack("Q<4", $n, $n * 5000000, 0, 0)) == 32 or die "$!";
            $index->sync or die "$!";
        }' "$MNT" "${CAMERA_SECONDS:-60}"
}
