"""`python -m scoring.verify BEFORE.py AFTER.py`: prove that two texts of one script train the same.

Theory of operation. Both texts run three optimizer steps on the CPU with one seed, each in a fresh sandbox like any
submission (running.py), over a small data set that is made up for the purpose (place.py). What `harness/prove.py`
notes of the two must be identical in every bit (comparing.py):

* every loss of the three steps, that is, every value that `backward()` is called on;
* all parameters and buffers of all models at the third step boundary;
* what the models then answer, in training mode, to tokens of four shapes.

In evaluation mode the second text may differ from the first: a repair takes out what only evaluation does. Then its
answers must be those that it gives in training mode, so that what is scored is what was trained.

Not proved: what happens after the third step, on other hardware, over other data, with more processes or with another
seed; nor that the first text repeats itself. It is run twice where the two texts differ, and if it does not, that is
said. The first text finds no variable of its own in the environment, so its settings have their defaults.

Protected is the host: a text cannot leave its sandbox, outlive it, or take more than its memory and its time. Not
protected is the proof: a text runs in one process with what watches it, so it can write whatever it likes in its place
or read what will be compared. This is a help for the honest author, who asks whether a repair has kept the meaning of
their own script. Nobody else acts on the answer, and the platform never asks.
"""
