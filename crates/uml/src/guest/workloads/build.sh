# Each of the sources is read with the common headers, "compiled" for as long as --cpu says, and leaves an
# object file of 40 % of its size and a file of dependencies, as kbuild does.
prepare() {
    try perl -e "$TREE_PL" "$MNT/tree" "${BUILD_FILES:-100}"
    cat >/run/compile.pl <<'END'
my ($source, $object, $time) = @ARGV;
open(my $in, '<', $source) or die "$source: $!";
my $text = do { local $/; <$in> };
select(undef, undef, undef, $time * length($text) / 18000) if $time > 0;
open(my $out, '>', "$object.tmp") or die "$object: $!";
print $out substr($text, 0, length($text) * 0.4);
close($out) or die "$!";
rename("$object.tmp", $object) or die "$!";
open(my $deps, '>', "$object.d") or die "$!";
print $deps "$object: $source\n" x 30;
close($deps) or die "$!";
END
    cat >/run/makefile <<'END'
SOURCES := $(sort $(wildcard part*/*.c))
OBJECTS := $(SOURCES:.c=.o)
image: $(OBJECTS)
	cat $(OBJECTS) >$@
%.o: %.c
	@perl /run/compile.pl $< $@ $(COMPILE_S)
END
}

work() {
    try make -s -C "$MNT/tree" -f /run/makefile -j8 COMPILE_S="$COMPILE_S"
}
