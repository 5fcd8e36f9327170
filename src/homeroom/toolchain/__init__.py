"""The pinned tools: Node.js, the sandbox runtime, the agents, ripgrep and the model server.

``pins`` is what there should be, ``store`` what there is, ``install`` makes one of the
other, ``system`` looks for the tools that only the operating system can give.
"""
