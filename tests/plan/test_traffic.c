/* Tests the bytes that collectives send and receive. */
#include "machine/overlap.h"
#include "plan/traffic.h"

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

static void test_any_exchange(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int trial = 0; trial < 500; trial++) {
        exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 1 + dice(&seed) % 11}),
                                                ((mtf_dim){"b", 1 + dice(&seed) % 11}),
                                                ((mtf_dim){"c", 1 + dice(&seed) % 4}))};
        instr         i = exchange(&how);
        int64_t       sent[12] = {0}, received[12] = {0}, in[12] = {0}, out[12] = {0};
        draw_axes(&how.from, 3, &cube, &seed);
        draw_axes(&how.to, 3, &cube, &seed);
        if (trial % 3 == 0) how.to = how.from;
        how.mapped = dice(&seed) % 8; /* something beyond one's own part */
        for (int d = 0; d < 3; d++)
            how.map[d] = (span_map){how.to.dim[d],       1 + dice(&seed) % 11,
                                    1 + dice(&seed) % 2, -(int64_t)(dice(&seed) % 3),
                                    dice(&seed) % 3,     1 + dice(&seed) % 2};
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
    assert_true(traffic_is_staged(&large) && traffic_is_staged(&small));
}

/* Parts that only become coarser are gathered; other exchanges go straight. */
static void test_gathers_are_staged(void **state)
{
    (void)state;
    exchange_args how = {.shape = mtf_shape(((mtf_dim){"a", 6}), ((mtf_dim){"b", 9}))};
    instr         i = exchange(&how);
    how.from.dim[0] = (axis_list){2, {0, 1}};
    assert_true(traffic_is_staged(&i));
    how.to.dim[0] = (axis_list){1, {0}};
    assert_true(traffic_is_staged(&i));
    how.to.dim[0] = (axis_list){1, {1}};
    assert_false(traffic_is_staged(&i));
    how.to.dim[0] = (axis_list){0};
    how.to.dim[1] = (axis_list){1, {0}};
    assert_false(traffic_is_staged(&i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_reduce),   cmocka_unit_test(test_all_gather),
        cmocka_unit_test(test_all_to_all),   cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_any_exchange), cmocka_unit_test(test_sites),
        cmocka_unit_test(test_messages_of_sums), cmocka_unit_test(test_gathers_are_staged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
