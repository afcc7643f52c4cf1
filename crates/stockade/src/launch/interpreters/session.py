# Waits in a box and runs call after call in one namespace, as a notebook does.
def serve():
    import _signal, ast, fcntl, linecache, os, sys, traceback
    line = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 100)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    main = sys.modules['__main__'].__dict__
    main.pop('serve', None)
    sys.argv[:] = ['']
    buffered = bytearray()
    def more():
        part = os.read(line, 1 << 16)
        if not part:
            os._exit(0)
        buffered.extend(part)
    def next_call():
        while True:
            # What was left of an interruption that came too late.
            while buffered[:1] == b'I':
                del buffered[:1]
            end = buffered.find(b'\n')
            if end >= 0:
                break
            more()
        length = int(buffered[:end].split()[2])
        while len(buffered) < end + 1 + length:
            more()
        source = bytes(buffered[end + 1:end + 1 + length])
        del buffered[:end + 1 + length]
        return source
    def heed(handler):
        # A byte that comes during a call is the signal for its interruption.
        flags = fcntl.fcntl(line, fcntl.F_GETFL) & ~os.O_ASYNC
        if handler is None:
            fcntl.fcntl(line, fcntl.F_SETFL, flags)
            return _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
        _signal.signal(_signal.SIGINT, handler)
        fcntl.fcntl(line, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(line, F_SETSIG, _signal.SIGINT)
        fcntl.fcntl(line, fcntl.F_SETFL, flags | os.O_ASYNC)
    F_SETSIG = 10
    def run(name, source):
        tree = compile(source, name, 'exec', ast.PyCF_ONLY_AST, dont_inherit=True)
        last = []
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last.append(tree.body.pop())
        exec(compile(tree, name, 'exec', dont_inherit=True), main)
        if last:
            exec(compile(ast.Interactive(last), name, 'single', dont_inherit=True), main)
    def report(name):
        kind, error, trace = sys.exc_info()
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        if sys.excepthook is sys.__excepthook__:
            traceback.print_exception(kind, error, trace)
        else:
            sys.excepthook(kind, error, trace)
    calls, handler = 0, _signal.default_int_handler
    heed(None)
    os.write(line, b'R\n')
    while True:
        source = next_call()
        calls += 1
        name = 'call-%d.py' % calls
        text = source.decode('utf-8', 'replace')
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        code = 0
        try:
            try:
                heed(handler)
                run(name, source)
            finally:
                handler = _signal.getsignal(_signal.SIGINT)
                heed(None)
        except SystemExit as error:
            if error.code is None:
                code = 0
            elif isinstance(error.code, int):
                code = error.code & 255
            else:
                code = 1
                print(error.code, file=sys.stderr)
        except BaseException:
            code = 1
            try:
                report(name)
            except BaseException:
                os.write(2, b'the exception could not be shown\n')
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                code = code or 120
        os.write(line, b'E %d 0 0 0\nR\n' % code)
serve()
