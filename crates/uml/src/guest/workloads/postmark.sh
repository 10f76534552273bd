prepare() {
    cat >/run/postmark <<END
set location $MNT
set number ${POSTMARK_FILES:-500}
set transactions ${POSTMARK_TRANSACTIONS:-500}
set size ${POSTMARK_SMALLEST:-500} ${POSTMARK_LARGEST:-10000}
set report terse
set bias read 5
run
quit
END
}

work() {
    try postmark /run/postmark
}
