# Sourced by test.sh and test-long.sh: names stages, measures them, runs and counts tests.
. scripts/tools.sh
target=${CARGO_TARGET_DIR:-target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/tests.log
times=$work/times
skips=$work/skips
touch "$log" "$skips"
stage_name= stage_start=0

stage() { # NAME: ends the stage before and begins this one
    [[ -z $stage_name ]] || printf '| %s | %d s |\n' "$stage_name" $((SECONDS - stage_start)) >>"$times"
    stage_name=$*
    stage_start=$SECONDS
    printf '\n== %s (%s s)\n' "$*" "$SECONDS"
}

skip() { # REASON
    echo "SKIPPED: $*" | tee -a "$skips" >&2
}

# Each test once: cargo-nextest, in a process of its own, or `cargo test`, which shows what the tests print.
tests() { # PROFILE of .config/nextest.toml: `default` for the quick tests, `slow` for those that they leave out
    local profile=$1 ignored=()
    if cargo nextest --version >/dev/null 2>&1; then
        [[ $profile == default ]] || ignored=(--run-ignored only)
        cargo nextest run --workspace --profile "$profile" "${ignored[@]}" 2>&1 | tee -a "$log"
        grep -oh 'SKIPPED[^<]*' "$target/nextest/$profile/junit.xml" | sort -u | tee -a "$skips" || true
    else
        skip "cargo-nextest is missing, cargo test runs one binary after the other"
        [[ $profile == default ]] || ignored=(--ignored)
        cargo test --workspace --no-fail-fast --lib --bins --tests -- "${ignored[@]}" 2>&1 | tee -a "$log"
        grep -h '^SKIPPED' "$log" | sort -u >>"$skips" || true
    fi
}

summary() { # NAME
    local name=$1
    stage end
    printf '\n| stage of `%s` | time |\n|---|---|\n' "$name"
    cat "$times"
    awk -v name="$name" -v seconds="$SECONDS" -v skips="$(wc -l <"$skips")" '
        /^test result:/ { passed += $4; failed += $6 }
        /^ *Summary \[/ {
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^passed/) passed += $(i - 1)
                if ($i ~ /^(failed|timed)/) failed += $(i - 1)
            }
        }
        END {
            printf "| all: %d passed, %d failed, %d skipped in part | %d s |\n", passed, failed, skips, seconds
        }
    ' "$log"
}
