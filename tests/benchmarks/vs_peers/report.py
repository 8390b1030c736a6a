"""The figures for people."""
ROWS = (("fio, GB/s", "fio_gb_per_s", ".3f"), ("fio again, GB/s", "fio_again_gb_per_s", ".3f"),
        ("ckptsim, GB/s", "ckptsim_gb_per_s", ".3f"), ("torch.save, GB/s", "torch_gb_per_s", ".3f"),
        ("ckptsim / fio", "ratio_vs_fio", ".3f"), ("fio / fio, 19 of 20", "fio_vs_fio_p05", ".3f"),
        ("ckptsim / torch.save", "ratio_vs_torch_save", ".2f"), ("idle share", "idle_share", ".4f"),
        ("CPU s/GB, ckptsim's ranks", "cpu_s_per_gb", ".4f"),
        ("CPU s/GB, ckptsim's processes", "process_cpu_s_per_gb", ".4f"),
        ("CPU s/GB, torch.save", "torch_save_cpu_s_per_gb", ".3f"),
        ("reading: fio, GB/s", "fio_read_gb_per_s", ".3f"), ("reading: fio again, GB/s", "fio_read_again_gb_per_s", ".3f"),
        ("reading: ckptsim, GB/s", "ckptsim_read_gb_per_s", ".3f"), ("reading: ckptsim / fio", "read_ratio_vs_fio", ".3f"),
        ("verifying: ckptsim, GB/s", "verify_gb_per_s", ".3f"), ("verifying: ckptsim / fio", "verify_ratio_vs_fio", ".3f"),
        ("reading: fio / fio, 19 of 20", "fio_read_vs_fio_p05", ".3f"), ("reading: idle share", "read_idle_share", ".4f"))


def table(line):
    columns = list(line["by_ranks"].values())
    heads = [f"{ranks} rank{'' if ranks == '1' else 's'}" for ranks in line["by_ranks"]]
    rows = [["medians", *heads]]
    rows += [[label, *(format(figures[field], form) for figures in columns)] for label, field, form in ROWS]
    rows += [["memory a rank, MiB", *(f"{figures['max_rss_bytes_per_rank'] / (1 << 20):.0f}" for figures in columns)]]
    width = max(len(row[0]) for row in rows)
    text = "\n".join("  ".join([row[0].ljust(width), *(cell.rjust(8) for cell in row[1:])]) for row in rows)
    return (f"{text}\none core: ckptsim on null {line['null_gb_per_s_per_core']:.2f} GB/s ({line['simd']}), "
            f"memcpy {line['memcpy_gb_per_s']:.2f} GB/s, ratio {line['ratio_vs_memcpy']:.2f}")


def verdicts(conditions):
    return "\n".join(f"{'holds' if condition.holds else 'FAILS'}: {condition.name}: {condition.words}"
                     for condition in conditions)
