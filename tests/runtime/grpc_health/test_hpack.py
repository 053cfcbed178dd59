"""Header fields as others write them, and ours as others read them."""

from __future__ import annotations

import hpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubesim.runtime.grpc_health.hpack import CompressionError, Decoder, encode, huffman_decoded

text = st.text(st.characters(max_codepoint=255), max_size=40)
names = st.sampled_from([":status", ":path", "content-type", "grpc-status", "x"]) | text
fields = st.lists(st.tuples(names, text), max_size=8)


@given(st.lists(st.tuples(fields, st.booleans(), st.sampled_from([0, 60, 200, 4096])), max_size=6))
def test_blocks_of_another_encoder_are_read(blocks: list[tuple[list[tuple[str, str]], bool, int]]) -> None:
    """With its Huffman code and without, with a dynamic table that grows, shrinks and forgets."""
    encoder, decoder = hpack.Encoder(), Decoder()
    for written, huffman, size in blocks:
        encoder.header_table_size = size
        as_bytes = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in written]
        assert decoder.decode(encoder.encode(as_bytes, huffman=huffman)) == written


@given(fields)
@example([("x", "y" * length) for length in (126, 127, 128, 254, 255, 5000)])
def test_another_decoder_reads_our_blocks(written: list[tuple[str, str]]) -> None:
    read = hpack.Decoder().decode(encode(written), raw=True)
    assert [(name.decode("latin-1"), value.decode("latin-1")) for name, value in read] == written


def test_every_byte_has_its_code() -> None:
    every = bytes(range(256))
    block = hpack.Encoder().encode([(b"x", every, True)], huffman=True)
    assert Decoder().decode(block) == [("x", every.decode("latin-1"))]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (b"\xbe", "there is no header field with the number 62"),
        (b"\x80", "there is no header field with the number 0"),
        (b"\x3f\xe2\x1f", "a table of 4097 bytes is larger than agreed"),
        (b"\x00\x01x", "ends too soon"),
        (b"\x00\x01x\x05ab", "ends too soon"),
        (b"\xff\xff\xff\xff\xff\xff", "a number is too large"),
    ],
)
def test_what_is_no_block_is_said(block: bytes, problem: str) -> None:
    with pytest.raises(CompressionError, match=problem):
        Decoder().decode(block)


@pytest.mark.parametrize("data", [b"\xff", b"\xff\xff\xff\xff", b"\x00"])
def test_strings_end_with_the_beginning_of_the_longest_code(data: bytes) -> None:
    with pytest.raises(CompressionError):
        huffman_decoded(data)
