"""Exec plugins: real executables that answer, lie, hang, flood, crash or want a terminal."""

import asyncio
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.kubeconfigs import (
    SERVER,
    around,
    b64,
    ca_pem,
    client_pems,
    cluster,
    config,
    plugin,
    user,
    write,
)

from passway.kube.config import Overrides, load_config
from passway.kube.config.plugin import TERMINAL_TIMEOUT_S, TIMEOUT_S
from passway.kube.config.process import KEPT_STDERR, MAX_OUTPUT, run
from passway.kube.config.redact import MAX_SHOWN, without_secrets
from passway.model.errors import EXIT_FORBIDDEN, Unauthenticated

CERT, KEY = client_pems()
V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
COUNT = ("import json, os, sys, time, pathlib\n"
         "count = pathlib.Path(sys.argv[0]).with_name('count')\n"
         "number = int(count.read_text()) + 1 if count.exists() else 1\n"
         "count.write_text(str(number))\n")  # fmt: skip


def answer(status=None, version=V1, **more):
    full = {"kind": "ExecCredential", "apiVersion": version, "status": status or {"token": "tok"}}
    return json.dumps(full | more)


def saying(status=None, version=V1, **more):
    return f"print({answer(status, version, **more)!r})"


def counting(status):
    """A plugin that counts its runs; `status` is an expression that may use `number`."""
    kind = {"kind": "ExecCredential", "apiVersion": V1}
    return f"{COUNT}print(json.dumps({kind!r} | {{'status': {status}}}))"


def load(folder, body, *, fields=None, cluster_fields=None, timeout_s=None, **surroundings):
    about = {"command": "./plugin", "apiVersion": V1, "interactiveMode": "Never"} | (fields or {})
    plugin(folder, body)
    clusters = [cluster(**(cluster_fields or {}))]
    path = write(folder, config(clusters=clusters, users=[user(exec=about)]))
    found = load_config(
        path, Overrides(), around(folder, **surroundings), plugin_timeout_s=timeout_s
    )
    return found.credentials


async def failure(credentials) -> Unauthenticated:
    with pytest.raises(Unauthenticated) as caught:
        await credentials.headers()
    error = caught.value
    assert (error.code, error.kind.exit_code) == ("EXEC_PLUGIN_FAILED", EXIT_FORBIDDEN)
    assert error.hint
    return error


def runs(folder) -> int:
    return int((folder / "count").read_text())


def in_seconds(seconds) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).isoformat()


# -- answers --------------------------------------------------------------------------------------


async def test_a_token_is_kept(tmp_path):
    found = load(tmp_path, counting("{'token': f'tok-{number}'}"))
    assert not (tmp_path / "count").exists()  # loading runs nothing
    assert [await found.headers() for _ in range(3)] == [{"Authorization": "Bearer tok-1"}] * 3
    assert await found.certificate() is None
    assert runs(tmp_path) == 1
    assert repr(found) == f"PluginCredentials({str(tmp_path / 'plugin')!r})"


async def test_many_requests_wait_for_one_run(tmp_path):
    found = load(tmp_path, counting("{'token': f'tok-{number}'}"))
    assert (
        len({str(one) for one in await asyncio.gather(*(found.headers() for _ in range(9)))}) == 1
    )
    assert runs(tmp_path) == 1


async def test_a_certificate_is_given(tmp_path):
    pems = {"clientCertificateData": CERT.decode(), "clientKeyData": KEY.decode()}
    found = load(tmp_path, saying(pems, V1BETA1), fields={"apiVersion": V1BETA1})
    assert await found.headers() == {}
    pair = await found.certificate()
    assert (pair.certificate, pair.key) == (CERT, KEY)
    assert await found.certificate() is pair
    assert not await found.renew({})  # it is run again, and gives the same


async def test_an_answer_in_yaml_is_understood(tmp_path):
    text = (
        f"kind: ExecCredential\napiVersion: {V1}\nstatus:\n  token: tok\n  expirationTimestamp:\n"
    )
    found = load(tmp_path, f"print({text!r})")
    assert await found.headers() == {"Authorization": "Bearer tok"}


BAD = {
    "nothing": ("pass", "its output is empty"),
    "garbage": ("print('hello {')", r"its output:1:1: a mapping must stand here"),
    "binary": ("import sys; sys.stdout.buffer.write(b'\\xff\\x00')", "not UTF-8"),
    "a list": ("print('[]')", "a mapping must stand here, not a list"),
    "another kind": (saying(kind="Status"), "no ExecCredential"),
    "another version": (saying(version=V1BETA1), f"in another apiVersion than {V1}"),
    "no status": (saying(status=None).replace("status", "state"), "has no status"),
    "an empty status": (saying({"x": 1}), "neither a token nor a certificate"),
    "a number": (saying({"token": 5}), "status.token: must be text, not a number"),
    "half a pair": (saying({"clientCertificateData": "x"}), "a certificate without a key"),
    "no PEM": (saying({"clientCertificateData": "x", "clientKeyData": "y"}), "no valid PEM"),
    "a line break": (saying({"token": "a\nb"}), "characters that no token has"),
    "no time": (saying({"token": "t", "expirationTimestamp": "soon"}), "is no time in the form"),
    "no zone": (saying({"token": "t", "expirationTimestamp": "2030-01-01T00:00:00"}), "is no time"),
    "no date": (saying({"token": "t", "expirationTimestamp": "2030-02-31T00:00:00Z"}), "no time"),
    "an exit code": ("raise SystemExit(3)", "failed with exit code 3"),
    "a signal": ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
    "a crash": ("raise RuntimeError('why')", "exit code 1; it says: Traceback.*RuntimeError: why"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_answer_is_explained(tmp_path, name):
    body, message = BAD[name]
    error = await failure(load(tmp_path, body))
    assert str(error).startswith(f"the exec plugin {tmp_path / 'plugin'} ")
    with pytest.raises(Unauthenticated, match=message):
        raise error


async def test_a_failure_is_not_remembered(tmp_path):
    body = f"{COUNT}\nif number == 1: sys.exit(1)\n{saying()}"
    found = load(tmp_path, body)
    await failure(found)
    assert await found.headers() == {"Authorization": "Bearer tok"}


# -- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("life", "early"), [(3600, 30), (100, 10), (0, 0), (-50, 0)])
async def test_it_runs_again_before_the_end(tmp_path, life, early):
    start = now = float(int(time.time()))
    end = datetime.fromtimestamp(start + life, UTC).isoformat()
    body = counting(f"{{'token': f'tok-{{number}}', 'expirationTimestamp': {end!r}}}")
    found = load(tmp_path, body, now=lambda: now)
    assert await found.headers() == {"Authorization": "Bearer tok-1"}
    if life > 0:
        now = start + life - early - 1
        await found.headers()
        assert runs(tmp_path) == 1
        now += 2
    assert await found.headers() == {"Authorization": "Bearer tok-2"}


async def test_a_refused_token_is_renewed_once_for_all(tmp_path):
    found = load(tmp_path, counting("{'token': f'tok-{number}'}"))
    assert await found.renew({})  # nothing was shown yet
    refused = await found.headers()
    assert await asyncio.gather(*(found.renew(refused) for _ in range(5))) == [True] * 5
    assert runs(tmp_path) == 2
    assert await found.headers() == {"Authorization": "Bearer tok-2"}


async def test_the_same_token_again_is_nothing_new(tmp_path):
    found = load(tmp_path, counting("{'token': 'same'}"))
    assert not await found.renew(await found.headers())
    assert runs(tmp_path) == 2


async def test_it_may_not_hang(tmp_path):
    body = (
        "import os, pathlib, subprocess, sys, time\n"
        "pathlib.Path(sys.argv[0]).with_name('pid').write_text(str(os.getpid()))\n"
        "sys.stderr.write('waiting for a browser'); sys.stderr.flush()\n"
        "subprocess.run(['sleep', '60'])\n"
    )
    found = load(tmp_path, body, timeout_s=1.5)
    start = time.monotonic()
    error = await failure(found)
    assert "did not end within 1.5 s; it says: waiting for a browser" in str(error)
    assert "by hand" in error.hint
    assert time.monotonic() - start < 20
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_a_cancelled_request_ends_it(tmp_path):
    body = (
        "import os, pathlib, sys, time\n"
        "pathlib.Path(sys.argv[0]).with_name('pid').write_text(str(os.getpid()))\n"
        "time.sleep(60)\n"
    )
    task = asyncio.create_task(load(tmp_path, body).headers())
    pid = tmp_path / "pid"
    while not (pid.exists() and pid.read_text()):  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(int(pid.read_text()))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("terminal", [True, False])
async def test_its_output_is_bounded(tmp_path, terminal):
    body = "import sys, time\nwhile True: sys.stdout.write('x' * 65536)"
    fields = {"interactiveMode": "IfAvailable"}
    error = await failure(load(tmp_path, body, fields=fields, terminal=terminal))
    assert f"wrote more than {MAX_OUTPUT} bytes" in str(error)


async def test_its_stderr_is_bounded(tmp_path):
    body = "import sys\nsys.stderr.write('first ' + 'y ' * 500000 + 'last'); sys.exit(1)"
    error = await failure(load(tmp_path, body))
    assert len(str(error)) < MAX_SHOWN + 400
    assert str(error).endswith("y last")
    ended = await run((str(tmp_path / "plugin"),), os.environ, timeout_s=60)
    assert (ended.code, len(ended.stderr)) == (1, KEPT_STDERR)


def test_a_person_is_given_more_time():
    assert TERMINAL_TIMEOUT_S > TIMEOUT_S


# -- what it is given -----------------------------------------------------------------------------

TELL = (
    "import json, os, sys\n"
    "told = {'argv': sys.argv[1:], 'info': json.loads(os.environ['KUBERNETES_EXEC_INFO']),\n"
    "        'env': {k: os.environ.get(k) for k in ('A', 'B', 'C')},\n"
    "        'stdin': os.fstat(0).st_rdev == os.stat('/dev/null').st_rdev}\n"
    "open(os.path.join(os.path.dirname(sys.argv[0]), 'told'), 'w').write(json.dumps(told))\n"
)


async def told(folder, **more) -> dict:
    await load(folder, TELL + saying(version=more.pop("version", V1)), **more).headers()
    return json.loads((folder / "told").read_text())


async def test_arguments_and_variables_are_passed(tmp_path):
    fields = {"args": ["get token", "$HOME; ls", "ü"],
              "env": [{"name": "A", "value": "new"}, {"name": "B"}]}  # fmt: skip
    found = await told(tmp_path, fields=fields, environ={"A": "old", "C": "kept"})
    assert found["argv"] == ["get token", "$HOME; ls", "ü"]
    assert found["env"] == {"A": "new", "B": "", "C": "kept"}
    assert found["stdin"]
    info = {"kind": "ExecCredential", "apiVersion": V1, "spec": {"interactive": False}}
    assert found["info"] == info


async def test_the_cluster_is_told_when_asked(tmp_path):
    write(tmp_path, ca_pem(), "ca")
    fields = {"provideClusterInfo": True, "apiVersion": V1BETA1}
    own = {"name": "client.authentication.k8s.io/exec", "extension": {"aud": ["x", 1]}}
    extensions = [{"name": "other", "extension": 1}, own]
    about = {"certificate_authority": "ca", "tls_server_name": "name", "disable_compression": True,
             "proxy_url": "http://proxy:1", "extensions": extensions}  # fmt: skip
    found = await told(tmp_path, fields=fields, cluster_fields=about, version=V1BETA1)
    assert found["info"]["spec"]["cluster"] == {
        "server": SERVER, "tls-server-name": "name", "disable-compression": True,
        "certificate-authority-data": b64(ca_pem()), "proxy-url": "http://proxy:1",
        "config": {"aud": ["x", 1]},
    }  # fmt: skip
    about = {"insecure_skip_tls_verify": True, "extensions": [{"name": own["name"]}]}
    found = await told(tmp_path, fields=fields, cluster_fields=about, version=V1BETA1)
    assert found["info"]["spec"]["cluster"] == {
        "server": SERVER, "insecure-skip-tls-verify": True, "config": None,
    }  # fmt: skip


async def test_a_bare_name_is_looked_for_in_path(tmp_path, monkeypatch):
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    plugin(bin_folder, saying(), "our-plugin")
    environ = {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    found = load(tmp_path, "", fields={"command": "our-plugin"}, environ=environ)
    assert await found.headers() == {"Authorization": "Bearer tok"}
    monkeypatch.chdir(bin_folder)
    found = load(tmp_path, "", fields={"command": "our-plugin"}, environ={"PATH": "."})
    assert "is no program that can be run" in str(await failure(found))


async def test_a_missing_program_comes_with_its_hint(tmp_path):
    fields = {"command": "no-such-plugin", "installHint": "\x1b[1mbrew\ninstall it"}
    error = await failure(load(tmp_path, "", fields=fields))
    assert "the exec plugin no-such-plugin is no program that can be run" in str(error)
    assert error.hint == "[1mbrew install it"
    error = await failure(load(tmp_path, "", fields={"command": "./gone"}))
    assert "PATH" in error.hint


async def test_what_cannot_be_started_is_told(tmp_path):
    found = load(tmp_path, "")
    (tmp_path / "plugin").write_text("no shebang")
    assert "cannot be started: Exec format error" in str(await failure(found))
    (tmp_path / "plugin").write_text("#!/no/such/interpreter\n")
    assert "cannot be started: No such file" in str(await failure(found))
    (tmp_path / "plugin").chmod(0o644)
    assert "no program that can be run" in str(await failure(found))
    found = load(tmp_path, saying(), fields={"args": ["a\0b"]})
    assert "cannot be started: null byte" in str(await failure(found))
    found = load(tmp_path, saying(), fields={"args": ["x" * 200_000]})
    assert "cannot be started: Argument list too long" in str(await failure(found))


# -- at a terminal --------------------------------------------------------------------------------

MODES = [
    ("Never", True, False), ("Never", False, False), ("IfAvailable", True, True),
    ("IfAvailable", False, False), ("Always", True, True),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "terminal", "interactive"), MODES)
async def test_stdin_is_lent_only_where_it_is_allowed(tmp_path, mode, terminal, interactive):
    heard = []
    body = "import sys; sys.stderr.write('hello')\n" + TELL
    found = load(
        tmp_path, body + saying(), fields={"interactiveMode": mode}, terminal=terminal,
        say=heard.append,
    )  # fmt: skip
    read, write_end = os.pipe()
    kept = os.dup(0)
    os.dup2(read, 0)
    try:
        await found.headers()
    finally:
        os.dup2(kept, 0)
        for number in (kept, read, write_end):
            os.close(number)
    about = json.loads((tmp_path / "told").read_text())
    assert about["info"]["spec"]["interactive"] == interactive
    assert about["stdin"] == (not interactive)
    assert b"".join(heard) == (b"hello" if interactive else b"")


async def test_it_wants_a_terminal_and_there_is_none(tmp_path):
    error = await failure(load(tmp_path, saying(), fields={"interactiveMode": "Always"}))
    assert "needs a terminal to ask on" in str(error)


async def test_the_old_version_may_say_nothing_about_a_terminal(tmp_path):
    found = await told(
        tmp_path, fields={"interactiveMode": None, "apiVersion": V1BETA1}, version=V1BETA1,
        terminal=True,
    )  # fmt: skip
    assert found["info"]["spec"]["interactive"]


async def test_a_hanging_plugin_at_a_terminal_is_ended_too(tmp_path):
    fields = {"interactiveMode": "Always"}
    body = "import time\ntime.sleep(60)"
    error = await failure(load(tmp_path, body, fields=fields, terminal=True, timeout_s=1.0))
    assert "did not end within 1 s" in str(error)


# -- secrets --------------------------------------------------------------------------------------

SECRET = "hunter2-Xy9"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    "said",
    [
        f"token={SECRET}", f"password: '{SECRET}'", f'"secret": "{SECRET}"', f"Bearer {SECRET}",
        f"https://me:{SECRET}@host/x", f"{SECRET} is wrong", f"--password {SECRET}",
        f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\n-----END EC PRIVATE KEY-----",
        f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}", f"API_KEY={SECRET}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("given", ["env", "arg", "stdout"])
async def test_no_secret_reaches_an_error(tmp_path, said, given):
    fields = {
        "env": {"env": [{"name": "S", "value": SECRET}]}, "arg": {"args": [f"--token={SECRET}"]},
        "stdout": {},
    }[given]  # fmt: skip
    out = SECRET + "-and-more" if given == "stdout" else "nothing"
    body = f"import sys\nprint({out!r})\nsys.stderr.write({said!r} + ' at 10.0.0.1')\nsys.exit(1)"
    if given == "stdout":
        body = body.replace(SECRET, SECRET + "-and-more")
    error = await failure(load(tmp_path, body, fields=fields))
    assert SECRET not in f"{error!r}{error.hint}"
    assert "exit code 1" in str(error)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain words\n  and more\n", "plain words and more"),
        ("\x1b[31mred\x1b[0m \x07bell", "red bell"),
        (f"got {JWT} back", "got … back"),
        ("key AbCdEfGhIjKlMnOpQrStUvWxYz0123456789 used", "key … used"),
        ("could not find /usr/lib/google-cloud-sdk/bin/gke-gcloud-auth-plugin",
         "could not find /usr/lib/google-cloud-sdk/bin/gke-gcloud-auth-plugin"),
        ("the token has expired: log in", "the token has expired: log in"),
        ("Authorization: Bearer abcdef", "Authorization: Bearer …"),
    ],
)  # fmt: skip
def test_what_is_left_of_stderr(text, shown):
    assert without_secrets(text) == shown


def test_what_is_told_in_confidence_is_hidden():
    assert without_secrets("a hunter22 b", ["hunter", "hunter22", "a"]) == "a … b"
    assert (
        without_secrets("id abcdefghijklmn bad", output='{"token":"abcdefghijklmn"}') == "id … bad"
    )
    assert without_secrets("short abc bad", output="abc") == "short abc bad"


def test_the_folder_of_the_tests_is_short_enough_for_a_shebang(tmp_path):
    assert len(Path(plugin(tmp_path, "")).read_text().splitlines()[0]) < 250
