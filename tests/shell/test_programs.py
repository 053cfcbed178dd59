"""Programs: commands and their output."""

from __future__ import annotations

import pytest

from kubesim.shell import LoopbackNetwork
from tests.support.shell import run

PRINTS = [
    ("echo -n a; echo -e 'b\\tc\\n'; echo '\\n'", "ab\tc\n\n\\n\n"),
    ("printf '%s=%03d|%-4s|%x\\n' a 7 b 255 c 8", "a=007|b   |ff\nc=008|    |0\n"),
    ("printf '%b\\n' 'a\\tb'; printf '%5.2f%%\\n' 3.14159", "a\tb\n 3.14%\n"),
    ("seq 3; seq -s , 2 2 8", "1\n2\n3\n2,4,6,8\n"),
    ("expr 2 + 3 \\* 4; expr abc : 'a.'; expr 5 \\> 3", "14\n2\n1\n"),
    ("printf '1\\n2\\n3\\n' > /tmp/f; head -n 1 /tmp/f; tail -n 1 /tmp/f", "1\n3\n"),
    ("printf '1\\n2\\n3\\n' > /tmp/f; tail -n +2 /tmp/f; head -c 3 /tmp/f", "2\n3\n1\n2\n"),
    ("printf 'a b\\nc\\n' | wc; printf 'a b\\nc\\n' | wc -l", "         2         3         6\n2\n"),
    ("printf 'one\\ntwo\\n' | grep -n o; printf 'x\\n' | grep -q y; echo $?", "1:one\n2:two\n1\n"),
    ("printf 'a+b\\nab\\n' | grep 'a+b'; printf 'aab\\n' | grep -oE 'a+'; printf 'A\\n' | grep -ic a", "a+b\naa\n1\n"),
    ("printf '10\\n9\\n' | sort -n; printf 'a\\na\\n' | uniq -c", "9\n10\n      2 a\n"),
    ("echo a:b:c | cut -d: -f1,3; echo abc | tr a-z A-Z; echo abc | tr -d b", "a:c\nABC\nac\n"),
    ("echo a/b/c | sed 's#/#-#'; echo a/b/c | sed 's,/,-,g'", "a-b/c\na-b-c\n"),
    ("echo x | tee /tmp/f | cat; cat /tmp/f", "x\nx\n"),
    ("mkdir -p /a/b; touch /a/b/c; ls /a/b; rm -r /a; ls /a 2>&1", "c\nls: /a: No such file or directory\n"),
    ("mkdir /tmp; mkdir /x/y", ""),
    ("rm /tmp/x; rm -f /tmp/x; echo $?", "0\n"),
    ("echo 1 > /tmp/a; cp /tmp/a /tmp/b; mv /tmp/b /tmp/c; cat /tmp/c; ls /tmp", "1\na\nc\n"),
    ("cd /tmp; echo hi > f; chmod +x f; [ -x f ] && [ -s f ] && [ -f f ] && [ ! -d f ] && echo ok", "ok\n"),
    ("[ 1 -lt 2 -a '' = '' ] && [ a '<' b ] && test -n x && [ ! x = y ] && echo ok", "ok\n"),
    ("[ a -eq 1 ] 2>&1; echo $?", "sh: a: bad number\n2\n"),
    ("date; date +%s; sleep 61; date +%T", "Sat Jan  1 00:00:00 UTC 2000\n946684800\n00:01:01\n"),
    ("date -u +%Y-%m-%dT%H:%M:%SZ", "2000-01-01T00:00:00Z\n"),
    ("env -i A=1 env; A=2 printenv A; env B=3 sh -c 'echo $B'", "A=1\n2\n3\n"),
    ("hostname; nproc; whoami; uname; id -u", "web-0\n2\nroot\nLinux\n0\n"),
    ("which sh nothing; echo $?; command -v cat; command -v nothing; echo $?", "/bin/sh\n1\n/bin/cat\n127\n"),
    ("basename /a/b.c .c; dirname /a/b.c; dirname x; busybox echo hi", "b\n/a\n.\nhi\n"),
    ("echo a b c | xargs -n 1 echo x", "x a\nx b\nx c\n"),
    ("sleep 100 & ps > /tmp/f; tail -n 1 /tmp/f", "    2 root      0:00 sleep 100\n"),
    ("sleep 9 & killall sleep; wait $!; echo $?; killall sleep 2>&1", "143\nkillall: sleep: no process killed\n"),
    ("read -r a b <<E\nx y z\nE\necho $b; echo 1,2 | (IFS=, read a b; echo $b)", "y z\n2\n"),
    ("read x < /dev/null || echo end", "end\n"),
    ("cd /nowhere 2>&1; cd /tmp; pwd; cd -; pwd", "sh: cd: can't cd to /nowhere: No such file or directory\n/tmp\n/\n"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), PRINTS)
def test_prints(script: str, expected: str) -> None:
    assert run(script, network=LoopbackNetwork(hostname="web-0")).out == expected


def test_error_messages() -> None:
    assert run("mkdir /tmp; mkdir /x/y; rm /tmp; rm /none; touch /x/y; sleep x; kill -FOO 1; kill 99").err == (
        "mkdir: can't create directory '/tmp': File exists\n"
        "mkdir: can't create directory '/x/y': No such file or directory\n"
        "rm: '/tmp' is a directory\n"
        "rm: can't remove '/none': No such file or directory\n"
        "touch: /x/y: No such file or directory\n"
        "sleep: invalid number 'x'\n"
        "sh: kill: bad signal name 'FOO'\n"
        "sh: can't kill pid 99: No such process\n"
    )
