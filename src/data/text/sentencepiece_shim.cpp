/* A C interface to the SentencePiece library.
 *
 * No exception leaves this file.
 */
#include "data/text/sentencepiece_shim.h"

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <sentencepiece_processor.h>

static_assert(sizeof(int) == sizeof(int32_t), "ids are given as they are");

struct sp_model {
    sentencepiece::SentencePieceProcessor processor;
    sp_leading                            leading;
};

static void note(char *words, size_t room, const std::string &text)
{
    std::snprintf(words, room, "%s", text.c_str());
}

/* The library does not expose this option, so it is found by decoding a text. */
static sp_leading find_leading(const sentencepiece::SentencePieceProcessor &p)
{
    const std::string blank = "\xe2\x96\x81";
    std::string       text;
    int               begins = p.IsUnknown(p.PieceToId(blank)) ? -1 : p.PieceToId(blank);
    if (begins >= 0 && p.Decode(std::vector<int>{begins, begins}, &text).ok() && text.empty())
        return SP_DROPS_ALL;
    for (int id = 0; id < p.GetPieceSize() && begins < 0; id++)
        if (p.IdToPiece(id).compare(0, 3, blank) == 0) begins = id;
    if (begins < 0 || !p.Decode(std::vector<int>{begins}, &text).ok()) return SP_LEAVES_BLANKS;
    return text.empty() || text[0] != ' ' ? SP_DROPS_FIRST : SP_LEAVES_BLANKS;
}

sp_model *sp_open(const char *bytes, size_t n, char *words, size_t room)
{
    sp_model *m = nullptr;
    try {
        m = new sp_model();
        const auto status = m->processor.LoadFromSerializedProto(absl::string_view(bytes, n));
        if (status.ok() && m->processor.GetPieceSize() > 0) {
            m->leading = find_leading(m->processor);
            return m;
        }
        note(words, room, status.ok() ? "it has no pieces" : status.ToString());
    } catch (const std::exception &e) {
        note(words, room, e.what());
    }
    delete m;
    return nullptr;
}

void sp_close(sp_model *m)
{
    delete m;
}

int32_t sp_size(const sp_model *m)
{
    return m->processor.GetPieceSize();
}

int32_t sp_end(const sp_model *m)
{
    return m->processor.eos_id();
}

int32_t sp_padding(const sp_model *m)
{
    return m->processor.pad_id();
}

int32_t sp_unknown(const sp_model *m)
{
    return m->processor.unk_id();
}

sp_leading sp_leading_blanks(const sp_model *m)
{
    return m->leading;
}

const char *sp_piece(const sp_model *m, int32_t id, size_t *size, sp_kind *kind)
{
    const std::string &piece = m->processor.IdToPiece(id);
    *size = piece.size();
    *kind = m->processor.IsUnknown(id)   ? SP_UNKNOWN
            : m->processor.IsControl(id) ? SP_CONTROL
            : m->processor.IsByte(id)    ? SP_BYTE
            : m->processor.IsUnused(id)  ? SP_UNUSED
                                         : SP_ORDINARY;
    return piece.data();
}

bool sp_encode(const sp_model *m, const char *text, size_t n,
               bool (*give)(void *context, const int32_t *ids, size_t count), void *context,
               char *words, size_t room)
{
    try {
        std::vector<int> ids;
        const auto       status = m->processor.Encode(absl::string_view(text, n), &ids);
        if (status.ok()) return give(context, ids.data(), ids.size());
        note(words, room, status.ToString());
    } catch (const std::exception &e) {
        note(words, room, e.what());
    }
    return false;
}
