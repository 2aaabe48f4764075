"""Numbers that are narrower than Python's, for values without a schema.

With a schema a plain ``int`` or ``float`` is enough: the schema says how wide it is. Without one, ``int`` means a
64-bit and ``float`` a double-precision number, as JSON gives them. A transform that makes a narrower one (Cast to
``float32``) says so with these types: they behave as the numbers they are, but print and cast as Java's do.
"""

from __future__ import annotations


class Int8(int):
    """A schemaless 8-bit number; Java's ``Byte``."""

    __slots__ = ()


class Int16(int):
    """A schemaless 16-bit number; Java's ``Short``."""

    __slots__ = ()


class Int32(int):
    """A schemaless 32-bit number; Java's ``Integer``."""

    __slots__ = ()


class Float32(float):
    """A schemaless single-precision number; Java's ``Float``. The value must be one that 32 bits can hold."""

    __slots__ = ()
