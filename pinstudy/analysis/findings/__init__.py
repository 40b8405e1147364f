"""What results say beyond one configuration, as data: numbers and keys without words."""
