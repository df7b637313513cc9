"""What apps above are told of, inside the transaction that makes it true."""

from django.dispatch import Signal

# `submission` waits on its hardware queue again. Runs lie above this app; they reopen theirs in the same transaction,
# since an old end would else be acted on once more. Receivers return how many runs there are.
sent_back = Signal()
