"""Further crafted models, data, cases and files: sizes that multiply, loops, functions that call themselves, odd archives."""

import gzip
import io
import json
import pathlib
import struct
import zipfile

import files as F
import models as M
import wire as W
from table import ANY, Fifo, Link, Row, Sparse
from wire import attribute, encode, floats, graph, graph_attribute, info, model, node, tensor

ints=lambda name,values: tensor(name,[len(values)],struct.pack(f"<{len(values)}q",*values),W.INT64)
i0=lambda name,v: tensor(name,[],struct.pack("<q",v),W.INT64)
f0=lambda name,v: floats(name,[],[v])
def ex(name,nodes,inits=(),ins=None,opset=21,out=None,ir=10,more=(),data="x4.npz",**k):
    g=graph(nodes,ins if ins is not None else [info("x",[1,4])],out or [info("y")],inits)
    m=encode(model(g,opset,ir,more))
    k.setdefault("codes",ANY); k.setdefault("seconds",20)
    yield Row("exec: "+name,["ASSAY","exec","m.onnx","--inputs",data,"--output","out"],{"m.onnx":m},**k)
    yield Row("art: "+name,["ASSAY","check","good.onnx","--artifact","m.onnx","--calibration","good.npz","--judge-timeout","5"],{"m.onnx":m},**k)
    yield Row("check: "+name,["ASSAY","check","m.onnx","--timeout","5","--judge-timeout","5"],{"m.onnx":m},**k)
add=lambda a: node("Add",["x",a],["y"])
red=lambda a: [node("ReduceMax",[a],["r"],[attribute("keepdims",0)]),add("r")]
def rows():
    yield from ex("range tiny delta",[node("Range",["a","b","c"],["r0"])]+red("r0"),[f0("a",0.),f0("b",1e30),f0("c",1e-30)])
    yield from ex("range zero delta",[node("Range",["a","b","c"],["r0"])]+red("r0"),[i0("a",0),i0("b",5),i0("c",0)])
    yield from ex("range int64 ends",[node("Range",["a","b","c"],["r0"])]+red("r0"),[i0("a",-2**63),i0("b",2**63-1),i0("c",1)])
    yield from ex("tile 2^40",[node("Tile",["x","t"],["r0"])]+red("r0"),[ints("t",[2**20,2**20])])
    yield from ex("expand 2^62",[node("Expand",["x","t"],["r0"])]+red("r0"),[ints("t",[2**31,2**31,1,4])])
    yield from ex("pad 2^40",[node("Pad",["x","t"],["r0"])]+red("r0"),[ints("t",[0,2**40,0,2**40])])
    yield from ex("pad negative",[node("Pad",["x","t"],["r0"])]+red("r0"),[ints("t",[-2**62,0,0,-2**63])])
    yield from ex("onehot 2^40",[node("Cast",["x"],["xi"],[attribute("to",7)]),node("OneHot",["xi","d","v"],["r0"])]+red("r0"),[i0("d",2**40),floats("v",[2])])
    yield from ex("topk",[node("TopK",["x","k"],["r0","i"])]+red("r0"),[ints("k",[2**62])])
    yield from ex("resize sizes",[node("Resize",["x","","","s"],["r0"])]+red("r0"),[ints("s",[2**20,2**20])])
    yield from ex("resize scales",[node("Resize",["x","","s"],["r0"])]+red("r0"),[floats("s",[2],[1e9,1e9])])
    yield from ex("resize scales nan",[node("Resize",["x","","s"],["r0"])]+red("r0"),[floats("s",[2],[float("nan"),-1e30])])
    yield from ex("einsum outer",[node("Einsum",["c"]*8,["r0"],[attribute("equation","a,b,c,d,e,f,g,h->abcdefgh")])]+red("r0"),[floats("c",[100])])
    yield from ex("einsum sum over all",[node("Einsum",["c"]*6,["r0"],[attribute("equation","a,b,c,d,e,f->")]),add("r0")],[floats("c",[1000])])
    yield from ex("einsum long equation",[node("Einsum",["c"],["r0"],[attribute("equation","a"*10**6+"->a")])]+red("r0"),[floats("c",[10])])
    yield from ex("einsum escapes",[node("Einsum",["c"],["r0"],[attribute("equation","\x1b[2J\n2382 planned: 2382 pass")])]+red("r0"),[floats("c",[10])])
    yield from ex("matmul 2^15 cubed",[node("ConstantOfShape",["s"],["a"]),node("MatMul",["a","a"],["r0"])]+red("r0"),[ints("s",[2**14,2**14])])
    yield from ex("conv of big kernel",[node("ConstantOfShape",["s"],["a"]),node("ConstantOfShape",["s2"],["b"]),node("Conv",["a","b"],["r0"])]+red("r0"),[ints("s",[1,1,4000,4000]),ints("s2",[1,1,2000,2000])])
    yield from ex("conv dilations",[node("Conv",["i","w"],["r0"],[attribute("dilations",[2**40,2**40]),attribute("pads",[2**50]*4)])]+red("r0"),[floats("i",[1,1,4,4]),floats("w",[1,1,3,3])])
    yield from ex("maxpool huge kernel",[node("MaxPool",["i"],["r0"],[attribute("kernel_shape",[2**31,2**31]),attribute("pads",[2**30]*4)])]+red("r0"),[floats("i",[1,1,4,4])])
    yield from ex("averagepool ceil",[node("AveragePool",["i"],["r0"],[attribute("kernel_shape",[2**62,1]),attribute("ceil_mode",1),attribute("strides",[2**62,1])])]+red("r0"),[floats("i",[1,1,4,4])])
    yield from ex("gathernd",[node("GatherND",["i","k"],["r0"])]+red("r0"),[floats("i",[4,4]),ints("k",[-2**63,2**62])])
    yield from ex("scatter",[node("ScatterElements",["i","k","u"],["r0"])]+red("r0"),[floats("i",[4]),ints("k",[-2**63,2**62]),floats("u",[2])])
    yield from ex("slice steps",[node("Slice",["i","a","b","c","d"],["r0"])]+red("r0"),[floats("i",[4]),ints("a",[2**63-1]),ints("b",[-2**63]),ints("c",[0]),ints("d",[-2**63])])
    yield from ex("split 2^31",[node("Split",["i"],["r0"],[attribute("num_outputs",2**31)])]+red("r0"),[floats("i",[4])])
    yield from ex("random normal",[node("RandomNormal",[],["r0"],[attribute("shape",[2**20,2**20])])]+red("r0"))
    yield from ex("eyelike",[node("ConstantOfShape",["s"],["a"]),node("EyeLike",["a"],["r0"])]+red("r0"),[ints("s",[2**20,2**20])])
    yield from ex("cumsum axis",[node("CumSum",["x","k"],["r0"])]+red("r0"),[i0("k",-2**63)])
    yield from ex("depthtospace",[node("DepthToSpace",["i"],["r0"],[attribute("blocksize",2**40)])]+red("r0"),[floats("i",[1,4,2,2])])
    yield from ex("transpose perm",[node("Transpose",["x"],["r0"],[attribute("perm",[2**62,0])])]+red("r0"))
    yield from ex("reshape -1 0",[node("Reshape",["x","s"],["r0"])]+red("r0"),[ints("s",[-1,-1,0,2**62])])
    yield from ex("unsqueeze many",[node("Unsqueeze",["x","s"],["r0"])]+red("r0"),[ints("s",list(range(10**4)))])
    yield from ex("lstm",[node("LSTM",["i","w","r"],["r0"],[attribute("hidden_size",2**31)])]+red("r0"),[floats("i",[2,1,3]),floats("w",[1,4,3]),floats("r",[1,4,1])])
    yield from ex("qlinear scale 0",[node("QuantizeLinear",["x","s","z"],["q"]),node("DequantizeLinear",["q","s","z"],["y"])],[f0("s",0.),tensor("z",[],b"\x80",W.INT8)])
    yield from ex("qlinear block 0",[node("QuantizeLinear",["x","s","z"],["q"],[attribute("block_size",-2**63),attribute("axis",2**62)]),node("DequantizeLinear",["q","s","z"],["y"])],[floats("s",[1,1]),tensor("z",[1,1],b"\x80",W.INT8)])
    yield from ex("qlinear scale nan",[node("QuantizeLinear",["x","s","z"],["q"]),node("DequantizeLinear",["q","s","z"],["y"])],[f0("s",float("nan")),tensor("z",[],b"\x80",W.INT8)])
    # loops
    body=lambda extra,outs: graph([node("Identity",["c"],["c2"]),node("Identity",["v"],["v2"])]+extra,[info("i",[],W.INT64),info("c",[],W.BOOL),info("v")],[info("c2",[],W.BOOL),info("v2")]+outs)
    yield from ex("loop accumulating",[node("Loop",["n","t","x"],["y","acc"],[graph_attribute("body",body([node("Identity",["big"],["o"])],[info("o")]))])],[i0("n",10**7),tensor("t",[],b"\x01",W.BOOL),floats("big",[1000])])
    yield from ex("loop 2^62 of nothing",[node("Loop",["n","t","x"],["y"],[graph_attribute("body",body([],[]))])],[i0("n",2**62),tensor("t",[],b"\x01",W.BOOL)])
    inner=graph_attribute("body",body([],[]))
    b2=graph([node("Identity",["c"],["c2"]),node("Loop",["n","t","v"],["v2"],[inner])],[info("i",[],W.INT64),info("c",[],W.BOOL),info("v")],[info("c2",[],W.BOOL),info("v2")])
    yield from ex("loop in loop",[node("Loop",["n","t","x"],["y"],[graph_attribute("body",b2)])],[i0("n",10**5),tensor("t",[],b"\x01",W.BOOL)])
    dbl=body([node("Concat",["v","v"],["vv"],[attribute("axis",0)])],[])
    dbl=graph([node("Identity",["c"],["c2"]),node("Concat",["v","v"],["v2"],[attribute("axis",0)])],[info("i",[],W.INT64),info("c",[],W.BOOL),info("v")],[info("c2",[],W.BOOL),info("v2")])
    yield from ex("loop that doubles",[node("Loop",["n","t","x"],["y"],[graph_attribute("body",dbl)])],[i0("n",62),tensor("t",[],b"\x01",W.BOOL)])
    yield from ex("concat laughs",[node("Concat",[f"t{i}" if i else "x"]*10,[f"t{i+1}"],[attribute("axis",0)]) for i in range(15)]+red("t15"))
    # functions: f_i calls f_{i-1} twice
    def fn(name,nodes,imports=(("",21),("l",1))): return (25,[(1,name),(4,"a"),(5,"b")]+[(7,n) for n in nodes]+[(9,[(1,d),(2,v)]) for d,v in imports]+[(10,"l")])
    fns=[fn("f0",[node("Relu",["a"],["b"])])]+[fn(f"f{i}",[node(f"f{i-1}",["a"],["m"],domain="l"),node(f"f{i-1}",["m"],["b"],domain="l")]) for i in range(1,40)]
    yield from ex("function laughs",[node("f39",["x"],["y"],domain="l")],more=[(8,[(1,"l"),(2,1)])]+fns)
    yield from ex("function of itself",[node("f",["x"],["y"],domain="l")],more=[(8,[(1,"l"),(2,1)]),fn("f",[node("f",["a"],["b"],domain="l")])])
    yield from ex("functions in a ring",[node("f",["x"],["y"],domain="l")],more=[(8,[(1,"l"),(2,1)]),fn("f",[node("g",["a"],["b"],domain="l")]),fn("g",[node("f",["a"],["b"],domain="l")])])
    chain=[fn(f"f{i}",[node(f"f{i-1}",["a"],["b"],domain="l")]) for i in range(1,20000)]
    yield from ex("20000 functions in a row",[node("f19999",["x"],["y"],domain="l")],more=[(8,[(1,"l"),(2,1)]),fn("f0",[node("Relu",["a"],["b"])])]+chain)
    yield from ex("10^5 opsets",[node("Relu",["x"],["y"])],more=[(8,[(1,f"d{i}"),(2,i)]) for i in range(10**5)])
    yield from ex("rank 10^5",[node("Relu",["w"],["y"])],[tensor("w",[1]*10**5,b"\0\0\0\0")])
    yield from ex("rank 10^5 of input",[node("Relu",["x"],["y"])],ins=[info("x",["s"]*10**5)])
    yield from ex("zero and 2^62",[node("Relu",["w"],["y"])],[tensor("w",[0,2**62,2**62],b"")])
    yield from ex("string tensor",[node("Relu",["w"],["y"])],[[(1,10**6),(2,8),(8,"w")]+[(6,b"\x1b[2J")]*10**5])
    yield from ex("segment tensor",[node("Relu",["w"],["y"])],[[(1,4),(2,1),(3,[(1,2**62),(2,-5)]),(8,"w"),(9,b"\0"*16)]])
    for t in list(range(0,26))+[2**31]:
        yield from list(ex(f"type {t}",[node("Cast",["w"],["c"],[attribute("to",1)]),node("Add",["x","c"],["y"])],[tensor("w",[4],b"\x81\xff\x7f",t)]))[:2]
    yield from ex("names of escapes",[node("Relu",["x"],["\x1b]0;a\x07\u202e\n2382 planned: 2382 pass"],name="\x1b[2J\r\n2382 planned"),node("Conv",["\x1b]0;a\x07\u202e\n2382 planned: 2382 pass"],["y"],name="\x9b2J|<b>")])
    yield from ex("50,000 outputs of a node",[node("Split",["x"],[f"o{i}" for i in range(50000)]),node("Relu",["o0"],["y"])])
    yield from ex("30,000 inputs of a node",[node("Sum",["x"]*30000,["y"])])
    yield from ex("wide fan",[node("Relu",["x"],[f"a{i}"]) for i in range(20000)]+[node("Sum",[f"a{i}" for i in range(20000)],["y"])])
    yield from ex("dense dag",[node("Sum",["x"]+[f"a{j}" for j in range(max(0,i-300),i)],[f"a{i}"]) for i in range(3000)]+[node("Relu",["a2999"],["y"])])
    yield from ex("name of 10 MB",[node("Relu",["x"],["y"],name="n"*10**7)])
    yield from ex("10^5 attributes",[node("Relu",["x"],["y"],[attribute(f"a{i}",i) for i in range(10**5)])])
    for raw,n in ((b"\x0b"*10**6,"groups 10^6"),(b"\x0b"*10**5+b"\x0c"*10**5,"groups closed"),(b"\x3a"+b"\xff"*9+b"\x01","length 2^64"),(b"\x3a\x80\x80\x80\x80\x08","length 2^31")):
        yield Row("exec: "+n,["ASSAY","exec","m.onnx"],{"m.onnx":raw},ANY)
        yield Row("import: "+n,["ASSAY","import","m.onnx","--into","out"],{"m.onnx":raw},ANY)
    conv=lambda **e: M.with_weight(M.external(**e))
    for loc in ("/proc/self/mem","/dev/zero","/dev/stdin","d/w.bin","w.bin\0x","./../x/w.bin","d/../../w","//etc/passwd","~/x","\x1b[2J"):
        yield Row(f"exec: ext {loc!r}",["ASSAY","exec","m.onnx"],{"m.onnx":conv(location=loc),"d":Link("/etc")},ANY)
    yield Row("exec: ext fifo",["ASSAY","exec","m.onnx"],{"m.onnx":conv(location="fifo"),"fifo":Fifo()},ANY)
    yield Row("exec: ext 2^40",["ASSAY","exec","m.onnx"],{"m.onnx":conv(location="big",length=str(2**40)),"big":Sparse(2**40)},ANY)
    # data
    def npy(header,data=b"",v=1): 
        h=header.encode() if isinstance(header,str) else header
        return b"\x93NUMPY"+bytes([v,0])+(struct.pack("<H",len(h)) if v==1 else struct.pack("<I",len(h)))+h+data
    H="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }\n"
    for n,d in {"object":npy(H.replace("<f4","|O"),b"cos\nsystem\n"),"unicode":npy(H.replace("<f4","<U1000000000"),b"x"*64),"structured":npy(H.replace("'<f4'","[('a','<f4'),('b','<i8')]"),b"x"*64),
        "big endian":npy(H.replace("<f4",">f4"),b"\0"*16),"fortran":npy(H.replace("False","True"),b"\0"*16),"v3":npy(H,b"\0"*16,3),"v9":npy(H,b"\0"*16,9),"header 2^32":b"\x93NUMPY\x02\0\xff\xff\xff\xff"+b"{"*1000,
        "deep header":npy("("*60000),"deep header v2":npy("{"*10**6+"\n",b"",2),"call":npy("__import__('os').system('touch ran')\n"),"shape -1":npy(H.replace("(1, 4)","(-1, -4)"),b"\0"*16),"shape overflow":npy(H.replace("(1, 4)","(4294967296, 4294967296, 1)"),b"\0"*16),
        "shape float":npy(H.replace("(1, 4)","(1e3, 4)"),b"\0"*16),"shape of 10^4":npy(H.replace("(1, 4)","("+"1,"*10**4+")"),b"\0"*4),"f16 nan":npy(H.replace("<f4","<f2"),b"\xff"*8),"f8 huge":npy(H.replace("<f4","<f8"),struct.pack("<4d",1e308,-1e308,float("inf"),5e-324)),"escape in descr":npy(H.replace("<f4","\x1b[2J\u202e"),b"\0"*16)}.items():
        for ext in ("npz","npy"):
            c=d
            if ext=="npz":
                b=io.BytesIO(); z=zipfile.ZipFile(b,"w"); z.writestr("x.npy",d); z.close(); c=b.getvalue()
            yield Row(f"data: {n} {ext}",["ASSAY","exec","relu.onnx","--inputs","d."+ext],{"d."+ext:c,"relu.onnx":encode(M.chain(1))},ANY,lacks="ran")
    def z(entries,**k):
        b=io.BytesIO(); zz=zipfile.ZipFile(b,"w",k.get("c",0)); 
        for n,d in entries: zz.writestr(n,d)
        zz.close(); return b.getvalue()
    good=npy(H,b"\0"*16)
    bomb=z([("x.npy",npy(H.replace("(1, 4)","(1, 50000000)"),b"\0"*(2*10**8)))],c=8)
    many=z([(f"x{i}.npy",good) for i in range(60000)])
    for n,c in {"bomb of 200 MB":bomb,"60000 entries":many,"twice":z([("x.npy",good),("x.npy",good)]),"paths":z([("../../x.npy",good),("/etc/x.npy",good)]),"escape names":z([("\x1b[2J\n2382 planned: 2382 pass.npy",good)]),"no ext":z([("x",good)]),
        "zip comment":good+z([("x.npy",good)]),"encrypted":bytearray(z([("x.npy",good)])).replace(b"PK\x03\x04\x14\0\0\0",b"PK\x03\x04\x14\0\x01\0"),"lzma":z([("x.npy",good)],c=14)}.items():
        for cmd in (["exec","relu.onnx","--inputs","d.npz"],["check","good.onnx","--calibration","d.npz"]):
            yield Row(f"zip: {n} {cmd[0]}",["ASSAY",*cmd],{"d.npz":bytes(c),"relu.onnx":encode(M.chain(1))},ANY)
    # results, caches
    yield Row("results: gz bomb",["ASSAY","import-results","d.gz","--db","o.db"],{"d.gz":gzip.compress(b"\0"*(1<<28),1)},(2,))
    yield Row("results: gz bomb of lines",["ASSAY","import-results","d.gz","--db","o.db"],{"d.gz":gzip.compress(b"{}\n"*(10<<20),1)},(2,))
    yield Row("cache: 10^6 lines",["ASSAY","audit","good.onnx","--cache","c","--calibration","good.npz"],{"c":"TRT-8601-EntropyCalibration2\n"+"".join(f"t{i}: 3c010a14\n" for i in range(10**6))},ANY)
    yield Row("cache: fifo",["ASSAY","audit","good.onnx","--cache","c","--calibration","good.npz"],{"c":Fifo()},ANY)
    yield Row("cache: 2^40",["ASSAY","audit","good.onnx","--cache","c","--calibration","good.npz"],{"c":Sparse(2**40)},ANY)
    yield Row("cache: dev zero",["ASSAY","audit","good.onnx","--cache","/dev/zero","--calibration","good.npz"],{},ANY)
    # case tricks
    C=lambda **k: json.dumps({**F.CASE,**k})
    for n,c in {"expr pow":C(seed="$9**9**9**9",matrix={"n":[1]}),"expr big mul":C(seed="$"+"99999999*"*50+"1",matrix={"n":[1]}),"expr shift":C(seed="$1<<10000",matrix={"n":[1]}),"expr mod":C(seed="$(0-9223372036854775807-1)%(0-1)",matrix={"n":[1]}),"expr div":C(seed="$(0-9223372036854775807-1)/(0-1)",matrix={"n":[1]}),
        "self ref":C(matrix={"_a":["$_a"]},seed="$_a"),"mutual":C(matrix={"_a":["$_b"],"_b":["$_a"]},seed="$_a"),"laughs":C(matrix={**{f"_a{i}":[f"$_a{i-1}$_a{i-1}"] for i in range(1,40)},"_a0":["xxxxxxxxxx"]},title="$_a39"),
        "form chain":C(forms={f"f{i}":{"forms":{}} for i in range(1000)}),"shape neg":C(inputs={"x":{"shape":[-5,4]}}),"std nan":C(initializers={"w":{"shape":[3,3,1,1],"std":1e308}}),"range inf":C(inputs={"x":{"data":["typical"],"range":[-1e308,1e308]}}),"batches frac":C(calibration={"batches":1.5}),
        "regex bomb":C(expect={"diagnostics":["(a*)*"*1000]}),"regex repeat":C(expect={"diagnostics":["((a{1,1000}){1,1000}){1,1000}"]}),"tags 1e5":C(tags=[f"t{i}" for i in range(10**5)]),"model link":C(graph=None,model="link.onnx"),"stored":C(stored_data="../../../../etc"),
        "20 MB":C(title="x"*(20<<20))}.items():
        yield Row(f"case: {n}",["ASSAY","run","./c.json","--db","o.db","--timeout","5"],{"c.json":c,"link.onnx":Link("/etc/passwd")},ANY)
        yield Row(f"lint: {n}",["ASSAY","lint","./c.json"],{"c.json":c,"link.onnx":Link("/etc/passwd")},ANY)
    yield Row("case: fifo",["ASSAY","run","./c.json"],{"c.json":Fifo()},ANY)
    yield Row("case: dir",["ASSAY","run","./c.json"],{"c.json/x":"1"},ANY)
    yield Row("case: itself a link to dev zero",["ASSAY","lint","./c.json"],{"c.json":Link("/dev/zero")},ANY)
