# Sourced: where install-tools.sh puts programs that Debian does not have.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/nandscope/tools
export PATH=$PATH:$tools/bin
