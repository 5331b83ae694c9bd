"""docs/deploy: the image's steps are carried out without Docker, and what is beside them fits."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path

import httpx
import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.dockerfile import DOCKERFILE, Image, ids, sent, steps
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint
from tests.support.packages import installed
from tests.support.redis_server import free_port
from tests.support.reverse_proxies import HOST, behind
from tests.support.serving import PROJECT, endpoint_settings, serving
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.extensions.built_in import ServerSettings
from turnstream.server.http.routes import PUBLIC_ROUTES

DEPLOY = PROJECT / "docs" / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
KUBERNETES = [*yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))]
POD = KUBERNETES[0]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
WORKERS = [COMPOSE["services"][name] for name in ("worker-1", "worker-2")]
SECRETS = ("TURNSTREAM_DATABASE", "TURNSTREAM_REDIS", "OPENAI_API_KEY")
PIN = re.compile(
    r"^([\w.-]+)==(\S+) \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.MULTILINE
)


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_requirements_are_the_pinned_versions_of_all_that_is_needed_with_their_hashes() -> None:
    text = (DEPLOY / "requirements.txt").read_text()
    pins = {plain(name): version for name, version in PIN.findall(text)}
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert "".join(found[0] for found in PIN.finditer(text)).splitlines() == lines
    constraints = (PROJECT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in constraints)
    pinned = {plain(name): version for name, version in pinned.items()}
    assert {name: pins[name] for name in pins.keys() & pinned.keys()}.items() <= pinned.items()
    assert {each.name for each in installed()} <= pins.keys()


def test_the_image_gets_no_file_but_those_of_the_package() -> None:
    assert {name.split("/")[0] for name in sent()} == {
        *(".package", "docs", "graphs", "server", "static", "tools"),
        *("LICENSE", "README.md", "pyproject.toml"),
    }
    assert [name for name in sent() if name.startswith("docs/")] == ["docs/deploy/requirements.txt"]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The image, in a folder that any user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="image-"))
    folder.chmod(0o755)
    try:
        made = Image(folder)
        made.build()
        yield made
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Container:
    """Runs programs of the image as its user."""

    image: Image
    environment: dict[str, str]

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        program = shutil.which(command[0], path=self.environment["PATH"])
        assert program, command
        process: subprocess.Popen[str] = subprocess.Popen(
            [program, *command[1:]],
            env=self.environment,
            cwd=self.image.here(self.image.working_directory),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **ids(self.image.user),  # type: ignore[call-overload]
        )
        return process

    def run(self, *command: str) -> tuple[int, str]:
        """Return the exit status of a command and what it has printed."""
        with self.start(command) as process:
            printed, _ = process.communicate(timeout=WAIT_SECONDS)
        return process.returncode, printed


@pytest.mark.full
def test_the_image_serves_a_turn_as_another_user_and_ends_in_order(image: Image) -> None:
    port = f"{free_port()}"
    container = Container(image, {**image.variables(), "TURNSTREAM_PORT": port})
    before = files(image.root / "opt")
    status, printed = container.run(*image.entrypoint)
    assert (status, "TURNSTREAM_AUTH" in printed) == (2, True), "nobody knows who calls"

    container.environment["TURNSTREAM_AUTH"] = "keys"
    [key] = re.findall(r"ts_\S+", container.run(*image.entrypoint, "keys", "add", "ann")[1])
    with container.start(image.entrypoint) as server:
        try:
            while container.run(*image.health_check)[0]:
                assert server.poll() is None
            address, headers = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {key}"}
            said = httpx.post(f"{address}/chat", json={"message": "Hello"}, headers=headers)
            assert said.text.rstrip().endswith("data: [DONE]")
        finally:
            server.terminate()
    assert server.returncode == 0
    assert container.run(*image.health_check)[0] != 0
    assert files(image.root / "opt") == before
    database = image.root / "var/lib/turnstream/turnstream.db"
    assert database.stat().st_uid == ids(image.user).get("user", os.geteuid())


def files(folder: Path) -> dict[Path, float]:
    return {path: path.stat().st_mtime for path in folder.rglob("*") if path.is_file()}


def settings_of(environment: dict[str, str]) -> set[str]:
    """Return the names of the server's settings, in lower case."""
    return {name.removeprefix("TURNSTREAM_").lower() for name in environment}


def exposed() -> int:
    return next(int(step.text) for step in steps(DOCKERFILE) if step.word == "EXPOSE")


def test_every_variable_of_the_image_and_its_deployments_is_a_setting() -> None:
    image = Image(Path("/"))
    for step in steps(DOCKERFILE):
        if step.word == "ENV":
            name, _, value = step.text.partition("=")
            image.environment[name] = value
    variables = [name for name in image.environment if name.startswith("TURNSTREAM_")]
    variables += [name for worker in WORKERS for name in worker["environment"]]
    variables += [each["name"] for each in CONTAINER["env"]]
    assert settings_of(dict.fromkeys(variables, "")) <= {*ServerSettings.model_fields}
    assert image.environment["TURNSTREAM_PORT"] == str(exposed())


def test_no_secret_stands_in_a_file() -> None:
    for worker in WORKERS:
        for name, value in worker["environment"].items():
            if "PASSWORD" in str(value) or name == "OPENAI_API_KEY":
                assert re.search(r"\$\{(POSTGRES_PASSWORD|OPENAI_API_KEY):", value)
    assert COMPOSE["services"]["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith("${")
    for each in CONTAINER["env"]:
        assert ("valueFrom" in each) == (each["name"] in SECRETS)


def test_workers_have_time_to_let_their_runs_finish() -> None:
    values = {each["name"]: each.get("value") for each in CONTAINER["env"]}
    drain = float(values["TURNSTREAM_DRAIN_SECONDS"] or 0)
    sleep = float(CONTAINER["lifecycle"]["preStop"]["exec"]["command"][1])
    assert POD["terminationGracePeriodSeconds"] >= sleep + drain + 15
    for worker in WORKERS:
        grace = float(worker["stop_grace_period"].removesuffix("s"))
        assert grace >= ServerSettings.model_fields["drain_seconds"].default + 15


def test_probes_ports_and_names_are_those_of_the_image() -> None:
    paths = {route.path for route in PUBLIC_ROUTES}
    ports = {each["name"]: each["containerPort"] for each in CONTAINER["ports"]}
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        probe = CONTAINER[kind]["httpGet"]
        assert probe["path"] in paths
        assert ports[probe["port"]] == exposed()
    assert CONTAINER["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    images = {CONTAINER["image"], *(worker["image"] for worker in WORKERS)}
    assert images == {"turnstream"}
    assert (PROJECT / WORKERS[0]["build"]["dockerfile"]) == DOCKERFILE
    assert (DEPLOY / WORKERS[0]["build"]["context"]).resolve() == PROJECT
    user = next(step.text for step in steps(DOCKERFILE) if step.word == "USER")
    context = POD["securityContext"]
    assert user == f"{context['runAsUser']}:{context['runAsGroup']}"


def test_workers_write_nowhere_but_where_they_may() -> None:
    assert CONTAINER["securityContext"]["readOnlyRootFilesystem"]
    assert all(worker["read_only"] and worker["cap_drop"] == ["ALL"] for worker in WORKERS)


def test_the_workers_trust_the_address_from_which_the_proxy_calls() -> None:
    networks = COMPOSE["services"]["caddy"]["networks"]
    address = networks["inner"]["ipv4_address"]
    for worker in WORKERS:
        assert worker["environment"]["TURNSTREAM_TRUSTED_PROXIES"] == address
        assert {*worker["networks"]} & {*networks} == {"inner"}


def test_no_other_container_gets_the_address_of_the_proxy() -> None:
    [pool] = COMPOSE["networks"]["inner"]["ipam"]["config"]
    address = ip_address(COMPOSE["services"]["caddy"]["networks"]["inner"]["ipv4_address"])
    assert address in ip_network(pool["subnet"])
    assert address not in ip_network(pool["ip_range"])


def test_no_variable_that_kubernetes_sets_for_a_service_is_a_setting() -> None:
    services = [each["metadata"]["name"] for each in KUBERNETES if each["kind"] == "Service"]
    made = {f"{name.upper()}_PORT": "" for name in services}
    assert POD["enableServiceLinks"] is False or not settings_of(made) & {
        *ServerSettings.model_fields
    }


async def test_the_proxy_of_the_deployment_sends_events_as_they_come(tmp_path: Path) -> None:
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    async with StrictEndpoint() as endpoint:
        pause = Pause(asyncio.Event())
        endpoint.script(Reply((Say("One, "), pause, Say("two."))))
        settings = endpoint_settings(tmp_path / "t.db", endpoint, allowed_hosts=HOST)
        async with serving(settings) as server:
            server.http.headers["Host"] = HOST
            address = server.url.removeprefix("http://")
            for worker in ("worker-1:8000", "worker-2:8000"):
                assert worker in text
                text = text.replace(worker, address)
            site = text.replace("{$SITE:localhost}", HOST)
            async with behind("caddy", site, tmp_path, address) as proxy:
                origin = {"Origin": proxy.url}
                async with proxy.chat({"message": "Count."}, headers=origin) as stream:
                    said = await stream.until("text-delta")
                    pause.event.set()
                    rest = await stream.rest()
    assert said.data["textDelta"] == "One, "
    assert rest[-1].data == "[DONE]"
