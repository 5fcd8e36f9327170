#!/usr/bin/env bash
# Runs inside the sandbox, before the agent does: proves that the sandbox is shut, sets the
# inner environment, waits for the proxy, enters the workspace, and becomes the agent.
#
# usage: prelude.sh RUNTIME CONTROL MODE
#   RUNTIME  a directory that can be read and not written, with these lists, every entry
#            ended by a NUL byte: unreadable, unwritable, unset, environment, argv, workspace
#   CONTROL  a directory with the FIFOs "said" (to the supervisor) and "told" (from it)
#   MODE     "exec": become the agent; "job": stay its parent, so that it can be stopped
#
# Only built-in commands on the usual path, because every start pays for this; and nothing
# that bash 3.2 lacks, because macOS has no newer one.
set -u
runtime=$1 control=$2 mode=$3

say() { printf '%s\n' "$1" >"$control/said"; }

refuse() {
    say "refused $1"
    exit 1
}

# Read a NUL-ended list into the array "entries". A missing list is a broken start.
load() {
    entries=()
    [ -r "$runtime/$1" ] || refuse "the list \"$1\" cannot be read"
    while IFS= read -r -d '' entry; do entries+=("$entry"); done <"$runtime/$1"
}

# 1. What must not be read: the canary first, then files of the user's that hold secrets.
load unreadable
[ "${#entries[@]}" -gt 0 ] || refuse "there is no canary to try"
for path in "${entries[@]}"; do
    if { IFS= read -r -n 1 _ <"$path"; } 2>/dev/null; then refuse "it can read $path"; fi
done

# 2. What must not be written.
load unwritable
[ "${#entries[@]}" -gt 0 ] || refuse "there is no place to try a write at"
for path in "${entries[@]}"; do
    if { : >"$path"; } 2>/dev/null; then
        rm -f "$path"
        refuse "it can write $path"
    fi
done

# 3. No network but the proxy's: on Linux, an own namespace with a loopback device alone.
if [ -r /proc/net/dev ]; then
    while IFS= read -r line; do
        case $line in
        *'|'* | *' lo:'* | 'lo:'*) ;;
        *) refuse "it has a network device:${line%%:*}" ;;
        esac
    done </proc/net/dev
fi

# 4. The proxy answers. srt before 0.0.79 starts the command first (17 % of first
#    connections were refused).
proxy=${HTTP_PROXY:-}
if [ -n "$proxy" ]; then
    port=${proxy##*:}
    port=${port%%[!0-9]*}
    tries=0
    until { : <>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || refuse "its proxy does not answer on port $port"
        sleep 0.05
    done
fi

# 5. The inner environment. It comes from a file, because a command line can be seen.
load unset
for name in ${entries[@]+"${entries[@]}"}; do unset "$name"; done
load environment
for pair in "${entries[@]}"; do export "${pair?}"; done

load workspace
cd -- "${entries[0]}" || refuse "it cannot enter ${entries[0]}"
unset OLDPWD

load argv
if [ "$mode" = exec ]; then
    say "started $$"
    exec "${entries[@]}"
    # Reached only when there was nothing to execute.
    exit 127
fi

# An agent at a terminal may want to be suspended (Ctrl-Z). The kernel ignores that in a
# process group whose parents are all in another session, as the sandbox makes it; so the
# agent gets a process group of its own, with this shell as its parent, and the supervisor
# is told when it stops.
set -m
"${entries[@]}" <&0 &
agent=$!
say "started $agent"

# Not a loop: bash leaves every loop when a job is stopped.
follow() {
    wait "$agent"
    status=$?
    local line=''
    { IFS= read -r line <"/proc/$agent/stat"; } 2>/dev/null
    case ${line##*) } in
    '') return ;; # gone, and its status is known
    [Tt]*)
        say "stopped"
        IFS= read -r _ <"$control/told"
        kill -CONT -- "-$agent"
        ;;
    *) sleep 0.05 ;; # awake again, which bash has not noticed yet
    esac
    follow
}
follow 2>/dev/null
exit "$status"
