"""Networks in the formats people have: bytes -> `Case`, and a released `.m` -> bytes."""
