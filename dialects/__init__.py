"""What each level can say."""

from .xdsl_text import install

install()
