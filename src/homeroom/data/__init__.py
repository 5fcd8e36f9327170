"""Files that come with homeroom and are no modules of it."""

from pathlib import Path

# Not by importlib.resources, which every start would pay for: it loads tempfile and more.
DIRECTORY = Path(__file__).parent
