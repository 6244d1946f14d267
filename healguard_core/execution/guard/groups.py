"""Ready-made groups of protected operations, and the audit events of operations. Imports nothing of ours.

An entry is ``callable: key``; several keys are separated by commas. Entries of packages that are not installed and of
functions that a platform lacks simply protect nothing.
"""

from typing import Dict, FrozenSet, Tuple

GROUPS: Dict[str, Dict[str, str]] = {
    "filesystem": {
        "os.remove": "path", "os.unlink": "path", "os.rmdir": "path", "os.removedirs": "name",
        "os.rename": "src,dst", "os.replace": "src,dst", "os.renames": "old,new",
        "os.link": "src,dst", "os.symlink": "src,dst", "os.mkdir": "path", "os.makedirs": "name",
        "os.truncate": "path,length", "os.ftruncate": "fd,length", "os.chmod": "path,mode",
        "os.chown": "path,uid,gid", "os.utime": "path", "os.setxattr": "path,attribute,value",
        "os.removexattr": "path,attribute", "os.mkfifo": "path", "os.mknod": "path",
        "builtins.open": "file", "os.open": "path",
        "pathlib.Path.write_text": "self,data", "pathlib.Path.write_bytes": "self,data",
        "pathlib.Path.unlink": "self", "pathlib.Path.rmdir": "self", "pathlib.Path.mkdir": "self",
        "pathlib.Path.touch": "self", "pathlib.Path.rename": "self,target", "pathlib.Path.replace": "self,target",
        "pathlib.Path.chmod": "self,mode", "pathlib.Path.symlink_to": "self,target",
        "shutil.rmtree": "path", "shutil.move": "src,dst", "shutil.copyfile": "src,dst", "shutil.copy": "src,dst",
        "shutil.copy2": "src,dst", "shutil.copytree": "src,dst", "shutil.chown": "path",
        "shutil.make_archive": "base_name", "shutil.unpack_archive": "filename,extract_dir",
    },
    "process": {
        "subprocess.Popen": "args,executable,env,cwd,shell", "subprocess.run": "*", "subprocess.call": "*",
        "subprocess.check_call": "*", "subprocess.check_output": "*", "subprocess.getoutput": "cmd",
        "subprocess.getstatusoutput": "cmd",
        "os.system": "command", "os.popen": "cmd", "os.execv": "path,argv", "os.execve": "path,argv,env",
        "os.spawnv": "mode,file,args", "os.spawnve": "mode,file,args,env",
        "os.posix_spawn": "path,argv,env", "os.posix_spawnp": "path,argv,env", "os.fork": "*", "os.forkpty": "*",
        "os.kill": "pid,signal", "os.killpg": "*", "os.abort": "*", "os._exit": "status", "os.startfile": "*",
        "signal.raise_signal": "*", "pty.spawn": "argv", "multiprocessing.process.BaseProcess.start": "self",
        "asyncio.create_subprocess_exec": "program,args", "asyncio.create_subprocess_shell": "cmd",
    },
    "network": {
        "socket.socket.connect": "address", "socket.socket.connect_ex": "address", "socket.socket.bind": "address",
        "socket.socket.send": "data", "socket.socket.sendall": "data", "socket.socket.sendto": "*",
        "socket.socket.sendmsg": "*", "socket.create_connection": "address", "socket.getaddrinfo": "host,port",
        "urllib.request.urlopen": "url,data", "urllib.request.urlretrieve": "url,filename",
        "http.client.HTTPConnection.request": "method,url,body,headers",
        "smtplib.SMTP.sendmail": "from_addr,to_addrs,msg", "smtplib.SMTP.send_message": "msg",
        "ftplib.FTP.storbinary": "cmd,fp", "ftplib.FTP.sendcmd": "cmd", "webbrowser.open": "url",
        "requests.sessions.Session.request": "method,url,params,data,headers,json",
        "requests.sessions.Session.send": "request", "urllib3.connectionpool.HTTPConnectionPool.urlopen": "url,body",
        "httpx.Client.send": "request", "httpx.AsyncClient.send": "request",
        "aiohttp.ClientSession._request": "method",
    },
    "environment": {
        "os.putenv": "*", "os.unsetenv": "*", "os._Environ.__setitem__": "key,value",
        "os._Environ.__delitem__": "key", "os.chdir": "path", "os.fchdir": "fd", "os.umask": "mask",
        "os.setuid": "*", "os.setgid": "*", "os.nice": "*", "locale.setlocale": "category,locale",
        "resource.setrlimit": "*", "signal.signal": "*", "time.tzset": "*",
    },
    "database": {
        "sqlite3.connect": "database", "sqlite3.Cursor.execute": "sql,parameters",
        "sqlite3.Cursor.executemany": "*", "sqlite3.Cursor.executescript": "sql_script",
        "sqlite3.Connection.execute": "sql,parameters", "sqlite3.Connection.executemany": "*",
        "sqlite3.Connection.executescript": "sql_script", "sqlite3.Connection.commit": "self",
        "dbm.open": "file", "shelve.open": "filename",
        "psycopg2.connect": "*", "psycopg2.extensions.cursor.execute": "*", "psycopg.Cursor.execute": "query,params",
        "pymysql.cursors.Cursor.execute": "query,args",
        "sqlalchemy.engine.Connection.execute": "statement,parameters", "sqlalchemy.orm.Session.commit": "self",
        "django.db.backends.utils.CursorWrapper.execute": "sql,params",
        "pymongo.collection.Collection.insert_one": "document", "redis.Redis.execute_command": "args",
    },
    "deserialisation": {
        "pickle.loads": "*", "pickle.load": "*", "pickle.Unpickler.load": "self", "pickle._Unpickler.load": "self",
        "marshal.loads": "*", "marshal.load": "*", "shelve.open": "filename",
        "yaml.load": "stream", "yaml.load_all": "stream", "yaml.unsafe_load": "stream", "yaml.full_load": "stream",
        "dill.loads": "*", "dill.load": "*", "joblib.load": "filename", "jsonpickle.decode": "*",
        "numpy.load": "file", "pandas.read_pickle": "filepath_or_buffer", "torch.load": "f",
    },
}

WRITES_ONLY: FrozenSet[str] = frozenset({"builtins.open", "os.open"})
"""In a group, these count only when the file is opened for writing."""

_EXTRA_EVENTS: Dict[str, str] = {
    "filesystem": "os.lockf os.chflags os.lchflags os.lchmod shutil.copymode shutil.copystat",
    "process": "os.exec os.spawn os.posix_spawn os.fork os.forkpty os.kill os.killpg os.system subprocess.Popen"
               " os.startfile os.startfile/2 pty.spawn",
    "network": "socket.connect socket.bind socket.sendto socket.sendmsg socket.getaddrinfo socket.gethostbyname"
               " socket.gethostbyaddr socket.getnameinfo socket.sethostname urllib.Request http.client.connect"
               " http.client.send smtplib.connect smtplib.send ftplib.connect ftplib.sendcmd imaplib.open imaplib.send"
               " poplib.connect poplib.putline nntplib.connect nntplib.putline telnetlib.Telnet.open"
               " telnetlib.Telnet.write webbrowser.open",
    "environment": "os.putenv os.unsetenv os.chdir resource.setrlimit resource.prlimit",
    "database": "sqlite3.connect sqlite3.enable_load_extension sqlite3.load_extension",
    "deserialisation": "pickle.find_class",
}


def extra_events(group: str) -> Tuple[str, ...]:
    """Audit events of a group beyond those of its entries."""
    return tuple(_EXTRA_EVENTS.get(group, "").split())


EVENTS: Dict[str, str] = {
    "os.remove": "os.remove", "os.unlink": "os.remove", "os.rmdir": "os.rmdir", "os.rename": "os.rename",
    "os.replace": "os.rename", "os.link": "os.link", "os.symlink": "os.symlink", "os.mkdir": "os.mkdir",
    "os.truncate": "os.truncate", "os.ftruncate": "os.truncate", "os.chmod": "os.chmod", "os.chown": "os.chown",
    "os.utime": "os.utime", "os.setxattr": "os.setxattr", "os.removexattr": "os.removexattr",
    "builtins.open": "open", "io.open": "open", "_io.open": "open", "os.open": "os.open",
    "os.system": "os.system", "os.execv": "os.exec", "os.execve": "os.exec", "os.posix_spawn": "os.posix_spawn",
    "os.posix_spawnp": "os.posix_spawn", "os.fork": "os.fork", "os.forkpty": "os.forkpty", "os.kill": "os.kill",
    "os.killpg": "os.killpg", "os.putenv": "os.putenv", "os.unsetenv": "os.unsetenv", "os.startfile": "os.startfile",
    "socket.socket.connect": "socket.connect", "socket.socket.connect_ex": "socket.connect",
    "socket.socket.bind": "socket.bind", "socket.socket.sendto": "socket.sendto",
    "socket.socket.sendmsg": "socket.sendmsg", "socket.getaddrinfo": "socket.getaddrinfo",
    "os.chdir": "os.chdir", "os.fchdir": "os.chdir",
    "sqlite3.connect": "sqlite3.connect", "resource.setrlimit": "resource.setrlimit",
    "signal.pthread_kill": "signal.pthread_kill",
}
"""The audit event of a C callable that raises one on every supported Python (`os.open` raises ``open``, no mode)."""

HEAL_EVENTS = frozenset(
    name for group in _EXTRA_EVENTS for name in extra_events(group)
) | frozenset(EVENTS.values())
"""Events that healing code itself must never cause, policy or not."""
