"""From model addresses to members: resolve all of them first, then load one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.errors import InputError, require
from cgbench.models.external.addresses import Address, parse_address, template_of
from cgbench.steps import hash_value

if TYPE_CHECKING:
    from cgbench.models.external.hugging_face import HuggingFaceMember
    from cgbench.models.external.member import Member


@dataclass(frozen=True, eq=False)
class Planned:
    """A member that is not loaded yet, and can be sent to worker processes.

    :param identity: everything that its output depends on, as JSON: weights, revision, tokeniser,
        dtype, prompt.
    :param vocabulary: a hash of the target-side mapping from tokens to ids; ``rows``: of the last
        layer.
    """

    address: Address
    folder: Path
    identity: Mapping[str, Any]
    vocabulary: str
    rows: int | None
    template: str | None = None

    @property
    def key(self) -> str:
        """A hash of the identity."""
        return hash_value(dict(self.identity))

    def __eq__(self, member: object) -> bool:
        return isinstance(member, Planned) and member.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def check_lengths(self, lines: Sequence[str], hypotheses: Sequence[str] | None = None) -> None:
        """Before loading, check that no sentence is too long for a checkpoint."""
        if self.address.kind == "own":
            from cgbench.models.external.native import check_native_lengths

            check_native_lengths(self.address.text, self.folder, lines, hypotheses)

    def open(self, device: str = "cpu") -> Member:
        """Load the member."""
        if self.address.kind != "own":
            return self.load(device)
        from cgbench.models.external.native import NativeMember

        return NativeMember(self.folder, device, self.address.seed, self.address.text)

    def load(self, device: str = "cpu", dropout: float | None = None) -> HuggingFaceMember:
        """Load a Hugging Face model, with its adapter if it has one.

        :param dropout: replaces the rate in the configuration.
        """
        import torch

        from cgbench.models.external.adapters import find_adapter, merge_adapter
        from cgbench.models.external.hugging_face import HuggingFaceMember
        from cgbench.models.external.loading import load_model, load_tokenizer, quietly

        address, options = self.address, self.address.options
        with quietly():
            model = load_model(address, self.folder, device, dropout)
            if adapter := find_adapter(address):
                model = merge_adapter(address, model, adapter)
            member = HuggingFaceMember(
                model.eval(),
                load_tokenizer(address, self.folder),
                template=self.template,
                special_tokens="chat" not in options,
                source=options.get("source"),
                target=options.get("target"),
                seed=address.seed,
                device=str(model.device) if "device_map" in options else str(torch.device(device)),
                label=address.text,
            )
            member.check_runs()
        return member


def plan_members(texts: Iterable[str], prompt: str | None = None) -> list[Planned]:
    """Resolve the addresses of models; the folder of an ensemble stands for its members.

    :raises InputError: as :func:`plan_member`.
    """
    addresses = [address for text in texts for address in _addresses_of(text)]
    return [plan_member(address, prompt) for address in addresses]


def _addresses_of(text: str) -> list[str]:
    """The address itself; of an ensemble, those of its members."""
    from cgbench.models.checkpoints import member_folders

    address = parse_address(text)
    folder = Path(address.name)
    if address.kind != "own" or not folder.is_dir():
        return [text]
    return [text.replace(address.name, str(member), 1) for member in member_folders(folder)]


def plan_member(text: str, prompt: str | None = None) -> Planned:
    """Resolve the address of a model. A model on the hub is downloaded, but not loaded.

    :param prompt: the template of a member without its own.
    :raises InputError: the address is invalid, there is no such model, or it cannot be loaded
        safely.
    """
    address = parse_address(text)
    seed = {} if address.seed is None else {"dropout_seed": address.seed}
    if address.kind == "own":
        from cgbench.models.checkpoints import check_native, ensemble_identity, read_config

        config = read_config(folder := Path(address.name))
        check_native(folder, config)
        identity = {"kind": "cgbench", "weights": ensemble_identity(folder), **seed}
        return Planned(address, folder, identity, config.subwords, config.target_size)
    require("torch", "models")
    require("transformers", "hf")
    from cgbench.models.external.adapters import find_adapter
    from cgbench.models.external.loading import chat_of, load_tokenizer, output_size, vocabulary_of
    from cgbench.models.external.snapshot import find_snapshot, identity_of

    template = template_of(address, prompt)
    folder, commit = find_snapshot(address)
    tokenizer = load_tokenizer(address, folder)
    if "chat" in address.options:
        template = chat_of(address, tokenizer, template)
    identity = {
        "kind": "hf",
        "weights": identity_of(folder),
        "tokenizer": vocabulary_of(tokenizer),
        "dtype": address.options.get("dtype", "float32"),
        **({"name": address.name, "revision": commit} if commit else {}),
        **({"prompt": template} if template is not None else {}),
        **{name: address.options[name] for name in ("source", "target") if name in address.options},
    }
    if adapter := find_adapter(address):
        identity["adapter"] = identity_of(adapter)
    return Planned(
        address, folder, identity | seed, str(identity["tokenizer"]), output_size(folder), template
    )


def check_together(members: Sequence[Planned]) -> None:
    """Check that the distributions of members can be compared."""
    for position, member in enumerate(members):
        if twin := next((first for first in members[:position] if first.key == member.key), None):
            raise InputError(
                f"{member.address.text}: the same member as {twin.address.text}; remove one of them"
            )
        first = members[0]
        if first.vocabulary != member.vocabulary:
            raise InputError(
                f"{member.address.text}: its vocabulary differs from that of {first.address.text},"
                " so their token distributions cannot be compared; choose members that share a"
                " tokeniser"
            )
        if first.rows != member.rows:
            raise InputError(
                f"{member.address.text}: its output layer has {member.rows} rows, but that of"
                f" {first.address.text} has {first.rows} for the same tokens; resize one of them"
                " (resize_token_embeddings)"
            )
