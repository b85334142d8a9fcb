/* Tests vocabularies that configurations describe. */
#include "config_models.h"

/* last */
#include "ground.h"

#define LM "run.model_type = 'lm'\nd_model = 8\n"
#define BI "run.model_type = 'bitransformer'\nd_model = 8\n"

static void test_factors(void **state)
{
    (void)state;
    opened     o = open_tiny(LM "get_vocab_embedding_cls.cls = @FactorizedVocabEmbedding\n"
                                    "FactorizedVocabEmbedding.inner_dimension_size = 3");
    mtf_graph *g = build(&o);
    check_shape(g, "transformer/embedding1", 128, 3);
    check_shape(g, "transformer/embedding2", 3, 8);
    check_tiny_ends(&o);
    refuse_tiny(LM "get_vocab_embedding_cls.cls = @FactorizedVocabEmbedding",
                "bind FactorizedVocabEmbedding.inner_dimension_size");
    refuse_tiny(LM "get_vocab_embedding_cls.cls = @DenseReluDense",
                "get_vocab_embedding_cls.cls takes @VocabEmbedding, @FactorizedVocabEmbedding");
}

static void test_clusters(void **state)
{
    static const char two[] =
        BI "get_vocab_embedding_cls.cls = @vocab_embeddings.AdaptiveVocabEmbedding\n"
           "large = {'token_count': 30, 'embedding_size': 8}\n"
           "AdaptiveVocabEmbedding.clusters = [%large, {'embedding_size': 2, 'token_count': 70}]";
    (void)state;
    opened     o = open_tiny(two);
    mtf_graph *g = build(&o);
    check_shape(g, "shared/embedding_0", 30, 8);
    check_shape(g, "shared/embedding_11", 98, 2); /* with those that pad */
    check_shape(g, "shared/embedding_12", 2, 8);
    check_tiny_ends(&o);
    refuse_tiny(LM "get_vocab_embedding_cls.cls = @AdaptiveVocabEmbedding\n"
                   "AdaptiveVocabEmbedding.clusters = [{'token_count': 30}]",
                "the clusters have 30 tokens together, the vocabulary 100");
    refuse_tiny(LM "get_vocab_embedding_cls.cls = @AdaptiveVocabEmbedding",
                "bind AdaptiveVocabEmbedding.clusters");
    refuse_tiny(LM "get_vocab_embedding_cls.cls = @AdaptiveVocabEmbedding\n"
                   "AdaptiveVocabEmbedding.clusters = [{'token_count': 100, "
                   "'length_projection_factor': 0.5}]",
                "AdaptiveVocabEmbedding.clusters takes a list of dictionaries such as");
}

#define ADAPTIVE                                                                                   \
    LM "get_vocab_embedding_cls.cls = @AdaptiveSoftmaxVocabEmbedding\n"                            \
       "AdaptiveSoftmaxVocabEmbedding.clusters = [{'token_count': 30},\n"                          \
       "  {'token_count': 70, 'embedding_size': 4, 'length_projection_factor': 0.5}]\n"

static void test_adaptive_softmax(void **state)
{
    (void)state;
    opened o =
        open_tiny(ADAPTIVE "Unitransformer.loss_fn = @adaptive_softmax.adaptive_softmax_loss_fn\n"
                           "Unitransformer.z_loss = 0.001");
    mtf_graph *g = build(&o);
    check_shape(g, "transformer/embedding_0", 31, 8); /* the last row is the other cluster */
    check_shape(g, "transformer/embedding_11", 98, 4);
    assert_near(o.model.model.vocab.clusters[1].length, 0.5, 0);
    check_tiny_ends(&o);
    refuse_tiny(ADAPTIVE, "bind Unitransformer.loss_fn = @adaptive_softmax_loss_fn");
    refuse_tiny(LM "Unitransformer.loss_fn = @adaptive_softmax_loss_fn",
                "adaptive_softmax_loss_fn is the loss of AdaptiveSoftmaxVocabEmbedding");
    refuse_tiny(
        LM "Unitransformer.loss_fn = @DenseReluDense",
        "Unitransformer.loss_fn takes None or @adaptive_softmax_loss_fn, not @DenseReluDense");
    refuse_tiny(ADAPTIVE "Unitransformer.loss_fn = @adaptive_softmax_loss_fn\n"
                         "Unitransformer.label_smoothing = 0.1",
                "label smoothing, here 0.1, needs all tokens");
    refuse_tiny(ADAPTIVE "Unitransformer.loss_fn = @adaptive_softmax_loss_fn\n"
                         "Unitransformer.shared_embedding_and_softmax_weights = False",
                "AdaptiveSoftmaxVocabEmbedding needs shared_softmax");
    refuse_tiny(LM "get_vocab_embedding_cls.cls = @AdaptiveSoftmaxVocabEmbedding\n"
                   "Unitransformer.loss_fn = @adaptive_softmax_loss_fn\n"
                   "AdaptiveSoftmaxVocabEmbedding.clusters = [{'token_count': 30,\n"
                   "  'length_projection_factor': 0.5}, {'token_count': 70}]",
                "the softmax over the first cluster is computed at all positions");
}

static void test_mixtures(void **state)
{
    (void)state;
    opened     o = open_tiny(LM "get_vocab_embedding_cls.cls = @MixtureOfSoftmaxes\n"
                                    "MixtureOfSoftmaxes.num_softmaxes = 4");
    mtf_graph *g = build(&o);
    check_shape(g, "transformer/embedding_embedding_weights", 128, 8);
    check_shape(g, "transformer/embedding_mixture_weights", 4, 8);
    check_tiny_ends(&o);
    o = open_tiny(LM "get_vocab_embedding_cls.cls = @Mixtape\nMixtape.gate_embedding_size = 5\n"
                     "Mixtape.extra_ids = 10\nMixtape.dropout_rate = 0.1\n"
                     "Mixtape.noise_std_dev = 0.2");
    g = build(&o);
    check_shape(g, "transformer/embedding_prior_vocab_vector", 12, 5);
    check_shape(g, "transformer/embedding_prior_bias", 12, 3);
    check_shape(g, "transformer/embedding_prior_gates_vector", 3, 8);
    check_shape(g, "transformer/embedding_context_weights_bias", 4, 8);
    assert_int_equal(o.model.model.vocab.last_frequent, 10);
    assert_near(o.model.model.vocab.noise, 0.2, 0);
    check_tiny_ends(&o);
    refuse_tiny(LM "get_vocab_embedding_cls.cls = @Mixtape", "bind Mixtape.gate_embedding_size");
    refuse_tiny(LM "get_vocab_embedding_cls.cls = @Mixtape\nMixtape.gate_embedding_size = 5\n"
                   "Mixtape.frequent_token_fraction = 0.0",
                "Mixtape.frequent_token_fraction takes a number above 0, not 0.0");
}

/* Encoder and decoder each have the vocabulary of their scope, and their own number of tokens. */
static void test_separate(void **state)
{
    static const char text[] =
        BI "Bitransformer.shared_embedding = False\n"
           "encoder/get_vocab_embedding_cls.cls = @FactorizedVocabEmbedding\n"
           "encoder/FactorizedVocabEmbedding.inner_dimension_size = 3\n"
           "decoder/get_vocab_embedding_cls.cls = @MixtureOfSoftmaxes\n"
           "decoder/MixtureOfSoftmaxes.num_softmaxes = 2";
    (void)state;
    opened o = open_tiny(text);
    o.model.model.output_vocab = 200;
    mtf_graph *g = build(&o);
    check_shape(g, "encoder/embedding1", 128, 3);
    check_shape(g, "decoder/embedding_embedding_weights", 256, 8);
    check_shape(g, "decoder/embedding_mixture_weights", 2, 8);
    close_well(o.session);
    o = open_tiny(text);
    check_tiny_ends(&o);
    refuse_tiny(BI "Bitransformer.shared_embedding = False\n"
                   "encoder/VocabEmbedding.scale_variable_like_classifier_weights = True",
                "scale_variable_like_classifier_weights must be the same of encoder and decoder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors),          cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_adaptive_softmax), cmocka_unit_test(test_mixtures),
        cmocka_unit_test(test_separate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
