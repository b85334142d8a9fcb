"""Clients of mtf serve: what tests/shell/serve.sh checks with more than one connection.

Usage: serve_client.py PORT CASE; prints nothing where all is well.
"""
import http.client, json, socket, sys, threading, time

PORT, CASE = int(sys.argv[1]), sys.argv[2]
PROMPTS = ["once upon a time", "x", "", "gr\u00fc\u00df Gott", "a longer prompt than all others here", "end."]


def post(path, body, timeout=60):
    c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=timeout)
    c.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    reply = c.getresponse()
    text = reply.read().decode("utf-8")
    c.close()
    return reply.status, text


def complete(prompt, **options):
    status, text = post("/v1/completions", dict(prompt=prompt, **options))
    assert status == 200, (status, text)
    return json.loads(text)


def events(prompt, **options):
    """The events of a stream."""
    status, text = post("/v1/completions", dict(prompt=prompt, stream=True, **options))
    assert status == 200, (status, text)
    lines = [line for line in text.split("\n") if line]
    assert all(line.startswith("data: ") for line in lines), lines
    assert lines[-1] == "data: [DONE]", lines[-1]
    return [json.loads(line[6:]) for line in lines[:-1]]


def in_threads(works):
    """What each gives, all run at once."""
    results, wrong = [None] * len(works), []

    def run(k):
        try:
            results[k] = works[k]()
        except BaseException as e:
            wrong.append(e)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(works))]
    for t in threads: t.start()
    for t in threads: t.join(60)
    assert not wrong, wrong
    return results


def options(k):
    return dict(max_tokens=5 + 6 * k, temperature=[0, 1][k % 2], seed=k)


def case_together():
    alone = [complete(p, **options(k))["choices"][0] for k, p in enumerate(PROMPTS)]
    assert len({c["text"] for c in alone}) > 3, alone
    for _ in range(3):
        got = in_threads([lambda k=k, p=p: complete(p, **options(k))["choices"][0] for k, p in enumerate(PROMPTS)])
        assert got == alone, (got, alone)
    got = in_threads([lambda k=k, p=p: "".join(e["choices"][0]["text"] for e in events(p, **options(k)))
                      for k, p in enumerate(PROMPTS)])
    assert got == [c["text"] for c in alone], (got, alone)


def case_least_probability():
    greedy = complete("once", max_tokens=12, temperature=0)["choices"]
    assert complete("once", max_tokens=12, temperature=1, top_p=0, seed=3)["choices"] == greedy


def case_stream():
    whole = complete("once", max_tokens=20, seed=4)
    got = events("once", max_tokens=20, seed=4, stream_options={"include_usage": True})
    assert got[-1]["choices"] == [] and got[-1]["usage"] == whole["usage"], got[-1]
    assert len(got) > 5, got
    assert "".join(e["choices"][0]["text"] for e in got[:-1]) == whole["choices"][0]["text"]
    reasons = [e["choices"][0]["finish_reason"] for e in got[:-1]]
    assert reasons == [None] * (len(reasons) - 1) + [whole["choices"][0]["finish_reason"]], reasons
    assert {e["id"] for e in got} == {got[0]["id"]} and got[0]["object"] == "text_completion"
    # Several prompts and results: each has its own events.
    twice = [c["text"] for c in complete(["a", "a"], max_tokens=12, seed=1, logit_bias={})["choices"]]
    assert twice[0] != twice[1], "equal prompts of one request have the same random numbers"
    whole = complete(["a", "b"], n=2, max_tokens=9, seed=1)
    assert [c["index"] for c in whole["choices"]] == [0, 1, 2, 3]
    texts = [""] * 4
    for e in events(["a", "b"], n=2, max_tokens=9, seed=1, echo=True):
        texts[e["choices"][0]["index"]] += e["choices"][0]["text"]
    assert texts == ["aabb"[k] + c["text"] for k, c in enumerate(whole["choices"])], (texts, whole)


def case_score():
    reply = complete("once", max_tokens=12, seed=9, logprobs=0)
    said, count = reply["choices"][0]["logprobs"], reply["usage"]["completion_tokens"]
    assert 0 < count == len(said["token_logprobs"]) == len(said["tokens"]) == len(said["text_offset"]), reply
    assert all(v < 0 for v in said["token_logprobs"]) and "".join(said["tokens"]) == reply["choices"][0]["text"], reply
    status, text = post("/v1/score", {"prompt": "once", "continuation": [" upon", " a time"], "end": True})
    assert status == 200, text
    scores = json.loads(text)["scores"]
    assert [len(s["tokens"]) for s in scores] == [6, 8]
    for s in scores: assert abs(sum(s["token_logprobs"]) - s["log_probability"]) < 1e-6
    # The same text in two parts is as probable as in one.
    status, text = post("/v1/score", {"continuation": ["once upon", "once"]})
    both, first = [s["log_probability"] for s in json.loads(text)["scores"]]
    status, text = post("/v1/score", {"prompt": "once", "continuation": " upon"})
    assert abs(first + json.loads(text)["scores"][0]["log_probability"] - both) < 1e-3
    # Alternatives: as many as wanted and the token itself, the most probable first, all in order.
    text = complete("once", max_tokens=12, seed=9)["choices"][0]["text"]
    for n, stream in ((3, False), (20, False), (3, True)):
        if stream:
            parts = [e["choices"][0] for e in events("once", max_tokens=12, seed=9, logprobs=n)]
            assert "".join(p["text"] for p in parts) == text
            tops = [t for p in parts for t in p["logprobs"]["top_logprobs"]]
            values = [v for p in parts for v in p["logprobs"]["token_logprobs"]]
        else:
            choice = complete("once", max_tokens=12, seed=9, logprobs=n)["choices"][0]
            assert choice["text"] == text, (choice, text)
            tops, values = choice["logprobs"]["top_logprobs"], choice["logprobs"]["token_logprobs"]
        assert len(tops) == len(values) > 0
        for top, value in zip(tops, values):
            listed = list(top.values())
            assert n <= len(top) <= n + 1 and listed[:n] == sorted(listed[:n], reverse=True), top
            assert any(abs(v - value) < 1e-9 for v in listed), (top, value)
            assert sum(2.718281828459045 ** v for v in listed) < 1.0001
            # Only what is not text by itself is called by its number; byte b is token b + 3.
            numbers = [int(key[9:]) - 3 for key in top if key.startswith("token_id:")]
            assert not any(0 < b < 128 for b in numbers), top
    greedy = complete("once", max_tokens=5, temperature=0, logprobs=2)["choices"][0]["logprobs"]
    for top, value in zip(greedy["top_logprobs"], greedy["token_logprobs"]): assert max(top.values()) == value, greedy
    assert complete("once", max_tokens=2, logprobs=0)["choices"][0]["logprobs"]["top_logprobs"] is None
    # Where a stop string ends the text, the tokens end, too: whole and as a stream.
    whole = complete("once", max_tokens=12, seed=9, logprobs=1)["choices"][0]
    stop = whole["text"][3:6]
    cut = complete("once", max_tokens=12, seed=9, logprobs=1, stop=stop)["choices"][0]
    tokens = cut["logprobs"]["tokens"]
    assert stop and cut["text"] == whole["text"][:whole["text"].index(stop)] and cut["finish_reason"] == "stop", (whole, cut)
    assert "".join(tokens) == cut["text"] and (not tokens or tokens[-1]), cut
    assert cut["logprobs"]["token_logprobs"] == whole["logprobs"]["token_logprobs"][:len(tokens)], (whole, cut)
    said = [e["choices"][0]["logprobs"] for e in events("once", max_tokens=12, seed=9, logprobs=1, stop=stop)]
    for key in ("tokens", "token_logprobs", "text_offset", "top_logprobs"):
        assert [x for s in said for x in s[key]] == cut["logprobs"][key], (key, said, cut)
    # What the prompt might have been, token by token: as decoding says it in the same place.
    echoed = complete("once", max_tokens=0, echo=True, logprobs=4)["choices"][0]["logprobs"]
    assert len(echoed["top_logprobs"]) == 4, echoed
    for k, top in enumerate(echoed["top_logprobs"]):
        said = complete("once"[:k], max_tokens=1, temperature=0, logprobs=4)["choices"][0]["logprobs"]["top_logprobs"][0]
        best, others = sorted(top.values(), reverse=True)[:4], sorted(said.values(), reverse=True)[:4]
        assert all(abs(a - b) < 1e-3 for a, b in zip(best, others)), (k, top, said)
    # What is echoed has the scores that scoring gives.
    echoed = complete("once", max_tokens=0, echo=True, logprobs=1)["choices"][0]
    assert echoed["text"] == "once" and abs(sum(echoed["logprobs"]["token_logprobs"]) - first) < 1e-3, echoed


def hang_up(body, read):
    s = socket.create_connection(("127.0.0.1", PORT), timeout=60)
    text = json.dumps(body).encode()
    s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    if read: assert s.recv(read)
    s.close()


def case_hang_up():
    """Clients that leave make room: what follows would be refused else (--max-waiting)."""
    alone = complete("once", max_tokens=8, seed=2)["choices"]
    for k in range(12):
        hang_up({"prompt": "once", "max_tokens": 200, "n": 4, "stream": k % 2 == 0}, 20 if k % 2 == 0 else 0)
    deadline = time.monotonic() + 60
    while True:
        status, text = post("/v1/completions", {"prompt": ["once"] * 4, "max_tokens": 8, "seed": 2, "n": 1})
        if status == 200: break
        assert status == 429 and time.monotonic() < deadline, (status, text)
        time.sleep(0.05)
    assert json.loads(text)["choices"][0]["text"] == alone[0]["text"]
    # Half a request, and nothing more.
    for part in (b"POST /v1/comp", b"POST /v1/completions HTTP/1.1\r\nContent-Length: 50\r\n\r\n{\"pro", b"\r\n\r\n\xff\x00"):
        s = socket.create_connection(("127.0.0.1", PORT), timeout=60)
        s.sendall(part)
        s.close()
    assert complete("once", max_tokens=8, seed=2)["choices"] == alone


def case_busy():
    """More than may wait is refused, and says so; what was taken is answered."""
    works = [lambda: post("/v1/completions", {"prompt": "x", "n": 8, "max_tokens": 150})[0] for _ in range(12)]
    statuses = in_threads(works)
    assert set(statuses) == {200, 429}, statuses
    complete("x", max_tokens=1)


def case_last_words():
    """Started before the end: the text, or an error, but an answer."""
    c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    c.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 200, "n": 8, "stream": True}))
    reply = c.getresponse()
    print(reply.readline().decode()[:6], flush=True)   # it goes on: the signal may come
    rest = reply.read().decode()
    assert rest.endswith("data: [DONE]\n\n"), rest[-300:]


def case_timeout():
    """A request that takes too long ends, with what it has or with an error."""
    status, text = post("/v1/completions", {"prompt": "x", "max_tokens": 250, "n": 16})
    assert status == 503 and "in the 0.001 seconds that it may take" in text or '"finish_reason":"timeout"' in text, text


def get(path):
    c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    c.request("GET", path)
    reply = c.getresponse()
    return reply.status, reply.read().decode("utf-8")


def case_crowd():
    """Four clients send their bodies byte by byte, as many as there may be: the others are told, and it ends."""
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    slow = [socket.create_connection(("127.0.0.1", PORT)) for _ in range(4)]
    over = [False] * 4

    def drip(k):
        try:
            while True:
                slow[k].sendall(b" ")
                slow[k].settimeout(0.2)
                try:
                    if slow[k].recv(1000) == b"": break
                except socket.timeout: pass
        except OSError: pass
        over[k] = True

    for s in slow: s.sendall(head)
    threads = [threading.Thread(target=drip, args=(k,)) for k in range(4)]
    for t in threads: t.start()
    for body in ({"prompt": "x", "max_tokens": 1}, {"prompt": "x" * 200000}):
        status, text = post("/v1/completions", body)
        assert status == 503 and "too many clients" in text or any(over), (status, text)
        assert get("/health")[0] == 200
    silent = []
    for _ in range(60):                 # more than there is room for
        silent.append(socket.create_connection(("127.0.0.1", PORT)))
        time.sleep(0.01)
    assert get("/health")[0] == 200
    assert post("/v1/completions", {"prompt": "x"})[0] == 503 or any(over)
    for t in threads: t.join(60)
    assert all(over), "slow bodies never end"
    assert complete("x", max_tokens=1)
    for s in silent + slow: s.close()


globals()["case_" + CASE]()
