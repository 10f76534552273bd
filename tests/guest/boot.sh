#!/usr/bin/env bash
# Boots a Debian kernel in QEMU with a served card as its only disk (vhost-user, virtio-blk), makes a
# file system, copies files, discards, and compares. SOCKET is that of `serve --vhost-user`, FOLDER a
# place for the packages and the image. What the guest says goes to standard output; it ends with
# `GUEST: all is well` where all is well. KVM is used where a trial boot with it works.
set -euo pipefail
socket=$1 folder=$2
mkdir -p "$folder"
cd "$folder"

if [[ ! -d kernel ]]; then
    package=$(apt-cache depends linux-image-cloud-amd64 | grep -oE 'linux-image-[0-9][^ ]*' | head -1)
    if ! apt-get download -qq "$package" busybox-static >/dev/null 2>&1; then
        echo "SKIPPED: the packages of the guest cannot be downloaded"
        exit 0
    fi
    dpkg-deb -x linux-image-*.deb kernel
    dpkg-deb -x busybox-static_*.deb busybox
fi
modules=$(echo kernel/lib/modules/*)

rm -rf root
mkdir -p root/{bin,proc,sys,dev,mnt,modules}
cp busybox/bin/busybox root/bin/
# The program that makes the file system, with its libraries.
for file in /sbin/mke2fs $(ldd /sbin/mke2fs | grep -oE '/[^ ]+'); do
    mkdir -p "root$(dirname "$file")"
    cp -L "$file" "root$file"
done
for name in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
    find "$modules" -name "$name.ko" -exec cp {} root/modules/ \;
done
cat >root/init <<'INIT'
#!/bin/busybox sh
export PATH=/bin:/sbin
b=/bin/busybox
fail() { echo "GUEST: failed: $*"; $b poweroff -f; }
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for name in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
    [ -f /modules/$name.ko ] && $b insmod /modules/$name.ko
done
q=/sys/block/vda/queue
[ -d $q ] || fail "there is no disk"
for name in logical_block_size physical_block_size optimal_io_size discard_max_bytes write_cache; do
    echo "GUEST: $name $($b cat $q/$name)"
done
echo "GUEST: sectors $($b cat /sys/block/vda/size)"
/sbin/mke2fs -q -F -t ext4 /dev/vda || fail mkfs
$b mount -t ext4 -o discard /dev/vda /mnt || fail mount
$b dd if=/dev/urandom of=/mnt/a bs=64k count=64 2>/dev/null || fail write
$b cp /mnt/a /mnt/b || fail copy
$b cp -r /modules /mnt/ || fail "copy of a folder"
$b sync
$b umount /mnt || fail umount
echo 3 >/proc/sys/vm/drop_caches
$b mount -t ext4 -o discard /dev/vda /mnt || fail "second mount"
$b cmp /mnt/a /mnt/b || fail "files differ"
for f in /modules/*; do $b cmp $f /mnt$f || fail "$f differs"; done
$b rm -r /mnt/a /mnt/modules || fail remove
$b fstrim /mnt || fail fstrim
$b umount /mnt || fail "second umount"
echo "GUEST: all is well"
$b poweroff -f
INIT
chmod +x root/init
(cd root && find . | ../busybox/bin/busybox cpio -o -H newc 2>/dev/null | gzip -1) >initrd

boot() { # ACCELERATOR SECONDS
    timeout "$2" qemu-system-x86_64 -accel "$1" -m 256 -smp 1 -nographic -no-reboot -nodefaults \
        -serial stdio -kernel kernel/boot/vmlinuz-* -initrd initrd \
        -append "console=ttyS0 quiet panic=-1" \
        -object memory-backend-memfd,id=mem,size=256M,share=on -machine q35,memory-backend=mem \
        -chardev "socket,id=card,path=$socket" \
        -device vhost-user-blk-pci,chardev=card,num-queues=1 </dev/null
}

# A kernel without a root file system panics: where KVM is only half there, it does not come so far.
trial() {
    timeout 10 qemu-system-x86_64 -accel kvm -m 256 -nographic -nodefaults -serial stdio -monitor none -no-reboot \
        -kernel kernel/boot/vmlinuz-* -append "console=ttyS0 panic=-1" </dev/null 2>/dev/null || true
}

accelerator=tcg
if [[ -w /dev/kvm ]] && trial | grep -q "Kernel panic"; then
    accelerator=kvm
fi
echo "accelerator: $accelerator"
boot "$accelerator" 240
