# `make test` runs all quick checks, `make test-long` the slow ones; .ci/run calls both. What they need
# on Debian is installed where it is missing and we are root.

RELEASE = cargo run --quiet --release --
DEVICE ?= sim:sm2708-250gb
OUT ?= target/report

.PHONY: test test-long test-vm python bench bench-fio bench-serve fuzz demo report shelf-demo static dist release bench-python fs cuts book man pictures tools

test: tools
	scripts/test.sh

# Libraries, the oldest compiler, ARM, fault campaigns, power cuts, served cards in real time, determinism across builds,
# generated documents.
test-long: tools
	scripts/test-long.sh

# Linux' own drivers for NVMe, SD cards, USB, SATA and SCSI, in a virtual machine. As root.
test-vm: tools
	scripts/test-vm.sh

# The Python package: built, installed into target/python-venv, checked, tested; its notebooks executed.
python: tools
	scripts/python.sh

tools:
	scripts/install-tools.sh

# Speed of the simulator, the generator and the recorder. Writes docs/performance.csv and the pages that quote it.
bench:
	scripts/bench.py

# The real engine against fio, in alternating runs; as root. Writes a section of docs/performance.md.
bench-fio:
	cargo build --release --quiet
	scripts/bench-fio.py

# The NBD server against nbdkit, in alternating runs. Writes a section of docs/performance.md.
bench-serve:
	cargo build --release --quiet
	scripts/bench-serve.py

# Every fuzz target for FUZZ_SECONDS (60) each, with libFuzzer where a nightly compiler is at hand.
fuzz:
	scripts/fuzz.sh

# The report of a review of DEVICE, in OUT.
report:
	$(RELEASE) review $(DEVICE) -o $(OUT)

# The first look: a review of a simulated card, and where its report is.
demo:
	cargo build --release
	target/release/nandscope review sim:samsung-evo-16gb --quick -o target/demo
	@echo "The report: $(CURDIR)/target/demo/report.html"

# A shelf of all simulated devices and its site, in SHELF_OUT: open SHELF_OUT/site/index.html.
SHELF_OUT ?= target/shelf-demo
shelf-demo:
	cargo build --release --quiet
	scripts/shelf-demo.sh $(SHELF_OUT)

# Static binaries for x86-64 and 64-bit ARM, in target/static.
static:
	scripts/static.sh

# Everything that a release consists of, in target/dist: archives, Debian packages, wheels, checksums.
dist:
	scripts/dist.sh

# The same after checks of version, changelog and addresses: make release TAG=vX.Y.Z.
release:
	scripts/release.sh "$(TAG)"

# The Python package against the command, threads, and memory of tables. Writes a section of docs/performance.md.
bench-python:
	target/python-venv/bin/python scripts/bench-python.py

# The kernel, the table of file systems on the cards of the talk, and docs/filesystems.md.
TALK_CARDS = toshiba-class10-16gb kingston-class10-32gb kingston-8gb sandisk-ultra-16gb sandisk-extreme-16gb \
	sandisk-extreme-pro-16gb toshiba-exceria-32gb samsung-pro-32gb samsung-evo-16gb
fs: tools
	$(RELEASE) kernel build
	$(RELEASE) fs $(addprefix sim:,$(TALK_CARDS)) --host sabrelite --page docs/filesystems.md

# Power cuts on all file systems at CUTS (100) moments each, and docs/power-cuts.md.
CUTS ?= 100
cuts: tools
	$(RELEASE) kernel build
	$(RELEASE) fs sim:samsung-evo-16gb --host sabrelite --fs ext4,f2fs,nilfs2,vfat,exfat,btrfs,xfs \
		--cuts $(CUTS) --page docs/power-cuts.md

# The documentation as a site, in target/book, and its links.
book: tools
	PATH="$$PATH:$${XDG_CACHE_HOME:-$$HOME/.cache}/nandscope/tools/bin" mdbook build
	scripts/check-book.py target/book

# The man pages of all commands and topics, in target/man.
man:
	$(RELEASE) help --man target/man

# The pictures of the README.
pictures:
	cargo build --release --quiet
	scripts/pictures.sh
