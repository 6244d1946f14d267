"""Paused time does not count for pytest-timeout: its timer is stopped and goes on with what was left.

Imports pytest; speaks to pytest-timeout through its hooks only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from typing import Any

import pytest

_clock = time.monotonic
_LEAST = 0.01  # seconds that a test whose time is used up gets after a pause: 0 would mean "no timer"


class Timeouts:
    """Follows the timer of the running test."""

    def __init__(self, config: pytest.Config) -> None:
        self._hook = config.hook
        self._running: tuple[pytest.Item, Any, float] | None = None  # test, settings, when it was set
        self._held: tuple[pytest.Item, Any] | None = None
        self._whole: Any = None  # the settings that the test began with

    @pytest.hookimpl(wrapper=True, optionalhook=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> Generator[None, object, object]:
        if self._whole is None:
            self._whole = settings
        self._running = (item, settings, _clock())
        return (yield)

    @pytest.hookimpl(wrapper=True, optionalhook=True)
    def pytest_timeout_cancel_timer(self) -> Generator[None, object, object]:
        self._running = None
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        self._whole = None

    def paused(self, begins: bool) -> None:
        """A pause begins or ends. Timers are left alone in other threads than the main one, as they must be."""
        if threading.current_thread() is not threading.main_thread():
            return
        if begins and self._running is not None:
            item, settings, since = self._running
            left = max(settings.timeout - (_clock() - since), _LEAST)
            self._held = (item, settings._replace(timeout=left))
            self._hook.pytest_timeout_cancel_timer(item=item)
        elif not begins and self._held is not None:
            item, settings = self._held
            self._held = None
            self._hook.pytest_timeout_set_timer(item=item, settings=settings)

    def restart(self, item: pytest.Item) -> None:
        """Grant the test its whole time once more."""
        if self._running is not None:
            self._hook.pytest_timeout_cancel_timer(item=item)
            self._hook.pytest_timeout_set_timer(item=item, settings=self._whole)
