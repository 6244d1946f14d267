"""Stands in for ``codex app-server``: speaks its JSON-RPC and plays what FAKE_CODEX says. Run as a program.

FAKE_CODEX is a JSON list with one step per turn: a text (the answer), a list of tool calls, or {"fail": message} or
{"exit": code} or {"hang": true}. What Codex was told is appended to FAKE_CODEX_LOG.
"""

import json
import os
import sys

STEPS = json.loads(os.environ["FAKE_CODEX"])


def say(**message):
    print(json.dumps(message), flush=True)


def log(**record):
    with open(os.environ["FAKE_CODEX_LOG"], "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def call(number, tool, arguments):
    params = {"tool": tool, "arguments": arguments, "callId": str(number)}
    say(id=f"call{number}", method="item/tool/call", params=params)
    while True:
        message = json.loads(sys.stdin.readline())
        if message.get("id") == f"call{number}":
            log(answered=message["result"])
            return
        other(message)


def other(message):
    if message.get("method") == "turn/interrupt":
        say(id=message["id"], result={})


def play(step, turn):
    status, error = "completed", None
    if isinstance(step, list):
        for number, (tool, arguments) in enumerate(step):
            call(number, tool, arguments)
    elif isinstance(step, dict):
        if "exit" in step:
            sys.exit(step["exit"])
        if step.get("hang"):
            return
        status, error = "failed", {"message": step["fail"]}
    else:
        say(method="item/completed", params={"item": {"type": "agentMessage", "text": step}})
    say(method="turn/completed", params={"turn": {"id": turn, "status": status, "error": error}})


turns = 0
log(arguments=sys.argv[1:], environ={name: os.environ.get(name) for name in (
    "CODEX_HOME", "HEAL_PROXY_KEY", "SCRIPTED_SECRET_KEY")})
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        say(id=message["id"], result={})
    elif method == "thread/start":
        log(thread=message["params"])
        say(method="remoteControl/status/changed", params={})
        say(id=message["id"], result={"thread": {"id": "t1"}})
    elif method == "turn/start":
        log(turn=message["params"])
        turns += 1
        say(id=message["id"], result={"turn": {"id": f"turn{turns}"}})
        play(STEPS[min(turns, len(STEPS)) - 1], f"turn{turns}")
    else:
        other(message)
