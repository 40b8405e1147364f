"""Root's part of a pinstudy that a user started by sudo: what it answers, and what it refuses.

The one who asks is the user, who may run other code than pinstudy's there. So each request is
checked against what root's part found itself, and nothing that the user wrote is opened, parsed
beyond its JSON, or executed with root's rights.
"""
