"""Does the plugin change a run that does not crash, and does it decide rightly about one that does?"""
