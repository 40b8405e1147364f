"""Commands of submitted studies, and what their jobs start."""
