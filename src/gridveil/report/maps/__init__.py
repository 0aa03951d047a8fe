"""Maps of networks: where buses stand, how lines are coloured; pictures for papers and public pages, one for work."""
