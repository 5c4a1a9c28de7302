"""The console: pages over the running platform, for a browser, at the address where the API answers programs.

A page is one file in `pages` and one name there. What it asks of the platform is in `questions`, so that it can be
tested without a browser; how it looks is the page's own, out of the pieces in this folder.
"""
