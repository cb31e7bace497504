// What the machine itself allows: the same work as plain-script.ts, parsed by simdjson and written
// through SQLite's C interface, with nothing else. limit.ts compiles it.
//
//   curl … | limit <database> <members> <details>        (names, separated by commas)
#include <simdjson.h>
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

using namespace simdjson;

static void check(bool is_right, const char *what) {
  if (is_right) return;
  std::fprintf(stderr, "limit: %s\n", what);
  std::exit(1);
}

static std::vector<std::string> split(const char *text) {
  std::vector<std::string> names;
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) names.push_back(name);
  return names;
}

static padded_string read_all(int file) {
  size_t room = 1 << 24, size = 0;
  char *bytes = static_cast<char *>(std::malloc(room));
  for (;;) {
    if (size == room) bytes = static_cast<char *>(std::realloc(bytes, room *= 2));
    ssize_t got = read(file, bytes + size, room - size);
    if (got <= 0) break;
    size += got;
  }
  padded_string whole(bytes, size);
  std::free(bytes);
  return whole;
}

// Members come in the same order in each row: the name that stood there before is tried first.
struct Columns {
  std::vector<std::string> names;
  int first;
  std::vector<std::pair<std::string, int>> before;

  int at(size_t place, std::string_view name) {
    if (place < before.size() && before[place].first == name) return before[place].second;
    int found = 0;
    for (size_t index = 0; index < names.size(); index += 1) {
      if (names[index] == name) found = first + static_cast<int>(index);
    }
    if (place >= before.size()) before.resize(place + 1);
    before[place] = {std::string(name), found};
    return found;
  }
};

static void bind(sqlite3_stmt *insert, int column, ondemand::value value) {
  switch (value.type()) {
  case ondemand::json_type::string: {
    std::string_view text = value.get_string();
    sqlite3_bind_text(insert, column, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    break;
  }
  case ondemand::json_type::number: {
    ondemand::number number = value.get_number();
    if (number.is_int64()) sqlite3_bind_int64(insert, column, number.get_int64());
    else sqlite3_bind_double(insert, column, number.as_double());
    break;
  }
  case ondemand::json_type::boolean:
    sqlite3_bind_int(insert, column, bool(value.get_bool()));
    break;
  case ondemand::json_type::null:
    break;
  default: {
    std::string_view json = to_json_string(value);
    sqlite3_bind_text(insert, column, json.data(), static_cast<int>(json.size()), SQLITE_STATIC);
  }
  }
}

int main(int count, char **arguments) {
  check(count == 4, "limit <database> <members> <details>");
  padded_string body = read_all(0);
  Columns members{split(arguments[2]), 1, {}};
  Columns details{split(arguments[3]), 1 + static_cast<int>(members.names.size()), {}};
  details.names.push_back("images");

  std::string names, marks, set;
  auto add = [&](const std::string &name) {
    const char *comma = names.empty() ? "" : ", ";
    names += comma + name;
    marks += std::string(comma) + "?";
    set += comma + name + " = excluded." + name;
  };
  for (const auto &name : members.names) add(name);
  for (const auto &name : details.names) add("details_" + name);

  sqlite3 *database = nullptr;
  check(sqlite3_open(arguments[1], &database) == SQLITE_OK, "cannot open the database");
  auto run = [&](const std::string &sql) {
    check(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK, sql.c_str());
  };
  run("pragma journal_mode = wal; pragma synchronous = normal");
  run("create table variant (" + names + ", primary key (barcode)); begin");
  const std::string sql =
      "insert into variant values (" + marks + ") on conflict (barcode) do update set " + set;
  sqlite3_stmt *insert = nullptr;
  check(sqlite3_prepare_v2(database, sql.c_str(), -1, &insert, nullptr) == SQLITE_OK, sql.c_str());

  ondemand::parser parser;
  ondemand::document document = parser.iterate(body);
  for (ondemand::object row : document["data"]["variants"].get_array()) {
    size_t place = 0;
    for (auto field : row) {
      std::string_view name = field.unescaped_key();
      if (name == "details") {
        size_t inner = 0;
        for (auto detail : field.value().get_object()) {
          int column = details.at(inner++, detail.unescaped_key());
          if (column > 0) bind(insert, column, detail.value());
        }
      } else {
        int column = members.at(place, name);
        if (column > 0) bind(insert, column, field.value());
      }
      place += 1;
    }
    check(sqlite3_step(insert) == SQLITE_DONE, "a row was not written");
    sqlite3_reset(insert);
    sqlite3_clear_bindings(insert);
  }
  run("commit");
  sqlite3_finalize(insert);
  check(sqlite3_close(database) == SQLITE_OK, "cannot close the database");
}
