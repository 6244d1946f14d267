"""The paused program: would anyone handle the error, its frame, its context, and trials in a child."""
