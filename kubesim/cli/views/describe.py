HELP=""
DESCRIPTION=""
def configure(p): pass
