"""A folder for a reviewer: records, what follows from them, and how it is made again."""
