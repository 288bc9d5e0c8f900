"""Mutations of robot files: bytes, numbers, attributes and elements, some of them hostile."""

import re

import numpy as np

NUMBER = re.compile(rb"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?")
ATTRIBUTE = re.compile(rb'\s[\w:]+="[^"]*"')
VALUE = re.compile(rb'"[^"]*"')
ELEMENT = re.compile(rb"<(\w+)(?:\s[^<>]*)?(?:/>|>[^<]*</\1>)")
TAG = re.compile(rb"<(/?)(\w+)")

NUMBERS = (
    *(b"nan", b"inf", b"-inf", b"1e999", b"-1e999", b"0", b"-0.0", b"-1", b"1e-320", b"1e300"),
    *(
        b"1e12",
        b"0x1F",
        b"1_000",
        b"1,5",
        b"",
        b" ",
        b"one",
        b"1 2",
        b"1.5708",
        b"1.",
        b".5",
        b"--1",
    ),
    *(b"1e", b"\xd9\xa1", b"9" * 400, b"${pi}", b"1e308", b"3.14159265359"),
)
WORDS = (
    *(
        b"",
        b"base",
        b"world",
        b"fixed",
        b"floating",
        b"revolute",
        b"free",
        b"ball",
        b"tool",
        b"mimic",
    ),
    *(b"../../../etc/passwd", b"package://../../x", b"&lt;", b"&amp;", b"a\tb", b"a&#10;b"),
    *(b"\xff\xfe", b"\xe2\x80\xae", b"x" * 5000, b"%s%n", b"file:///dev/zero"),
)
CHUNKS = (
    b'<!DOCTYPE robot [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>',
    b'<!DOCTYPE robot SYSTEM "file:///etc/passwd">',
    *(b"&b;", b"<![CDATA[", b"]]>", b"<!--", b"-->", b"<?xml?>", b"\x00", b"<a>" * 300),
    *(b'<link name="base"/>', b'<joint name="j" type="fixed"/>', b'<include file="../x.xml"/>'),
    *(
        b'<mimic joint="turn"/>',
        b'<origin rpy="0 0 0"/>',
        b"<inertial/>",
        b"<body><freejoint/></body>",
    ),
    b'<replicate count="100000"><body/></replicate>',
)


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The data after one to three random mutations; now and then it stays as it is."""
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3]))):
        data = MUTATIONS[int(rng.integers(len(MUTATIONS)))](data, rng)
    return data


def _pick(pattern: re.Pattern[bytes], data: bytes, rng: np.random.Generator):
    matches = list(pattern.finditer(data))
    return matches[int(rng.integers(len(matches)))] if matches else None


def _choice(options, rng: np.random.Generator):
    return options[int(rng.integers(len(options)))]


def _span(data: bytes, rng: np.random.Generator, longest: int) -> tuple[int, int]:
    start = int(rng.integers(len(data) + 1))
    return start, min(len(data), start + int(rng.integers(1, longest)))


def flip_byte(data: bytes, rng: np.random.Generator) -> bytes:
    """One byte becomes another."""
    if not data:
        return data
    i = int(rng.integers(len(data)))
    return data[:i] + bytes([int(rng.integers(256))]) + data[i + 1 :]


def delete_span(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes are lost."""
    a, b = _span(data, rng, 60)
    return data[:a] + data[b:]


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    """The file ends early."""
    return data[: int(rng.integers(len(data) + 1))]


def repeat_span(data: bytes, rng: np.random.Generator) -> bytes:
    """A part of the file comes twice."""
    a, b = _span(data, rng, 400)
    return data[:b] + data[a:b] + data[b:]


def insert_chunk(data: bytes, rng: np.random.Generator) -> bytes:
    """Something hostile is put between two tags."""
    gap = _pick(re.compile(rb">"), data, rng)
    at = gap.end() if gap else 0
    return data[:at] + _choice(CHUNKS, rng) + data[at:]


def _replace(pattern: re.Pattern[bytes], text: bytes, data: bytes, rng) -> bytes:
    match = _pick(pattern, data, rng)
    return data[: match.start()] + text + data[match.end() :] if match else data


def change_number(data: bytes, rng: np.random.Generator) -> bytes:
    """A number becomes another, or none at all."""
    return _replace(NUMBER, _choice(NUMBERS, rng), data, rng)


def change_value(data: bytes, rng: np.random.Generator) -> bytes:
    """An attribute gets another word."""
    return _replace(VALUE, b'"' + _choice(WORDS, rng) + b'"', data, rng)


def swap_values(data: bytes, rng: np.random.Generator) -> bytes:
    """An attribute gets the value of another."""
    other = _pick(VALUE, data, rng)
    return _replace(VALUE, other.group(), data, rng) if other else data


def drop_attribute(data: bytes, rng: np.random.Generator) -> bytes:
    """An attribute is missing."""
    return _replace(ATTRIBUTE, b"", data, rng)


def drop_element(data: bytes, rng: np.random.Generator) -> bytes:
    """An element without children is missing."""
    return _replace(ELEMENT, b"", data, rng)


def repeat_element(data: bytes, rng: np.random.Generator) -> bytes:
    """An element comes twice."""
    match = _pick(ELEMENT, data, rng)
    return data[: match.end()] + match.group() + data[match.end() :] if match else data


def rename_tag(data: bytes, rng: np.random.Generator) -> bytes:
    """An element gets the name of another."""
    other = _pick(TAG, data, rng)
    match = _pick(TAG, data, rng)
    if not match:
        return data
    return data[: match.start(2)] + other.group(2) + data[match.end(2) :]


MUTATIONS = (
    flip_byte,
    delete_span,
    truncate,
    repeat_span,
    insert_chunk,
    change_number,
    change_number,
    change_number,
    change_value,
    change_value,
    swap_values,
    swap_values,
    drop_attribute,
    drop_element,
    repeat_element,
    rename_tag,
)
