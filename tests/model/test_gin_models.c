/* Tests the shipped configurations: variables of models, runs, written again. */
#include <dirent.h>

#include "config_models.h"

/* last */
#include "ground.h"

/* ---- sizes ---- */

/* Numbers of parameters that were published with the models. */
static const struct {
    const char *name;
    int64_t     parameters;
} published[] = {
    {"t5_small", 60506624},      {"t5_base", 222903552},      {"t5_large", 737668096},
    {"t5_3b", 2851598336},       {"t5_11b", 11307321344},     {"t5_1_1_small", 76961152},
    {"t5_1_1_base", 247577856},  {"t5_1_1_large", 783150080}, {"t5_1_1_xl", 2849757184},
    {"t5_1_1_xxl", 11135332352}, {"gpt2_124m", 124439808},    {"gpt2_355m", 354823168},
    {"gpt2_774m", 774030080},    {"gpt2_1558m", 1557611200}};

static void test_published_sizes(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof published / sizeof *published; k++) {
        opened  o = open_names(published[k].name, NULL, NULL, 0);
        int64_t n = count_parameters(build(&o));
        if (n != published[k].parameters)
            fail_msg("%s has %lld parameters, not %lld", published[k].name, (long long)n,
                     (long long)published[k].parameters);
        assert_int_equal(count_warnings(o.config), 0);
        close_well(o.session);
    }
}

static void test_names(void **state)
{
    (void)state;
    opened     o = open_names("t5_small", NULL, NULL, 0);
    mtf_graph *g = build(&o);
    check_shape(g, "shared/embedding", 32128, 512);
    check_shape(g, "encoder/block_000/layer_000/SelfAttention/q", 512, 512);
    check_shape(g, "encoder/block_005/layer_001/DenseReluDense/wi/kernel", 512, 2048);
    check_shape(g, "encoder/block_000/layer_000/SelfAttention/relative_attention_bias", 8, 32);
    check_shape(g, "encoder/block_000/layer_000/layer_norm/scale", 512, 0);
    check_shape(g, "encoder/final_layer_norm/scale", 512, 0);
    check_shape(g, "decoder/block_003/layer_001/EncDecAttention/o", 512, 512);
    check_shape(g, "decoder/block_005/layer_002/DenseReluDense/wo/kernel", 2048, 512);
    close_well(o.session);

    o = open_names("t5_1_1_small", NULL, NULL, 0);
    g = build(&o);
    check_shape(g, "encoder/block_000/layer_001/DenseReluDense/wi_0/kernel", 512, 1024);
    check_shape(g, "encoder/block_000/layer_001/DenseReluDense/wi_1/kernel", 512, 1024);
    check_shape(g, "decoder/block_000/layer_000/rms_norm/scale", 512, 0);
    check_shape(g, "decoder/logits/kernel", 512, 32128);
    close_well(o.session);

    o = open_names("gpt2_124m", NULL, NULL, 0);
    g = build(&o);
    check_shape(g, "transformer/embedding", 50257, 768);
    check_shape(g, "transformer/positional_embedding", 1024, 768);
    check_shape(g, "transformer/block_011/layer_000/SelfAttention/q_bias", 768, 0);
    check_shape(g, "transformer/true_layer_norm/layer_prepostprocess/layer_norm/layer_norm_bias",
                768, 0);
    close_well(o.session);
}

/* A stack of blocks of these layers, without embeddings and the norm at the end. */
static int64_t stack_size(int64_t blocks, int64_t d, int64_t ff, int64_t heads, int64_t kv,
                          int attentions)
{
    int64_t attention = 4 * d * heads * kv + d, dense = 2 * d * ff + d;
    return blocks * (attentions * attention + dense);
}

static void check_lm(const char *name, int64_t blocks, int64_t d, int64_t ff, int64_t heads,
                     int64_t kv, int64_t length)
{
    opened  o = open_names(name, NULL, NULL, 1000);
    int64_t want = stack_size(blocks, d, ff, heads, kv, 1) + d + (1024 + length) * d;
    assert_int_equal(o.run.model_type, MTF_MODEL_LM);
    assert_int_equal(count_parameters(build(&o)), want);
    assert_int_equal(count_warnings(o.config), 0);
    close_well(o.session);
}

/* Encoder and decoder share the table of tokens, and learn positions each. */
static void check_bi(const char *name, int64_t blocks, int64_t d, int64_t ff, int64_t heads,
                     int64_t kv)
{
    opened     o = open_names(name, NULL, NULL, 1000);
    mtf_graph *g = build(&o);
    int64_t    want = stack_size(blocks, d, ff, heads, kv, 1) +
                   stack_size(blocks, d, ff, heads, kv, 2) + 2 * d + 1024 * d;
    int64_t rest = count_parameters(g) - want; /* positions: one table or two */
    assert_int_equal(o.run.model_type, MTF_MODEL_BITRANSFORMER);
    assert_true(rest == 512 * d || rest == 2 * 512 * d);
    assert_int_equal(count_warnings(o.config), 0);
    close_well(o.session);
}

static void test_presets(void **state)
{
    (void)state;
    check_lm("lm_base", 6, 1024, 4096, 8, 128, 512);
    check_lm("lm_w1", 6, 1024, 8192, 16, 128, 512);
    check_lm("model_5b", 16, 1024, 65536, 32, 128, 256);
    check_bi("bi_base", 6, 1024, 4096, 8, 128);
    check_bi("bi_w1", 6, 1024, 8192, 16, 128);
    check_bi("bi_l12", 12, 1024, 4096, 8, 128);
    check_bi("bi_l12_w1", 12, 1024, 8192, 16, 128);
    check_bi("bi_l12_w2", 12, 1024, 16384, 32, 128);
    check_bi("bi_l12_w3", 12, 1024, 32768, 64, 128);
    check_bi("aiayn_base", 6, 512, 2048, 8, 64);
    check_bi("aiayn_large", 6, 1024, 4096, 16, 64);
    check_bi("tiny", 2, 128, 512, 4, 32);
}

static void test_transparent_attention(void **state)
{
    (void)state;
    opened     o = open_names("transparent_attention", NULL, "d_model = 32\nd_ff = 64", 1000);
    mtf_graph *g = build(&o);
    check_shape(g, "decoder/block_000/layer_001/TransparentEncDecAttention/w", 7, 6);
    check_shape(g, "decoder/block_005/layer_001/TransparentEncDecAttention/q", 32, 1024);
    assert_int_equal(count_warnings(o.config), 0);
    check_same_again(&o, 1000);
    close_well(o.session);
}

/* ---- runs ---- */

static void test_layouts(void **state)
{
    static const struct {
        const char *name, *mesh, *layout;
        int64_t     batch;
    } want[] = {
        {"2x2_dp", "all:8", "batch:all?,experts:all?", 32},
        {"4x4_dp", "all:32", "batch:all?,experts:all?", 128},
        {"8x8_dp", "all:128", "batch:all?,experts:all?", 512},
        {"2x2_mp", "model:8", "d_ff:model?,heads:model?,vocab:model?", 4},
        {"8x8_mp", "model:128", "d_ff:model?,heads:model?,vocab:model?", 4},
        {"2x2_dp_mp", "batch:2,model:4", "batch:batch?,d_ff:model?,heads:model?,vocab:model?", 8},
        {"8x8_m4", "batch:32,model:4", "batch:batch?,d_ff:model?,heads:model?,vocab:model?", 128},
        {"8x16_m2", "batch:128,model:2", "batch:batch?,d_ff:model?,heads:model?,vocab:model?", 512},
        {"8x16_m8", "batch:32,model:8", "batch:batch?,d_ff:model?,heads:model?,vocab:model?", 128},
        {"16x16_m8", "batch:64,model:8", "batch:batch?,d_ff:model?,heads:model?,vocab:model?", 256},
        {"8x8_dp_r4", "outer:4,inner:32", "outer_batch:outer?,batch:inner?,experts:inner?", 512},
        {"single", "", "", 4},
        {"data_parallel", "all:8", "batch:all?", 32},
        {"model_parallel", "all:8", "d_ff:all?,heads:all?,vocab:all?", 4},
        {"data_and_model", "rows:2,cols:4", "batch:rows?,d_ff:cols?,heads:cols?,vocab:cols?", 8}};
    (void)state;
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        opened o = open_names("tiny", want[k].name, NULL, 100);
        assert_string_equal(o.run.mesh, want[k].mesh);
        assert_string_equal(o.run.layout, want[k].layout);
        assert_int_equal(o.run.batch, want[k].batch);
        assert_int_equal(o.run.activation, k == 11 ? MTF_F32 : MTF_BF16);
        close_well(o.session);
    }
}

/* A model on the mesh that its configuration asks for. */
static void test_on_mesh(void **state)
{
    static const char *const files[] = {"tiny", NULL};
    static const char *const rules[] = {
        "run.mesh_shape = 'batch:2,model:2'\nd_model = 16\nd_ff = 8\nnum_heads = 2\nd_kv = 4\n"
        "run.model_type = 'lm'\nget_variable_dtype.activation_dtype = 'float32'",
        NULL};
    mtf_config_opts  how = {.files = files, .params = rules};
    mtf_config_run   run;
    mtf_config_model m;
    float            loss[2];
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        opened       o = open_config(&how, 20);
        mtf_session *s = open_as_asked(&(mtf_session_opts){
            .mesh = cut ? o.run.mesh : NULL, .layout = cut ? o.run.layout : NULL, .threads = 1});
        mtf_config  *c = mtf_config_open(s, &how);
        assert_true(mtf_config_get_run(c, &run) && mtf_config_get_model(c, 20, 20, &m));
        static const int32_t  text[] = {3, 5, 7, 1, 2, 4, 1, 0};
        mtf_graph            *g = mtf_graph_new(s);
        mtf_shape             ids = mtf_shape((mtf_dim){"batch", 2}, (mtf_dim){"length", 4});
        mtf_transformer_batch b = {.targets = mtf_constant_data(g, text, MTF_I32, ids)};
        evaluate(g, mtf_transformer_apply(mtf_transformer_new(s, &m.model), &b, NULL).loss,
                 &loss[cut]);
        close_well(s);
        close_well(o.session);
    }
    assert_near(loss[1], loss[0], 1e-5);
    opened o = open_names("tiny", NULL,
                          "run.mesh_shape = 'a:2;b:3;c:5'\nrun.layout_rules = "
                          "'batch:a+b,vocab:c!,heads:d,hedas:c'\n"
                          "run.batch_size = ('sequences_per_replica', 1)",
                          100);
    assert_string_equal(o.run.layout, "batch:a+b?,vocab:c!?,hedas:c?");
    assert_int_equal(o.run.batch, 6);
    const mtf_config_note *notes;
    assert_int_equal(mtf_config_notes(o.config, &notes), 1);
    assert_string_equal(notes[0].text, "parameter 1:2:20: run.layout_rules: Transformers have no "
                                       "dimension \"hedas\"; did you mean \"heads\"?");
    close_well(o.session);
}

static const char *schedule_of(opened *o, const char *parameter)
{
    *o = open_names("tiny", NULL, parameter, 100);
    return o->run.minimize.schedule;
}

static void test_rates(void **state)
{
    (void)state;
    static const struct {
        const char *file, *parameter, *schedule;
    } want[] = {{NULL, NULL, "noam(warmup=10000.0, fraction=0.1, multiplier=1.0, offset=0.0)"},
                {"constant_0_01", NULL, "constant(value=0.01)"},
                {"slanted_triangular", NULL,
                 "slanted_triangular(cut=0.1, ratio=32.0, top=0.01, start=0.0)"},
                {NULL, "run.learning_rate_schedule = 0.002", "0.002"},
                {NULL,
                 "run.learning_rate_schedule = [0.5, @linear_warmup, @late/linear_decay]\n"
                 "linear_warmup.steps_or_fraction = 100\nlate/linear_decay.steps_or_fraction = 0.2",
                 "0.5 * linear_warmup(steps=100.0) * linear_decay(steps=0.2)"},
                {NULL,
                 "run.learning_rate_schedule = @learning_rate_schedules.product_learning_rate\n"
                 "product_learning_rate.factors = [@truncated_rsqrt, "
                 "2]\nproduct_learning_rate.offset = 500",
                 "truncated_rsqrt(warmup=10000.0) * 2.0 from 500"}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        opened o = open_names("tiny", want[k].file, want[k].parameter, 100);
        assert_string_equal(o.run.minimize.schedule, want[k].schedule);
        assert_string_equal(o.run.minimize.optimizer, "adafactor");
        mtf_graph *g = mtf_graph_new(o.session); /* and it is one */
        assert_non_null(mtf_schedule(mtf_global_step(g), 1000, o.run.minimize.schedule));
        close_well(o.session);
    }
    opened o;
    schedule_of(&o, "run.optimizer = @AdamWeightDecayOptimizer\n"
                    "AdamWeightDecayOptimizer.weight_decay_rate = 0.25\n"
                    "AdamWeightDecayOptimizer.exclude_from_weight_decay = ['norm', 'bias$']");
    assert_string_equal(o.run.minimize.optimizer, "adam");
    assert_true(o.run.minimize.adam.decay == 0.25 && o.run.minimize.adam.uncorrected);
    assert_string_equal(o.run.minimize.adam.undecayed, "(norm)|(bias$)");
    close_well(o.session);
    schedule_of(&o, "run.optimizer = @AdafactorWithMultiLRSchedule\n"
                    "AdafactorOptimizer.beta1 = 0.5\n"
                    "AdafactorOptimizer.decay_rate = @adafactor_decay_rate_adam()\n"
                    "adafactor_decay_rate_adam.beta2 = 0.75\n"
                    "AdafactorOptimizer.exclude_from_parameter_scale = ['a.b']\n"
                    "AdafactorWithMultiLRSchedule.variable_search = ['logits']\n"
                    "AdafactorWithMultiLRSchedule.alt_lr_schedules = [[0.1, @linear_warmup]]");
    assert_true(o.run.minimize.adafactor.beta1 == 0.5 &&
                o.run.minimize.adafactor.decay_beta2 == 0.75);
    assert_string_equal(o.run.minimize.adafactor.unscaled_names, "a\\.b");
    assert_string_equal(o.run.minimize.rules[0].pattern, "logits");
    assert_string_equal(o.run.minimize.rules[0].schedule, "0.1 * linear_warmup(steps=10000.0)");
    assert_null(o.run.minimize.rules[1].pattern);
    assert_int_equal(count_warnings(o.config), 0);
    close_well(o.session);
}

/* Optimizers as they are configured take a step. */
static void test_minimize(void **state)
{
    static const char *const optimizers[] = {
        "run.optimizer = @AdafactorOptimizer\nAdafactorOptimizer.min_dim_size_to_factor = 8",
        "run.optimizer = @AdamWeightDecayOptimizer\nAdamWeightDecayOptimizer.weight_decay_rate = "
        "0.1",
        "run.optimizer = @MomentumOptimizer", "run.optimizer = @SgdOptimizer",
        "run.optimizer = @AdamWithMultiLRSchedule\n"
        "AdamWithMultiLRSchedule.variable_search = ['^transformer/embedding']\n"
        "AdamWithMultiLRSchedule.alt_lr_schedules = [[0.5]]"};
    (void)state;
    for (size_t k = 0; k < sizeof optimizers / sizeof *optimizers; k++) {
        opened o = open_config(
            &(mtf_config_opts){
                .files = (const char *const[]){"lm_base", "tiny", "single", "constant_0_01", NULL},
                .params = (const char *const[]){"d_model = 16\nd_ff = 8\nnum_heads = 2\nd_kv = 4\n"
                                                "Unitransformer.z_loss = 0.0",
                                                optimizers[k], NULL}},
            20);
        static const int32_t text[] = {3, 5, 7, 1};
        mtf_graph           *g = mtf_graph_new(o.session);
        mtf_shape            ids = mtf_shape((mtf_dim){"batch", 1}, (mtf_dim){"length", 4});
        mtf_tensor          *targets = mtf_constant_data(g, text, MTF_I32, ids);
        mtf_transformer     *m = mtf_transformer_new(o.session, &o.model.model);
        mtf_tensor *loss = mtf_transformer_apply(m, &(mtf_transformer_batch){.targets = targets},
                                                 &(mtf_transformer_call){0})
                               .loss;
        mtf_minimize(g, loss, &o.run.minimize);
        mtf_program *p = mtf_compile(g, loss);
        float        first = 0, last = 0;
        for (int step = 0; step < 5; step++)
            assert_true(mtf_step(p) && mtf_fetch(p, loss, step ? &last : &first));
        if (!(last < first)) fail_msg("%s: from %g to %g", optimizers[k], first, last);
        mtf_program_free(p);
        close_well(o.session);
    }
}

static void test_data(void **state)
{
    (void)state;
    opened o = open_names("tiny", "lm_base",
                          "run.vocabulary = (@SentencePieceVocabulary(), @ByteVocabulary())\n"
                          "SentencePieceVocabulary.sentencepiece_model_file = 'a.model'\n"
                          "run.train_dataset_fn = @packed_parallel_tsv_dataset\n"
                          "packed_parallel_tsv_dataset.dataset = @simple_text_line_dataset()\n"
                          "simple_text_line_dataset.glob = 'train-*.tsv'\n"
                          "run.batch_size = ('sequences_per_replica', 3)\n"
                          "run.mesh_shape = [('batch', 4)]\n"
                          "run.eval_checkpoint_step = [10, 20]\n"
                          "run.train_steps = @auto_train_steps\n"
                          "auto_train_steps.train_tokens = 614400\n"
                          "decode_from_file.input_filename = 'in.txt'\n"
                          "Unitransformer.sample_autoregressive.temperature = 0.5\n"
                          "Unitransformer.sample_autoregressive.sampling_keep_top_k = 7\n"
                          "Unitransformer.sample_autoregressive.never_end = True\n"
                          "Unitransformer.sample_autoregressive.bos_id = 3\n"
                          "run.tpu = 'somewhere'\n",
                          100);
    assert_string_equal(o.run.vocabulary->name, "SentencePieceVocabulary");
    assert_string_equal(mtf_config_argument_text(o.run.vocabulary, "sentencepiece_model_file"),
                        "a.model");
    assert_string_equal(o.run.targets_vocabulary->name, "ByteVocabulary");
    assert_string_equal(o.run.vocabulary_text, "sentencepiece:a.model");
    assert_string_equal(o.run.targets_vocabulary_text, "bytes");
    assert_string_equal(o.run.train_data->files, "train-*.tsv");
    assert_string_equal(o.run.train_data->format, "tsv");
    assert_string_equal(o.run.train_data->objective, "lm");
    assert_null(o.run.eval_data);
    assert_string_equal(o.run.train_dataset->name, "packed_parallel_tsv_dataset");
    const mtf_config_call *lines = o.run.train_dataset->arguments[0].call;
    assert_string_equal(mtf_config_argument_text(lines, "glob"), "train-*.tsv");
    assert_null(mtf_config_argument_text(o.run.train_dataset, "vocabulary"));
    assert_int_equal(o.run.batch, 12);
    assert_int_equal(o.run.train_steps, 100);
    assert_string_equal(o.run.eval_steps, "10,20");
    assert_string_equal(o.run.decode.input_file, "in.txt");
    assert_true(o.run.decode.how.temperature == 0.5 && o.run.decode.how.top_k == 7);
    assert_true(o.run.decode.how.never_end && o.run.decode.how.start == 3);
    const mtf_config_note *notes;
    assert_int_equal(mtf_config_notes(o.config, &notes), 1);
    assert_string_equal(notes[0].text, "parameter 1:16:1: run.tpu has no effect in mtf");
    assert_false(notes[0].warning);
    close_well(o.session);
}

static void test_texts(void **state)
{
    (void)state;
    opened                    o = open_names("tiny", NULL,
                                             "run.model_type = 'delimited_lm'\n"
                                                                "run.vocabulary = @ByteVocabulary()\nByteVocabulary.extra_ids = 100\n"
                                                                "run.train_dataset_fn = @text_dataset\n"
                                                                "run.eval_dataset_fn = @held/text_dataset\n"
                                                                "text_dataset.files = 'train/*.txt'\ntext_dataset.objective = 'prefix'\n"
                                                                "text_dataset.documents = 'line'\ntext_dataset.joined = True\n"
                                                                "text_dataset.seed = 7\ntext_dataset.noise_density = 0.5\n"
                                                                "held/text_dataset.files = 'dev.txt'\nheld/text_dataset.pack = False",
                                             100);
    const mtf_config_dataset *d = o.run.train_data;
    assert_string_equal(o.run.vocabulary_text, "bytes:extra=100");
    assert_string_equal(d->files, "train/*.txt");
    assert_string_equal(d->objective, "prefix_delimited");
    assert_string_equal(d->documents, "line");
    assert_true(d->joined && d->pack && d->shuffle && !d->split_long && !d->ensure_end);
    assert_true(d->seed == 7 && d->noise == 0.5 && d->mean_span == 3 && !d->format && !d->inputs);
    assert_string_equal(o.run.eval_data->files, "dev.txt");
    assert_false(o.run.eval_data->pack);
    check_same_again(&o, 100);
    close_well(o.session);

    o = open_names("tiny", NULL,
                   "run.vocabulary = @get_t2t_vocabulary()\nget_t2t_vocabulary.data_dir = 'd'\n"
                   "get_t2t_vocabulary.vocabulary_filename = 'v.subwords'\n"
                   "run.train_dataset_fn = @pretokenized_t2t_dataset\n"
                   "pretokenized_t2t_dataset.dataset_name = 'ende'\n"
                   "pretokenized_t2t_dataset.data_dir = 'd'",
                   100);
    assert_string_equal(o.run.vocabulary_text, "subwords:d/v.subwords");
    assert_string_equal(o.run.train_data->files, "d/ende-train*");
    assert_string_equal(o.run.train_data->objective, "pairs");
    close_well(o.session);
}

/* ---- whole configurations ---- */

static void test_t5_operative(void **state)
{
    (void)state;
    opened     o = open_names(MTF_SOURCE_DIR "/tests/model/t5_operative.gin", NULL, NULL, 32100);
    mtf_graph *g = build(&o);
    assert_int_equal(count_parameters(g), 60506624);
    assert_int_equal(count_warnings(o.config), 0);
    assert_string_equal(o.run.mesh, "batch:16,model:2");
    assert_string_equal(o.run.layout,
                        "batch:batch?,d_ff:model?,heads:model?,vocab:model?,experts:batch?");
    assert_int_equal(o.run.batch, 2048);
    assert_int_equal(o.run.microbatches, 8);
    assert_int_equal(o.run.train_steps, 524288);
    assert_string_equal(o.run.minimize.schedule,
                        "noam(warmup=10000.0, fraction=0.0, multiplier=1.0, offset=0.0)");
    assert_string_equal(o.run.vocabulary->name, "get_vocabulary");
    assert_true(!o.run.vocabulary_text && !o.run.train_data); /* T5's tasks are not here */
    assert_string_equal(mtf_config_argument_text(o.run.vocabulary, "mixture_or_task_name"),
                        "all_mix");
    assert_true(o.model.model.stack.dropout == 0.1 && o.model.model.encoder.dropout == 0.1);
    assert_int_equal(o.model.model.activation, MTF_BF16);
    check_same_again(&o, 32100);
    close_well(o.session);
}

/* Every model that came with mtf, written as its operative configuration and read again. */
static void test_all_again(void **state)
{
    (void)state;
    DIR *folder = opendir(MTF_SOURCE_DIR "/share/gin/models");
    assert_non_null(folder);
    int seen = 0;
    for (struct dirent *e; (e = readdir(folder));) {
        if (!strstr(e->d_name, ".gin") || strstr(e->d_name, "common")) continue;
        opened o = open_names(e->d_name, "8x8_m4", NULL, 1000);
        check_same_again(&o, 1000);
        close_well(o.session);
        seen++;
    }
    closedir(folder);
    assert_int_equal(seen, 34);
}

/* 768 Mi parameters of experts, as the original says of lm_moe; words and numbers arrive. */
static void test_experts(void **state)
{
    (void)state;
    const int64_t experts = 32 * 2 * 1024 * (int64_t)4096, attention = 4 * 1024 * 2048,
                  dense = 2 * 1024 * 8192;
    opened     o = open_names("lm_moe.gin", NULL, NULL, 1000);
    mtf_graph *g = build(&o);
    assert_int_equal(3 * experts, (int64_t)768 << 20);
    assert_int_equal(count_parameters(g),
                     3 * (experts + 1024 * 32 + 2 * attention + dense + 4 * 1024) + 1024 +
                         1024 * 1024 + 512 * 1024);
    const mtf_moe_opts *m = &o.model.model.stack.layers[1].moe;
    assert_true(m->experts == 32 && m->hidden == 4096 && m->loss_coef == 0.01 &&
                m->least_capacity == 4);
    assert_string_equal(m->gating, "top_2");
    check_same_again(&o, 1000);
    close_well(o.session);
    /* As many in two levels, whose routers choose among 8 and 8. */
    o = open_names("lm_moe_2d.gin", NULL, NULL, 1000);
    assert_int_equal(count_parameters(build(&o)),
                     3 * (experts + 1024 * (8 + 8 * 8) + 2 * attention + dense + 4 * 1024) + 1024 +
                         1024 * 1024 + 512 * 1024);
    m = &o.model.model.stack.layers[1].moe;
    assert_true(m->outer == 8 && m->experts == 8 && m->hidden == 2048 && m->capacity_inner == 1);
    check_same_again(&o, 1000);
    close_well(o.session);
    o = open_names("deepseek_small.gin", NULL, NULL, 1000);
    m = &o.model.model.stack.layers[1].moe;
    assert_true(m->k == 8 && m->sigmoid && m->shared == 1 && m->scale == 2.5 &&
                m->bias_rate == 0.001);
    assert_true(!m->unnormalised && !m->one_hot && m->dropless && !m->across &&
                m->group_size == 1024);
    assert_string_equal(m->activation[1], "linear");
    close_well(o.session);
}

static void test_other_models(void **state)
{
    (void)state;
    opened o = open_names("tiny", NULL,
                          "run.model_type = 'bi_student_teacher'\n"
                          "student/make_layer_stack.num_layers = 1\n"
                          "StudentTeacher.fraction_soft = 0.5\nStudentTeacher.temperature = 2.0\n"
                          "StudentTeacher.teacher_checkpoint = 'big'",
                          100);
    assert_int_equal(o.model.model.stack.blocks, 1);
    assert_int_equal(o.model.teacher.stack.blocks, 2);
    assert_true(o.model.distill.temperature == 2 && o.model.distill.fraction_soft == 0.5);
    assert_string_equal(o.model.teacher_checkpoint, "big");
    build(&o);
    check_same_again(&o, 100);
    close_well(o.session);

    o = open_names(
        "tiny", NULL,
        "run.model_type = 'bi_student_teacher'\n"
        "StudentTeacher.fraction_soft = 0\nStudentTeacher.temperature = 2.0\n"
        "teacher/make_layer_stack.layer_stack_cls = @ReversibleLayerStack\n"
        "ReversibleLayerStack.sublayers_per_layer = [@sublayer_rms_norm, @sublayer_call_layer]\n"
        "student/encoder/make_layer_stack.layers = [@LocalSelfAttention, @DenseReluDense]",
        100);
    assert_true(o.model.teacher.encoder.reversible && !o.model.model.encoder.reversible);
    assert_true(o.model.distill.fraction_soft < 0); /* none, where 0 is the default */
    assert_int_equal(o.model.model.encoder.layers[0].attention.window, 128);
    build(&o);
    check_same_again(&o, 100);
    close_well(o.session);

    o = open_names("tiny", NULL,
                   "run.model_type = 'bitransformer'\n"
                   "EncDecAttention.relative_attention_type = 'bias_shared'\n"
                   "decoder/Unitransformer.sinusoid_positional_embedding = True\n"
                   "sinusoid_positional_embedding_weights.max_timescale = 500.0\n"
                   "shift_targets.bos_id = 0\nshift_targets.eos_id = 1\n"
                   "relative_position_spans.num_sentinels = 20\n"
                   "SelfAttention.attention_kwargs = {'extra_logit': -1.5}\n"
                   "EncDecAttention.attention_kwargs = None\n"
                   "EncDecAttention.learned_extra_logit = True\n"
                   "EncDecAttention.f8 = True\nDenseReluDense.f8 = True\n"
                   "LayerStack.sublayers_initial = [@sublayer_annealed_dropout]\n"
                   "sublayer_annealed_dropout.init_dropout_rate = 0.25\n"
                   "sublayer_annealed_dropout.start_step = 5\n"
                   "sublayer_annealed_dropout.end_step = 10\n"
                   "LayerStack.sublayers_final = [@sublayer_rms_norm_subsampled]\n"
                   "sublayer_rms_norm_subsampled.percentage = 30.0\n",
                   100);
    assert_int_equal(o.model.model.sentinels, 20);
    assert_true(o.model.model.stack.layers[1].attention.extra_logit);
    assert_true(o.model.model.stack.layers[1].attention.f8 &&
                !o.model.model.stack.layers[0].attention.f8 &&
                o.model.model.stack.layers[2].feed_forward.f8);
    assert_true(o.model.model.stack.max_timescale == 500);
    assert_int_equal(count_warnings(o.config), 0);
    assert_int_equal(o.model.model.stack.layers[1].attention.relative, MTF_RELATIVE_BIAS_SHARED);
    assert_true(o.model.model.stack.layers[0].attention.fixed_extra_logit &&
                o.model.model.stack.layers[0].attention.extra_logit_value == -1.5);
    assert_string_equal(o.model.model.stack.initial[0], "annealed_dropout(0.25,5.0,10.0)");
    assert_string_equal(o.model.model.stack.final[0], "rms_norm_subsampled(30.0,1e-06)");
    build(&o);
    check_same_again(&o, 100);
    close_well(o.session);

    o = open_names(
        "tiny", NULL,
        "run.model_type = 'delimited_lm'\n"
        "delimited_lm_inputs_mask.eos_id = 99\n"
        "Unitransformer.input_full_attention = True\n"
        "Unitransformer.loss_on_targets_only = True\n"
        "make_layer_stack.layers = [[@SelfAttention, 'first', {'num_memory_heads': 1}], "
        "@LocalSelfAttention, @TalkingHeadsSelfAttention, @DenseReluDense]\n"
        "LocalSelfAttention.radius = 3\n"
        "TalkingHeadsSelfAttention.key_heads_dims = (('heads', 2), ('key_heads', 3))\n"
        "TalkingHeadsSelfAttention.softmax_heads_dims = (('heads', 2),)\n"
        "TalkingHeadsSelfAttention.value_heads_dims = (('heads', 2), ('value_heads', 5))\n"
        "TalkingHeadsSelfAttention.dynamic_projections = ['x2l', 'm2w']\n"
        "Unitransformer.ensemble = 2\n"
        "reduce_ensemble_logits.reduce_fn = @reduce_ensemble_logits_select\n"
        "reduce_ensemble_logits_select.model_id = 1\n"
        "DenseReluDense.activation = ['swish', 'linear']",
        100);
    const mtf_transformer_opts *m = &o.model.model;
    assert_true(m->prefix && m->loss_on_targets_only && m->ensemble == 2 && m->end == 99);
    assert_true(m->ensemble_output == MTF_ENSEMBLE_SELECT && m->ensemble_member == 1);
    assert_string_equal(m->stack.layers[0].place, "first");
    assert_int_equal(m->stack.layers[0].attention.memory_heads, 1);
    assert_int_equal(m->stack.layers[1].attention.window, 3);
    const mtf_talking_heads_layer *talks = &m->stack.layers[2].talking_heads;
    assert_int_equal(talks->key_dims.ndims, 2);
    assert_string_equal(talks->key_dims.dims[1].name, "key_heads");
    assert_int_equal(talks->value_dims.dims[1].size, 5);
    assert_true(talks->x2l && !talks->m2l && !talks->x2w && talks->m2w);
    assert_string_equal(m->stack.layers[3].feed_forward.activation[1], "linear");
    assert_int_equal(count_warnings(o.config), 0);
    build(&o);
    check_same_again(&o, 100);
    close_well(o.session);
}

/* Tokens by the name of the vocabulary. */
static int64_t tokens_of(void *context, const char *vocabulary)
{
    ++*(int *)context;
    return strcmp(vocabulary, "bytes") == 0 ? 259 : 32000;
}

static void test_all_at_once(void **state)
{
    static const char *const files[] = {"tiny", "lm_base", NULL};
    static const char *const byte[] = {"run.vocabulary = @ByteVocabulary()", NULL};
    static const char *const both[] = {
        "run.vocabulary = @separate_vocabularies()\n"
        "separate_vocabularies.inputs = @ByteVocabulary()\n"
        "separate_vocabularies.targets = @SentencePieceVocabulary()\n"
        "SentencePieceVocabulary.sentencepiece_model_file = 'a.model'\n"
        "Unitransformer.shared_embedding_and_softmax_weights = False",
        NULL};
    int              calls = 0;
    mtf_config_run   run;
    mtf_config_model m;
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    assert_non_null(mtf_configure(s, &(mtf_config_opts){.files = files, .params = byte}, tokens_of,
                                  &calls, &run, &m));
    assert_int_equal(m.model.input_vocab, 259);
    assert_int_equal(m.model.output_vocab, 259);
    assert_int_equal(calls, 1);
    assert_non_null(mtf_configure(s, &(mtf_config_opts){.files = files, .params = both}, tokens_of,
                                  &calls, &run, &m));
    assert_int_equal(m.model.input_vocab, 259);
    assert_int_equal(m.model.output_vocab, 32000);
    assert_int_equal(calls, 3);
    assert_null(mtf_configure(s, &(mtf_config_opts){.files = files}, tokens_of, &calls, &run, &m));
    close_with(s,
               "value: the number of tokens is not known: name a vocabulary (run.vocabulary), or "
               "bind input_vocab_size and output_vocab_size");
}

static void test_sublayers(void **state)
{
    (void)state;
    opened                o = open_names("lm_base", "tiny",
                                         "LayerStack.sublayers_final = [@transformer.sublayer_rms_norm, "
                                                        "@end/sublayer_dropout, @sublayer_rezero]\n"
                                                        "end/sublayer_dropout.dropout_rate = 0.25\n"
                                                        "sublayer_rms_norm.epsilon = 1e-5\nsublayer_rezero.initial_value = 1",
                                         100);
    const mtf_stack_opts *stack = &o.model.model.stack;
    assert_string_equal(stack->initial[0], "dropout(0.1)");
    assert_string_equal(stack->per_layer[0], "rms_norm(1e-05)");
    assert_string_equal(stack->per_layer[1], "call_layer");
    assert_string_equal(stack->final[1], "dropout(0.25)");
    assert_string_equal(stack->final[2], "rezero(1.0)");
    assert_null(stack->final[3]);
    build(&o);
    check_same_again(&o, 100);
    close_well(o.session);
}

/* ---- without memory ---- */

typedef struct budget {
    int left;
} budget;

static void *take(void *context, size_t bytes)
{
    budget *b = context;
    return b->left-- > 0 ? malloc(bytes) : NULL;
}

static void give(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void test_no_memory(void **state)
{
    static const char *const files[] = {"t5_small", "2x2_dp_mp", NULL};
    (void)state;
    for (int left = 0;; left++) {
        budget           b = {left};
        mtf_session     *s = mtf_open_with(&(mtf_session_opts){.allocator = {take, give, &b}});
        mtf_config_run   run;
        mtf_config_model m;
        mtf_config      *c =
            s ? mtf_configure(s, &(mtf_config_opts){.files = files}, NULL, NULL, &run, &m) : NULL;
        bool ok = c && mtf_config_operative(c);
        if (s && !ok) assert_contains(mtf_error(s), "memory: ");
        if (s) mtf_close(s);
        if (ok) break;
        assert_true(left < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_sizes),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_transparent_attention),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_t5_operative),
        cmocka_unit_test(test_all_again),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_other_models),
        cmocka_unit_test(test_sublayers),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_on_mesh),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_minimize),
        cmocka_unit_test(test_all_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
