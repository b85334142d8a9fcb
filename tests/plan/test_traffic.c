/* Tests the bytes that collectives send and receive. */
#include "cuda/known/nccl_collectives.h"
#include "machine/overlap.h"
#include "price/traffic.h"
#include "program/stages.h"

#include "ground.h"

static const mesh three = {.naxes = 1, .name = {"x"}, .size = {3}};
static const mesh grid = {.naxes = 2, .name = {"x", "y"}, .size = {2, 3}};
static const mesh cube = {.naxes = 3, .name = {"x", "y", "z"}, .size = {2, 3, 2}};

static int64_t received_by(const mesh *m, const instr *i, const mesh_point *here)
{
    traffic t = traffic_of(NULL, m, i, here);
    assert_int_equal(t.received, 0);
    return t.read;
}

static int64_t sent_by(const mesh *m, const instr *i, const mesh_point *here)
{
    traffic t = traffic_of(NULL, m, i, here);
    assert_int_equal(t.sent, 0);
    return t.lent;
}

static instr reduction(int64_t elements, unsigned axes)
{
    static access f64 = {.type = MTF_F64};
    instr         i = {.kind = INSTR_REDUCE, .nloops = 1, .size = {elements}, .out = &f64};
    i.reduce = (reduce_args){FOLD_SUM, axes};
    return i;
}

static void test_all_reduce(void **state)
{
    (void)state;
    /* Ten thousand elements, three members: shards of 3333, 3333, 3334; each moves all and a shard. */
    instr         i = reduction(10000, 1);
    const int64_t moves[3] = {13333, 13333, 13334};
    for (int p = 0; p < 3; p++) {
        mesh_point here = mesh_place(&three, p);
        assert_int_equal(received_by(&three, &i, &here), moves[p]);
        assert_int_equal(sent_by(&three, &i, &here), moves[p]);
    }
    assert_string_equal(traffic_kind(&i), "all_reduce");
    assert_int_equal(traffic_axes(&i), 1);
    assert_int_equal(traffic_group(&three, 1), 3);
    /* Two members swap halves and results: as many as there are. */
    i = reduction(10, 1);
    mesh_point here = mesh_place(&grid, 4);
    assert_int_equal(sent_by(&grid, &i, &here), 10);
    /* Nobody else in the group: nothing moves.  Fewer elements than members: some move less. */
    i = reduction(10, 0);
    assert_int_equal(sent_by(&grid, &i, &here), 0);
    i = reduction(1, 3);
    int64_t sum = 0;
    for (int p = 0; p < 6; p++) {
        here = mesh_place(&grid, p);
        sum += received_by(&grid, &i, &here);
    }
    assert_int_equal(sum, 6 * 5 * 1);
    /* What is small is read whole, by everybody of everybody: one meeting less. */
    i = reduction(10, 1);
    here = mesh_place(&three, 1);
    assert_int_equal(received_by(&three, &i, &here), 2 * 10);
    assert_int_equal(traffic_of(NULL, &three, &i, &here).flops, 2 * 10);
    i = reduction(10000, 1);
    assert_int_equal(traffic_of(NULL, &three, &i, &here).flops, 2 * 3333);
}

/* What goes in messages, and what within a process, is together what threads move, but for sums
 * so small that one way takes them whole. */
static void check_sites(const mesh *m, const instr *i)
{
    static const int apart[] = {0, 1, 2, 3, 4, 5}, two[] = {0, 0, 0, 1, 1, 1};
    const site sites[] = {{.ranks = 6}, {.ranks = 6, .host = apart}, {.ranks = 6, .host = two},
                          {.ranks = 2}, {.ranks = 3, .host = apart}, {.ranks = 4}};
    for (size_t k = 0; k < sizeof sites / sizeof *sites; k++) {
        int64_t sent = 0, received = 0;
        for (int p = 0; p < 6; p++) {
            mesh_point here = mesh_place(m, p);
            traffic    t = traffic_of(&sites[k], m, i, &here), all = traffic_of(NULL, m, i, &here);
            assert_int_equal(t.read + t.received, all.read);
            assert_int_equal(t.lent + t.sent, all.lent);
            assert_int_equal(t.flops, all.flops);
            if (sites[k].ranks == 6) assert_true(t.read == 0 || t.received == 0);
            sent += t.sent;
            received += t.received;
        }
        assert_int_equal(sent, received);
    }
}

static void test_sites(void **state)
{
    (void)state;
    instr         i = reduction(10000, 3);
    exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 4000}), ((mtf_dim){"b", 20}))};
    check_sites(&grid, &i);
    i = reduction(10000, 1);
    check_sites(&grid, &i);
    how.from.dim[0] = (axis_list){2, {0, 1}};
    how.to.dim[1] = (axis_list){1, {1}};
    i = (instr){.kind = INSTR_EXCHANGE, .out = i.out, .exchange = &how};
    check_sites(&grid, &i);
    i.kind = INSTR_REDUCE_SCATTER;
    i.reduce_scatter = (scatter_args){.from = {1, {0}}, .to = {2, {0, 1}}, .size = 1000, .row = 7};
    check_sites(&grid, &i);
    /* Between ranks that share no memory four swap what is small; more than four never do. */
    static const int apart[] = {0, 1, 2, 3, 4, 5};
    const site       far = {.ranks = 6, .host = apart};
    mesh_point       here = mesh_place(&grid, 3);
    i = reduction(600, 2);
    assert_int_equal(traffic_of(&far, &grid, &i, &here).sent, 2 * 600);
    i = reduction(600, 3);
    assert_int_equal(traffic_of(&far, &grid, &i, &here).sent, 600 + 4 * 100);
}

/* ---- two stages ---- */

static traffic sum_of(const site *at, const mesh *m, const instr *i)
{
    traffic sum = {0};
    for (int p = 0; p < mesh_size(m); p++) {
        mesh_point here = mesh_place(m, p);
        traffic    t = traffic_of(at, m, i, &here);
        sum.read += t.read, sum.lent += t.lent;
        sum.received += t.received, sum.sent += t.sent;
        sum.received_outside += t.received_outside, sum.sent_outside += t.sent_outside;
        sum.flops += t.flops;
    }
    return sum;
}

/* In two stages a group moves and combines as much as in one, and sends `outside` elements to other
 * hosts. */
static void check_staged(const mesh *m, const instr *i, int hosts, int64_t outside)
{
    site    at = {.ranks = mesh_size(m), .hosts = hosts};
    traffic t = sum_of(&at, m, i), one = sum_of(NULL, m, i);
    stages  two;
    assert_true(stages_find(&at, m, 0, i, &two));
    assert_int_equal(t.read + t.received, one.read);
    assert_int_equal(t.lent + t.sent, one.lent);
    assert_int_equal(t.read, t.lent);
    assert_int_equal(t.received, t.sent);
    assert_int_equal(t.flops, one.flops);
    assert_int_equal(t.sent_outside, outside);
    assert_int_equal(t.received_outside, outside);
}

static void test_two_stages(void **state)
{
    (void)state;
    static const mesh four = {.naxes = 1, .name = {"x"}, .size = {4}};
    static const int  pairs[] = {0, 0, 2, 2}, turns[] = {0, 1, 0, 1};
    instr             i = reduction(10000, 1);
    mesh_point        here = mesh_place(&four, 1);
    /* Half of the operand is this place's, and half of that this member's own. */
    traffic t = traffic_of(&(site){.ranks = 4, .hosts = 2}, &four, &i, &here);
    assert_true(t.read == 5000 + 5000 && t.lent == t.read && t.flops == 5000 + 2500);
    assert_true(t.received == 2500 + 2500 && t.sent == t.received && t.sent_outside == t.sent);
    check_staged(&four, &i, 2, 2 * 1 * 10000);
    /* In one stage two of three others are outside, for each of four members. */
    assert_int_equal(sum_of(&(site){.ranks = 4, .host = pairs}, &four, &i).sent_outside,
                     2 * 2 * 10000);
    /* Uneven shares, of both axes, of three hosts; along an axis between hosts only there is one stage. */
    i = reduction(10001, 3);
    check_staged(&grid, &i, 2, 2 * 1 * 10001);
    i = reduction(10001, 7);
    check_staged(&cube, &i, 2, 2 * 1 * 10001);
    check_staged(&cube, &i, 6, 2 * 5 * 10001);
    i.kind = INSTR_REDUCE_SCATTER;
    i.reduce_scatter = (scatter_args){.to = {3, {2, 0, 1}}, .size = 1001, .row = 7};
    check_staged(&cube, &i, 2, 7007);
    check_staged(&cube, &i, 6, 5 * 7007);
    /* Ranks that take turns on hosts, and hosts that end within an axis, have one stage. */
    i = reduction(10000, 1);
    stages     two;
    const site turning = site_of_hosts(4, turns), even = site_of_hosts(4, pairs);
    assert_true(turning.host == turns && !even.host && even.hosts == 2);
    assert_false(stages_find(&turning, &four, 0, &i, &two));
    assert_true(stages_find(&even, &four, 0, &i, &two));
    assert_false(stages_find(&(site){.ranks = 6, .hosts = 3}, &grid, 0, &i, &two));
    assert_false(stages_find(&(site){.ranks = 4, .hosts = 3}, &four, 0, &i, &two));
    assert_false(stages_find(&(site){.ranks = 4, .hosts = 4}, &four, 0, &i, &two));
    assert_false(stages_find(&(site){.ranks = 2, .hosts = 2}, &four, 0, &i, &two));
    assert_false(stages_find(&(site){.ranks = 4, .hosts = 2, .library = &nccl_collectives}, &four,
                             0, &i, &two));
    i = reduction(10, 1); /* is swapped at once */
    assert_false(stages_find(&even, &four, 0, &i, &two));
}

static instr exchange(exchange_args *how)
{
    static access f32 = {.type = MTF_F32};
    instr         i = {.kind = INSTR_EXCHANGE, .out = &f32};
    i.exchange = how;
    return i;
}

static void test_all_gather(void **state)
{
    (void)state;
    exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 10}), ((mtf_dim){"b", 2}))};
    how.from.dim[0] = (axis_list){1, {0}};
    instr         i = exchange(&how);
    const int64_t received[3] = {14, 14, 12}, sent[3] = {12, 12, 16};
    assert_string_equal(traffic_kind(&i), "all_gather");
    for (int p = 0; p < 3; p++) {
        mesh_point here = mesh_place(&three, p);
        assert_int_equal(received_by(&three, &i, &here), received[p]);
        assert_int_equal(sent_by(&three, &i, &here), sent[p]);
    }
}

static void test_all_to_all(void **state)
{
    (void)state;
    exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 6}), ((mtf_dim){"b", 9}))};
    how.from.dim[0] = how.to.dim[1] = (axis_list){1, {0}};
    instr i = exchange(&how);
    assert_string_equal(traffic_kind(&i), "all_to_all");
    assert_int_equal(traffic_axes(&i), 1);
    for (int p = 0; p < 3; p++) {
        mesh_point here = mesh_place(&three, p);
        assert_int_equal(received_by(&three, &i, &here), 6 * 3 - 2 * 3);
        assert_int_equal(sent_by(&three, &i, &here), 2 * 9 - 2 * 3);
    }
}

static void test_kinds(void **state)
{
    (void)state;
    exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 6}), ((mtf_dim){"b", 9}))};
    how.from.dim[0] = (axis_list){2, {0, 1}};
    how.to.dim[0] = (axis_list){1, {0}};
    instr i = exchange(&how);
    assert_string_equal(traffic_kind(&i), "all_gather"); /* of the finer cut only */
    assert_int_equal(traffic_axes(&i), 2);
    how.to.dim[1] = (axis_list){1, {1}};
    assert_string_equal(traffic_kind(&i), "all_to_all");
    how.to.dim[1] = (axis_list){1, {2}};
    assert_string_equal(traffic_kind(&i), "exchange");
    i.kind = INSTR_MAP;
    assert_null(traffic_kind(&i));
    assert_int_equal(traffic_axes(&i), 0);
}

/* ---- traffic against the regions that a wire moves ---- */

static unsigned dice(unsigned *seed)
{
    return *seed = *seed * 1664525u + 1013904223u, *seed >> 16;
}

/* Gives each axis to some dimension or to none. */
static void draw_axes(placement *p, int ndims, const mesh *m, unsigned *seed)
{
    for (int a = 0; a < m->naxes; a++) {
        int d = (int)(dice(seed) % (unsigned)(ndims + 1));
        if (d < ndims) p->dim[d].axis[p->dim[d].n++] = (uint8_t)a;
    }
}

/* Often of fewer elements than parts; some ask for next to nothing, some for everything, some from the end. */
static span_map draw_map(const exchange_args *how, int d, unsigned *seed)
{
    static const int64_t times[] = {1, 1, 2, 3, -1};
    int64_t              mult = times[dice(seed) % 5], size = dice(seed) % 12;
    int64_t              reach = dice(seed) % 4 ? 3 : 12, begin = mult < 0 ? size - 1 : 0;
    int64_t              low = begin - dice(seed) % reach, high = begin + dice(seed) % reach;
    return (span_map){how->to.dim[d], size, mult, low, high, 1 + dice(seed) % 3};
}

static void test_any_exchange(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int trial = 0; trial < 4000; trial++) {
        exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 1 + dice(&seed) % 11}),
                                                ((mtf_dim){"b", 1 + dice(&seed) % 11}),
                                                ((mtf_dim){"c", 1 + dice(&seed) % 4}))};
        instr         i = exchange(&how);
        int64_t       sent[12] = {0}, received[12] = {0}, in[12] = {0}, out[12] = {0};
        draw_axes(&how.from, 3, &cube, &seed);
        draw_axes(&how.to, 3, &cube, &seed);
        if (trial % 3 == 0) how.to = how.from;
        how.mapped = dice(&seed) % 8; /* something beyond one's own part */
        for (int d = 0; d < 3; d++) how.map[d] = draw_map(&how, d, &seed);
        for (int p = 0; p < 12; p++) {
            mesh_point   here = mesh_place(&cube, p);
            region_visit v = region_start(&cube, &how, &here);
            for (region r; region_next(&v, &r);) {
                int source = mesh_number(&cube, &r.source);
                if (source == p) continue;
                received[p] += region_elements(&r);
                sent[source] += region_elements(&r);
                in[p] += region_elements(&r) > 0;
                out[source] += region_elements(&r) > 0;
            }
        }
        for (int p = 0; p < 12; p++) {
            mesh_point here = mesh_place(&cube, p);
            assert_int_equal(received_by(&cube, &i, &here), received[p]);
            assert_int_equal(sent_by(&cube, &i, &here), sent[p]);
            assert_int_equal(traffic_messages(NULL, &cube, &i, &here),
                             in[p] > out[p] ? in[p] : out[p]);
        }
    }
}

static void test_messages_of_sums(void **state)
{
    (void)state;
    mesh_point       here = mesh_place(&grid, 3);
    static const int apart[] = {0, 1, 2, 3, 4, 5};
    const site       far = {.ranks = 6, .host = apart};
    instr            large = reduction(100000, 3), small = reduction(10, 3), few = reduction(10, 2);
    assert_int_equal(traffic_messages(NULL, &grid, &large, &here), 2 * 5);
    assert_int_equal(traffic_messages(NULL, &grid, &small, &here), 5);
    assert_int_equal(traffic_messages(&far, &grid, &large, &here), 2 * 5);
    assert_int_equal(traffic_messages(&far, &grid, &small, &here), 2 * 5); /* five are too many */
    assert_int_equal(traffic_messages(&far, &grid, &few, &here), 2);
    large.kind = INSTR_REDUCE_SCATTER;
    large.reduce_scatter = (scatter_args){.to = {2, {0, 1}}, .size = 100000, .row = 1};
    assert_int_equal(traffic_messages(NULL, &grid, &large, &here), 5);
    assert_true(stages_suit(&large) && stages_suit(&small));
}

/* Parts that only become coarser are gathered; other exchanges go straight. */
static void test_gathers_are_staged(void **state)
{
    (void)state;
    exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 6}), ((mtf_dim){"b", 9}))};
    instr         i = exchange(&how);
    how.from.dim[0] = (axis_list){2, {0, 1}};
    assert_true(stages_suit(&i));
    how.to.dim[0] = (axis_list){1, {0}};
    assert_true(stages_suit(&i));
    how.to.dim[0] = (axis_list){1, {1}};
    assert_false(stages_suit(&i));
    how.to.dim[0] = (axis_list){0};
    how.to.dim[1] = (axis_list){1, {0}};
    assert_false(stages_suit(&i));
}

/* A gather, of the outermost dimension and of both, of parts that may be uneven or empty. */
static void test_gathers_in_two_stages(void **state)
{
    (void)state;
    exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 101}), ((mtf_dim){"b", 64}))};
    instr         i = exchange(&how);
    how.from.dim[0] = (axis_list){3, {0, 1, 2}};
    check_staged(&cube, &i, 2, 101 * 64);
    check_staged(&cube, &i, 6, 5 * 101 * 64);
    how.shape.dims[0].size = 5;
    check_staged(&cube, &i, 6, 5 * 5 * 64);
    how.from.dim[0] = (axis_list){2, {1, 0}};
    how.from.dim[1] = (axis_list){1, {2}};
    site    six = {.ranks = 12, .hosts = 6};
    traffic t = sum_of(&six, &cube, &i), one = sum_of(NULL, &cube, &i);
    assert_int_equal(t.read + t.received, one.read);
    /* Strips, in messages inside hosts, too.  Then hosts have one member each: along z. */
    assert_true(t.read == 0 && t.sent_outside == 5 * 5 * 64);
    how.to.dim[1] = how.from.dim[1];
    assert_int_equal(sum_of(&six, &cube, &i).sent_outside, sum_of(NULL, &cube, &i).read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_reduce),       cmocka_unit_test(test_all_gather),
        cmocka_unit_test(test_all_to_all),       cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_any_exchange),     cmocka_unit_test(test_sites),
        cmocka_unit_test(test_two_stages),       cmocka_unit_test(test_gathers_in_two_stages),
        cmocka_unit_test(test_messages_of_sums), cmocka_unit_test(test_gathers_are_staged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
