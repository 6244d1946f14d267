"""Starts the example's client. In your project the client is your assistant, and this file is not needed."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def client():
    here = Path(__file__).parent
    process = subprocess.Popen([sys.executable, here / "client.py"], cwd=here, stdout=subprocess.DEVNULL)
    yield
    process.terminate()
    process.wait()
