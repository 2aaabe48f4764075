"""The web page of a worker, at ``/ui``: where every pipeline is, and how to move it.

It reaches its worker over HTTP through `seamark.client`, as any other client does, with the rights of the user who is
logged in. NiceGUI is loaded and started when somebody opens the page for the first time: a worker that nobody looks
at does not pay for it.
"""
