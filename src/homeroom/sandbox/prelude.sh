#!/usr/bin/env bash
# Runs inside the sandbox, before the agent does: proves that the sandbox is shut, sets the
# inner environment, waits for the proxy, enters the workspace, and becomes the agent.
#
# usage: prelude.sh RUNTIME CONTROL MODE
#   RUNTIME  a directory that can be read and not written, with these lists, every entry
#            ended by a NUL byte: unreadable, unwritable, unset, environment, argv, workspace
#   CONTROL  a directory with the FIFOs "said" (to the supervisor) and "told" (from it),
#            both of which the supervisor keeps open as long as it lives
#   MODE     "exec": become the agent; "job": stay its parent, so that it can be stopped
#
# Only built-in commands on the usual path, because every start pays for this; and nothing
# that bash 3.2 lacks, because macOS has no newer one. Its own variables begin with "hr_":
# the agent's are set in this very shell, and must neither change them nor be changed.
set -u
hr_runtime=$1 hr_control=$2 hr_mode=$3

# A FIFO is opened for both directions first: opening one end alone would wait for ever for a
# supervisor that is dead. When only that end is left, the kernel tells of its death: writing
# fails, and reading comes to an end.
say() {
    exec 9<>"$hr_control/said" || exit 1
    exec 8>"$hr_control/said" 9>&- || exit 1
    printf '%s\n' "$1" >&8 2>/dev/null
    hr_result=$?
    exec 8>&-
    return "$hr_result"
}

hear() {
    exec 9<>"$hr_control/told" || exit 1
    exec 8<"$hr_control/told" 9>&- || exit 1
    IFS= read -r _ <&8
    hr_result=$?
    exec 8<&-
    return "$hr_result"
}

# Else the shell would die of a word that nobody hears, before it has ended what it began. A
# handler, unlike an ignored signal, is not inherited by the agent.
trap : PIPE

refuse() {
    say "refused $1"
    exit 1
}

# Read a NUL-ended list into the array "hr_entries". A missing list is a broken start.
load() {
    hr_entries=()
    [ -r "$hr_runtime/$1" ] || refuse "the list \"$1\" cannot be read"
    while IFS= read -r -d '' hr_entry; do hr_entries+=("$hr_entry"); done <"$hr_runtime/$1"
}

# 1. What must not be read: the canary first, then files of the user's that hold secrets.
load unreadable
[ "${#hr_entries[@]}" -gt 0 ] || refuse "there is no canary to try"
for hr_path in "${hr_entries[@]}"; do
    if { IFS= read -r -n 1 _ <"$hr_path"; } 2>/dev/null; then refuse "it can read $hr_path"; fi
done

# 2. What must not be written.
load unwritable
[ "${#hr_entries[@]}" -gt 0 ] || refuse "there is no place to try a write at"
for hr_path in "${hr_entries[@]}"; do
    if { : >"$hr_path"; } 2>/dev/null; then
        rm -f "$hr_path"
        refuse "it can write $hr_path"
    fi
done

# 3. No network but the proxy's: on Linux, an own namespace with a loopback device alone.
case $OSTYPE in
linux*)
    [ -r /proc/net/dev ] || refuse "its network devices cannot be seen"
    while IFS= read -r hr_line; do
        case $hr_line in *'|'*) continue ;; esac # the head
        hr_device=${hr_line%%:*}
        case ${hr_device##* } in
        lo) ;;
        # Kernels with these modules put a dead end of each into every new namespace.
        tunl0 | sit0 | gre0 | gretap0 | erspan0 | ip_vti0 | ip6_vti0 | ip6tnl0 | ip6gre0) ;;
        *) refuse "it has a network device: ${hr_device##* }" ;;
        esac
    done </proc/net/dev
    ;;
esac

# 4. The proxy answers. srt before 0.0.79 starts the command first (17 % of first
#    connections were refused).
hr_proxy=${HTTP_PROXY:-}
if [ -n "$hr_proxy" ]; then
    hr_port=${hr_proxy##*:}
    hr_port=${hr_port%%[!0-9]*}
    hr_tries=0
    until { : <>"/dev/tcp/127.0.0.1/$hr_port"; } 2>/dev/null; do
        hr_tries=$((hr_tries + 1))
        [ "$hr_tries" -lt 200 ] || refuse "its proxy does not answer on port $hr_port"
        sleep 0.05
    done
fi

# 5. The inner environment. It comes from a file, because a command line can be seen.
load unset
for hr_name in ${hr_entries[@]+"${hr_entries[@]}"}; do unset "$hr_name"; done
load environment
# A locale that is not installed is the agent's concern, not worth a warning of bash.
for hr_pair in "${hr_entries[@]}"; do { export "${hr_pair?}"; } 2>/dev/null; done

load workspace
cd -P -- "${hr_entries[0]}" || refuse "it cannot enter ${hr_entries[0]}"
# Decided without symlinks: one that is on the way now was put there since, and leads elsewhere.
[ "$PWD" = "${hr_entries[0]}" ] || refuse "its workspace has become a link to $PWD"
unset OLDPWD

load argv

# 6. The supervisor lets the agent in. It does not while its job is stopped or in the
#    background: the agent would take the terminal from the shell.
{ say "proven" && hear; } || exit 1

if [ "$hr_mode" = exec ]; then
    say "started $$" || exit 1
    exec "${hr_entries[@]}"
    # Reached only when there was nothing to execute.
    exit 127
fi

# An agent at a terminal may want to be suspended (Ctrl-Z). The kernel ignores that in a
# process group whose parents are all in another session, as the sandbox makes it; so the
# agent gets a process group of its own, with this shell as its parent, and the supervisor
# is told when it stops.
set -m
"${hr_entries[@]}" <&0 &
hr_agent=$!

# Without a supervisor nobody would ever wake the agent, or end it.
forsake() {
    kill -KILL -- "-$hr_agent"
    exit 137
}
say "started $hr_agent" || forsake

# Not a loop: bash leaves every loop when a job is stopped. Not by /proc either: srt nests
# pid namespaces and mounts /proc for the outer one, where the agent's pid is another's.
follow() {
    wait "$hr_agent"
    hr_status=$?
    # Gone, and its status is known; else "wait" returned because it was stopped.
    kill -0 "$hr_agent" || return
    case $hr_status in
    147 | 148 | 149 | 150) # 128 and SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU
        { say "stopped" && hear; } || forsake
        kill -CONT -- "-$hr_agent"
        ;;
    *) sleep 0.05 ;;
    esac
    follow
}
follow 2>/dev/null
exit "$hr_status"
