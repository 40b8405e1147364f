"""The verdict for readers: tables and notes for terminal, Markdown and report."""
