"""The cache of object code attacked: an entry is loaded as it was stored, or not at all.

python -m fuzz.cache_attack --count 100000     corrupted entries; then links, pipes, owners, modes, processes; times
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import multiprocessing
import os
import random
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fuzz.mutators import damaged_bytes
from symbody.codegen.kernel import cache, secret

Entry = tuple[dict[str, Any], list[bytes]]
START = len(cache.MAGIC) + cache.MAC


def forget() -> None:
    """As a new process would: folders and the secret are looked at again."""
    cache._checked.cache_clear()
    secret._secret_of.cache_clear()


def name_of(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def content(number: int, size: int = 600) -> Entry:
    return {"n": number, "name": "attacked"}, [random.Random(number).randbytes(size), bytes([number % 256]) * 40]


def as_stored(found: Entry | None, number: int, size: int = 600) -> bool:
    return found is not None and found == content(number, size)


# -- corruptions: (good entries by name, the name that is attacked, rng) -> bytes


def _other(good: dict[str, bytes], name: str, rng: random.Random) -> bytes:
    """Renamed, or swapped: the entry of another name."""
    return good[rng.choice([n for n in good if n != name])]


def _forged(rest: Callable[[dict[str, bytes], str, random.Random], bytes]) -> Any:
    """New content under a code that an attacker can make: none, plain, of another secret, taken from another entry."""

    def make(good: dict[str, bytes], name: str, rng: random.Random) -> bytes:
        text = rest(good, name, rng)
        signed = cache.MAGIC + struct.pack("<Q", len(name)) + name.encode() + text
        codes = (
            bytes(cache.MAC),
            hashlib.sha256(text).digest(),
            hashlib.sha256(signed).digest(),
            hmac.digest(rng.randbytes(secret.SIZE), signed, "sha256"),
            hmac.digest(b"", signed, "sha256"),
            good[name][len(cache.MAGIC) : START],
            _other(good, name, rng)[len(cache.MAGIC) : START],
        )
        return cache.MAGIC + rng.choice(codes) + text

    return make


def _new_code(good: dict[str, bytes], name: str, rng: random.Random) -> bytes:
    text = json.dumps({"header": {"n": rng.random()}, "sizes": [64]}).encode()
    return struct.pack("<Q", len(text)) + text + rng.randbytes(64)


def _others_code(good: dict[str, bytes], name: str, rng: random.Random) -> bytes:
    return _other(good, name, rng)[START:]


def _spliced(good: dict[str, bytes], name: str, rng: random.Random) -> bytes:
    mine, other = good[name], _other(good, name, rng)
    at = rng.randrange(min(len(mine), len(other)))
    return mine[:at] + other[at:]


CORRUPTIONS: dict[str, Callable[[dict[str, bytes], str, random.Random], bytes]] = {
    "damaged": lambda good, name, rng: damaged_bytes(good[name], rng),
    "damaged again": lambda good, name, rng: damaged_bytes(damaged_bytes(good[name], rng), rng),
    "cut": lambda good, name, rng: good[name][: rng.randrange(len(good[name]))],
    "longer": lambda good, name, rng: good[name] + rng.randbytes(rng.choice((1, 8, 500))),
    "renamed": _other,
    "spliced": _spliced,
    "forged": _forged(_new_code),
    "forged from another": _forged(_others_code),
}


def corrupt(count: int, folder: Path, seed: int = 0, entries: int = 8) -> Counter[str]:
    """Corrupted entries that were tried, by kind; AssertionError where one was loaded."""
    rng = random.Random(seed)
    names = {name_of(k): k for k in range(entries)}
    for name, k in names.items():
        cache.store(name, *content(k))
    good = {name: (folder / f"{name}{cache.SUFFIX}").read_bytes() for name in names}
    assert all(as_stored(cache.load(name), k) for name, k in names.items())
    tried: Counter[str] = Counter()
    kinds = list(CORRUPTIONS)
    for i in range(count):
        name = rng.choice(list(names))
        kind = kinds[i % len(kinds)]
        data = CORRUPTIONS[kind](good, name, rng)
        path = folder / f"{name}{cache.SUFFIX}"
        with open(path, "r+b") as file:
            file.truncate()
            file.write(data)
        if data == good[name]:
            continue
        assert cache.load(name) is None, f"{kind}: input {i} of seed {seed} was loaded"
        tried[kind] += 1
        path.write_bytes(good[name])
    assert all(as_stored(cache.load(name), k) for name, k in names.items())
    return tried


# -- what else can stand in the folder's place


def things(folder: Path) -> Counter[str]:
    """Links, pipes, folders, devices, modes and owners in the place of an entry and of the folder."""
    cache.store(name_of(0), *content(0))
    path = folder / f"{name_of(0)}{cache.SUFFIX}"
    good = path.read_bytes()
    elsewhere = folder.parent / "elsewhere.obj"
    elsewhere.write_bytes(good)
    elsewhere.chmod(0o600)
    tried: Counter[str] = Counter()

    def refused(what: str) -> None:
        tried[what] += 1
        assert cache.load(name_of(0)) is None, what

    def again() -> None:
        path.unlink() if not path.is_dir() else path.rmdir()
        cache.store(name_of(0), *content(0))
        assert as_stored(cache.load(name_of(0)), 0)

    for what, make in {
        "link to an entry": lambda: path.symlink_to(elsewhere),
        "link to itself": lambda: path.symlink_to(path),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "device": lambda: path.symlink_to("/dev/zero"),
    }.items():
        path.unlink()
        make()
        refused(what)
        again()
    for mode in (0o620, 0o602, 0o666, 0o622, 0o777):
        path.chmod(mode)
        refused(f"mode {mode:o}")
        again()
    if os.getuid() == 0:
        os.chown(path, 12345, -1)
        refused("another owner")
        again()
    for mode in (0o770, 0o775, 0o707, 0o777, 0o720, 0o702):
        folder.chmod(mode)
        forget()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refused(f"folder of mode {mode:o}")
        folder.chmod(0o700)
        forget()
        assert as_stored(cache.load(name_of(0)), 0)
    return tried


# -- several processes

FIRST = 1000  # of the entries that they share


def _user(folder: str, config: str, seed: int, seconds: float) -> Counter[str]:
    """Stores and loads entries, as any process does."""
    os.environ.update(SYMBODY_CACHE=folder, SYMBODY_CONFIG=config)
    rng, end, done = random.Random(seed), time.monotonic() + seconds, Counter[str]()
    while time.monotonic() < end:
        k = FIRST + rng.randrange(4)
        if rng.random() < 0.3:
            cache.store(name_of(k), *content(k, 60_000))
            done["stores"] += 1
        found = cache.load(name_of(k))
        assert found is None or as_stored(found, k, 60_000), f"entry {k} was loaded as something else"
        done["hits" if found is not None else "misses"] += 1
    return done


def _attacker(folder: str, seed: int, seconds: float) -> Counter[str]:
    """Writes into the entries of others while they are used, and exchanges them."""
    rng, end, done = random.Random(seed), time.monotonic() + seconds, Counter[str]()
    paths = [Path(folder, f"{name_of(FIRST + k)}{cache.SUFFIX}") for k in range(4)]
    while time.monotonic() < end:
        try:
            if rng.random() < 0.5:
                os.replace(rng.choice(paths), rng.choice(paths))
            else:
                with open(rng.choice(paths), "r+b") as file:
                    file.seek(rng.randrange(60_000))
                    file.write(rng.randbytes(rng.choice((1, 100, 5000))))
            done["attacks"] += 1
        except OSError:
            continue
    return done


def together(folder: Path, config: Path, seconds: float) -> Counter[str]:
    """Two processes use a folder that a third attacks."""
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        runs = [pool.submit(_user, str(folder), str(config), k, seconds) for k in range(2)]
        runs.append(pool.submit(_attacker, str(folder), 7, seconds))
        total: Counter[str] = Counter()
        for run in runs:
            total += run.result()
    return total


# -- what it costs


def cost(folder: Path, size: int = 20_000, rounds: int = 2000) -> tuple[float, float, float]:
    """s of a hit, of reading such a file and its header with a plain SHA-256, and without any check: medians."""
    cache.store(name_of(99), *content(99, size))
    path = folder / f"{name_of(99)}{cache.SUFFIX}"

    def plain(summed: bool = False) -> None:
        data = path.read_bytes()
        if summed:
            hashlib.sha256(memoryview(data)[START:]).digest()
        (length,) = struct.unpack_from("<Q", data, START)
        json.loads(data[START + 8 : START + 8 + length])

    acts: tuple[Callable[[], object], ...] = (lambda: cache.load(name_of(99)), lambda: plain(True), plain)
    hit, summed, alone = (_median(act, rounds) for act in acts)
    return hit, summed, alone


def _median(act: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        act()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[rounds // 2]


def main() -> int:
    parser = argparse.ArgumentParser(description="The cache of object code attacked.")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="of processes together")
    parser.add_argument("--cost", action="store_true", help="the times alone")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, config = Path(place, "cache"), Path(place, "config")
        os.environ.update(SYMBODY_CACHE=str(folder), SYMBODY_CONFIG=str(config))
        forget()
        attacks: tuple[Callable[[], Counter[str]], ...] = (
            lambda: corrupt(given.count, folder, given.seed),
            lambda: things(folder),
            lambda: together(folder, config, given.seconds),
        )
        for attack in () if given.cost else attacks:
            found = attack()
            print(f"{sum(found.values())}: " + ", ".join(f"{n} {what}" for what, n in found.items()), flush=True)
        for size in (2_000, 20_000, 100_000):
            times = " us, ".join(f"{1e6 * s:.1f}" for s in cost(folder, size))
            print(f"{size} bytes: a hit, reading with a plain SHA-256, reading alone: {times} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
