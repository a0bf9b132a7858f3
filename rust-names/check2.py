"""Field definitions and trait/inherent functions that were renamed, and accesses left by the old name."""
import re,sys
from collections import defaultdict
from pathlib import Path
from check import files, renamed, code, TOKEN
before,after=sys.argv[1:3]
moves=renamed(after)
fields=defaultdict(set); unren=defaultdict(set)
news=defaultdict(list)
for f in files(before):
    g=moves.get(f,f)
    a=code(Path(before)/f).replace("\x00"," "); b=code(Path(after)/g).replace("\x00"," ")
    ta=[m[0] for m in TOKEN.finditer(a)]; tb=[m[0] for m in TOKEN.finditer(b)]
    # struct spans
    i=0
    n=min(len(ta),len(tb))
    while i<n:
        if ta[i]=="struct" and i+2<n:
            j=i+2
            while j<n and ta[j] not in "{;(": j+=1
            if j<n and ta[j]=="{":
                lvl=0;k=j
                while k<n:
                    lvl+= (ta[k]=="{")-(ta[k]=="}")
                    if lvl==1 and ta[k+1]==":" and re.match(r"[a-z_]",ta[k]) and ta[k-1] in {"{",",","pub",")","]"}:
                        if ta[k]!=tb[k]: fields[(ta[k])].add((g,ta[i+1],tb[k]))
                    if lvl==0: break
                    k+=1
                i=k
        i+=1
    for i in range(1,len(tb)):
        if tb[i-1]=="." and (i<2 or tb[i-2]!=".") and (i+1>=len(tb) or tb[i+1]!="("):
            news[tb[i]].append(g)
for old,where in fields.items():
    left=[g for g in news.get(old,[])]
    print("field",old,sorted(where),"left accesses:",sorted(set(left))[:8])
# duplicate functions in one crate's impl of one type
impls=defaultdict(list)
for g in sorted(set(moves.get(f,f) for f in files(before))):
    b=code(Path(after)/g).replace("\x00"," ")
    for m in re.finditer(r"\bimpl(?:<[^{;]*?>)?\s+([A-Za-z:<>_, ]+?)\s*\{",b):
        if " for " in m[0]: continue
        t=re.sub(r"<.*","",m[1]).strip()
        lvl=0;k=m.end()-1
        while k<len(b):
            lvl+=(b[k]=="{")-(b[k]=="}")
            if lvl==0: break
            k+=1
        body=b[m.end():k]
        depth=0
        for mm in re.finditer(r"[{}]|\bfn\s+(\w+)",body):
            if mm[0]=="{": depth+=1
            elif mm[0]=="}": depth-=1
            elif depth==0: impls[("/".join(g.split("/")[:3]),t,mm[1])].append(g)
for k,v in impls.items():
    if len(v)>1: print("DUP",k,v)
# free functions twice in a module
for g in sorted(set(moves.get(f,f) for f in files(before))):
    b=code(Path(after)/g).replace("\x00"," ")
    depth=0; seen=defaultdict(int)
    for mm in re.finditer(r"[{}]|\bfn\s+(\w+)",b):
        if mm[0]=="{": depth+=1
        elif mm[0]=="}": depth-=1
        elif depth==0: seen[mm[1]]+=1
    for k,v in seen.items():
        if v>1: print("DUPFN",g,k)
