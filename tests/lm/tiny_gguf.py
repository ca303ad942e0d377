"""A GGUF model of some hundred kilobytes with seeded random weights: it runs like any other and says nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TURNS = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def byte_letters() -> list[str]:
    """GPT-2's printable letter for each of the 256 bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def write(path: Path, *, width: int = 32, layers: int = 2, context: int = 4096, seed: int = 0) -> Path:
    """Writes a llama of `layers` layers whose tokens are single bytes."""
    import gguf

    random = np.random.default_rng(seed)
    tokens = [*byte_letters(), "<|end|>"]
    kinds = [gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL]
    out = gguf.GGUFWriter(str(path), "llama")
    out.add_context_length(context)
    out.add_embedding_length(width)
    out.add_block_count(layers)
    out.add_feed_forward_length(2 * width)
    out.add_head_count(2)
    out.add_head_count_kv(2)
    out.add_rope_dimension_count(width // 2)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("default")
    out.add_token_list(tokens)
    out.add_token_types(kinds)
    out.add_token_merges(["a b"])  # a merge that makes no token: every byte stays one
    out.add_eos_token_id(256)
    out.add_add_bos_token(False)
    out.add_chat_template(TURNS)

    def tensor(name: str, *shape: int) -> None:
        values = random.normal(0, 0.3, shape) if len(shape) > 1 else np.ones(shape)
        if name == "output.weight":
            values[256] = 0  # never the likeliest: an answer goes on until it is stopped
        out.add_tensor(name, values.astype(np.float32))

    tensor("token_embd.weight", len(tokens), width)
    for layer in range(layers):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{layer}.{name}.weight", width, width)
        for name in ("ffn_gate", "ffn_up"):
            tensor(f"blk.{layer}.{name}.weight", 2 * width, width)
        tensor(f"blk.{layer}.ffn_down.weight", width, 2 * width)
        tensor(f"blk.{layer}.attn_norm.weight", width)
        tensor(f"blk.{layer}.ffn_norm.weight", width)
    tensor("output_norm.weight", width)
    tensor("output.weight", len(tokens), width)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path
