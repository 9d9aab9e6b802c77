"""The hard floor: how ever it is spelled, and nothing that only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_core.gate.commands import assess
from hermes_core.gate.paths import ProtectedPaths

PATHS = ProtectedPaths(Path("/home/ann"), Path("/home/ann/.hermes"))


def level(command: str) -> str:
    return assess(command, workspace="/home/ann/work", paths=PATHS).level


FORBIDDEN = [
    # spelled otherwise
    "rm -rf /",
    r"r\m -rf /",
    """'rm' -rf "/" """,
    "rm${IFS}-rf${IFS}/",
    "rm$IFS-rf$IFS/",
    r"$'\x72\x6d' -rf /",
    r"$'\162\u006d' -rf /",
    "r$@m -rf /",
    "${x:-rm} -rf /",
    "a=rm; b=/; $a -rf $b",
    'x="rm -rf /"; $x',
    "rm -rf \\\n /",
    "rm$unset -rf /",
    "$unset rm -rf /",
    "$SUDO reboot",
    "env 'x y=1' rm -rf /",
    "RM -RF /",
    "/bin/rm --recursive --force /",
    "rm -r -f -- /",
    # anywhere in the line
    "cd /tmp && rm -rf /",
    "true || rm -rf /*",
    "ls; rm -fr ~",
    "ls | rm -rf $HOME",
    "ls & rm -rf /etc",
    "if true; then rm -rf /usr; fi",
    "f() { rm -rf /; }; f",
    "function f { rm -rf /; }; f",
    "case a in a) rm -rf /;; esac",
    "for i in 1; do rm -rf /; done",
    "echo $(rm -rf /)",
    'echo "`rm -rf /`"',
    "cat <(rm -rf /)",
    "( rm -rf / )",
    "! rm -rf /",
    "# hello\nrm -rf /",
    # inside another command
    "sudo rm -rf /",
    "sudo -u root -- /bin/rm -rf /",
    "env A=1 nohup nice -n 5 rm -rf /",
    "timeout -k 1 5 rm -rf /",
    "sh -c 'rm -rf /'",
    'bash -lc "sudo rm -rf ~"',
    "sudo bash -c 'cd / && rm -rf *'",
    "eval 'rm -rf /'",
    "env -S 'rm -rf /'",
    "xargs rm -rf / < list",
    "watch 'rm -rf /'",
    "busybox rm -rf /",
    "find . -exec rm -rf / ;",
    r"find . -exec sh -c 'rm -rf /' \;",
    "echo 'rm -rf /' | sh",
    "bash <<< 'rm -rf /'",
    "bash <<EOF\nrm -rf /\nEOF",
    "trap 'rm -rf /' EXIT",
    "sudo -iu root rm -rf /",
    "cat <<EOF\n$(rm -rf /)\nEOF",
    'cat <<EOF\n"`rm -rf /`"\nEOF',
    "echo $(bash <<EOF\nrm -rf /\nEOF\n)",
    "bash <<-EOF\n\trm -rf /\n\tEOF",
    "systemd-run -p A=b rm -rf /",
    # what may not be deleted
    "rm -rf /home/ann",
    "rm -rf /home/ann/",
    "rm -rf /home/bob",
    "rm -rf ../..",
    'rm -rf "${HOME}"/*',
    "rm -rf /./",
    "rm -rf //",
    "rm -rf /tmp/../usr",
    "rm -rf /e*",
    "cd / && rm -rf *",
    "cd ~ ; rm -rf .",
    "find / -delete",
    "rmdir /s /q C:\\\\",
    # disks
    "mkfs.ext4 /dev/sda1",
    "sudo mkfs -t ext4 /dev/sdb",
    "dd if=/dev/zero of=/dev/sda bs=1M",
    "cat image > /dev/nvme0n1",
    "echo x >> /dev/sda",
    "cp image /dev/mmcblk0",
    "tee /dev/sda < image",
    "shred /dev/vda",
    # everything else at once
    ":(){ :|:& };:",
    "bomb() { bomb | bomb & }; bomb",
    "kill -9 -1",
    "kill -s KILL -- -1",
    "kill -- -1",
    "shutdown -h now",
    "/sbin/reboot",
    "sudo halt",
    "nohup poweroff &",
    "init 0",
    "telinit 6",
    "systemctl --no-wall poweroff",
    "systemctl reboot -i",
    # beyond what anybody writes
    "echo " + "a" * 128_000,
    "a;" * 30_000,
    "$(" * 200,
]


@pytest.mark.parametrize("command", FORBIDDEN, ids=lambda text: text[:40])
def test_what_may_never_run_is_found_in_every_spelling(command: str) -> None:
    assert level(command) == "floor"


INNOCENT = [
    "rm -rf build",
    "rm -rf /tmp/build",
    "rm -rf /home/ann/work/build",
    "rm -rf ./*",
    "rm -f /etc/hosts.bak",
    "rm a.txt /",
    'rm -rf "$BUILD"/*',
    "echo 'rm -rf /'",
    'git commit -m "never run rm -rf / again"',
    "grep -rn 'rm -rf /' docs",
    "cat > notes.md <<'EOF'\nrm -rf /\nreboot\nEOF",
    "cat > notes.md <<'EOF'\nUse `rm -rf /` or $(reboot) with care\nEOF",
    "cat <<EOF\nrm -rf /\nEOF\nls",
    "echo reboot",
    "ls /sbin/reboot",
    "command -v shutdown",
    "man shutdown",
    "xargs grep reboot < list",
    "python shutdown.py",
    "systemctl status nginx",
    "kill 1234",
    "kill -1 1234",
    "kill -9 1234",
    "kill -HUP 1234",
    "dd if=/dev/sda of=disk.img",
    "dd if=/dev/zero of=disk.img",
    "echo x > /dev/null",
    "find / -name core -delete",
    "find . -name '*.pyc' -delete",
    "f() { f1 | f2; }; f",
    "init",
    "cd /; ls",
    "x=/; ls $x",
]


@pytest.mark.parametrize("command", INNOCENT, ids=lambda text: text[:40])
def test_what_only_looks_like_it_is_not_under_the_floor(command: str) -> None:
    assert level(command) != "floor"


def test_the_floor_does_not_need_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tree_sitter_bash", None)
    missed = [command for command in FORBIDDEN if level(command) != "floor"]
    assert missed == []


def test_doubling_a_variable_does_not_fill_the_memory() -> None:
    assert level("a=xxxxxxxx;" + "a=$a$a;" * 64 + "echo $a") == "ask"


@given(
    before=st.sampled_from(
        ["", "ls; ", "cd x && ", "true | ", "if a; then ", "{ ", "(", "! ", "\n"]
    ),
    wrapper=st.sampled_from(["", "sudo ", "env X=1 ", "nohup ", "time ", "timeout 9 ", "exec "]),
    name=st.sampled_from(["rm", r"\rm", "r''m", '"rm"', "/usr/bin/rm", r"$'rm'", "${z:-rm}"]),
    flags=st.sampled_from(["-rf", "-fr", "-r -f", "-R", "--recursive", "-v -r"]),
    target=st.sampled_from(["/", "/*", "~", "$HOME", "/usr", "'/etc'", "/var/../", "~/"]),
)
def test_position_wrapper_name_and_target_combine(
    before: str, wrapper: str, name: str, flags: str, target: str
) -> None:
    assert level(f"{before}{wrapper}{name} {flags} {target}") == "floor"


@given(st.text(alphabet="rm -f/'\"\\$`(){}<>|&;\n#ab=~*!@", max_size=60))
def test_no_text_breaks_the_judgement(text: str) -> None:
    assert level(text) in ("harmless", "ask", "floor")
