"""A program that has imported a package called `shop`, for imports that depend on what is loaded."""

import functools
import json
import os
import types


class Cart:
    pass


def total(items):
    return sum(items)


for thing in (Cart, total):
    thing.__module__ = "shop"


def _broken(name):
    raise RuntimeError(name)


shop = types.ModuleType("shop")
shop.LIMIT = 5
shop.Cart = Cart
shop.total = total
shop.os = shop.system_module = os
shop.plain_module = json
shop.run_text = exec
shop.cleanup = os.remove
shop.bound_cleanup = functools.partial(functools.partial(os.remove), "x")
shop.environment = os.environ
shop.prices = types.ModuleType("shop.prices")
shop.prices.RATE = 0.2
shop.prices.total = total
lazy = types.ModuleType("shop.lazy")
lazy.__getattr__ = _broken

MODULES = {"shop": shop, "shop.prices": shop.prices, "shop.lazy": lazy, "json": json, "os": os}


def live_import(module, attribute):
    """The live object, as the engine gives it."""
    return getattr(MODULES.get(module), attribute, None)
