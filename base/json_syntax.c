#include "base/json_syntax.h"

#include <ctype.h>
#include <string.h>

/* One pass of recursive descent over RFC 8259's grammar; nothing is built. */
struct scan {
  const char *at;
  const char *reason; /* set where `at` stays on the offending character */
};

static bool refuse(struct scan *s, const char *reason)
{
  s->reason = *s->at ? reason : "the text ends too early: a bracket, brace or quote is not closed";
  return false;
}

static void skip_space(struct scan *s)
{
  s->at += strspn(s->at, " \t\r\n");
}

static bool scan_escape(struct scan *s)
{
  if (*s->at == 'u') {
    for (int i = 1; i <= 4; i++)
      if (!isxdigit((unsigned char)s->at[i])) {
        s->at += i;
        return refuse(s, "\\u takes four hexadecimal digits");
      }
    s->at += 5;
    return true;
  }
  if (!*s->at || !strchr("\"\\/bfnrt", *s->at))
    return refuse(s, "no such escape in a string");
  s->at++;
  return true;
}

static bool scan_string(struct scan *s)
{
  for (s->at++; *s->at != '"';) {
    if ((unsigned char)*s->at < 0x20)
      return refuse(s, "a string ends on its own line, with a double quote");
    if (*s->at++ == '\\' && !scan_escape(s))
      return false;
  }
  s->at++;
  return true;
}

static bool scan_digits(struct scan *s)
{
  if (!isdigit((unsigned char)*s->at))
    return refuse(s, "a digit is missing");
  while (isdigit((unsigned char)*s->at))
    s->at++;
  return true;
}

static bool scan_number(struct scan *s)
{
  s->at += *s->at == '-';
  if (s->at[0] == '0' && isdigit((unsigned char)s->at[1]))
    return refuse(s, "a number does not begin with 0");
  if (!scan_digits(s))
    return false;
  if (*s->at == '.' && (s->at++, !scan_digits(s)))
    return false;
  if (*s->at == 'e' || *s->at == 'E') {
    s->at++;
    s->at += *s->at == '-' || *s->at == '+';
    if (!scan_digits(s))
      return false;
  }
  if (isalpha((unsigned char)*s->at))
    return refuse(s, "a quantity with a unit is a string: \"10Gbps\"");
  return true;
}

static bool scan_word(struct scan *s)
{
  static const char *const words[] = {"true", "false", "null"};
  for (size_t i = 0; i < 3; i++) {
    const size_t n = strlen(words[i]);
    if (strncmp(s->at, words[i], n) == 0 && !isalnum((unsigned char)s->at[n])) {
      s->at += n;
      return true;
    }
  }
  return refuse(s, *s->at == '\''                   ? "strings stand in double quotes"
                   : *s->at == '/' || *s->at == '#' ? "JSON has no comments"
                   : strchr(",]}:", *s->at)         ? "a value is missing before this"
                   : isalpha((unsigned char)*s->at) ? "text stands in double quotes"
                                                    : "no value begins like this");
}

static bool scan_value(struct scan *s, int depth);

static bool scan_key(struct scan *s)
{
  if (*s->at == '"')
    return scan_string(s);
  return refuse(s, *s->at == '\''                   ? "strings stand in double quotes"
                   : *s->at == '/' || *s->at == '#' ? "JSON has no comments"
                   : *s->at == '}'                  ? "a comma before a closing brace"
                                                    : "a key in double quotes is missing");
}

static bool scan_members(struct scan *s, char close, int depth)
{
  s->at++;
  skip_space(s);
  if (*s->at == close)
    return s->at++, true;
  for (;;) {
    skip_space(s);
    if (close == '}') {
      if (!scan_key(s))
        return false;
      skip_space(s);
      if (*s->at != ':')
        return refuse(s, "a colon is missing between key and value");
      s->at++;
    } else if (*s->at == ']')
      return refuse(s, "a comma before a closing bracket");
    if (!scan_value(s, depth + 1))
      return false;
    skip_space(s);
    if (*s->at == close)
      return s->at++, true;
    if (*s->at != ',')
      return refuse(s, close == '}' ? "a comma or closing brace is missing before this"
                                    : "a comma or closing bracket is missing before this");
    s->at++;
  }
}

#define MOST_NESTED 200

static bool scan_value(struct scan *s, int depth)
{
  skip_space(s);
  if (depth > MOST_NESTED)
    return refuse(s, "nested too deeply");
  if (*s->at == '{' || *s->at == '[')
    return scan_members(s, *s->at == '{' ? '}' : ']', depth);
  if (*s->at == '"')
    return scan_string(s);
  if (*s->at == '-' || isdigit((unsigned char)*s->at))
    return scan_number(s);
  return scan_word(s);
}

bool lh_json_scan(const char *text, const char **at, const char **reason)
{
  struct scan s = {.at = text};
  bool good = scan_value(&s, 0);
  if (good) {
    skip_space(&s);
    if (*s.at)
      good = refuse(&s, "one value is allowed, and something follows it");
  }
  *at = s.at;
  *reason = s.reason;
  return good;
}
