"""Expand drafts (prefix of a paragraph -> new text) into tables of exact texts: expand.py CHECKOUT OUT META DRAFT..."""
import sys, subprocess
from fnmatch import fnmatch
from pathlib import Path
from apply import paragraphs, in_metadata
root=Path(sys.argv[1])/"chain"; out=Path(sys.argv[2]); want_meta=sys.argv[3]=="meta"
fs=[l[6:] for l in subprocess.run(["git","-C",sys.argv[1],"ls-files","--cached","--others","--exclude-standard","chain"],capture_output=True,text=True).stdout.split() if l.endswith(".rs")]
fs=sorted({f for f in fs if (root/f).is_file()})
cache={}
def paras(f):
    if f not in cache:
        lines=(root/f).read_text().split("\n"); meta=in_metadata(f,lines)
        cache[f]=[p.text for p in paragraphs(lines) if ((p.first in meta and p.marker=="///")==want_meta)]
    return cache[f]
entries=[]; problems=0
for draft in sys.argv[4:]:
    glob=old=None
    for n,line in enumerate(Path(draft).read_text().split("\n"),1):
        if line.startswith("## "): glob=line[3:].strip()
        elif line.startswith("< "): old=line[2:].strip()
        elif line.startswith(">"):
            new=line[1:].strip()
            hits=sorted({p for f in fs if fnmatch(f,glob) for p in paras(f) if p==old}) or sorted({p for f in fs if fnmatch(f,glob) for p in paras(f) if p.startswith(old)})
            if len(hits)!=1:
                print(f"{draft}:{n}: {len(hits)} paragraphs of {glob} begin with: {old[:90]}"); problems+=1
                for h in hits[:4]: print("     ",h[:150])
                if not hits: continue
            for h in hits[:1] if len(hits)==1 else []:
                if (glob,h,new) not in entries: entries.append((glob,h,new))
text='"""Comments: file, exact text of a paragraph, new text. Made by expand.py from drafts/."""\n\nfrom apply import Comment\n\nCOMMENTS = [\n'
for g,o,n in entries: text+=f"    Comment(\n        {g!r},\n        {o!r},\n        {n!r},\n    ),\n"
out.write_text(text+"]\n")
print(len(entries),"entries,",problems,"problems")
