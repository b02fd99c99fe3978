/* Every kind of mistake against the place, the found and the allowed that its error must name. */
#include "base/json.h"
#include "tests/check.h"

static lh_json_document *read_text(const char *text)
{
  lh_json_document *document;
  REQUIRE_OK(lh_json_read_text("test.json", text, &document));
  return document;
}

/* The failure says all of these, in one line. */
static void expect_said(lh_status status, const char *what, const char *const *words)
{
  CHECK(status == LH_EINVAL, "%s: status %s", what, lh_status_text(status));
  for (; *words; words++)
    CHECK(strstr(lh_fail_text(), *words), "%s: \"%s\" does not say \"%s\"", what, lh_fail_text(),
          *words);
  CHECK(!strchr(lh_fail_text(), '\n'), "%s: more than one line", what);
}
#define SAYS(status, ...) expect_said(status, #status, (const char *const[]){__VA_ARGS__, NULL})

static void syntax(void)
{
  lh_json_document *d;
  SAYS(lh_json_read_text("f", "{\n  \"a\": 1,\n}", &d), "f: line 3, column 1: not valid JSON",
       "comma before a closing brace");
  CHECK(!d, "a document in spite of the error");
  SAYS(lh_json_read_text("f", "{\"a\": 1\n \"b\": 2}", &d), "line 2, column 2", "`\"b\": 2}`");
  SAYS(lh_json_read_text("f", "{\"a\": [1, 2}", &d), "line 1, column 12", "bracket is missing");
  SAYS(lh_json_read_text("f", "[1, 2, ]", &d), "column 8", "comma before a closing bracket");
  SAYS(lh_json_read_text("f", "{\"a\": ", &d), "column 7", "too early");
  SAYS(lh_json_read_text("f", "", &d), "line 1, column 1", "too early");
  SAYS(lh_json_read_text("f", "{'a': 1}", &d), "column 2", "double quotes");
  SAYS(lh_json_read_text("f", "{\"a\": 'x'}", &d), "column 7", "double quotes");
  SAYS(lh_json_read_text("f", "{\"a\" 1}", &d), "column 6", "colon");
  SAYS(lh_json_read_text("f", "{\"a\": 10Gbps}", &d), "column 9", "\"10Gbps\"");
  SAYS(lh_json_read_text("f", "{\"a\": True}", &d), "column 7", "double quotes");
  SAYS(lh_json_read_text("f", "{} trailing", &d), "column 4", "trailing");
  SAYS(lh_json_read_text("f", "{// no\n}", &d), "no comments");
  SAYS(lh_json_read_text("f", "[\"a\nb\"]", &d), "line 1, column 4", "its own line");
  SAYS(lh_json_read_text("f", "[\"\\x\"]", &d), "column 4", "escape");
  SAYS(lh_json_read_text("f", "[\"\\u12g4\"]", &d), "column 7", "hexadecimal");
  SAYS(lh_json_read_text("f", "[01]", &d), "column 2");
  SAYS(lh_json_read_text("f", "[1.]", &d), "column 4", "digit");
  SAYS(lh_json_read_text("f", "[.5]", &d), "column 2");
  SAYS(lh_json_read_text("f", "[\"\\ud800\"]", &d), "f: ");
  SAYS(lh_json_read_text("f", "{\"x\": {\"a\": 1, \"b\": 2, \"a\": 3}}", &d), "f: x.a:", "twice");
  SAYS(lh_json_read_file("/no/such.json", &d), "/no/such.json", "no such file");
  char deep[5001] = {0};
  memset(deep, '[', 5000);
  SAYS(lh_json_read_text("f", deep, &d), "nested too deeply");
  REQUIRE_OK(lh_json_read_text(
      "f", " {\"\\u00e9\\n\": [-0.5e+3, 1E2, true, null, \"\\\"\", {}, [ ]]}\n", &d));
  lh_json_document_free(d);
}

static void places(void)
{
  lh_json_document *d = read_text("{\"a\": [{\"b\": {\"c\": 1}}, 7], \"A\": 2}");
  const lh_json root = lh_json_root(d);
  const lh_json b = lh_json_get(lh_json_at(lh_json_get(root, "a"), 0), "b");
  char path[64];
  CHECK(strcmp(lh_json_path(lh_json_get(b, "c"), path, sizeof path), "a[0].b.c") == 0, "%s", path);
  CHECK(strcmp(lh_json_path(root, path, sizeof path), "(top level)") == 0, "%s", path);
  CHECK(lh_json_size(lh_json_get(root, "a")) == 2 && lh_json_size(lh_json_get(root, "z")) == 0,
        "sizes");
  size_t value;
  REQUIRE_OK(lh_json_size_value(lh_json_get(root, "A"), 0, 9, &value));
  CHECK(value == 2, "a and A are different keys, got %zu", value);

  SAYS(lh_json_size_value(lh_json_get(b, "z"), 1, 5, &value),
       "test.json: a[0].b.z: found nothing, allowed: a whole number in 1..5");
  /* below something absent, the outermost missing thing is named */
  SAYS(lh_json_size_value(lh_json_get(lh_json_get(root, "y"), "z"), 1, 5, &value), ": y: found");
  SAYS(lh_json_size_value(lh_json_at(lh_json_get(root, "a"), 5), 1, 5, &value), "found nothing");
  SAYS(lh_json_size_value(lh_json_at(lh_json_get(root, "a"), 1), 1, 5, &value), "a[1]", "found 7");
  CHECK(lh_json_folder(root)[0] == '\0', "folder of a bare name");
  lh_json_document_free(d);
  REQUIRE_OK(lh_json_read_text("some/where/x.json", "{}", &d));
  CHECK(strcmp(lh_json_folder(lh_json_root(d)), "some/where/") == 0, "folder");
  CHECK(strcmp(lh_json_file(lh_json_root(d)), "some/where/x.json") == 0, "file");
  lh_json_document_free(d);
}

static const char *const values_text =
    "{\"s\": \"text\", \"t\": true, \"x\": 2.385, \"n\": 97, \"neg\": -1, \"big\": 1e999,"
    " \"half\": 0.5, \"seed\": \"18446744073709551615\", \"over\": \"18446744073709551616\","
    " \"rate\": \"10Gbps\", \"time\": \"10ms\", \"list\": [1, 2.5], \"mixed\": [1, \"a\"],"
    " \"choice\": \"ring\", \"off\": \"rign\", \"schema\": \"longhaul/platform/1\", \"o\": {},"
    " \"zero\": \"0\", \"lead\": \"007\", \"null\": null}";
#define AT(key) lh_json_get(r, key)

static void numbers(void)
{
  lh_json_document *d = read_text(values_text);
  const lh_json r = lh_json_root(d);
  double x;
  size_t n;
  uint64_t u;
  REQUIRE_OK(lh_json_double(AT("x"), 0, 3, &x));
  CHECK(x == 2.385, "%g", x);
  REQUIRE_OK(lh_json_double(AT("x"), 2.385, 2.385, &x)); /* inclusive */
  SAYS(lh_json_double(AT("x"), 0, 1, &x), "found 2.385, allowed: a number in 0..1");
  SAYS(lh_json_double(AT("neg"), 0, INFINITY, &x), "found -1, allowed: a number of 0 or more");
  SAYS(lh_json_double(AT("big"), -INFINITY, INFINITY, &x), "allowed: a number");
  SAYS(lh_json_double(AT("null"), 0, 1, &x), "found null");
  REQUIRE_OK(lh_json_size_value(AT("n"), 97, 97, &n));
  SAYS(lh_json_size_value(AT("half"), 0, SIZE_MAX, &n), "found 0.5", "a whole number of 0 or more");
  SAYS(lh_json_size_value(AT("neg"), 0, SIZE_MAX, &n), "found -1");
  SAYS(lh_json_size_value(AT("n"), 0, 96, &n), "in 0..96");
  REQUIRE_OK(lh_json_uint64(AT("seed"), &u));
  CHECK(u == UINT64_MAX, "%llu", (unsigned long long)u);
  REQUIRE_OK(lh_json_uint64(AT("n"), &u));
  CHECK(u == 97, "%llu", (unsigned long long)u);
  REQUIRE_OK(lh_json_uint64(AT("zero"), &u));
  CHECK(u == 0, "%llu", (unsigned long long)u);
  REQUIRE_OK(lh_json_uint64(AT("lead"), &u));
  CHECK(u == 7, "%llu", (unsigned long long)u);
  SAYS(lh_json_uint64(AT("over"), &u), "18446744073709551616");
  SAYS(lh_json_uint64(AT("neg"), &u), "found -1");
  lh_json_document_free(d);
}

static void other_values(void)
{
  lh_json_document *d = read_text(values_text);
  const lh_json r = lh_json_root(d);
  const char *s;
  bool t;
  double x, *list;
  size_t n;
  REQUIRE_OK(lh_json_string(AT("s"), &s));
  CHECK(strcmp(s, "text") == 0, "%s", s);
  SAYS(lh_json_string(AT("n"), &s), "n: found 97, allowed: a string");
  REQUIRE_OK(lh_json_bool(AT("t"), &t));
  CHECK(t, "true");
  SAYS(lh_json_bool(AT("s"), &t), "found \"text\", allowed: true or false");
  REQUIRE_OK(lh_json_quantity(AT("rate"), LH_UNIT_BYTES_PER_S, &x));
  CHECK(x == 1.25e9, "%g", x);
  SAYS(lh_json_quantity(AT("n"), LH_UNIT_BYTES_PER_S, &x), "n: found 97", "without a unit",
       "\"10Gbps\"");
  SAYS(lh_json_quantity(AT("time"), LH_UNIT_BYTES_PER_S, &x), "time: found \"10ms\"");
  SAYS(lh_json_quantity(AT("absent"), LH_UNIT_S, &x), "absent: found nothing", "a time");
  REQUIRE_OK(lh_json_doubles(AT("list"), &list, &n));
  CHECK(n == 2 && list[0] == 1 && list[1] == 2.5, "list");
  free(list);
  SAYS(lh_json_doubles(AT("mixed"), &list, &n), "mixed[1]: found \"a\"");
  CHECK(!list, "a list in spite of the error");
  SAYS(lh_json_doubles(AT("o"), &list, &n), "found an object, allowed: an array");
  SAYS(lh_json_expect_object(AT("list")), "found an array of 2");
  REQUIRE_OK(lh_json_check_schema(r, "platform"));
  REQUIRE_OK(lh_json_check_schema(AT("o"), "platform"));
  SAYS(lh_json_check_schema(r, "device"), "schema: found", "\"longhaul/device/1\"");
  lh_json_document_free(d);
}

static void lists_and_defaults(void)
{
  static const char *const names[] = {"tree", "ring", NULL};
  static const char *const keys[] = {"chunk", "top_k", NULL};
  lh_json_document *d = read_text(values_text);
  const lh_json r = lh_json_root(d);
  double x;
  size_t n;
  REQUIRE_OK(lh_json_choice(AT("choice"), names, &n));
  CHECK(n == 1, "%zu", n);
  SAYS(lh_json_choice(AT("off"), names, &n), "found \"rign\"", "\"tree\", \"ring\"",
       "did you mean \"ring\"?");
  SAYS(lh_json_choice(AT("n"), names, &n), "found 97, allowed: \"tree\", \"ring\"");
  REQUIRE_OK(lh_json_check_keys(AT("o"), keys));
  REQUIRE_OK(lh_json_double_or(AT("absent"), 0, 1, 7, &x));
  CHECK(x == 7, "%g", x);
  SAYS(lh_json_double_or(AT("x"), 0, 1, 7, &x), "2.385"); /* present and wrong stays wrong */
  REQUIRE_OK(lh_json_size_or(lh_json_get(AT("absent"), "deeper"), 1, 9, 5, &n));
  CHECK(n == 5, "%zu", n);
  REQUIRE_OK(lh_json_choice_or(AT("absent"), names, 1, &n));
  CHECK(n == 1, "%zu", n);
  lh_json_document_free(d);

  d = read_text("{\"method\": {\"topk\": 3}}");
  SAYS(lh_json_check_keys(lh_json_get(lh_json_root(d), "method"), keys),
       "test.json: method: ", "unknown key \"topk\"", "chunk, top_k", "did you mean \"top_k\"?");
  lh_json_document_free(d);
}

static void expect_text(char *got, const char *expected)
{
  CHECK(strcmp(got, expected) == 0, "got %s, expected %s", got, expected);
  free(got);
}

static void editing(void)
{
  cJSON *base = cJSON_Parse("{\"b\": {\"x\": 1, \"y\": [1, 2]}, \"a\": 0.1}");
  cJSON *over = cJSON_Parse("{\"b\": {\"y\": [3], \"z\": {\"k\": null}}, \"A\": \"q\\\"\\n\"}");
  REQUIRE_OK(lh_json_merge(base, over));
  expect_text(lh_json_canonical(base),
              "{\"A\":\"q\\\"\\u000a\",\"a\":0.1,\"b\":{\"x\":1,\"y\":[3],\"z\":{\"k\":null}}}");
  expect_text(lh_json_print(base),
              "{\"b\":{\"x\":1,\"y\":[3],\"z\":{\"k\":null}},\"a\":0.1,\"A\":\"q\\\"\\u000a\"}");

  REQUIRE_OK(lh_json_set_path(base, "b.z.new.deep", lh_json_parse_value("2e3")));
  REQUIRE_OK(lh_json_set_path(base, "b.y.0", lh_json_parse_value("10Gbps")));
  REQUIRE_OK(lh_json_set_path(base, "b.y.1", lh_json_parse_value("[true]")));
  REQUIRE_OK(lh_json_set_path(base, "a", lh_json_parse_value("{\"k\": \"v\"}")));
  expect_text(
      lh_json_canonical(base),
      "{\"A\":\"q\\\"\\u000a\",\"a\":{\"k\":\"v\"},\"b\":{\"x\":1,\"y\":[\"10Gbps\",[true]],"
      "\"z\":{\"k\":null,\"new\":{\"deep\":2000}}}}");
  SAYS(lh_json_set_path(base, "b.y.7", cJSON_CreateNull()), "b.y.7", "0..2");
  SAYS(lh_json_set_path(base, "b.x.q", cJSON_CreateNull()), "\"x\" is a plain value");
  SAYS(lh_json_set_path(base, "", cJSON_CreateNull()), "allowed: a path");
  SAYS(lh_json_set_path(base, "a..b", cJSON_CreateNull()), "allowed: a path");
  SAYS(lh_json_set_path(base, "a.", cJSON_CreateNull()), "allowed: a path");

  const cJSON *found = lh_json_find_path(base, "b.y.0");
  CHECK(found && strcmp(found->valuestring, "10Gbps") == 0, "find an element");
  CHECK(!lh_json_find_path(base, "b.q.r") && !lh_json_find_path(base, "b.x.r"), "absent");
  cJSON_Delete(base);
  cJSON_Delete(over);
}

int main(void)
{
  syntax();
  places();
  numbers();
  other_values();
  lists_and_defaults();
  editing();
  return check_report("json");
}
