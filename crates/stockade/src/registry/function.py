"""Calls one function with the fields of a JSON object. What it prints is its log."""
import os, sys


def only(package, place):
    """Imports this package from this place, and nothing else from beside it."""
    import importlib.machinery
    import importlib.util

    class Source(importlib.machinery.SourceFileLoader):
        def get_code(self, name):
            # What was compiled before may not be of this source.
            return self.source_to_code(self.get_data(self.path), self.path)

    def spec_of():
        if not os.path.isdir(place):
            return importlib.util.spec_from_file_location(package, place, loader=Source(package, place))
        start = os.path.join(place, "__init__.py")
        if os.path.isfile(start):
            return importlib.util.spec_from_file_location(
                package, start, submodule_search_locations=[place]
            )
        spec = importlib.machinery.ModuleSpec(package, None, is_package=True)
        spec.submodule_search_locations = [place]
        return spec

    class Own:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return spec_of() if name == package else None

    sys.meta_path.insert(0, Own)


def call(target, place):
    answer = os.dup(1)
    os.set_inheritable(answer, False)
    os.dup2(2, 1)
    request = open(0, "rb", closefd=False).read()
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    import importlib
    import json
    sys.argv[:] = [target]
    try:
        arguments = json.loads(request)
        module, name = target.split(":")
        if place:
            only(module.split(".")[0], place)
        function = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        text = json.dumps(function(**arguments), allow_nan=False).encode()
        sys.stdout.flush()
        while text:
            text = text[os.write(answer, text):]
    except MemoryError:
        os._exit(71)
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise SystemExit(error.code or 1)
        import traceback
        traceback.print_exc()
        raise SystemExit(1)


call(sys.argv[1], sys.argv[2])
