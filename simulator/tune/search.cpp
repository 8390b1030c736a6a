#include "simulator/tune/search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/invariant.h"
#include "simulator/run/statistics.h"

namespace ckptsim::simulator {
namespace {

constexpr std::size_t kRivals = 3;  // settings that reach the final comparison
constexpr std::size_t kLeastRounds = 3;
constexpr std::size_t kMostRounds = 9;

std::size_t changes(const Settings& a, const Settings& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) ++count;
  }
  return count;
}

// Every combination of the dimensions that are in the product, the fewest changes first.
std::vector<Settings> product(const std::vector<Dimension>& dimensions) {
  const Settings start = configured_settings(dimensions);
  std::vector<Settings> all = {start};
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    if (!dimensions[i].in_product) continue;
    std::vector<Settings> larger;
    for (const Settings& settings : all) {
      for (const std::string& value : dimensions[i].values) {
        larger.push_back(settings);
        larger.back()[i] = dimensions[i].key + "=" + value;
      }
    }
    all = std::move(larger);
  }
  std::stable_sort(all.begin(), all.end(), [&](const Settings& a, const Settings& b) {
    return changes(a, start) < changes(b, start);
  });
  return all;
}

// How many settings the dimensions outside the product add.
std::size_t settings_outside_product(const std::vector<Dimension>& dimensions) {
  std::size_t count = 0;
  for (const Dimension& dimension : dimensions)
    count += dimension.in_product ? 0 : dimension.values.size() - 1;
  return count;
}

class Search {
 public:
  Search(const std::vector<Dimension>& dimensions, const Measure& measure, const storage::Clock& clock,
         storage::Clock::Time deadline)
      : dimensions_(dimensions), measure_(measure), clock_(clock), deadline_(deadline) {}

  Found execute() {
    screen_product();
    screen_one_by_one();
    compare();
    decide();
    return std::move(found_);
  }

 private:
  // Whether so many more measurements are expected to end in time.
  [[nodiscard]] bool time_for(std::size_t measurements) const {
    if (measured_ == 0) return true;
    const storage::Clock::Time mean = spent_ / static_cast<std::int64_t>(measured_);
    return clock_.now() + mean * static_cast<std::int64_t>(measurements) <= deadline_;
  }

  // The same, and the least comparison after it.
  [[nodiscard]] bool time_to_screen(std::size_t measurements) const {
    return time_for(measurements + kLeastRounds * (most_rivals_ + 1));
  }

  // None where the settings are refused.
  std::optional<double> measure(std::size_t trial) {
    const storage::Clock::Time start = clock_.now();
    const Outcome outcome = measure_(found_.trials[trial].settings);
    if (outcome.refusal.empty()) {
      spent_ += clock_.now() - start;
      ++measured_;
      return outcome.gb_per_s;
    }
    require(trial != 0, "the configured settings are never refused");
    found_.trials[trial].refusal = outcome.refusal;
    return std::nullopt;
  }

  std::optional<double> screen(std::size_t trial) {
    const std::optional<double> gb_per_s = measure(trial);
    if (gb_per_s.has_value()) found_.trials[trial].screened.push_back(*gb_per_s);
    return gb_per_s;
  }

  std::size_t add(Settings settings) {
    found_.trials.push_back({.settings = std::move(settings)});
    return found_.trials.size() - 1;
  }

  void screen_product() {
    std::vector<Settings> all = product(dimensions_);
    most_rivals_ = std::min(kRivals, all.size() - 1 + settings_outside_product(dimensions_));
    const auto several = std::find_if(
        all.begin(), all.end(), [&](const Settings& settings) { return changes(settings, all.front()) > 1; });
    screen_all(all.begin(), several);
    std::stable_sort(several, all.end(),
                     [&](const Settings& a, const Settings& b) { return promise(a) > promise(b); });
    screen_all(several, all.end());
  }

  void screen_all(std::vector<Settings>::iterator begin, std::vector<Settings>::iterator end) {
    // Each of the settings outside the product, and the fastest so far beside it.
    const std::size_t later = 2 * settings_outside_product(dimensions_);
    for (auto settings = begin; settings != end; ++settings) {
      if (!found_.trials.empty() && !time_to_screen(1 + later)) {
        ++found_.not_tried;
        continue;
      }
      const std::size_t trial = add(std::move(*settings));
      const std::optional<double> gb_per_s = screen(trial);
      if (gb_per_s.has_value() && *gb_per_s > found_.trials[fastest_].screened.front()) fastest_ = trial;
    }
  }

  // Of a combination of changes: what each did alone, added up; 0 for one that was refused or not tried.
  [[nodiscard]] double promise(const Settings& settings) const {
    double sum = 0;
    for (const Trial& trial : found_.trials) {
      const bool is_part = changed_of(trial) == 1 && changes(trial.settings, settings) + 1 ==
                                                         changes(found_.trials[0].settings, settings);
      if (is_part) sum += median(trial.screened);
    }
    return sum;
  }

  // A figure that won against many others was lucky as well, so that each value meets a fresh one.
  void screen_one_by_one() {
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      const Dimension& dimension = dimensions_[i];
      if (dimension.in_product) continue;
      for (std::size_t value = 1; value < dimension.values.size(); ++value) {
        if (!time_to_screen(2)) {
          ++found_.not_tried;
          continue;
        }
        Settings settings = found_.trials[fastest_].settings;
        settings[i] = dimension.key + "=" + dimension.values[value];
        const std::size_t trial = add(std::move(settings));
        const std::optional<double> gb_per_s = screen(trial);
        if (!gb_per_s.has_value()) continue;
        const std::optional<double> fresh = screen(fastest_);
        if (!fresh.has_value() || *gb_per_s > *fresh) fastest_ = trial;
      }
    }
  }

  // What the coordinate search arrived at, and the fastest of the rest.
  [[nodiscard]] std::vector<std::size_t> rivals() const {
    std::vector<std::size_t> order;
    for (std::size_t trial = 1; trial < found_.trials.size(); ++trial) {
      if (found_.trials[trial].refusal.empty()) order.push_back(trial);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if ((a == fastest_) != (b == fastest_)) return a == fastest_;
      return median(found_.trials[a].screened) > median(found_.trials[b].screened);
    });
    if (order.size() > kRivals) order.resize(kRivals);
    return order;
  }

  void compare() {
    std::vector<std::size_t> order = rivals();
    order.insert(order.begin(), 0);
    const auto refused = [&](std::size_t trial) { return !found_.trials[trial].refusal.empty(); };
    while (order.size() > 1 && found_.comparisons < kMostRounds && time_for(order.size())) {
      for (const std::size_t trial : order) {
        const std::optional<double> gb_per_s = measure(trial);
        if (gb_per_s.has_value()) found_.trials[trial].compared.push_back(*gb_per_s);
      }
      ++found_.comparisons;
      order.erase(std::remove_if(order.begin(), order.end(), refused), order.end());
      std::reverse(order.begin(), order.end());
    }
    rivals_ = std::move(order);
  }

  // What a rival's median has to be better by.
  [[nodiscard]] double noise_against(std::size_t trial) const {
    return std::max(spread(found_.trials[0].compared), spread(found_.trials[trial].compared));
  }

  [[nodiscard]] double compared_median(std::size_t trial) const {
    return median(found_.trials[trial].compared);
  }

  void decide() {
    rivals_.erase(std::remove(rivals_.begin(), rivals_.end(), std::size_t{0}), rivals_.end());
    if (rivals_.empty() || found_.comparisons < kLeastRounds) {
      const bool all_refused = rivals_.empty() && found_.not_tried == 0 && found_.trials.size() > 1;
      found_.verdict = all_refused ? Verdict::kNotBetter : Verdict::kOutOfTime;
      return;
    }
    // Settled by the order of trials where medians are equal, whichever way the last round went.
    std::sort(rivals_.begin(), rivals_.end());
    const auto slower = [&](std::size_t a, std::size_t b) { return compared_median(a) < compared_median(b); };
    const double configured_median = compared_median(0);
    const auto beats = [&](std::size_t trial) {
      return compared_median(trial) > configured_median * (1 + noise_against(trial));
    };
    const std::size_t strongest = *std::max_element(rivals_.begin(), rivals_.end(), slower);
    found_.noise = noise_against(strongest);
    found_.verdict = Verdict::kNotBetter;
    std::vector<std::size_t> winners;
    std::copy_if(rivals_.begin(), rivals_.end(), std::back_inserter(winners), beats);
    if (winners.empty()) return;

    const std::size_t top = *std::max_element(winners.begin(), winners.end(), slower);
    const double near_top = compared_median(top) / (1 + noise_against(top));
    found_.best = top;
    for (const std::size_t winner : winners) {
      if (compared_median(winner) < near_top) continue;
      if (changed_of(found_.trials[winner]) < changed_of(found_.trials[found_.best])) found_.best = winner;
    }
    found_.verdict = Verdict::kBetter;
    found_.noise = noise_against(found_.best);
    found_.gain = compared_median(found_.best) / configured_median - 1;
  }

  [[nodiscard]] std::size_t changed_of(const Trial& trial) const {
    return changes(trial.settings, found_.trials[0].settings);
  }

  const std::vector<Dimension>& dimensions_;
  const Measure& measure_;
  const storage::Clock& clock_;
  storage::Clock::Time deadline_;
  storage::Clock::Time spent_{};
  std::size_t measured_ = 0;
  std::size_t fastest_ = 0;
  std::size_t most_rivals_ = kRivals;
  std::vector<std::size_t> rivals_;
  Found found_;
};

}  // namespace

Settings configured_settings(const std::vector<Dimension>& dimensions) {
  Settings settings;
  for (const Dimension& dimension : dimensions)
    settings.push_back(dimension.key + "=" + dimension.values.front());
  return settings;
}

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  if (values.size() < 2 || middle <= 0) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return (*most - *least) / middle;
}

Found search(const std::vector<Dimension>& dimensions, const Measure& measure, const storage::Clock& clock,
             storage::Clock::Time deadline) {
  return Search(dimensions, measure, clock, deadline).execute();
}

}  // namespace ckptsim::simulator
