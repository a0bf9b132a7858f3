#!/usr/bin/env python3
"""Compare a checkout before and after apply.py (run with --no-format): python3 check.py BEFORE AFTER

Token by token, for each function: two old names that became one, one old name that became two. For each renamed
definition: uses of the old name that are left. And the projection of what the metadata shows, which must be equal.
"""
import re, subprocess, sys
from collections import defaultdict
from pathlib import Path
from apply import mask

TOKEN = re.compile(r"[A-Za-z_]\w*|\d\w*|[^\s\w]")

def files(root):
    out = subprocess.run(["git","-C",root,"ls-files","chain"],capture_output=True,text=True,check=True).stdout.split()
    return sorted(f for f in out if f.endswith(".rs") and (Path(root)/f).is_file())

def renamed(root):
    """old path -> new path by git"""
    out = subprocess.run(["git","-C",root,"diff","HEAD","-M20%","--name-status"],capture_output=True,text=True,check=True).stdout
    return {p[1]:p[2] for p in (l.split("\t") for l in out.splitlines()) if p[0].startswith("R")}

def code(path):
    text = path.read_text()
    m,_ = mask(text)
    return m

def functions(masked):
    for match in re.finditer(r"\bfn\s+(\w+)", masked):
        at, depth = match.end(), 0
        while at < len(masked) and not (depth==0 and masked[at] in "{;"):
            depth += {"(":1,"[":1,")":-1,"]":-1}.get(masked[at],0); at+=1
        if at>=len(masked) or masked[at]==";": continue
        level=0
        while at<len(masked):
            level += {"{":1,"}":-1}.get(masked[at],0); at+=1
            if level==0: break
        yield match[1], match.start(), at

def main(before, after):
    moves = renamed(after)
    defs = defaultdict(set)   # old fn/type -> new names
    pairs = {}
    allnew = defaultdict(list)
    for f in files(before):
        g = moves.get(f, f)
        a = code(Path(before)/f).replace("\x00"," "); b = code(Path(after)/g).replace("\x00"," ")
        ta = [(m[0],m.start()) for m in TOKEN.finditer(a)]; tb=[(m[0],m.start()) for m in TOKEN.finditer(b)]
        if len(ta)!=len(tb):
            print(f"{g}: {len(ta)} tokens became {len(tb)} (lines of code rewritten?)")
        pairs[g]=(a,ta,tb)
        n=min(len(ta),len(tb))
        for i in range(n):
            if ta[i][0]!=tb[i][0] and i and ta[i-1][0] in {"fn","struct","enum","trait","type","const","mod"}:
                defs[ta[i][0]].add((g,tb[i][0]))
        # per function
        for name,s,e in functions(a):
            m1=defaultdict(set); m2=defaultdict(set)
            for i in range(n):
                o,at=ta[i]
                if not(s<=at<e) or not re.match(r"[A-Za-z_]",o): continue
                member = i and ta[i-1][0]=="." and not (i>1 and ta[i-2][0]==".")
                callee = i+1<n and ta[i+1][0] in {"("}
                path = i+1<n and ta[i+1][0]==":" and i+2<n and ta[i+2][0]==":"
                kind = "m" if member else "f" if callee or path else "v"
                m1[(kind,tb[i][0])].add(o); m2[(kind,o)].add(tb[i][0])
            for (k,new),olds in m1.items():
                if len(olds)>1: print(f"MERGE {g} fn {name}: {sorted(olds)} -> {new} ({k})")
            for (k,old),news in m2.items():
                if len(news)>1: print(f"SPLIT {g} fn {name}: {old} -> {sorted(news)} ({k})")
    for g,(a,ta,tb) in pairs.items():
        crate="/".join(g.split("/")[:3])
        for i,(t,_) in enumerate(tb):
            if t in defs and i and tb[i-1][0] not in {"fn","struct","enum","mod"}:
                nxt=tb[i+1][0] if i+1<len(tb) else ""
                prev=tb[i-1][0]
                if nxt=="(" and prev in {".",":"} or nxt==":" and tb[i+2][0]==":" :
                    where={d[0] for d in defs[t]}
                    same=[d for d in where if "/".join(d.split("/")[:3])==crate]
                    if same: allnew[t].append(f"{g}: {prev}{t}{nxt}")
    for t,uses in sorted(allnew.items()):
        print(f"LEFT {t} (now {sorted({d[1] for d in defs[t]})}): {uses[:6]}")

if __name__=="__main__":
    main(*sys.argv[1:])
