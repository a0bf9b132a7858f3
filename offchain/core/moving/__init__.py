"""Which pods go on elsewhere before their hosts fail, and where those would go on whose hosts fail all the same."""
