"""Random GRU, LSTM and RNN of ONNX with every attribute and input, against their definition in float64.

    pip install onnx numpy
    python onnx_recurrent.py CELLC COUNT SEED          # runs COUNT models through cellc run, from this seed on
    python onnx_recurrent.py keep FOLDER SEED...       # writes the models of these seeds as cases
"""
import sys, os, json, subprocess, tempfile
import numpy as np
from onnx import helper as H, TensorProto as T, numpy_helper as N
sig=lambda x:1/(1+np.exp(-x))
ACT={'Relu':(lambda x,a,b:np.maximum(x,0),0,()),'Tanh':(lambda x,a,b:np.tanh(x),0,()),'Sigmoid':(lambda x,a,b:sig(x),0,()),
 'Affine':(lambda x,a,b:a*x+b,2,(None,None)),'LeakyRelu':(lambda x,a,b:np.where(x<0,a*x,x),1,(0.01,)),'ThresholdedRelu':(lambda x,a,b:np.where(x>a,x,0),1,(1.0,)),
 'ScaledTanh':(lambda x,a,b:a*np.tanh(b*x),2,(None,None)),'HardSigmoid':(lambda x,a,b:np.clip(a*x+b,0,1),2,(0.2,0.5)),'Elu':(lambda x,a,b:np.where(x<0,a*(np.exp(x)-1),x),1,(1.0,)),
 'Softsign':(lambda x,a,b:x/(1+np.abs(x)),0,()),'Softplus':(lambda x,a,b:np.log1p(np.exp(x)),0,())}
def make(rng):
    kind=rng.choice(['GRU','LSTM','RNN']); G={'GRU':3,'LSTM':4,'RNN':1}[kind]; nact={'GRU':2,'LSTM':3,'RNN':1}[kind]
    Hn,I,B,Tn=int(rng.integers(1,9)),int(rng.integers(1,6)),int(rng.integers(1,4)),int(rng.integers(1,6))
    direction=rng.choice(['forward','reverse','bidirectional']); D=2 if direction=='bidirectional' else 1
    ops=int(rng.choice([7,11,13,14,17,21,22,24])); layout=int(rng.integers(0,2)) if ops>=14 else 0
    at={'direction':str(direction)} if direction!='forward' or rng.random()<.5 else {}
    if rng.random()<.8: at['hidden_size']=Hn
    if layout: at['layout']=1
    def arr(*s): return rng.uniform(-1,1,s).astype(np.float32)
    W,R=arr(D,G*Hn,I),arr(D,G*Hn,Hn)
    Bv=arr(D,2*G*Hn) if rng.random()<.7 else None
    has=lambda p: rng.random()<p
    lens=rng.integers(0,Tn+1,B).astype(np.int32) if has(.4) else None
    sh=(B,D,Hn) if layout else (D,B,Hn)
    h0=arr(*sh) if has(.5) else None
    c0=arr(*sh) if kind=='LSTM' and has(.5) else None
    P=arr(D,3*Hn) if kind=='LSTM' and has(.4) else None
    clip=float(np.float32(rng.choice([0.3,0.7,2.0]))) if has(.3) else None
    if clip: at['clip']=clip
    lbr=0
    if kind=='GRU' and has(.6): lbr=int(rng.choice([1,2])); at['linear_before_reset']=lbr
    inf=0
    if kind=='LSTM' and has(.3): inf=1; at['input_forget']=1
    default={'GRU':['Sigmoid','Tanh'],'LSTM':['Sigmoid','Tanh','Tanh'],'RNN':['Tanh']}[kind]*D
    acts=[(n,None,None) for n in default]
    if has(.5):
        names=[str(rng.choice(list(ACT))) for _ in default]
        als,bes=[],[]; acts=[]
        give=has(.6) or any(ACT[n][1]==2 and ACT[n][2][0] is None for n in names)
        for n in names:
            k,d=ACT[n][1],ACT[n][2]; a=b=None
            if give:
                if k>0: a=float(np.float32(rng.uniform(.1,.9))); als.append(a)
                if k>1: b=float(np.float32(rng.uniform(.1,.9))); bes.append(b)
            else: a=d[0] if k>0 else None; b=d[1] if k>1 else None
            acts.append((n,a,b))
        cas=[str.lower,str.upper,str][int(rng.integers(0,3))]
        at['activations']=[cas(n) for n in names]
        if als: at['activation_alpha']=als
        if bes: at['activation_beta']=bes
    X=arr(B,Tn,I) if layout else arr(Tn,B,I)
    # reference
    x=X.astype(np.float64); x=x.transpose(1,0,2) if layout else x
    f8=lambda v:None if v is None else v.astype(np.float64)
    H0=f8(h0); H0=np.zeros((D,B,Hn)) if H0 is None else (H0.transpose(1,0,2) if layout else H0)
    C0=f8(c0); C0=np.zeros((D,B,Hn)) if C0 is None else (C0.transpose(1,0,2) if layout else C0)
    Y=np.zeros((Tn,D,B,Hn)); YH=np.zeros((D,B,Hn)); YC=np.zeros((D,B,Hn))
    cl=(lambda v:np.clip(v,-clip,clip)) if clip else (lambda v:v)
    for d in range(D):
        rev=direction=='reverse' or d==1
        w,r=f8(W[d]),f8(R[d]); b=f8(Bv[d]) if Bv is not None else np.zeros(2*G*Hn); wb,rb=b[:G*Hn],b[G*Hn:]
        A=acts[d*nact:(d+1)*nact]; act=lambda k,v:ACT[A[k][0]][0](cl(v),A[k][1],A[k][2])
        raw=lambda k,v:ACT[A[k][0]][0](v,A[k][1],A[k][2])
        for n in range(B):
            L=Tn if lens is None else int(lens[n]); h=H0[d,n]; c=C0[d,n]
            if L==0: continue
            for t in (range(L-1,-1,-1) if rev else range(L)):
                xt=x[t,n]; gx=w@xt+wb; g=lambda v,k:v[k*Hn:(k+1)*Hn]
                if kind=='RNN': h=act(0,gx+r@h+rb)
                elif kind=='GRU':
                    gh=r@h+rb; z=act(0,g(gx,0)+g(gh,0)); rr=act(0,g(gx,1)+g(gh,1))
                    if lbr: hh=act(1,g(gx,2)+rr*g(gh,2))
                    else: hh=act(1,g(gx,2)+g(r,2)@(rr*h)+g(rb,2))
                    h=(1-z)*hh+z*h
                else:
                    gh=r@h+rb; s=gx+gh; p=f8(P[d]) if P is not None else np.zeros(3*Hn)
                    i=act(0,g(s,0)+g(p,0)*c); f=act(0,g(s,2)+g(p,2)*c)
                    if inf: f=1-i
                    cc=act(1,g(s,3)); c=f*c+i*cc; o=act(0,g(s,1)+g(p,1)*c); h=o*raw(2,c)
                Y[t,d,n]=h
            YH[d,n]=h; YC[d,n]=c
    outs=[Y.transpose(2,0,1,3) if layout else Y, YH.transpose(1,0,2) if layout else YH]
    if kind=='LSTM': outs.append(YC.transpose(1,0,2) if layout else YC)
    # model
    init,inputs,values=[],[],[]
    def put(name,v,runtime):
        if v is None: return ''
        if runtime:
            inputs.append(H.make_tensor_value_info(name,T.INT32 if v.dtype==np.int32 else T.FLOAT,v.shape)); values.append(v)
        else: init.append(N.from_array(v,name))
        return name
    rt=has(.25)
    ins=[put('X',X,True),put('W',W,rt),put('R',R,rt),put('B',Bv,rt),put('lens',lens,has(.5)),put('h0',h0,has(.6))]
    if kind=='LSTM': ins+=[put('c0',c0,has(.6)),put('P',P,rt)]
    while not ins[-1]: ins.pop()
    names=['Y','Y_h','Y_c'][:len(outs)]
    keep=[has(.7) for _ in names]; 
    if not any(keep): keep[0]=True
    onames=[n if k else '' for n,k in zip(names,keep)]
    while not onames[-1]: onames.pop()
    node=H.make_node(kind,ins,onames,**at)
    g=H.make_graph([node],'g',inputs+([H.make_tensor_value_info(t.name,t.data_type,t.dims) for t in init] if ops==7 else []),[H.make_tensor_value_info(n,T.FLOAT,o.shape) for n,o,k in zip(names,outs,keep) if k],init)
    m=H.make_model(g,opset_imports=[H.make_opsetid('',ops)],ir_version=3 if ops==7 else 8)
    desc=f"{kind} opset {ops}, "+', '.join(f'{k}={v}' for k,v in at.items())+(', lengths' if lens is not None else '')+(', P' if P is not None else '')+(', weights at run time' if rt else '')
    return m,values,[(n,o) for n,o,k in zip(names,outs,keep) if k],desc
def write(folder,name,m,values,outs,desc,seed):
    os.makedirs(folder,exist_ok=True); open(folder+'/model.onnx','wb').write(m.SerializeToString())
    t={'float32':'f32','int32':'i32'}
    for k,v in enumerate(values): v.tofile(f'{folder}/r0_in{k}.bin')
    for k,(n,o) in enumerate(outs): np.ascontiguousarray(o).tofile(f'{folder}/r0_ref{k}.bin')
    json.dump({'name':name,'family':'ONNX recurrent','about':desc,'origin':f'tests/models/onnx_recurrent.py, seed {seed}','model':'model.onnx','stateful':False,
     'inputs':[{'index':k,'parameter':i.name,'names':[i.name],'dtype':t[str(v.dtype)],'shape':list(v.shape)} for k,(i,v) in enumerate(zip([i for i in m.graph.input if i.name not in {x.name for x in m.graph.initializer}],values))],
     'outputs':[{'index':k,'result':n,'names':[n],'dtype':'f32','shape':list(o.shape)} for k,(n,o) in enumerate(outs)],
     'runs':[{'inputs':[{'file':f'r0_in{k}.bin','dtype':t[str(v.dtype)],'shape':list(v.shape)} for k,v in enumerate(values)],'openvino':[],
       'oracle':[{'file':f'r0_ref{k}.bin','dtype':'f64','shape':list(o.shape)} for k,(n,o) in enumerate(outs)]}],
     'tolerance':[{'abs':2e-6*max(1,float(np.abs(o).max())),'rule':'|out-oracle| <= abs'} for n,o in outs]},open(folder+'/case.json','w'),indent=1)
if __name__=='__main__':
    if sys.argv[1]=='keep':
        for s in map(int,sys.argv[3:]):
            m,values,outs,desc=make(np.random.default_rng(s)); write(f'{sys.argv[2]}/recurrent_{s}',f'recurrent_{s}',m,values,outs,desc,s)
        sys.exit()
    cellc,count,seed=sys.argv[1],int(sys.argv[2]),int(sys.argv[3]); bad=0
    for s in range(seed,seed+count):
        m,values,outs,desc=make(np.random.default_rng(s))
        with tempfile.TemporaryDirectory() as d:
            write(d,f'recurrent_{s}',m,values,outs,desc,s)
            r=subprocess.run([cellc,'run',d+'/model.onnx','--inputs',d,'--outputs',d+'/o','--emit','c'],capture_output=True,text=True)
            if r.returncode: bad+=1; print(s,desc,'REFUSED',' '.join(r.stderr.split())[:300]); continue
            for k,(n,o) in enumerate(outs):
                y=np.load(f'{d}/o/r0_out{k}.npy'); e=np.abs(y-o).max() if y.shape==o.shape else 'shape %s %s'%(y.shape,o.shape)
                if isinstance(e,str) or not e<=2e-6*max(1,np.abs(o).max()): bad+=1; print(s,desc,n,e)
    print('bad',bad,'of',count)
