"""Reports and pictures: the only room that knows plotting and templating libraries, which are extras.

`gridveil[plot]` draws with Matplotlib; `gridveil[report]` makes the HTML reports too.
"""
