"""Callers that are entered before anything of theirs is marked."""
import asyncio
from lost import lost
from vault import wire
class O:
    def __init__(self): self.p = 'p'; self.q = 'q'
GG = 'g'
def put_global(v):
    global GG
    GG = v
def fill(o): o.p = GG
def caller(): 
    o = O(); fill(o)
    return use(o)
def use(o):
    wire(o.p)
def other(): 
    o = O(); fill(o)
    wire(o.q)
def hold():
    o = O(); fill(o)
    v = vars(o)
    key = 'p'
    wire(v[key])
def hold_q():
    o = O(); fill(o)
    v = vars(o)
    key = 'q'
    wire(v[key])
def unsafe_filled_by_callee():
    x = lost['x']
    put_global(x)
    caller()
def safe_filled_by_callee():
    x = lost['x']
    put_global(x)
    other()
def unsafe_filled_then_by_key():
    x = lost['x']
    put_global(x)
    hold()
def safe_filled_then_by_key():
    x = lost['x']
    put_global(x)
    hold_q()
