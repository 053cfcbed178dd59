"""A terminal of a shell: echo, line editing, Ctrl-C and Ctrl-D."""

from __future__ import annotations

from kubesim.shell.kernel.terminal import PipedInput, Terminal, encode


def typed(*keys: str) -> tuple[str, list[str | None]]:
    """The screen output, and the text that a program can read."""
    shown: list[str] = []
    terminal = Terminal(shown.append, lambda: shown.append("<interrupt>"))
    for each in keys:
        terminal.feed(each.encode())
    read = []
    while (text := terminal.stream.poll_read()) is not None:
        read.append(text)
        if not text:
            break
    return "".join(shown), list(read)


def test_a_line_is_read_when_it_is_complete() -> None:
    assert typed("ec") == ("ec", [])
    assert typed("echo a\r") == ("echo a\r\n", ["echo a\n"])
    assert typed("a\nb\n") == ("a\r\nb\r\n", ["a\n", "b\n"])


def test_a_line_can_be_edited() -> None:
    assert typed("ab\x7fc\r") == ("ab\b \bc\r\n", ["ac\n"])
    assert typed("\x7fa\r") == ("a\r\n", ["a\n"])
    assert typed("abc\x15d\r")[1] == ["d\n"]


def test_keys_that_send_several_characters_are_dropped() -> None:
    assert typed("a\x1b[A\x1b[3~b\r") == ("ab\r\n", ["ab\n"])


def test_control_c_interrupts_and_drops_the_line() -> None:
    assert typed("abc\x03d\r") == ("abc^C\r\n<interrupt>d\r\n", ["d\n"])


def test_control_d_ends_the_input_on_an_empty_line_and_sends_a_partial_one() -> None:
    assert typed("\x04") == ("", [""])
    assert typed("ab\x04") == ("ab", ["ab"])


def test_characters_split_between_chunks_stay_whole() -> None:
    shown: list[str] = []
    terminal = Terminal(shown.append)
    for byte in "ä\r".encode():
        terminal.feed(bytes((byte,)))
    assert terminal.stream.poll_read() == "ä\n"


def test_bytes_pass_through_a_pipe_unchanged() -> None:
    piped, content = PipedInput(), bytes(range(256))
    for start in range(0, 256, 7):
        piped.feed(content[start : start + 7])
    piped.feed(b"")
    got = b""
    while text := piped.stream.poll_read():
        got += encode(text)
    assert got == content
    assert text == ""
