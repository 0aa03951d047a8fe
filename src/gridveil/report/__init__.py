"""Pictures: the only room that knows a plotting library, which is an extra (`pip install 'gridveil[plot]'`)."""
