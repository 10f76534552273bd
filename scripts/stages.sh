# Sourced by test.sh and test-long.sh: names stages, measures them, counts tests.
target=${CARGO_TARGET_DIR:-target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/tests.log
times=$work/times
stage_name= stage_start=0

stage() { # NAME: ends the stage before and begins this one
    [[ -z $stage_name ]] || printf '%6d s  %s\n' $((SECONDS - stage_start)) "$stage_name" >>"$times"
    stage_name=$*
    stage_start=$SECONDS
    printf '\n== %s (%s s)\n' "$*" "$SECONDS"
}

tests() { # ARGUMENTS of cargo test; the count of the summary comes from its output
    cargo test --workspace --no-fail-fast "$@" 2>&1 | tee -a "$log"
}

summary() { # NAME
    local name=$1
    stage end
    printf '\n%s: stages\n' "$name"
    cat "$times"
    awk -v name="$name" -v seconds="$SECONDS" '
        /^test result:/ { passed += $4; failed += $6; ignored += $8 }
        END {
            printf "\n%s: done in %d s\n", name, seconds
            printf "%d passed, %d failed, %d skipped\n", passed, failed, ignored
        }
    ' "$log"
}
