/* Parameters of vocabularies. */
#include "model/config/known_vocab.h"

#define TRANSFORMER "mesh_tensorflow.transformer.transformer"
#define EMBEDDINGS "mesh_tensorflow.transformer.vocab_embeddings"
#define ADAPTIVE "mesh_tensorflow.transformer.adaptive_softmax"
#define AT(field) offsetof(embedding_args, field)

/* clang-format off */

static const gin_parameter embedding_class[] = {
    {"cls",                            TAKES_VALUE,   "None",   AT(class)},
    {0}};
const configurable known_embedding_class = {TRANSFORMER, "get_vocab_embedding_cls", embedding_class, NULL, 0};

static const gin_parameter vocab_embedding[] = {
    {"scale_variable_like_classifier_weights", TAKES_BOOL, "False", AT(like_classifier)},
    {0}};
const configurable known_vocab_embedding = {TRANSFORMER, "VocabEmbedding", vocab_embedding, NULL, 0};

static const gin_parameter factorized[] = {
    {"inner_dimension_size",           TAKES_COUNT,   "None",   AT(inner)},
    {0}};
const configurable known_factorized = {EMBEDDINGS, "FactorizedVocabEmbedding", factorized, NULL, 0};

static const gin_parameter clusters[] = {
    {"clusters",                       TAKES_VALUE,   "None",   AT(clusters)},
    {0}};
const configurable known_adaptive_embedding = {EMBEDDINGS, "AdaptiveVocabEmbedding", clusters, NULL, 0};
const configurable known_adaptive_softmax = {ADAPTIVE, "AdaptiveSoftmaxVocabEmbedding", clusters, NULL, 0};

static const gin_parameter no_parameters[] = {{0}};
const configurable known_adaptive_loss = {ADAPTIVE, "adaptive_softmax_loss_fn", no_parameters, NULL, 0};

static const gin_parameter softmaxes[] = {
    {"num_softmaxes",                  TAKES_COUNT,   "None",   AT(softmaxes)},
    {0}};
const configurable known_softmaxes = {EMBEDDINGS, "MixtureOfSoftmaxes", softmaxes, NULL, 0};

static const gin_parameter mixtape[] = {
    {"extra_ids",                      TAKES_INT,     "0",      AT(last_frequent)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"gate_embedding_size",            TAKES_COUNT,   "None",   AT(gate_size)},
    {"frequent_token_fraction",        TAKES_ABOVE_0, "0.1",    AT(frequent)},
    {"noise_std_dev",                  TAKES_LEAST_0, "0.0",    AT(noise)},
    {0}};
const configurable known_mixtape = {EMBEDDINGS, "Mixtape", mixtape, NULL, 0};

/* clang-format on */

const configurable *const known_vocab[] = {
    &known_embedding_class,    &known_vocab_embedding,  &known_factorized,
    &known_adaptive_embedding, &known_adaptive_softmax, &known_adaptive_loss,
    &known_softmaxes,          &known_mixtape,          NULL};
