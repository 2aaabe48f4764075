"""The page on which one logs in. It is plain HTML: what keeps the other pages alive is for those who are logged in."""

from __future__ import annotations

from html import escape
from importlib import metadata
from typing import Final

from seamark.web.site import ROOT, Site

LOGIN: Final = f"{ROOT}/login"


def login_page(site: Site, wanted: str) -> str:
    """The page; `wanted` is where the user is sent afterwards, below the page's start."""
    root, version = escape(site.root), metadata.version("seamark")
    goes_on = escape(f"{site.root}/{wanted.lstrip('/')}")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in · Seamark</title>
<link rel="icon" href="{root}/assets/icon.svg">
<link rel="stylesheet" href="{root}/assets/seamark.css?{version}">
<script src="{root}/assets/seamark.js?{version}"></script>
</head>
<body>
<main class="sm-login">
<form class="sm-card sm-card-body" data-login="{root}/session" data-next="{goes_on}">
<h1>Seamark</h1>
<p class="sm-muted">Log in to see and move the pipelines of this worker.</p>
<p class="sm-notice sm-bad" role="alert" hidden></p>
<label class="sm-label">User<input class="sm-field" name="user" autocomplete="username" autofocus></label>
<label class="sm-label">Password
<input class="sm-field" name="password" type="password" autocomplete="current-password"></label>
<details><summary>Use a token instead</summary>
<label class="sm-label">Bearer token
<input class="sm-field" name="token" type="password" autocomplete="off"></label></details>
<button class="sm-button sm-primary" type="submit">Log in</button>
</form>
</main>
</body>
</html>
"""
