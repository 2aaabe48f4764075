"""Fuzzing of every parser: nothing that somebody may write crashes one, keeps it busy, or is taken for what it is not.

`make test` replays the corpus and tries some new inputs; ``python -m fuzz`` (or `make fuzz`) tries many.

- `target`: what a parser is to a fuzzer: a function of bytes, the errors that it may raise, and what must hold for
  whatever it accepts.
- `*_targets`: the parsers, by where they are; `targets`: all of them.
- `corpus`: inputs that are kept, a folder of ``corpus/`` for each target.
- `mutations`: new inputs from old ones.
- `watchdog`: ends a parser that takes too long.
- `judge`: one input, one verdict.
- `search`: many inputs, for the command line.
- `round_trips`: what is written is read back.
"""
