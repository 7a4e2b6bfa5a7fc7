# SPDX-License-Identifier: GPL-3.0-or-later
"""What every page that carm writes must be: one block of data that is text, nothing loaded, nothing run but what
its policy names by hash."""
import base64
import hashlib
import html.parser
import json
import re
import sys


class Page(html.parser.HTMLParser):
    """Tags in their order, and what stands in script and style elements."""
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.inside, self.blocks, self.seen = [], None, [], []
        self.feed(text)
        self.close()
    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.seen.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self.inside = (tag, dict(attributes))
            self.blocks.append([tag, dict(attributes), ""])
    def handle_endtag(self, tag):
        self.inside = None
    def handle_data(self, data):
        if self.inside:
            self.blocks[-1][2] += data

def block(page):
    found = [b for b in page.blocks if b[1].get("id") == "carm-data"]
    assert len(found) == 1 and found[0][0] == "script" and found[0][1]["type"] == "application/json"
    return found[0][2]

def check(text):
    """The page's data; AssertionError where it is not as it must be."""
    page = Page(text)
    raw = block(page)
    bad = set("<>&\u2028\u2029") & set(raw)
    assert not bad, bad
    data = json.loads(raw)
    for tag, attributes in page.seen:
        assert tag not in ("iframe", "img", "link", "object", "embed", "base", "video", "audio", "a"), tag
        for name in attributes:
            assert name not in ("src", "href", "srcset", "action", "data", "background", "style"), (tag, name)
            assert not name.startswith("on"), (tag, name)
    policies = [a["content"] for t, a in page.seen if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1 and policies[0].startswith("default-src 'none';"), policies
    assert "unsafe" not in policies[0] and "http" not in policies[0] and "*" not in policies[0]
    code = [b for b in page.blocks if b[1].get("id") != "carm-data"]
    assert [b[0] for b in code] == ["style", "script", "script"], code
    for tag, attributes, content in code:
        assert attributes == {} and content
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        part = next(p for p in policies[0].split(";") if p.strip().startswith(tag + "-src"))
        assert f"'sha256-{digest}'" in part, (tag, part)
    assert len(re.findall("sha256-", policies[0])) == 3
    # nothing may end a script early, or begin another one inside it
    assert "<!--" not in code[1][2] + code[2][2] and "<script" not in code[1][2] + code[2][2]
    assert len(text.encode()) - len(raw.encode()) <= 1_500_000
    return data, page.tags

if __name__ == "__main__":
    data, tags = check(open(sys.argv[1], encoding="utf-8").read())
    print(len(tags), "elements")
