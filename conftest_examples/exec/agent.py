"""An agent without a model: it knows that an amount may be called a price, and nothing else."""

import json
import sys


def say(**message):
    print(json.dumps(message), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "crash":
        context = message["context"]
        if context["message"] == "'amount'":
            say(type="execute", id="look", code="order", submit=False)
        else:
            say(type="reraise", reason=f"nothing is known about {context['error']}: {context['message']}")
    elif message["type"] == "result" and message["id"] == "look":
        say(type="log", message="the order is " + message["value_repr"])
        say(type="execute", id="heal", code='amount = order["price"]', submit=True, explanation="a price is an amount")
    elif message["type"] == "result" and message["error"]:
        say(type="reraise", reason="the heal failed")
