// engine/runtime/profile_text.cpp -- profiles as tables, and in the Trace Event Format.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "gnomon/error.h"
#include "gnomon/paths.h"
#include "gnomon/profile.h"

namespace gnomon {
namespace {

std::string number(const char* format, double x) {
  char text[64];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width > text.size() ? width - text.size() : 0, ' ');
  return right ? space + text : text + space;
}

// RFC 8259, section 7.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

std::string to_string(const Profile& p) {
  const std::vector<std::string> head = {"kernel",       "count", "total us", "mean us",
                                         "estimated us", "share", "lines"};
  std::vector<std::vector<std::string>> table = {head};
  double all = 0;
  std::uint64_t count = 0;
  for (const ProfileRow& r : p.rows) all += r.total_us, count += r.count;
  for (const ProfileRow& r : p.rows)
    table.push_back({r.kernel, std::to_string(r.count), number("%.1f", r.total_us),
                     number("%.2f", r.mean_us()),
                     r.estimated_us > 0 ? number("%.2f", r.estimated_us) : "-",
                     number("%.1f%%", all > 0 ? 100 * r.total_us / all : 0), r.where});
  std::vector<std::size_t> widths(head.size());
  for (const auto& row : table)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : table) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool numbers = i > 0 && i + 1 < row.size();
      line += (i == 0 ? "" : "  ") + padded(row[i], widths[i], numbers);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  text += "`" + p.program + "` on " + p.device + ": " + std::to_string(count) + " dispatches, " +
          number("%.1f", all) + " us in kernels of " + number("%.1f", p.wall_us) + " us\n";
  if (!p.device_clock)
    text +=
        "the device's queue has no timestamps (timestampValidBits is 0): times are the host's, "
        "submission and waiting included\n";
  return text;
}

std::string chrome_trace(std::span<const Profile> profiles) {
  // Trace Event Format: complete events ("ph": "X") of a process for each call, in microseconds,
  // named by metadata events ("ph": "M").
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool first = true;
  const auto add = [&](const std::string& event) {
    text += (first ? "\n" : ",\n") + event;
    first = false;
  };
  for (std::size_t call = 0; call < profiles.size(); ++call) {
    const Profile& p = profiles[call];
    const std::string process = "\"pid\":" + std::to_string(call + 1) + ",\"tid\":1";
    const auto names = [&](const char* what, const std::string& name) {
      add("{\"ph\":\"M\",\"name\":\"" + std::string(what) + "\"," + process +
          ",\"args\":{\"name\":" + in_quotes(name) + "}}");
    };
    names("process_name", p.program);
    names("thread_name", p.device + (p.device_clock ? "" : " (the host's clock)"));
    for (const ProfileEvent& e : p.events) {
      const ProfileRow& r = p.rows[e.row];
      add("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":" + in_quotes(r.kernel) + "," + process +
          ",\"ts\":" + number("%.3f", e.start_us) + ",\"dur\":" + number("%.3f", e.took_us) +
          ",\"args\":{\"lines\":" + in_quotes(r.where) + "}}");
    }
  }
  return text + "\n]}\n";
}

void write_chrome_trace(const std::string& path, std::span<const Profile> profiles) {
  const std::string text = chrome_trace(profiles);
  std::ofstream file(path_of(path), std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw FileError("gnomon::write_chrome_trace: \"" + path +
                    "\" cannot be written; check the path and the disk");
}

}  // namespace gnomon
