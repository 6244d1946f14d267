"""A very small MCP client: it starts the server, waits for crashes, and answers each in a fixed way."""

import itertools
import json
import subprocess
import sys

SERVER = [sys.executable, "-m", "healguard_core.cli", "mcp"]
numbers = itertools.count(1)


def request(server, method, **params):
    message = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())["result"]


def tool(server, name, **arguments):
    return request(server, "tools/call", name=name, arguments=arguments)["content"][0]["text"]


def answer(server, crash):
    if "KeyError: 'amount'" not in crash:
        tool(server, "reraise", reason="nothing is known about this error")
    elif "price" in tool(server, "execute", code="order", submit=False):
        tool(server, "execute", code='amount = order["price"]', submit=True)


with subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
    request(server, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "example"})
    while True:
        crash = tool(server, "wait_for_crash", seconds=30)
        if crash.startswith("Crash "):
            answer(server, crash)
