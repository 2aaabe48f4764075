"""What `seamark doctor` finds out before a worker is started: facts are gathered, and pure functions judge them."""
