"""Pages are tested; what the build makes, and what makes the build, are not."""

collect_ignore = ["_build", "api", "conf.py", "gallery", "site_parts.py", "check_site.py"]
