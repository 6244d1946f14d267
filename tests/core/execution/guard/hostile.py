"""Text that is meant to crash, hang or flood whoever reads it."""

import threading

from healguard_core.execution.guard.gate import check

HOSTILE = {
    "brackets": "(" * 9000 + ")" * 9000,
    "brackets, balanced and legal for the tokenizer": "[" * 190 + "]" * 190,
    "unary": "-" * 19000 + "1",
    "not": "not " * 4900 + "1",
    "attributes": "a" + ".b" * 9000,
    "additions": "a" + "+a" * 9000,
    "calls": "f" + "()" * 9000,
    "subscripts": "a" + "[0]" * 6000,
    "powers": "1" + "**1" * 6000,
    "lambdas": "lambda:" * 2800 + "1",
    "conditionals": "1 if 1 else " * 1600 + "1",
    "elif": "if a:0\n" + "elif a:0\n" * 2100,
    "f-strings": "f'{" * 100 + "1" + "}'" * 100,
    "indentation": "".join(" " * i + "if 1:\n" for i in range(150)),
    "digits": "9" * 19999,
    "giant power": "9**9**9**9**9",
    "many powers": "\n".join(["x = 3 ** 40000 * 3 ** 40000"] * 300),
    "growing product": "x = " + " * ".join(["2 ** 60000"] * 300),
    "nested repetition": "x = 'a' " + "* 1000 " * 80,
    "too long": "x = 1\n" * 20000,
    "long text": "x = '" + "a.b(c)" * 3000 + "'",
    "many names": "\n".join(f"x{i} = y{i}" for i in range(1400)),
    "many findings": "eval\n" * 3900,
    "one long line of findings": "eval;" * 3900,
    "unicode line of findings": "é;eval;" * 2500,
    "nested loops": "".join(" " * i + "while x:\n" for i in range(60)) + " " * 60 + "x = 1",
    "null": "x = 1\x00",
    "surrogate": "x = '\ud800'",
    "lone surrogate": "\ud800",
    "form feed": "\x0c" * 5000,
    "carriage returns": "\r" * 19000,
    "open string": "'" * 19999,
    "backslashes": "\\" * 19999,
    "backslash lines": "\\\n" * 9999,
    "cookie": "# -*- coding: no-such-encoding -*-\nx = 1",
    "comments": "#" * 19999,
    "empty": "",
}


def answer_all():
    """Check every text, and chains just below the limit."""
    chains = [piece * count + "1" for piece in ("-", "not ", "a.", "1+", "lambda:") for count in (500, 1000, 1499)]
    for code in [*HOSTILE.values(), *chains]:
        check(code)
    print("alive")


if __name__ == "__main__":
    threading.stack_size(512 * 1024)
    worker = threading.Thread(target=answer_all)
    worker.start()
    worker.join()
