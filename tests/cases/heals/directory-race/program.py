"""Two collectors create the same directory. Going on after the raise reaches the line that empties it."""

TREE = {"report": ["other.log"]}


def mkdir(path):
    if path in TREE:
        raise FileExistsError(path)  # crashes
    TREE[path] = []


def collect(target, logs):
    mkdir(target)
    for log in logs:
        TREE[target].append(log)
    return target


def run():
    target = collect("report", ["a.log"])
    return target, {path: list(logs) for path, logs in TREE.items()}


def ok(result):
    target, tree = result
    return tree[target] == ["other.log", "a.log"]
