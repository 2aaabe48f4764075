"""Which keys of a configuration are secrets by their names, whatever type a connector has given them."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(
    r"passw(or)?d|\bpwd\b|\bpass\b|passphrase|secret|credential|token|jaas|sasl\.oauthbearer\.config"
    r"|(api|access|account|private|shared|encryption|signing)[._-]?key|keystore\.key\b|key\.pem\b|user[._-]?info"
    r"|authorization|auth[._-]?header|connection[._-]?string|\bhttp\.headers?\b|\bpin\b",
    re.IGNORECASE,
)


def is_secret_by_name(key: str) -> bool:
    """Whether the name of a key says that its value is not for everybody."""
    return _NAME.search(key) is not None
