"""What `--check` holds the figures to."""
import dataclasses

MEMCPY_AT_LEAST = {"avx512": 1.5, "avx2": 0.8, "portable": 0.3}
MOST_RSS_BYTES = 128 << 20
MOST_IDLE_SHARE = 0.03


@dataclasses.dataclass(frozen=True)
class Condition:
    name: str
    holds: bool
    words: str  # figure and limit


def at_least(name, value, limit, unit=""):
    return Condition(name, value >= limit, f"{value:.4g}{unit}, at least {limit:.4g}{unit}")


def at_most(name, value, limit, unit=""):
    return Condition(name, value <= limit, f"{value:.4g}{unit}, at most {limit:.4g}{unit}")


def noise_floor(fio_vs_fio_p05):
    """What fio reaches against itself, where it does so within 15 %."""
    return max(0.85, min(1.0, fio_vs_fio_p05))


def fio_limit(fio_vs_fio_p05):
    return 0.97 * noise_floor(fio_vs_fio_p05)


def fio_read_limit(fio_read_vs_fio_p05):
    """Opening a file and finding its records is part of a load, and no part of fio's reading."""
    return 0.95 * noise_floor(fio_read_vs_fio_p05)


def verify_limit(fio_read_vs_fio_p05):
    """Every byte is made again and compared, by one core a rank."""
    return 0.5 * noise_floor(fio_read_vs_fio_p05)


def torch_limit(fio_gb_per_s, torch_gb_per_s):
    """Half again as fast as torch.save, or 97 % of what the drive leaves to be won."""
    return min(1.5, 0.97 * fio_gb_per_s / torch_gb_per_s)


def cpu_limit(torch_save_cpu_s_per_gb, registered):
    return torch_save_cpu_s_per_gb / (10 if registered else 6)


def of_ranks(ranks, figures):
    suffix = f" with {ranks} ranks"
    return [
        at_least("ratio_vs_fio" + suffix, figures["ratio_vs_fio"], fio_limit(figures["fio_vs_fio_p05"])),
        at_least("ratio_vs_torch_save" + suffix, figures["ratio_vs_torch_save"],
                 torch_limit(figures["fio_gb_per_s"], figures["torch_gb_per_s"])),
        at_most("idle_share" + suffix, figures["idle_share"], MOST_IDLE_SHARE),
        at_most("cpu_s_per_gb" + suffix, figures["cpu_s_per_gb"],
                cpu_limit(figures["torch_save_cpu_s_per_gb"], figures["registered"])),
        at_most("max_rss_bytes_per_rank" + suffix, figures["max_rss_bytes_per_rank"] / (1 << 20),
                MOST_RSS_BYTES / (1 << 20), " MiB"),
        at_least("read_ratio_vs_fio" + suffix, figures["read_ratio_vs_fio"],
                 fio_read_limit(figures["fio_read_vs_fio_p05"])),
        at_least("verify_ratio_vs_fio" + suffix, figures["verify_ratio_vs_fio"],
                 verify_limit(figures["fio_read_vs_fio_p05"])),
    ]


def all_of(line):
    """Every condition, of every number of ranks; an instruction set without a limit is a KeyError."""
    conditions = []
    for ranks, figures in line["by_ranks"].items():
        conditions += of_ranks(ranks, figures)
    conditions.append(at_least(f"ratio_vs_memcpy on {line['simd']}", line["ratio_vs_memcpy"],
                               MEMCPY_AT_LEAST[line["simd"]]))
    return conditions
