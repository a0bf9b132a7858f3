from apply import Comment, Rename

MOVES: list[tuple[str, str]] = []
RENAMES: list[Rename] = []
COMMENTS: list[Comment] = []
OUTSIDE: list[tuple[str, str]] = []
