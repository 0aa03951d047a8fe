"""Where both sides meet: the plan, the pipeline, the bundle on disk, and what anyone can verify of it."""
