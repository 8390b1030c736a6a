#!/usr/bin/env python3
"""Independent size oracle: tensor payload bytes per file and per rank, straight from the formulas (no shared code with
the product, standard library only). Payload bytes are tensor bytes: no zip headers, no pickle.

    sizes_oracle.py MODEL RECIPE TP PP DP [ZERO] [--files] [--scale=F]   e.g.  sizes_oracle.py llama3.1-405b adam8bit 4 2 1
    sizes_oracle.py --batch CASE...                                      CASE is MODEL:RECIPE:TP:PP:DP:ZERO:SCALE

Prints JSON: an object, or with --batch an array of them, files included. ZERO defaults to 1 where DP is above 1. Only
ranks that write are in rank_bytes.
"""
import json, math, sys

MODELS = {  # layers, hidden, ffn, heads, kv_heads, vocab   (embeddings untied, SwiGLU, RMSNorm, no biases)
    "llama3.1-8b":   (32, 4096, 14336, 32, 8, 128256),
    "llama3.1-70b":  (80, 8192, 28672, 64, 8, 128256),
    "llama3.1-405b": (126, 16384, 53248, 128, 8, 128256),
}


def parameters(model):
    """(name, pipeline position, whole shape, axis that tensor parallelism cuts or None) for every parameter."""
    L, H, F, A, K, V = MODELS[model]
    d = H // A
    yield "embedding.word_embeddings.weight", "first", (V, H), 0
    for i in range(L):
        p = f"decoder.layers.{i}."
        yield p + "input_layernorm.weight", i, (H,), None
        yield p + "self_attention.linear_qkv.weight", i, ((A + 2 * K) * d, H), 0
        yield p + "self_attention.linear_proj.weight", i, (H, A * d), 1
        yield p + "pre_mlp_layernorm.weight", i, (H,), None
        yield p + "mlp.linear_fc1.weight", i, (2 * F, H), 0
        yield p + "mlp.linear_fc2.weight", i, (H, F), 1
    yield "decoder.final_layernorm.weight", "last", (H,), None
    yield "output_layer.weight", "last", (V, H), 0


def shard_elements(shape, cut, tp, scale):
    shape = list(shape)
    if cut is not None:
        assert shape[cut] % tp == 0
        shape[cut] //= tp
    if scale != 1:
        f = scale if len(shape) == 1 else math.sqrt(scale)
        shape = [max(1, math.floor(x * f + 0.5)) for x in shape]
    return math.prod(shape)


def stage_of(layer, L, pp):
    """Contiguous split; when pp does not divide L the first L % pp stages hold one layer more."""
    base, extra = divmod(L, pp)
    for s in range(pp):
        n = base + (s < extra)
        if layer < n:
            return s
        layer -= n


def optimizer_bytes(n, recipe):
    if recipe == "adam8bit":            # blockwise 8-bit AdamW, block 256: two uint8 moments, two fp32 absmax
        return 2 * n + 2 * 4 * -(-n // 256)
    if recipe == "adam-mixed":          # fp32 master weights, exp_avg, exp_avg_sq
        return 12 * n
    if recipe == "weights-only":
        return 0
    raise SystemExit(f"unknown recipe {recipe}")


def sizes(model, recipe, tp, pp, dp, zero, scale, with_files):
    L = MODELS[model][0]
    files, total_params = {}, 0     # files: (mp, d) -> file name -> bytes
    for name, pos, shape, cut in parameters(model):
        total_params += math.prod(shape)
        stage = 0 if pos == "first" else pp - 1 if pos == "last" else stage_of(pos, L, pp)
        shard = shard_elements(shape, cut, tp, scale)
        for t in range(tp):
            mp = stage * tp + t
            for d in range(dp):
                # zero 0/1: data-parallel rank 0 writes the weights; zero 3: every rank writes its slice
                w = -(-shard // dp) if zero == 3 else shard
                if zero == 3 or d == 0:
                    f = (f"mp_rank_{mp:02d}_model_states.pt" if isinstance(pos, str)
                         else f"layer_{pos:03d}-model_{t:02d}-model_states.pt")
                    if zero == 3:
                        f = f"zero_pp_rank_{d}_mp_rank_{mp:02d}_model_states.pt"
                    files.setdefault((mp, d), {}).setdefault(f, 0)
                    files[(mp, d)][f] += 2 * w
                if recipe != "weights-only" and (zero or d == 0):
                    o = -(-shard // dp) if zero else shard
                    f = f"zero_pp_rank_{d}_mp_rank_{mp:02d}_optim_states.pt"
                    # two 256-entry fp32 code tables
                    files.setdefault((mp, d), {}).setdefault(f, 2048 if recipe == "adam8bit" else 0)
                    files[(mp, d)][f] += optimizer_bytes(o, recipe)
    # every model-parallel rank (dp 0, zero < 3) has an mp_rank file, even when it holds no tensor
    if zero < 3:
        for mp in range(tp * pp):
            files.setdefault((mp, 0), {}).setdefault(f"mp_rank_{mp:02d}_model_states.pt", 0)
    ranks = {}
    for (mp, d), fs in files.items():
        ranks[d * tp * pp + mp] = {"bytes": sum(fs.values()), "files": len(fs)}
    out = {"model": model, "recipe": recipe, "tp": tp, "pp": pp, "dp": dp, "zero": zero, "scale": scale,
           "parameters": total_params,
           "total_bytes": sum(r["bytes"] for r in ranks.values()),
           "total_files": sum(r["files"] for r in ranks.values()),
           "writing_ranks": len(ranks), "rank_bytes": {k: ranks[k]["bytes"] for k in sorted(ranks)}}
    if with_files:
        out["files"] = {f: b for fs in files.values() for f, b in fs.items()}
        out["rank_files"] = {d * tp * pp + mp: sorted(fs) for (mp, d), fs in files.items()}
    return out


def batch_case(text):
    model, recipe, tp, pp, dp, zero, scale = text.split(":")
    return sizes(model, recipe, int(tp), int(pp), int(dp), int(zero), float(scale), True)


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    if "--batch" in sys.argv:
        print(json.dumps([batch_case(a) for a in args]))
        return
    model, recipe, tp, pp, dp = args[0], args[1], *map(int, args[2:5])
    zero = int(args[5]) if len(args) > 5 else (1 if dp > 1 else 0)
    scale = next((float(a[8:]) for a in sys.argv if a.startswith("--scale=")), 1)
    print(json.dumps(sizes(model, recipe, tp, pp, dp, zero, scale, "--files" in sys.argv), indent=1))


main()
