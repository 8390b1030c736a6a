"""From samples to figures: medians, their ratios, and how far the machine's own noise reaches."""
import random
import statistics

BOOTSTRAP_SEED = 1
BOOTSTRAP_SAMPLES = 10_000


def ratio(numerator, denominator):
    """Of the medians."""
    return statistics.median(numerator) / statistics.median(denominator)


def fio_vs_fio_p05(first, second, seed=BOOTSTRAP_SEED, samples=BOOTSTRAP_SAMPLES):
    """What fio itself reaches against fio in 19 of 20 comparisons of this length: pairs drawn with replacement, as many as
    there are, the ratio of the medians of their two runs, and of those the 5th percentile."""
    if len(first) != len(second) or not first:
        raise ValueError(f"{len(first)} and {len(second)} runs are no pairs")
    generator = random.Random(seed)
    ratios = []
    for _ in range(samples):
        drawn = [generator.randrange(len(first)) for _ in first]
        ratios.append(ratio([second[pair] for pair in drawn], [first[pair] for pair in drawn]))
    return sorted(ratios)[int(0.05 * samples)]


def of_ranks(samples):
    """The figures of one number of ranks."""
    median = statistics.median
    return {
        "fio_gb_per_s": median(samples.fio),
        "fio_again_gb_per_s": median(samples.fio_again),
        "ckptsim_gb_per_s": median(samples.ckptsim),
        "torch_gb_per_s": median(samples.torch),
        "ratio_vs_fio": ratio(samples.ckptsim, samples.fio),
        "fio_vs_fio_p05": fio_vs_fio_p05(samples.fio, samples.fio_again),
        "ratio_vs_torch_save": ratio(samples.ckptsim, samples.torch),
        "idle_share": median(samples.idle_share),
        "cpu_s_per_gb": median(samples.cpu_s_per_gb),
        "process_cpu_s_per_gb": median(samples.process_cpu_s_per_gb),
        "torch_save_cpu_s_per_gb": median(samples.torch_cpu_s_per_gb),
        "max_rss_bytes_per_rank": max(samples.max_rss_bytes),
        "torch_save_max_rss_bytes_per_rank": max(samples.torch_max_rss_bytes),
        "registered": samples.registered,
        "bytes": samples.bytes,
        **of_reading(samples.read),
    }


def of_reading(samples):
    """The figures of reading back with one number of ranks."""
    median = statistics.median
    return {
        "fio_read_gb_per_s": median(samples.fio),
        "fio_read_again_gb_per_s": median(samples.fio_again),
        "ckptsim_read_gb_per_s": median(samples.ckptsim),
        "verify_gb_per_s": median(samples.verify),
        "read_ratio_vs_fio": ratio(samples.ckptsim, samples.fio),
        "verify_ratio_vs_fio": ratio(samples.verify, samples.fio),
        "fio_read_vs_fio_p05": fio_vs_fio_p05(samples.fio, samples.fio_again),
        "read_idle_share": median(samples.idle_share),
    }


# What of the line belongs to one number of ranks: the one with the lowest ratio_vs_fio, so that these fit each other.
FROM_THE_LOWEST = ("fio_gb_per_s", "torch_gb_per_s", "ckptsim_gb_per_s", "ratio_vs_fio", "fio_vs_fio_p05",
                   "ratio_vs_torch_save", "cpu_s_per_gb", "process_cpu_s_per_gb", "torch_save_cpu_s_per_gb", "bytes")


# And to the one with the lowest read_ratio_vs_fio.
FROM_THE_LOWEST_READ = ("fio_read_gb_per_s", "ckptsim_read_gb_per_s", "verify_gb_per_s", "read_ratio_vs_fio",
                        "verify_ratio_vs_fio", "fio_read_vs_fio_p05")


def line(measured, settings):
    """All fields of the JSON line."""
    by_ranks = {ranks: of_ranks(samples) for ranks, samples in measured.by_ranks.items()}
    lowest = min(by_ranks, key=lambda ranks: by_ranks[ranks]["ratio_vs_fio"])
    lowest_read = min(by_ranks, key=lambda ranks: by_ranks[ranks]["read_ratio_vs_fio"])
    facts = measured.facts
    return {
        **{field: by_ranks[lowest][field] for field in FROM_THE_LOWEST},
        "lowest_ranks": lowest,
        **{field: by_ranks[lowest_read][field] for field in FROM_THE_LOWEST_READ},
        "lowest_read_ranks": lowest_read,
        "read_ratio_vs_fio_by_ranks": {str(ranks): figures["read_ratio_vs_fio"] for ranks, figures in by_ranks.items()},
        "ratio_vs_fio_by_ranks": {str(ranks): figures["ratio_vs_fio"] for ranks, figures in by_ranks.items()},
        "fio_vs_fio_p05_by_ranks": {str(ranks): figures["fio_vs_fio_p05"] for ranks, figures in by_ranks.items()},
        "idle_share": max(figures["idle_share"] for figures in by_ranks.values()),
        "max_rss_bytes_per_rank": max(figures["max_rss_bytes_per_rank"] for figures in by_ranks.values()),
        "null_gb_per_s_per_core": statistics.median(measured.null),
        "memcpy_gb_per_s": statistics.median(measured.memcpy),
        "ratio_vs_memcpy": ratio(measured.null, measured.memcpy),
        "simd": facts["simd"],
        "registered": all(figures["registered"] for figures in by_ranks.values()),
        "pairs": settings.pairs,
        "ranks": list(by_ranks),
        "block_bytes": settings.block_bytes,
        "queue_depth": settings.queue_depth,
        "bootstrap_seed": BOOTSTRAP_SEED,
        "by_ranks": {str(ranks): figures for ranks, figures in by_ranks.items()},
        "versions": {"fio": facts["fio"], "torch": facts["torch"], "ckptsim": facts["ckptsim"]},
    }
