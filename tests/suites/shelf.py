"""A small repository of our own with one bug, as an image and as records of the public formats."""

from __future__ import annotations

import json
from typing import Any

IMAGE = "heal-test/shelf"

BUGGY = '''\
def total(order):
    """The price of an order, its discount taken off."""
    discount = order["discount"]
    return sum(order["prices"]) - discount
'''
FIXED = BUGGY.replace('order["discount"]', 'order.get("discount", 0)')

TEST = '''\
import unittest

from shelf.stock import total


class OrderTest(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(total({"prices": [2, 3]}), 5)

    def test_with_discount(self):
        self.assertEqual(total({"prices": [2, 3], "discount": 1}), 4)
'''

TEST_PATCH = """\
diff --git a/tests/test_orders.py b/tests/test_orders.py
new file mode 100644
--- /dev/null
+++ b/tests/test_orders.py
@@ -0,0 +1,{count} @@
{lines}
""".format(count=len(TEST.splitlines()), lines="\n".join("+" + line for line in TEST.splitlines()))

GOLD_PATCH = """\
diff --git a/shelf/stock.py b/shelf/stock.py
--- a/shelf/stock.py
+++ b/shelf/stock.py
@@ -1,4 +1,4 @@
 def total(order):
     \"\"\"The price of an order, its discount taken off.\"\"\"
-    discount = order["discount"]
+    discount = order.get("discount", 0)
     return sum(order["prices"]) - discount
"""

HEALS = """\
version: 1
heals:
  - id: no-discount
    when: {error: KeyError, function: shelf.stock.total, message: discount}
    do: discount = 0
    note: An order without a discount costs what its parts cost.
"""

PYTEST_ID = "tests/test_orders.py::OrderTest::test_without_discount"
ERROR = {"type": "KeyError", "message": "'discount'", "file": "shelf/stock.py", "line": 3}

SETUP = f"""\
set -e
mkdir -p /testbed/shelf /testbed/tests /root
cd /testbed
git init -q .
git config user.email shelf@example.org
git config user.name shelf
touch shelf/__init__.py tests/__init__.py
cat > shelf/stock.py <<'EOF'
{BUGGY}EOF
git add . && git commit -q -m buggy
cat > shelf/stock.py <<'EOF'
{FIXED}EOF
git commit -q -a -m fixed
git rev-parse HEAD
git checkout -q HEAD~1
mkdir r2e_tests
cat > r2e_tests/test_1.py <<'EOF'
{TEST}EOF
"""


def swe_bench(**changes: Any) -> dict[str, Any]:
    """A record as SWE-bench has them, with a target that was chosen."""
    return {"instance_id": "shelf__shelf-1", "repo": "shelf/shelf", "image": IMAGE, "base_commit": "HEAD",
            "patch": GOLD_PATCH, "test_patch": TEST_PATCH, "FAIL_TO_PASS": json.dumps([PYTEST_ID]),
            "PASS_TO_PASS": "[]", "target_test": PYTEST_ID, "error": ERROR, "heals": HEALS, **changes}


def with_eval_script(**changes: Any) -> dict[str, Any]:
    """One of the newer task tree, whose script applies the tests and runs unittest."""
    script = ("#!/bin/bash\nset -uxo pipefail\ncd /testbed\nexport SHELF=1\n"
              f"git apply -v - <<'EOF_PATCH'\n{TEST_PATCH}EOF_PATCH\n"
              ": '>>>>> Start Test Output'\npython -m unittest -v tests.test_orders\n: '>>>>> End Test Output'\n"
              "git checkout HEAD\n")
    name = "test_without_discount (tests.test_orders.OrderTest)"
    return swe_bench(**{"instance_id": "shelf__shelf-2", "eval_script": script, "FAIL_TO_PASS": [name],
                        "target_test": name, **changes})


def r2e_gym(commit: str, **changes: Any) -> dict[str, Any]:
    """A record as R2E-Gym has them: no patch, a commit inside of the image."""
    execution = {"test_file_names": ["test_1.py"], "test_file_codes": [TEST], "new_commit_hash": commit,
                 "old_commit_res_stdout": "=== short test summary info ===\n"
                 "PASSED r2e_tests/test_1.py::OrderTest::test_with_discount\n"
                 "FAILED r2e_tests/test_1.py::OrderTest::test_without_discount - KeyError: 'discount'\n"}
    expected = {"OrderTest.test_with_discount": "PASSED", "OrderTest.test_without_discount": "PASSED"}
    return {"repo_name": "shelf", "docker_image": f"{IMAGE}:latest", "commit_hash": commit,
            "execution_result_content": json.dumps(execution), "expected_output_json": json.dumps(expected),
            "target_test": "OrderTest.test_without_discount", "error": ERROR, "heals": HEALS, **changes}
