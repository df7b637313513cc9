"""`manage.py shards build`."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.competitions import shards


class Command(BaseCommand):
    """Build train, dev, public and private shards; a set with the same inputs that is there is kept."""

    help = "build: make a shard set from a corpus, sealed parts encrypted, and commit to it on the ledger."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["build"])
        parser.add_argument("--set", required=True, help="what the set is called")
        parser.add_argument("--corpus", default="demo", help="name of a harvested corpus, or path of a .jsonl file")
        parser.add_argument("--seed", type=int, help="deals documents to shards; default: a secret one")
        parser.add_argument("--vocab", type=int, help=f"tokens of the vocabulary (default: {shards.VOCABULARY})")
        held_out = f"for each of dev, public and private (default: {shards.HELD_OUT_BYTES})"
        parser.add_argument("--held-out-bytes", type=int, help=held_out)

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = options["corpus"]
        try:
            path = Path(corpus).resolve() if corpus.endswith(".jsonl") else shards.corpus_path(corpus)
            made, fresh = shards.build(
                name=options["set"],
                corpus=path,
                seed=options["seed"],
                vocab=options["vocab"],
                held_out=options["held_out_bytes"],
            )
        except shards.BuildError as error:
            raise CommandError(str(error)) from None
        state = "built" if fresh else "is there already; nothing was built"
        train = made.manifest["train"]
        self.stdout.write(f"Shard set {made.name} {state}: {train['documents']:,} documents to train on.")
