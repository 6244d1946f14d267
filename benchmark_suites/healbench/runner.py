"""Runs the target test of one record in its container with an agent. Imports all of this suite, and the core."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmark_suites.failures import of_report
from benchmark_suites.healbench import commands, container
from benchmark_suites.healbench.engine import Engine, EngineUnavailable, Limits
from benchmark_suites.healbench.records import Record, RecordError
from benchmark_suites.results import AGENT, BUDGET, ENVIRONMENT, RECORD, Result
from benchmark_suites.setting import ORACLE, Setting
from healguard_core import __version__, protocol
from healguard_core.agent_choice import started_elsewhere
from healguard_core.outcome import outcome, summary
from healguard_core.settings.errors import SettingsError
from healguard_core.settings.runbook import load_runbook

TIMEOUT_OUTCOME = "timeout"


def run(record: Record, setting: Setting, limits: Limits, result: Result) -> None:
    """Run the target test of ``record`` before its fix and fill ``result``, whatever goes wrong."""
    try:
        with Engine() as engine:
            engine.remove_leftovers()
            id, digest = engine.image(record.image)
            result.case |= {"image": record.image, "image_id": id, "image_digest": digest}
            with container.prepared(engine, record, container.BUGGY, limits) as image:
                ran = _run(engine, record, image, setting, limits)
        _judge(record, ran, result)
    except RecordError as problem:
        result.broke(RECORD, str(problem))
    except SettingsError as problem:
        result.broke(AGENT, str(problem))
    except (EngineUnavailable, container.NotPrepared) as problem:
        result.broke(ENVIRONMENT, str(problem))


def _run(engine: Engine, record: Record, image: str, setting: Setting, limits: Limits) -> container.Ran:
    with tempfile.TemporaryDirectory(prefix="heal-") as folder:
        config = configuration(record, setting, Path(folder))
        with _linked(engine, record, image, config, setting, Path(folder)) as link:
            return container.run_tests(engine, record, image, limits, target=record.target_test, config=config,
                                       link=link)


@contextlib.contextmanager
def _linked(
    engine: Engine, record: Record, image: str, config: protocol.Config, setting: Setting, folder: Path
) -> Iterator[Path | None]:
    """Start the healing side where the agent has one, with a copy of the repository; the folder of its socket."""
    link, repository = folder / "link", folder / "repository"
    link.mkdir()
    repository.mkdir()
    given = setting.options.get("heal_max_cost")
    config.root = str(repository)
    if config.agent in ("", "runbook", *_LOCAL):
        yield None
        return
    engine.copy_out(image, record.workdir, repository)
    with started_elsewhere(config, setting.model, (), float(given) if given else None,
                           setting.options.get("heal_sandbox", "auto"), link / container.SOCKET):
        if "link" not in config.agent_options:
            yield None
            return
        link.chmod(0o777)
        (link / container.SOCKET).chmod(0o777)  # the token is what lets anybody in
        config.agent_options["link"]["path"] = f"{container.LINK}/{container.SOCKET}"
        yield link


_LOCAL = ("rules", "reraise", "retry", "rollback", "steamroller")


def configuration(record: Record, setting: Setting, folder: Path) -> protocol.Config:
    """The settings of the execution side. There is no second look here, so undecided errors are paused as well.

    Raises `RecordError` when the oracle is asked and the record has no reviewed heals, and `SettingsError`.
    """
    options = setting.options
    oracle = setting.agent == ORACLE
    entries: list[protocol.RunbookEntry] = []
    if oracle:
        if not record.heals:
            raise RecordError(f"{record.id} has no field 'heals' with a runbook: nobody knows a right heal yet")
        book = folder / "heals.yaml"
        book.write_text(record.heals, encoding="utf-8")
        entries = load_runbook([book])
    return protocol.Config(
        root=record.workdir,
        agent="" if oracle else setting.agent,
        agent_options={"rules": options.get("heal_rules", "safe")},
        runbook=[dataclasses.asdict(entry) for entry in entries],
        intercept=options.get("heal_intercept", "unhandled"),
        protocol=options.get("heal_protocol", protocol.FULL),
        undecided="pause",
        gate=options.get("heal_guard") != "off",
        trial=options.get("heal_trial", "auto"),
        max_calls=int(options.get("heal_max_calls", 100)),
        timeout=float(options.get("heal_timeout", 0)) or None,
    )


def _judge(record: Record, ran: container.Ran, result: Result) -> None:
    result.version = __version__
    result.output = ran.ended.output
    if ran.problem:
        result.broke(ENVIRONMENT, ran.problem)
        return
    status = commands.status_of(record.target_test, ran.ended.output, record.runner)
    passed = status in commands.GOOD
    result.crashes = summary(ran.events)
    healed = [crash for crash in result.crashes if crash.get("heal")]
    # A test that goes on after its last crash was healed has left the call: whatever fails then is the test's own.
    unhealed_last = bool(result.crashes) and not result.crashes[-1].get("heal")
    result.completed = passed or (bool(healed) and bool(status) and not unhealed_last)
    result.outcome = outcome(ran.events, passed, result.completed) or ("passed" if passed else "failed")
    if ran.ended.code is None:
        result.broke(BUDGET, ran.ended.why)
        result.outcome, result.completed = TIMEOUT_OUTCOME, False
        return
    if not status:
        runner = record.runner or "unknown"
        result.broke(ENVIRONMENT, f"the log has no result of {record.target_test!r} ({runner} runner)")
        return
    of_report(result, [vars(event) for event in ran.events if isinstance(event, protocol.Noticed)])


def problems(record: Record, limits: Limits) -> list[str]:
    """What is not as recorded without healing: the target test fails before the fix and passes after it."""
    found = []
    try:
        with Engine() as engine:
            for version in (container.BUGGY, container.FIXED):
                found += _problems_of(engine, record, version, limits)
    except (EngineUnavailable, container.NotPrepared, RecordError) as problem:
        found.append(str(problem))
    return found


def _problems_of(engine: Engine, record: Record, version: str, limits: Limits) -> list[str]:
    watching = protocol.Config(root=record.workdir, agent="reraise", undecided="pause")
    with container.prepared(engine, record, version, limits) as image:
        ran = container.run_tests(engine, record, image, limits, target=record.target_test,
                                  config=watching if version == container.BUGGY else None)
    status = commands.status_of(record.target_test, ran.ended.output, record.runner)
    if version == container.BUGGY:
        return _as_recorded(record, status, ran)
    if status in commands.GOOD:
        return []
    return [f"fixed: {record.target_test} should pass, but: {status or ran.ended.why or 'no result'}\n"
            f"{ran.ended.output[-2000:]}"]


def _as_recorded(record: Record, status: str, ran: container.Ran) -> list[str]:
    if ran.problem:
        return [f"buggy: {ran.problem}"]
    if status not in ("FAILED", "ERROR"):
        return [f"buggy: {record.target_test} should fail, but: {status or ran.ended.why or 'no result'}\n"
                f"{ran.ended.output[-2000:]}"]
    crashes = [event for event in ran.events if isinstance(event, protocol.Crashed)]
    wanted = record.error
    if wanted and not any(crash.error == wanted.type and crash.file.endswith(wanted.file) and crash.line == wanted.line
                          for crash in crashes):
        seen = ", ".join(f"{crash.error} at {crash.file}:{crash.line}" for crash in crashes) or "no error"
        return [f"buggy: no {wanted.type} at {wanted.file}:{wanted.line}, but {seen}"]
    return []
