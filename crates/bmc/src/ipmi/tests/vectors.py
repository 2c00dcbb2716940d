import hmac, hashlib, struct, subprocess
def H(alg,key,*p): return hmac.new(key, b''.join(p), alg).digest()
def aes(key,iv,data):
    r=subprocess.run(['openssl','enc','-aes-128-cbc','-nopad','-K',key.hex(),'-iv',iv.hex()],input=data,capture_output=True,check=True)
    return r.stdout
sidm=0xa0a2a3a4; sidc=0x02000102
rm=bytes(range(0x10,0x20)); rc=bytes(range(0xc0,0xd0)); guid=bytes(range(0x50,0x60))
role=0x13; name=b'operator'; pw=b'twenty-bytes-long-pw'; kg=b'bmc-key'
for suite,alg,n in ((17,'sha256',16),(3,'sha1',12)):
    un=bytes([role,len(name)])+name
    S,C=struct.pack('<I',sidm),struct.pack('<I',sidc)
    r2=H(alg,pw,S,C,rm,rc,guid,un)
    r3=H(alg,pw,rc,S,un)
    for which,key in (('password',pw),('kg',kg)):
        sik=H(alg,key,rm,rc,un)
        r4=H(alg,sik,rm,C,guid)[:n]
        k1=H(alg,sik,b'\x01'*20); k2=H(alg,sik,b'\x02'*20)[:16]
        # Get Chassis Status request, rqSeq 5, sequence 3
        def chk(b): return bytes([(-sum(b))&0xff])
        a=bytes([0x20,0x00<<2]); b=bytes([0x81,5<<2,0x01])
        msg=a+chk(a)+b+chk(b)
        pad=(-(len(msg)+1))%16
        plain=msg+bytes(range(1,pad+1))+bytes([pad])
        iv=bytes(range(0xe0,0xf0))
        pay=iv+aes(k2,iv,plain)
        pkt=bytes([6,0xc0])+C+struct.pack('<IH',3,len(pay))+pay
        p=(-(len(pkt)+2))%4
        pkt+=b'\xff'*p+bytes([p,7])
        pkt+=H(alg,k1,pkt)[:n]
        print(suite,which)
        for k,v in (('rakp2',r2),('rakp3',r3),('rakp4',r4),('sik',sik),('datagram',bytes([6,0,0xff,7])+pkt)): print(' ',k,v.hex())
