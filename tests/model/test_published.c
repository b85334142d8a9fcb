/* Tests published models against the transformers library.
 *
 * tests/reference/published has small T5, mT5, GPT-2, Mixtral and BERT models, made and run by the transformers
 * library.
 */
#include <dirent.h>
#include <unistd.h>

#include "base/session.h"
#include "checkpoint/folder.h"
#include "graph/node.h"
#include "model/published/published.h"
#include "mtf_config.h"
#include "mtf_train.h"
#include "tensor_file.h"

#include "ground.h"

static share mine; /* of the models */

#define FOLDER MTF_SOURCE_DIR "/tests/reference/published/"

static const char *const models[] = {"t5", "t5_1_1", "mt5", "gpt2", "mixtral", "bert"};
/* The last is no Transformer of mtf_transformer.h. */
enum {
    MODELS = 5,
    FOLDERS = 6,
    BERT = 5,
    VARIABLES = 100,
    PATH = 300,
    BEAMS = 3,
    NEW = 12,
    PROMPTS = 2
};

static const struct {
    const char *mesh, *layout;
} places[] = {{NULL, NULL},
              {"a:2", "batch:a"},
              {"a:3", "heads:a,d_ff:a?,experts:a?,vocab:a"},
              {"a:2,b:2", "batch:a,heads:b?,d_ff:b?,expert_hidden:b?,vocab:b"},
              {"a:2", "length:a"},
              {"a:2,b:2", "memory_length:a?,d_model:b"}};
enum { PLACES = sizeof places / sizeof *places };

/* ---- folders ---- */

typedef struct scratch {
    char path[PATH];
} scratch;

static scratch scratch_make(void)
{
    scratch s = {"/tmp/mtf_published_XXXXXX"};
    if (!mkdtemp(s.path)) fail_msg("no temporary folder");
    return s;
}

static const char *in_scratch(const scratch *s, const char *name, char path[PATH])
{
    if (snprintf(path, PATH, "%s/%s", s->path, name) >= PATH) fail_msg("a path is too long");
    return path;
}

static void scratch_remove(const scratch *s, int n, const char *const *folders)
{
    char  path[PATH];
    fault unsaid = {0};
    for (int i = 0; i < n; i++) folder_remove(in_scratch(s, folders[i], path), &unsaid);
    rmdir(s->path);
}

/* `config`: the path of config.json; NULL: beside the weights. */
static published_config import_as(const char *from, const char *config, const char *to)
{
    mtf_session   *s = mtf_open_with(&(mtf_session_opts){0});
    published_done done;
    if (!published_import(s, &(published_call){.from = from, .to = to, .config = config}, &done))
        fail_msg("%s", mtf_error(s));
    /* Its text does not outlive the session. */
    done.config.text = NULL;
    close_well(s);
    return done.config;
}

static void write_config(const scratch *s, char path[PATH], const char *text)
{
    FILE *f = fopen(in_scratch(s, "config.json", path), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static published_config import(const char *from, const char *to)
{
    return import_as(from, NULL, to);
}

/* A model with its weights and gradients as checkpoints of this library, and what it should answer. */
typedef struct known {
    const char      *name;
    scratch          folder;
    char             weights[PATH], gradients[PATH];
    published_config config;
    tensor_file      answers, gradient;
} known;

static const char *theirs(const char *model, const char *file, char path[PATH])
{
    snprintf(path, PATH, "%s%s/%s", FOLDER, model, file);
    return path;
}

static void known_open_as(known *k, const char *model, const char *config)
{
    char path[PATH];
    *k = (known){.name = model, .folder = scratch_make()};
    k->config =
        import_as(theirs(model, "", path), config, in_scratch(&k->folder, "weights", k->weights));
    import_as(theirs(model, "gradients.safetensors", path), config,
              in_scratch(&k->folder, "gradients", k->gradients));
    tensor_file_open(&k->answers, theirs(model, "answers.safetensors", path));
    tensor_file_open(&k->gradient, k->gradients);
}

static void known_open(known *k, const char *model)
{
    known_open_as(k, model, NULL);
}

static void known_close(known *k)
{
    tensor_file_close(&k->answers);
    tensor_file_close(&k->gradient);
    scratch_remove(&k->folder, 2, (const char *const[]){"weights", "gradients"});
}

/* ---- values ---- */

static double size_of(int64_t n, const float *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* The difference of all elements against their size, or what is lost to rounding. */
static void assert_alike(const char *what, const char *name, int64_t n, const float *got,
                         const float *want, double rounding)
{
    double sum = 0, size = size_of(n, want);
    for (int64_t i = 0; i < n; i++)
        sum += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
    if (!(sqrt(sum) <= 1e-4 * size + rounding))
        fail_msg("%s: %s differs by %g; its size is %g", what, name, sqrt(sum), size);
}

/* Of a model in training: no penalty of large logits, and the mean over the tokens that count. */
static mtf_transformer *make_model(mtf_session *s, const known *k, int64_t tokens)
{
    published_layers     room;
    mtf_transformer_opts o = published_opts(&k->config, &room);
    o.z_loss = -1;
    o.loss_denominator = (double)tokens;
    return mtf_transformer_new(s, &o);
}

static mtf_tensor *input_of(known *k, mtf_graph *g, const char *name)
{
    if (strcmp(name, "inputs") == 0 && k->config.encoder_layers == 0) return NULL;
    mtf_dim batch = {"batch", tensor_file_size(&k->answers, name, 0)};
    mtf_dim length = {"length", tensor_file_size(&k->answers, name, 1)};
    return mtf_input(g, name, MTF_I32, mtf_shape(batch, length));
}

static void feed(known *k, mtf_program *p, mtf_tensor *t, const char *name)
{
    int64_t n;
    if (t) mtf_feed(p, t, tensor_file_get(&k->answers, name, MTF_I32, &n));
}

/* Targets that carry a loss: of models that do not shift, the first one is only read. */
static int64_t count_tokens(known *k)
{
    int64_t        n, count = 0, length = tensor_file_size(&k->answers, "targets", 1);
    const int32_t *ids = tensor_file_get(&k->answers, "targets", MTF_I32, &n);
    for (int64_t i = 0; i < n; i++)
        count += ids[i] != 0 && (k->config.encoder_layers > 0 || i % length > 0);
    return count;
}

static void load(mtf_session *s, const char *path)
{
    if (!mtf_load(s, path, &(mtf_load_opts){.trainable = true}, NULL)) fail_msg("%s", mtf_error(s));
}

/* The variables of a model are known when it was compiled. */
static void load_for_decoding(known *k, mtf_session *s, mtf_transformer *m)
{
    mtf_graph            *g = mtf_graph_new(s);
    mtf_transformer_batch b = {.inputs = input_of(k, g, "inputs"),
                               .targets = input_of(k, g, "targets")};
    mtf_compile(g, mtf_transformer_apply(m, &b, NULL).logits);
    load(s, k->weights);
}

/* Logits where a token is to be said: what follows the end of a text is nobody's. */
static void check_logits(known *k, const char *what, const float *got)
{
    int64_t        n, vocab = k->config.vocab;
    const float   *want = tensor_file_get(&k->answers, "logits", MTF_F32, &n);
    const int32_t *targets = tensor_file_get(&k->answers, "targets", MTF_I32, &n);
    for (int64_t i = 0; i < n; i++)
        if (targets[i] != 0)
            assert_alike(what, "logits", vocab, got + i * vocab, want + i * vocab, 0);
}

static void check_values(known *k, const char *mesh, const char *layout)
{
    mtf_session           *s = open_as_asked(&(mtf_session_opts){.mesh = mesh, .layout = layout});
    mtf_transformer       *m = make_model(s, k, count_tokens(k));
    mtf_graph             *g = mtf_graph_new(s);
    mtf_tensor            *in = input_of(k, g, "inputs"), *targets = input_of(k, g, "targets");
    mtf_transformer_result r =
        mtf_transformer_apply(m, &(mtf_transformer_batch){.inputs = in, .targets = targets},
                              &(mtf_transformer_call){.training = true});
    mtf_tensor *fetches[VARIABLES + 2], *variables[VARIABLES];
    int         n = mtf_variables(g, variables, VARIABLES);
    assert_int_equal(n, k->gradient.contents.ntensors);
    mtf_gradients(1, &r.loss, n, variables, NULL, fetches);
    fetches[n] = r.loss, fetches[n + 1] = r.logits;
    mtf_program *p = mtf_compile_n(g, n + 2, fetches);
    load(s, k->weights);
    feed(k, p, in, "inputs");
    feed(k, p, targets, "targets");
    mtf_step(p);
    if (!mtf_ok(s)) fail_msg("%s, %s: %s", k->name, layout ? layout : "one", mtf_error(s));
    static float got[65536];
    float        loss = (float)mtf_fetch_scalar(p, r.loss);
    int64_t      count;
    const float *wanted = tensor_file_get(&k->answers, "loss", MTF_F32, &count);
    assert_alike(k->name, "the loss", 1, &loss, wanted, 0);
    mtf_fetch(p, r.logits, got);
    check_logits(k, k->name, got);
    double all = 0;
    for (int i = 0; i < n; i++) {
        const float *x = tensor_file_get(&k->gradient, tensor_name(variables[i]), MTF_F32, &count);
        all = hypot(all, size_of(count, x));
    }
    for (int i = 0; i < n; i++) { /* the bias of keys changes nothing: its gradient is rounding */
        const char  *name = tensor_name(variables[i]);
        const float *want = tensor_file_get(&k->gradient, name, MTF_F32, &count);
        mtf_fetch(p, fetches[i], got);
        assert_alike(k->name, name, count, got, want, 1e-7 * all);
    }
    close_well(s);
}

static void test_values(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        known k;
        if (!share_has(mine, i)) continue;
        known_open(&k, models[i]);
        for (int place = 0; place < PLACES; place++)
            check_values(&k, places[place].mesh, places[place].layout);
        known_close(&k);
    }
}

/* The configuration that import leaves in the checkpoint describes the same model. */
static void test_configurations(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        known            k;
        char             path[PATH];
        mtf_config_model made;
        static float     got[65536];
        if (!share_has(mine, i)) continue;
        known_open(&k, models[i]);
        in_scratch(&k.folder, "weights/operative_config.gin", path);
        mtf_session *s = open_as_asked(&(mtf_session_opts){0});
        mtf_config  *c =
            mtf_config_open(s, &(mtf_config_opts){.files = (const char *const[]){path, NULL}});
        if (!c || !mtf_config_get_model(c, k.config.vocab, k.config.vocab, &made))
            fail_msg("%s", mtf_error(s));
        mtf_graph       *g = mtf_graph_new(s);
        mtf_tensor      *in = input_of(&k, g, "inputs"), *targets = input_of(&k, g, "targets");
        mtf_transformer *m = mtf_transformer_new(s, &made.model);
        mtf_transformer_result r = mtf_transformer_apply(
            m, &(mtf_transformer_batch){.inputs = in, .targets = targets}, NULL);
        mtf_program *p = mtf_compile(g, r.logits);
        load(s, k.weights);
        feed(&k, p, in, "inputs");
        feed(&k, p, targets, "targets");
        if (!mtf_step(p) || !mtf_fetch(p, r.logits, got)) fail_msg("%s: %s", k.name, mtf_error(s));
        check_logits(&k, k.name, got);
        close_well(s);
        known_close(&k);
    }
}

/* mT5 as version 5 of the transformers library saves it: said to be tied, with a head of its own in the file.
 * It computes what T5 1.1 does. */
static void test_head_of_its_own(void **state)
{
    static const char text[] =
        "{\"model_type\":\"mt5\",\"vocab_size\":60,\"d_model\":12,\"d_kv\":6,\"d_ff\":20,\"num_"
        "heads\":3,"
        "\"num_layers\":2,\"dropout_rate\":0,\"relative_attention_num_buckets\":8,"
        "\"relative_attention_max_distance\":20,\"tie_word_embeddings\":true,"
        "\"transformers_version\":\"5.23.0\"}";
    scratch there = scratch_make();
    char    config[PATH];
    known   k;
    (void)state;
    if (!share_has(mine, 1)) return;
    write_config(&there, config, text);
    known_open_as(&k, "t5_1_1", config);
    assert_false(k.config.tied);
    check_values(&k, NULL, NULL);
    known_close(&k);
    unlink(config);
    scratch_remove(&there, 0, NULL);
}

/* Which models divide the logits by sqrt(d_model) where these use the embedding. */
static void test_scaled_logits(void **state)
{
    static const struct {
        const char *config;
        bool        scaled;
    } cases[] = {
        {"{\"model_type\":\"t5\",\"vocab_size\":60}", true},
        {"{\"model_type\":\"t5\",\"vocab_size\":60,\"tie_word_embeddings\":false}", false},
        {"{\"model_type\":\"t5\",\"vocab_size\":60,\"scale_decoder_outputs\":false}", false},
        {"{\"model_type\":\"mt5\",\"vocab_size\":60}", false},
        {"{\"model_type\":\"mt5\",\"vocab_size\":60,\"tie_word_embeddings\":true,"
         "\"transformers_version\":\"5.0.0\"}",
         false},
        {"{\"model_type\":\"mt5\",\"vocab_size\":60,\"tie_word_embeddings\":true,"
         "\"transformers_version\":\"4.57.1\"}",
         true},
        {"{\"model_type\":\"mt5\",\"vocab_size\":60,\"transformers_version\":\"4.57.1\"}", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mtf_session     *s = mtf_open_with(&(mtf_session_opts){0});
        published_config c;
        published_layers room;
        assert_true(published_parse(s, "config.json", cases[i].config, &c));
        c.tied = true;
        if (published_opts(&c, &room).unscaled_softmax == cases[i].scaled)
            fail_msg("logits of %s are %s", cases[i].config,
                     cases[i].scaled ? "unscaled" : "scaled");
        close_well(s);
    }
}

/* ---- BERT ---- */

/* A head's loss is a mean over labels, there and here; padding of tables is not there. */
typedef struct bert_case {
    mtf_bert_output out;
    mtf_bert_result words, next;
    mtf_tensor     *loss, *inputs[5];
} bert_case;

static const char *const bert_inputs[] = {"input_ids", "input_mask", "segment_ids", "labels",
                                          "follows"};

static mtf_tensor *bert_input(known *k, mtf_graph *g, const char *name)
{
    mtf_dim batch = {"batch", tensor_file_size(&k->answers, name, 0)};
    if (strcmp(name, "follows") == 0) return mtf_input(g, name, MTF_I32, mtf_shape(batch));
    return mtf_input(g, name, MTF_I32,
                     mtf_shape(batch, (mtf_dim){"seq", tensor_file_size(&k->answers, name, 1)}));
}

/* Every position is predicted; those without a label, -100, have no weight. */
static bert_case make_bert(known *k, mtf_session *s, mtf_graph *g)
{
    bert_case c;
    for (int i = 0; i < 5; i++) c.inputs[i] = bert_input(k, g, bert_inputs[i]);
    mtf_tensor *ids = c.inputs[0], *labels = c.inputs[3], *zero = mtf_zeros_like(ids);
    mtf_dim     seq = {"seq", tensor_file_size(&k->answers, "labels", 1)};
    mtf_tensor *at = mtf_add(zero, mtf_range(g, seq, MTF_I32));
    c.out = mtf_bert_apply(mtf_bert_new(s, &k->config.bert),
                           &(mtf_bert_batch){ids, c.inputs[1], c.inputs[2]}, NULL);
    at = mtf_rename_dimension(at, "seq", "predictions");
    labels = mtf_rename_dimension(labels, "seq", "predictions");
    mtf_tensor *none = mtf_zeros_like(labels);
    c.words = mtf_bert_masked_words(&c.out, at, mtf_maximum(labels, none),
                                    mtf_cast(mtf_greater_equal(labels, none), MTF_F32));
    c.next = mtf_bert_next_sentence(&c.out, c.inputs[4]);
    c.loss = mtf_add(c.words.loss, c.next.loss);
    return c;
}

static void check_bert_answers(known *k, const bert_case *c, mtf_program *p)
{
    static float got[65536];
    int64_t      count, vocab = k->config.vocab, rows = 128;
    const float *want = tensor_file_get(&k->answers, "sequence", MTF_F32, &count);
    mtf_fetch(p, c->out.sequence, got);
    assert_alike("bert", "the last layer", count, got, want, 0);
    want = tensor_file_get(&k->answers, "pooled", MTF_F32, &count);
    mtf_fetch(p, c->out.pooled, got);
    assert_alike("bert", "the pooled vector", count, got, want, 0);
    want = tensor_file_get(&k->answers, "next", MTF_F32, &count);
    mtf_fetch(p, c->next.logits, got);
    assert_alike("bert", "logits of next sentences", count, got, want, 0);
    want = tensor_file_get(&k->answers, "words", MTF_F32, &count);
    mtf_fetch(p, c->words.logits, got);
    for (int64_t i = 0; i < count / vocab; i++)
        assert_alike("bert", "logits of words", vocab, got + i * rows, want + i * vocab, 0);
}

static void check_bert(known *k, const char *mesh, const char *layout)
{
    mtf_session *s = open_as_asked(&(mtf_session_opts){.mesh = mesh, .layout = layout});
    mtf_graph   *g = mtf_graph_new(s);
    bert_case    c = make_bert(k, s, g);
    mtf_tensor  *fetches[VARIABLES + 5], *variables[VARIABLES];
    int          n = mtf_variables(g, variables, VARIABLES);
    assert_int_equal(n, k->gradient.contents.ntensors);
    mtf_gradients(1, &c.loss, n, variables, NULL, fetches);
    fetches[n] = c.loss, fetches[n + 1] = c.words.logits, fetches[n + 2] = c.next.logits;
    fetches[n + 3] = c.out.sequence, fetches[n + 4] = c.out.pooled;
    mtf_program *p = mtf_compile_n(g, n + 5, fetches);
    load(s, k->weights);
    for (int i = 0; i < 5; i++) feed(k, p, c.inputs[i], bert_inputs[i]);
    mtf_step(p);
    if (!mtf_ok(s)) fail_msg("bert, %s: %s", layout ? layout : "one", mtf_error(s));
    check_bert_answers(k, &c, p);
    float        loss = (float)mtf_fetch_scalar(p, c.loss);
    int64_t      count;
    static float got[65536];
    assert_alike("bert", "the loss", 1, &loss,
                 tensor_file_get(&k->answers, "loss", MTF_F32, &count), 0);
    for (int i = 0; i < n; i++) {
        const char  *name = tensor_name(variables[i]);
        const float *want = tensor_file_get(&k->gradient, name, MTF_F32, &count);
        mtf_fetch(p, fetches[i], got);
        assert_alike("bert", name, count, got, want, 1e-6);
    }
    close_well(s);
}

static void test_bert(void **state)
{
    known k;
    (void)state;
    if (!share_has(mine, BERT)) return;
    known_open(&k, models[BERT]);
    check_bert(&k, NULL, NULL);
    check_bert(&k, "a:2,b:3", "batch:a,num_heads:b,vocab:b,intermediate:b?");
    check_bert(&k, "a:2,b:2", "memory_seq:a,hidden:b");
    known_close(&k);
}

/* ---- decoding ---- */

/* Rows [prompts, results, tokens]; -1 follows the last token. */
static void check_ids(const known *k, const char *how, const mtf_decode_job *job, int result,
                      const int32_t *want)
{
    int64_t n = 0;
    while (n < NEW && want[n] >= 0) n++;
    if (job->lengths[result] != n || memcmp(job->ids[result], want, sizeof *want * (size_t)n) != 0)
        fail_msg(
            "%s, %s: result %d has %d tokens, the first is %d; there should be %d, the first %d",
            k->name, how, result, (int)job->lengths[result], job->ids[result][0], (int)n, want[0]);
}

typedef struct search {
    const char *name;
    int64_t     beams;
    bool        stops;
} search;

static void check_decoding(known *k, const search *how, const char *mesh, const char *layout)
{
    mtf_session     *s = open_as_asked(&(mtf_session_opts){.mesh = mesh, .layout = layout});
    mtf_transformer *m = make_model(s, k, 1);
    mtf_decoder     *d = mtf_decoder_new(
            m,
            &(mtf_decoder_opts){.batch = 2, .max_length = 40, .max_inputs = 20, .beams = how->beams});
    int64_t        count, longest = tensor_file_size(&k->answers, "prompts", 1);
    const int32_t *prompts = tensor_file_get(&k->answers, "prompts", MTF_I32, &count);
    const int32_t *stop = tensor_file_get(&k->answers, "stop", MTF_I32, &count);
    const int32_t *want = tensor_file_get(&k->answers, how->name, MTF_I32, &count);
    mtf_decode_job job[PROMPTS], *jobs[PROMPTS];
    int32_t        stops[PROMPTS][2];
    load_for_decoding(k, s, m);
    for (int j = 0; j < PROMPTS; j++) {
        stops[j][0] = how->stops ? stop[j] : -1, stops[j][1] = -1;
        job[j] = (mtf_decode_job){.prompt = prompts + j * longest, .length = longest};
        while (job[j].prompt[job[j].length - 1] < 0) job[j].length--;
        /* An alpha of 0 would be the default. */
        job[j].how = (mtf_sampling){
            .stop = stops[j], .max_tokens = NEW, .results = how->beams, .alpha = 1e-12};
        jobs[j] = &job[j];
    }
    if (!mtf_decode(d, PROMPTS, jobs)) fail_msg("%s: %s", k->name, mtf_error(s));
    for (int j = 0; j < PROMPTS; j++) {
        assert_int_equal(job[j].nresults, how->beams);
        for (int b = 0; b < how->beams; b++)
            check_ids(k, how->name, &job[j], b, want + (j * how->beams + b) * NEW);
        mtf_decode_free(d, &job[j]);
    }
    close_well(s);
}

static void test_decoding(void **state)
{
    static const search searches[] = {
        {"greedy", 1, true}, {"beams", BEAMS, false}, {"ended_beams", BEAMS, true}};
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        known k;
        if (!share_has(mine, i)) continue;
        known_open(&k, models[i]);
        for (int how = 0; how < 3; how++) {
            check_decoding(&k, &searches[how], NULL, NULL);
            int place = 2 + (i + how) % 3;
            check_decoding(&k, &searches[how], places[place].mesh, places[place].layout);
        }
        known_close(&k);
    }
}

/* ---- there and back ---- */

static void assert_same_files(const char *a, const char *b)
{
    tensor_file x, y;
    tensor_file_open(&x, a);
    tensor_file_open(&y, b);
    assert_int_equal(x.contents.ntensors, y.contents.ntensors);
    for (int i = 0; i < x.contents.ntensors; i++) {
        const kept_tensor *t = x.contents.tensors[i];
        const kept_tensor *u = contents_find(&y.contents, t->name);
        int64_t            n, m;
        if (!u) fail_msg("%s has no %s", b, t->name);
        assert_int_equal(t->shape.ndims, u->shape.ndims);
        for (int d = 0; d < t->shape.ndims; d++)
            assert_int_equal(t->shape.dims[d].size, u->shape.dims[d].size);
        const void *p = tensor_file_get(&x, t->name, t->type, &n);
        assert_memory_equal(p, tensor_file_get(&y, t->name, t->type, &m), (size_t)t->bytes);
    }
    tensor_file_close(&x);
    tensor_file_close(&y);
}

static void export(const char *from, const char *to)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
    if (!published_export(s, &(published_call){.from = from, .to = to}, NULL))
        fail_msg("%s", mtf_error(s));
    close_well(s);
}

static void test_there_and_back(void **state)
{
    (void)state;
    for (int i = 0; i < FOLDERS; i++) {
        scratch s = scratch_make();
        char    from[PATH], file[PATH], ours[PATH], again[PATH], exported[PATH], written[PATH];
        theirs(models[i], "", from);
        import(from, in_scratch(&s, "ours", ours));
        export(ours, in_scratch(&s, "theirs", exported));
        import(exported, in_scratch(&s, "again", again));
        in_scratch(&s, "theirs/model.safetensors", written);
        assert_same_files(theirs(models[i], "model.safetensors", file), written);
        assert_same_files(ours, again);
        char *a = read_text(theirs(models[i], "config.json", file));
        char *b = read_text(in_scratch(&s, "theirs/config.json", written));
        assert_string_equal(a, b);
        free(a);
        free(b);
        scratch_remove(&s, 3, (const char *const[]){"ours", "theirs", "again"});
    }
}

/* ---- refusals ---- */

/* Imports weights under another model's configuration. */
static void refuse(const char *weights, const char *config, const char *piece)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
    scratch      there = scratch_make();
    char         from[PATH], to[PATH];
    theirs(weights, "model.safetensors", from);
    in_scratch(&there, "made", to);
    assert_false(
        published_import(s, &(published_call){.from = from, .to = to, .config = config}, NULL));
    assert_contains(mtf_error(s), piece);
    assert_int_not_equal(access(to, F_OK), 0); /* nothing was written */
    mtf_close(s);
    scratch_remove(&there, 0, NULL);
}

#define MIXTRAL                                                                                    \
    "{\"model_type\":\"mixtral\",\"vocab_size\":60,\"hidden_size\":12,\"intermediate_size\":20,"   \
    "\"num_hidden_layers\":2,\"num_attention_heads\":6,\"num_key_value_heads\":3,"                 \
    "\"max_position_embeddings\":48,\"num_local_experts\":5,"

static void test_refusals(void **state)
{
    static const struct {
        const char *weights, *config, *says;
    } cases[] = {
        {"gpt2", "[1]", "is not a JSON object"},
        {"gpt2", "{\"model_type\":\"roberta\"}",
         "\"model_type\" must be \"t5\", \"mt5\", \"gpt2\", \"mixtral\" or \"bert\""},
        {"gpt2", "{\"model_type\":\"gpt2\"}",
         "\"vocab_size\" must be a whole number from 1 to 2147483646"},
        {"gpt2", "{\"model_type\":\"gpt2\",\"vocab_size\":60,\"n_embd\":9007199254740992}",
         "\"n_embd\" must be a whole number from 1 to"},
        {"gpt2", "{\"model_type\":\"gpt2\",\"vocab_size\":60,\"n_layer\":1000}",
         "\"n_layer\" must be less than 1000"},
        {"gpt2", "{\"model_type\":\"gpt2\",\"vocab_size\":60,\"n_head\":7}",
         "\"n_embd\" must be a multiple of n_head"},
        {"gpt2", "{\"model_type\":\"gpt2\",\"vocab_size\":60,\"activation_function\":\"quick\"}",
         "\"activation_function\" is \"quick\", which mtf does not know"},
        {"gpt2",
         "{\"model_type\":\"gpt2\",\"vocab_size\":60,\"n_embd\":12,\"n_head\":3,\"n_layer\":3,"
         "\"n_positions\":47}",
         "12 missing: transformer.h.2.ln_1.weight [12], "},
        {"gpt2",
         "{\"model_type\":\"gpt2\",\"vocab_size\":60,\"n_embd\":12,\"n_head\":3,\"n_layer\":2,"
         "\"n_positions\":47}",
         "1 of another shape: transformer.wpe.weight is [48,12], not [47,12]"},
        {"gpt2",
         "{\"model_type\":\"gpt2\",\"vocab_size\":60,\"n_embd\":12,\"n_head\":3,\"n_layer\":1,"
         "\"n_positions\":48}",
         "12 unknown: transformer.h.1."},
        {"mixtral", MIXTRAL "\"sliding_window\":32}",
         "\"sliding_window\" must be null, or as long as max_position_embeddings"},
        {"mixtral", MIXTRAL "\"rope_parameters\":{\"rope_type\":\"yarn\"}}",
         "\"rope_type\" must be \"default\""},
        {"mixtral", MIXTRAL "\"num_experts_per_tok\":6}",
         "\"num_experts_per_tok\" must be at most num_local_experts"},
        {"mixtral", MIXTRAL "\"head_dim\":3}", "\"head_dim\" must be an even number"},
        {"mixtral", MIXTRAL "\"head_dim\":2}", "q_proj.weight is [24,12], not [12,12]"},
        {"mixtral",
         "{\"model_type\":\"mixtral\",\"vocab_size\":60,\"hidden_size\":12,"
         "\"intermediate_size\":20,\"num_hidden_layers\":2,\"num_attention_heads\":6,"
         "\"num_key_value_heads\":3,\"head_dim\":4,\"num_local_experts\":6}",
         "6 missing: model.layers.0.block_sparse_moe.experts.5.w1.weight [20,12], "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch s = scratch_make();
        char    path[PATH];
        write_config(&s, path, cases[i].config);
        refuse(cases[i].weights, path, cases[i].says);
        unlink(path);
        scratch_remove(&s, 0, NULL);
    }
}

/* A model of one head has no dimension of heads; its weights fit all the same. */
static void test_one_head(void **state)
{
    static const char text[] = "{\"model_type\":\"gpt2\",\"vocab_size\":60,\"n_embd\":12,"
                               "\"n_head\":1,\"n_layer\":2,\"n_positions\":48}";
    scratch           there = scratch_make();
    char              from[PATH], to[PATH], config[PATH];
    published_done    done;
    published_layers  room;
    (void)state;
    write_config(&there, config, text);
    theirs("gpt2", "model.safetensors", from);
    in_scratch(&there, "ours", to);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
    assert_true(
        published_import(s, &(published_call){.from = from, .to = to, .config = config}, &done));
    mtf_transformer_opts o = published_opts(&done.config, &room);
    mtf_graph           *g = mtf_graph_new(s);
    mtf_tensor          *ids = mtf_input(g, "targets", MTF_I32, mtf_shape((mtf_dim){"length", 5}));
    mtf_compile(g, mtf_transformer_apply(mtf_transformer_new(s, &o),
                                         &(mtf_transformer_batch){.targets = ids}, NULL)
                       .logits);
    load(s, to);
    close_well(s);
    unlink(config);
    scratch_remove(&there, 1, (const char *const[]){"ours"});
}

int main(int argc, char **argv)
{
    share_read(argc > 1 ? argv[1] : NULL, &mine);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_head_of_its_own),
                                       cmocka_unit_test(test_configurations),
                                       cmocka_unit_test(test_scaled_logits),
                                       cmocka_unit_test(test_decoding),
                                       cmocka_unit_test(test_there_and_back),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_one_head),
                                       cmocka_unit_test(test_bert)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
