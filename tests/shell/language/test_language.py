"""The shell language: scripts and their output, as in busybox ash."""

from __future__ import annotations

import pytest

from tests.support.shell import run

PRINTS = [
    # sequences, conditions, groups
    ("echo a; echo b", "a\nb\n"),
    ("true && echo yes || echo no", "yes\n"),
    ("false && echo yes || echo no", "no\n"),
    ("! false && echo negated", "negated\n"),
    ("{ echo a; echo b; } | wc -l", "2\n"),
    ("x=1; (x=2; echo $x); echo $x", "2\n1\n"),
    ("if false; then echo a; elif true; then echo b; else echo c; fi", "b\n"),
    # loops
    ("for i in 1 2 3; do echo $i; done", "1\n2\n3\n"),
    ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); [ $i = 2 ] && continue; echo $i; done", "1\n3\n"),
    ("until [ -f /tmp/x ]; do touch /tmp/x; echo tried; done", "tried\n"),
    ("for i in 1 2; do for j in a b; do [ $j = b ] && continue 2; echo $i$j; done; done", "1a\n2a\n"),
    ("for i in 1 2; do while :; do break 2; done; done; echo out", "out\n"),
    # case
    ("case abc in x) echo x;; a*|b*) echo ab;; *) echo other;; esac", "ab\n"),
    ("case '*' in a) echo a;; '*') echo star;; esac", "star\n"),
    ("case b in [!a]) echo class;; esac", "class\n"),
    # quoting and words
    ("""echo "a  b" 'c $x' d\\ e "q\\"q" """, 'a  b c $x d e q"q\n'),
    ("x='a  b'; echo $x \"$x\"", "a b a  b\n"),
    ("echo a#b # a comment", "a#b\n"),
    ("echo one \\\n two", "one two\n"),
    ("echo '' \"\" | wc -c", "2\n"),
    # parameters
    ("echo ${x:-default} ${x-unset}; x=; echo [${x-unset}] [${x:-empty}]", "default unset\n[] [empty]\n"),
    (": ${x:=5}; echo $x ${x:+set} [${y:+set}]", "5 set []\n"),
    ("f=a/b.tar.gz; echo ${f#*/} ${f##*.} ${f%.*} ${f%%.*} ${#f}", "b.tar.gz gz a/b.tar a/b 10\n"),
    ("x=hello; echo ${x:1:3} ${x/l/L} ${x//l/L}", "ell heLlo heLLo\n"),
    ('set -- a "b c"; echo $# $1; for x in "$@"; do echo "<$x>"; done', "2 a\n<a>\n<b c>\n"),
    ("set -- a b c; shift; echo $1 $*", "b b c\n"),
    ('IFS=:; x=a:b::c; for p in $x; do echo "[$p]"; done', "[a]\n[b]\n[]\n[c]\n"),
    # arithmetic
    ("echo $((1+2*3)) $((7/2)) $((-7%3)) $((1<<4)) $((3>2?10:20)) $((0x10))", "7 3 -1 16 10 16\n"),
    ("i=5; echo $((i++)) $i $((i+=2)) $(( (i-1)*2 ))", "5 6 8 14\n"),
    # substitution
    ("echo $(echo a; echo b) \"$(echo a; echo b)\"", "a b a\nb\n"),
    ("echo `echo back` \"$(echo \"$(echo nested)\")\"", "back nested\n"),
    ("x=$(exit 3); echo $?", "3\n"),
    # here-documents and redirections
    ("x=1; cat <<EOF\n$x $((x+1)) \\$x\nEOF\necho after", "1 2 $x\nafter\n"),
    ("cat <<'EOF'\n$x\nEOF", "$x\n"),
    ("cat <<-EOF\n\tindented\n\tEOF", "indented\n"),
    ("echo a > /tmp/f; echo b >> /tmp/f; cat < /tmp/f", "a\nb\n"),
    ("(echo out; echo err >&2) > /tmp/f 2>&1; cat /tmp/f", "out\nerr\n"),
    ("(echo out; echo err >&2) &> /tmp/f; wc -l < /tmp/f", "2\n"),
    ("exec > /tmp/f; echo hidden; exec > /dev/stdout; echo hidden too", ""),
    ("while read a b; do echo $b-$a; done <<E\n1 2\n3 4 5\nE", "2-1\n4 5-3\n"),
    # functions, eval, exec, set
    ('f() { echo "$1 of $#"; return 4; }; f x y; echo $?', "x of 2\n4\n"),
    ("f() { local v=in; echo $v; }; v=out; f; echo $v", "in\nout\n"),
    ("x='echo hi'; eval $x", "hi\n"),
    ("exec echo replaced; echo never", "replaced\n"),
    ("set -e; false || echo tolerated; if false; then :; fi; false; echo never", "tolerated\n"),
    ("echo $0 $1; sh -c 'echo $0 $1' name arg", "sh\nname arg\n"),
    ("A=1; B=2 sh -c 'echo [$A] [$B]'; export A; sh -c 'echo [$A]'", "[] [2]\n[1]\n"),
    # file names
    ("cd /tmp; touch a.txt b.txt .c.txt; echo *.txt; echo /tmp/[a]*", "a.txt b.txt\n/tmp/a.txt\n"),
    ("cd /tmp; touch a.txt; echo *.none '*.txt' \"*.txt\" \\*.txt", "*.none *.txt *.txt *.txt\n"),
    # pipelines
    ("printf '%s\\n' b a c | sort | head -n 2", "a\nb\n"),
    ("set -o pipefail; false | true; echo $?; true | false | true; echo $?", "1\n1\n"),
    ("while :; do echo y; done | head -n 2", "y\ny\n"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), PRINTS)
def test_prints(script: str, expected: str) -> None:
    outcome = run(script)
    assert (outcome.out, outcome.err) == (expected, "")
    assert outcome.seconds == 0


CODES = [
    ("exit 3", 3),
    ("exit 300", 44),
    ("false", 1),
    ("false; true", 0),
    ("(exit 5)", 5),
    ("set -e; false; exit 0", 1),
    ("set -e; x=$(false); exit 0", 1),
    ("echo a | exit 4", 4),
    ("! true", 1),
    ("trap 'exit 7' EXIT; exit 3", 7),
    ("trap 'true' EXIT; exit 3", 3),
    ("sh -c 'exit 9'", 9),
    ("test 1 -eq 2", 1),
    ("[ x", 2),
    ("echo ${x:?is missing}; exit 0", 2),
    ("set -u; echo $x; exit 0", 2),
    ("echo $((1/0)); exit 0", 2),
    ("cat /missing", 1),
    ("echo x > /missing/dir/f", 1),
]


@pytest.mark.parametrize(("script", "code"), CODES)
def test_exit_codes(script: str, code: int) -> None:
    assert run(script).code == code


SYNTAX_ERRORS = [
    ("if true; fi", 'unexpected "fi" (expecting "then")'),
    ("while true; do echo", 'unexpected end of file (expecting "done")'),
    ("echo a; done", 'unexpected "done"'),
    ("echo 'abc", "unterminated quoted string"),
    ("echo $(ls", 'unexpected end of file (expecting ")")'),
    ("( echo a", 'unexpected end of file (expecting ")")'),
    (")", 'unexpected ")"'),
    ("for 1 in a; do :; done", "bad for loop variable"),
    ("echo ${x", "missing '}'"),
    ("echo a && ", "unexpected end of file"),
    ("(" * 200 + ":" + ")" * 200, "nested too deeply"),
]


@pytest.mark.parametrize(("script", "message"), SYNTAX_ERRORS)
def test_syntax_errors(script: str, message: str) -> None:
    outcome = run(script)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"sh: syntax error: {message}\n")


def test_lines_before_a_syntax_error_run() -> None:
    outcome = run("echo first\nif\n")
    assert (outcome.code, outcome.out) == (2, "first\n")


def test_error_messages_equal_those_of_busybox() -> None:
    assert run("cat /missing; cat < /missing").err == (
        "cat: can't open '/missing': No such file or directory\nsh: can't open /missing: no such file\n"
    )
    assert run("echo x > /no/where").err == "sh: can't create /no/where: nonexistent directory\n"


def test_xtrace_prints_commands_to_stderr() -> None:
    assert run("set -x; x=1; echo $x; set +x; echo quiet").err == "+ x=1\n+ echo 1\n+ set +x\n"


def test_a_shell_without_a_script_reads_empty_stdin() -> None:
    assert run(["sh"]).code == 0
