import re,sys
from pathlib import Path
from apply import paragraphs, in_metadata
root=Path(sys.argv[1])/"chain"; mode=sys.argv[2]; pat=re.compile(sys.argv[3]) if len(sys.argv)>3 else re.compile("")
import subprocess
fs=[l[6:] for l in subprocess.run(["git","-C",sys.argv[1],"ls-files","chain"],capture_output=True,text=True).stdout.split() if l.endswith(".rs")]
n=0
for f in fs:
    if not (root/f).is_file(): continue
    test = "/tests" in f or "/mock" in f or f.startswith(("mock/","fuzz/","weights-tool","migrations/src/v3"))
    if mode=="src" and test: continue
    if mode=="test" and not test: continue
    lines=(root/f).read_text().split("\n"); meta=in_metadata(f,lines)
    out=[]
    for p in paragraphs(lines):
        m = p.first in meta and p.marker=="///"
        if (mode=="meta")!=m: continue
        if pat.search(p.text): out.append(f"{p.marker} {p.text}"); n+=len(p.text)
    if out: print("##",f); print("\n".join(out))
print(n,file=sys.stderr)
