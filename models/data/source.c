#include "models/data/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/text.h"

lh_status lh_source_path(lh_json spec, const char *fallback, char **path)
{
  const char *given = NULL;
  const lh_json node = lh_json_get(spec, "path");
  *path = NULL;
  LH_TRY(lh_json_string_or(node, fallback, &given));
  const bool relative = lh_json_present(node) && given[0] != '/';
  *path = lh_string_format("%s%s", relative ? lh_json_folder(node) : "", given);
  return *path ? LH_OK : lh_fail(LH_ENOMEM, "no memory for a path");
}

lh_status lh_source_read(const char *path, unsigned char **data, size_t *size)
{
  gzFile file = gzopen(path, "rb");
  if (!file)
    return lh_fail(LH_EIO, "%s: %s", path, strerror(errno ? errno : ENOMEM));
  lh_text text = {0};
  static const unsigned chunk = 1u << 16;
  char *buffer = malloc(chunk);
  int got = buffer ? 1 : 0;
  while (got > 0) {
    got = gzread(file, buffer, chunk);
    if (got > 0)
      lh_text_append_bytes(&text, buffer, (size_t)got);
  }
  free(buffer);
  int problem = Z_OK;
  const char *reason = gzerror(file, &problem);
  lh_status status = LH_OK;
  if (problem != Z_OK && problem != Z_STREAM_END)
    status = lh_fail(LH_EIO, "%s: %s", path, problem == Z_ERRNO ? strerror(errno) : reason);
  else if (text.failed || !buffer)
    status = lh_fail(LH_ENOMEM, "%s: no memory for its contents", path);
  gzclose(file);
  if (status != LH_OK) {
    lh_text_free(&text);
    return status;
  }
  *data = (unsigned char *)text.data;
  *size = text.length;
  return LH_OK;
}

lh_status lh_source_put_windows(const unsigned char *windows, lh_batch *batch)
{
  const size_t t = batch->sequence_tokens, n = batch->sequences * t;
  int32_t *values = malloc(2 * n * sizeof *values);
  if (!values)
    return lh_fail(LH_ENOMEM, "no memory for a batch of %zu tokens", n);
  for (size_t s = 0; s < batch->sequences; s++)
    for (size_t i = 0; i < t; i++) {
      values[s * t + i] = windows[s * (t + 1) + i];
      values[n + s * t + i] = windows[s * (t + 1) + i + 1];
    }
  lh_status status = lh_tensor_set_i32(&batch->tokens, values, n);
  if (status == LH_OK)
    status = lh_tensor_set_i32(&batch->targets, values + n, n);
  free(values);
  return status;
}
