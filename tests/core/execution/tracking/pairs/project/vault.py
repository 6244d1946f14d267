"""Protected operations of the flows."""

STRICT = True
LEVEL = 1
sent = []


def wire(value, note=None, **more):
    sent.append(value)
    return len(sent)


class Account:
    limit = 3

    def __init__(self, owner):
        self.owner = owner

    def pay(self, amount, to="x"):
        sent.append((self.owner, amount, to))

    def close(self):
        sent.append(self.owner)
