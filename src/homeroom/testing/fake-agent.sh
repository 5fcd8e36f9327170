#!/bin/sh
# An agent for tests: its habits are those of a real one, and it needs no model.
#
# usage: fake-agent.sh              a prompt, after a question if the directory is not trusted
#        fake-agent.sh -p PROMPT    one answer
#        fake-agent.sh status       whether it is logged in, by its exit status
#        fake-agent.sh --resume TALK ...  the same, as a part of an earlier talk
#
# A prompt "make NAME" makes that file in the working directory.
store=${FAKE_AGENT_HOME:-$HOME/.fake-agent}
here=$(pwd -P)

answer() {
    case $1 in
    'make '*) : >"${1#make }" && said="made ${1#make }" ;;
    *) said="you said: $1" ;;
    esac
    talks=$store/talks$here
    mkdir -p "$talks"
    printf '{"who": "user", "text": "%s"}\n{"who": "assistant", "text": "%s"}\n' \
        "$1" "$said" >>"$talks/$talk.jsonl"
    printf '%s\n' "$said"
}

talk=1
if [ "${1-}" = --resume ]; then
    talk=$2
    shift 2
fi

case ${1-} in
status)
    if [ -n "${FAKE_AGENT_KEY-}" ] || grep -q '"access_token": "[^"]' "$store/login.json" 2>/dev/null; then
        echo "logged in, in $store"
        exit 0
    fi
    echo "logged out, in $store"
    exit 1
    ;;
-p)
    answer "$2"
    exit 0
    ;;
esac

if ! grep -qF "\"$here\"" "$store/config.json" 2>/dev/null; then
    printf 'Do you trust %s? ' "$here"
    read -r reply && [ "$reply" = yes ] || exit 1
fi
while printf 'fake> ' && read -r line; do answer "$line"; done
