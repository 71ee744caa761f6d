"""`gameway play --lab`: a game behind a path of the lab, whose knobs one turns while one plays.

words       the command line: what is the lab's, and what is handed on to `gameway play`
ways        namespaces of the host and of the path's far end, and the ways of a browser to them
link        the link's control: what changes, what it tells
knobs       what can be turned, by which words, and what that is for the path
downloads   other traffic that comes and goes
figures     what the panel shows of the path: rates and queue over the last second
scenario    steps that play by themselves, and questions afterwards
desk        what the page asks is answered here; it knows all of the above
keeping     the session as a result folder
account     what is known of a session beside its tables, as one file
copying     a session that is recorded, on the disk as it goes
unfinished  the result folder of a session that was not ended in order
session     the processes of a session, started and ended
"""
