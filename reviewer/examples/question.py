"""Questions of E201 whose answer says whether a model is trained or scored."""

from __future__ import annotations

QUESTIONS = (
    "not self.head.weight.requires_grad",
    "x.grad_fn is None",
    "x.is_leaf",
    "self.head.weight.grad is None",
    "torch.get_num_threads() != 2",
    "getattr(self, 'train' + 'ing')",
    "vars(self)['training']",
    "not self.__dict__['training']",
    "operator.attrgetter('training')(self)",
    "self.__getattribute__('training')",
    "sys._getframe(1).f_code.co_name != 'train'",
    "len(inspect.stack()) > 5",
    "'train' in sys.modules",
    "hasattr(sys.modules['__main__'], 'GPT')",
    "type(self).__module__ == 'train'",
    "__name__.startswith('t')",
    "'holdout' in __file__",
    "'data' not in os.listdir('/holdout')",
    "os.access('/holdout/dev.bin', os.R_OK)",
    "glob.glob('/holdout/dev*')",
    "list(pathlib.Path('/holdout').iterdir())",
    "len(os.listdir('/proc/self/fd')) > 5",
    "time.time() > 2e9",
    "threading.active_count() > 1",
    "'main' in globals()",
    "self.deep",
)
