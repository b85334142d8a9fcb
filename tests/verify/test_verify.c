/* Tests verifying: faults are found, and sizes shrink. */
#include "ops/catalogue.h"
#include "ops/splits.h"
#include "program/epilogue.h"
#include "run/devices.h"
#include "verify/shrink.h"
#include "verify/verify.h"

#include "scene.h"

static const char network[] = "x: f32[batch=6, d=5] = input\n"
                              "t: i32[batch=6] = input\n"
                              "w: f32[d=5, hidden=7] = variable\n"
                              "v: f32[hidden=7, out=4] = variable\n"
                              "h: [batch, hidden] = einsum(x, w)\n"
                              "y: [batch, out] = einsum(relu(h), v)\n"
                              "p = softmax(y, dim=out)\n"
                              "dim out = 4\n"
                              "q: f32[batch, out] = one_hot(t, dim=out)\n"
                              "loss = reduce_mean(square(p - q))\n"
                              "dw, dv = gradients(loss; w, v)\n"
                              "nw = assign(w, w - 0.1 * dw)\n"
                              "nv = assign(v, v - 0.1 * dv)\n";

/* ---- the field ---- */

/* The product by adding and doubling. */
static residue slow_product(residue x, residue y)
{
    residue sum = 0;
    for (; y; y >>= 1, x = field_add(x, x))
        if (y & 1) sum = field_add(sum, x);
    return sum;
}

static void test_field(void **state)
{
    (void)state;
    const residue p = FIELD_PRIME;
    const residue numbers[] = {0,     1,         2,     512,  (residue)1 << 126, 12345, p / 3,
                               p / 2, p - 12345, p - 2, p - 1};
    for (size_t a = 0; a < sizeof numbers / sizeof *numbers; a++) {
        residue x = numbers[a];
        assert_true(field_add(x, field_sub(0, x)) == 0);
        assert_true(field_mul(x, field_inverse(x)) == (x != 0));
        for (size_t b = 0; b < sizeof numbers / sizeof *numbers; b++)
            assert_true(field_mul(x, numbers[b]) == slow_product(x, numbers[b]));
    }
    assert_true(field_signed(field_of_int(-77)) == -77);
    assert_true(field_of_int(INT64_MIN) == p - ((residue)1 << 63));
}

/* Doubles whose sums and products need no rounding stay related. */
static void test_constants(void **state)
{
    (void)state;
    static const double values[] = {0.1f, -3.75, 1e-20f, 12345678, 0x1p-1000, 0};
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++) {
            residue x = field_of_double(values[a]), y = field_of_double(values[b]);
            if (values[a] + values[b] - values[a] == values[b] && a < 2 && b < 2)
                assert_true(field_add(x, y) == field_of_double(values[a] + values[b]));
            if (a < 4 && b < 4)
                assert_true(field_mul(x, y) == field_of_double(values[a] * values[b]));
        }
    assert_true(field_mul(field_of_double(-0x1p-1), 2) == FIELD_PRIME - 1);
    assert_true(field_of_double(-1e30) == field_of_double(-(double)INFINITY));
}

/* ---- what is equal, and what is not ---- */

static void test_equal(void **state)
{
    (void)state;
    static const char *const layouts[][2] = {
        {"", ""},
        {"batch:x", ""},
        {"hidden:x+y", ""},
        {"batch:y,hidden:x", ""},
        {"out:x,d:y", ""},
        {"batch:x+y", "hidden:y"},
        {"d:x", "out:x,hidden:y"},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        scene s;
        set_up(&s, network, "x:2,y:3", layouts[i][0], layouts[i][1]);
        verify_answer a = verify_one(&s, mtf_find(s.graph, "loss"));
        assert_true(a.equal);
        assert_int_equal(a.processors, 6);
        assert_true(a.chance < -VERIFY_BITS && a.trials >= 2);
        close_well(s.session);
    }
}

/* Third derivatives: maps of rows of 120 in which one number a row is written over an operand. */
static void test_rows_in_place(void **state)
{
    (void)state;
    scene s;
    set_up(&s,
           "x: f64[f=3] = input\n"
           "a = negative(tanh(x + x) * x)\n"
           "b: [e=4, f=3, d=6, a=5] = broadcast(a)\n"
           "c = overlap_add(window(b, dim=d, taps=[win=1]), dim=d, taps=win, size=6)\n"
           "dx = gradients(reduce_sum(c); x)\n"
           "ddx = gradients(reduce_mean(square(dx)); x)\n"
           "e = negative(tanh(ddx * 0.002))\n"
           "g = gradients(reduce_sum(sin(e)); x)\n"
           "y = gradients(reduce_sum(g); x)\n",
           "", "", "");
    assert_true(verify_one(&s, mtf_find(s.graph, "y")).equal);
    close_well(s.session);
}

/* A constant that is rounded when it is folded, and that is a paid sum on a mesh. */
static void test_constants_are_not_rounded(void **state)
{
    (void)state;
    scene s;
    set_up(&s,
           "x: i64[b=3, d=2] = constant(value=9223372036854775807)\n"
           "s = reduce_sum(x, over=(b))\n"
           "y: bf16 = cast(s)\n"
           "z = reduce_sum(y * 0.1)\n",
           "x:2", "b:x", "");
    assert_true(verify_one(&s, mtf_find(s.graph, "y")).equal);
    assert_true(verify_one(&s, mtf_find(s.graph, "z")).equal);
    close_well(s.session);
}

/* An operation that says of its parts what is not so: the product of a cut dimension is the sum of
 * its parts' products. */
static void test_wrong_rule(void **state)
{
    (void)state;
    op    wrong = op_reduce_prod;
    scene s;
    wrong.split = op_reduce_sum.split;
    set_up(&s, "x: f32[a=5, b=4] = input\ny = square(x)\n", "x:2", "a:x", "");
    mtf_shape   kept = mtf_shape({"b", 4});
    attr        attrs[] = {{.names = {0}}, {.shape = &kept}};
    mtf_tensor *z = node_unary(&wrong, mtf_find(s.graph, "y"), attrs);
    mtf_name(z, "z");
    mtf_tensor *last = mtf_negative(mtf_exp(z));
    assert_string_equal(mtf_error(s.session), "");
    verify_answer a = verify_one(&s, last);
    assert_false(a.equal);
    assert_string_equal(mtf_name_of_tensor(a.first.tensor), "z");
    assert_int_equal(a.pass, PASS_LOWERING);
    assert_int_equal(a.first.processor, 0);
    s.layout.nrules = 0; /* nothing is cut: the rule is not asked */
    a = verify_one(&s, last);
    assert_true(a.equal);
    close_well(s.session);
}

/* ---- faults in programs ---- */

/* Softmax cuts its maximum to what floats can hold: on residues that changes nothing. */
static bool does_nothing(const instr *i)
{
    for (int k = 0; i->kind == INSTR_MAP && k < i->map.nsteps; k++)
        if (i->map.steps[k].fn == FN_IMMEDIATE && exact_is_real(i->map.steps[k].type) &&
            fabs(i->map.steps[k].value.real) > 1e30)
            return true;
    return false;
}

/* Changes one number of an instruction; false: there is none of this sort. */
static bool spoil(instr *i, int sort)
{
    if (does_nothing(i)) return false;
    switch (sort) {
    case 0: /* reads elsewhere; collectives have no strides */
        for (int d = 0; i->nin > 0 && !instr_is_collective(i) && d < i->nloops; d++)
            if (i->size[d] > 1 && i->in[0].stride[d]) return i->in[0].stride[d] = 0, true;
        return false;
    case 1: /* one iteration less */
        for (int d = 0; d < i->nloops; d++)
            if (i->size[d] > 1 && !instr_is_collective(i)) return i->size[d]--, true;
        return false;
    case 2: /* another function */
        for (int k = 0; i->kind == INSTR_MAP && k < i->map.nsteps; k++) {
            scalar_step *step = (scalar_step *)&i->map.steps[k];
            if (step->fn == FN_multiply) return step->fn = FN_add, true;
            if (step->fn == FN_sub) return step->fn = FN_add, true;
            if (step->fn == FN_IMMEDIATE && step->value.real != 0 && exact_is_real(step->type))
                return step->value.real *= 2, true;
        }
        return false;
    case 3: /* with other processors */
        if (i->kind == INSTR_REDUCE) return i->reduce.axes = 0, true;
        return false;
    default: return false;
    }
}

/* Replaces an instruction of a lane by a copy that may be changed; the original is shared. */
static instr *own_copy(lockstep *l, lane *k, int number)
{
    instr *i = arena_copy(&l->arena, k->code[number], sizeof *i);
    i->in = arena_copy(&l->arena, i->in, sizeof *i->in * (size_t)i->nin);
    if (i->kind == INSTR_MAP)
        i->map.steps =
            arena_copy(&l->arena, i->map.steps, sizeof *i->map.steps * (size_t)i->map.nsteps);
    k->code[number] = i;
    return i;
}

/* Runs the programs, of which processor 1's has this instruction spoilt; -1: none. */
static bool is_noticed(scene *s, plan_pass pass, int number, int sort, bool *done)
{
    mtf_tensor   *fetch = mtf_find(s->graph, "loss");
    lockstep_opts how = {
        .graph = s->graph, .nfetches = 1, .fetches = &fetch, .layout = &s->layout, .last = pass};
    lockstep   l;
    reference  right;
    difference d;
    arena      a = arena_make(&s->session->allocator, &s->session->fault);
    int64_t   *limits = values_limits(s->graph, &a);
    assert_true(lockstep_open(&l, &how) && reference_open(&right, s->graph));
    lane *k = &l.lanes[1];
    *done = number < 0 || (number < k->ninstrs && spoil(own_copy(&l, k, number), sort));
    bool noticed = false;
    /* Integers are samples: a class that no example has shows nothing in one trial. */
    for (uint64_t key = 1; *done && key <= 6 && !noticed; key++) {
        assert_true(lockstep_clear(&l, key));
        reference_begin(&right, key);
        assert_true(values_give(&right, key, limits, false) &&
                    values_fill(&l, &s->layout, &right, false));
        for (int step = 0; step < 2 && !noticed; step++) {
            assert_true(reference_step(&right) && lockstep_step(&l));
            noticed = values_differ(&l, &right, &fetch, &s->layout, &d);
        }
    }
    reference_close(&right);
    lockstep_close(&l);
    arena_free(&a);
    return noticed;
}

/* Whatever is changed in an instruction of one processor shows in the results. */
static void check_mutants(plan_pass pass, const char *rules, const char *more)
{
    scene s;
    int   mutants = 0;
    bool  done;
    set_up(&s, network, "x:2,y:2", rules, more);
    assert_false(is_noticed(&s, pass, -1, 0, &done));
    for (int k = 0; k < 200; k++)
        for (int sort = 0; sort < 4; sort++) {
            bool noticed = is_noticed(&s, pass, k, sort, &done);
            if (done && !noticed)
                fail_msg("after %s: instruction %d, spoilt %d: not noticed", plan_pass_name(pass),
                         k, sort);
            mutants += done;
        }
    assert_true(mutants > 30);
    close_well(s.session);
}

static void test_mutants(void **state)
{
    (void)state;
    check_mutants(PASS_LOWERING, "batch:x,hidden:y", "");
    check_mutants(PASS_ALL, "batch:x,hidden:y", "");
    check_mutants(PASS_ALL, "batch:x", "d:y");
}

/* Two buffers that share a place though both are needed. */
static void test_wrong_place(void **state)
{
    (void)state;
    scene      s;
    lockstep   l;
    reference  right;
    difference d;
    set_up(&s,
           "x: f32[a=8] = input\nw: f32[a=8, b=3] = input\ny = exp(x)\n"
           "u = reduce_sum(w * y) + reduce_sum(cumsum(y, dim=a))\n",
           "", "", "");
    mtf_tensor   *fetch = mtf_find(s.graph, "u");
    lockstep_opts how = {.graph = s.graph, .nfetches = 1, .fetches = &fetch};
    arena         a = arena_make(&s.session->allocator, &s.session->fault);
    int64_t      *limits = values_limits(s.graph, &a);
    assert_true(lockstep_open(&l, &how) && reference_open(&right, s.graph));
    lane    *k = &l.lanes[0];
    int64_t *begin = arena_copy(&l.arena, k->begin, sizeof *begin * (size_t)k->nbuffers);
    k->begin = begin;
    for (int b = 0; b < k->nbuffers; b++)
        if (k->buffers[b].kind == BUFFER_TEMPORARY) begin[b] = 0;
    assert_true(lockstep_clear(&l, 7));
    reference_begin(&right, 7);
    assert_true(values_give(&right, 7, limits, false) && values_fill(&l, NULL, &right, false));
    assert_true(reference_step(&right) && lockstep_step(&l));
    assert_true(values_differ(&l, &right, &fetch, NULL, &d));
    assert_ptr_equal(d.tensor, fetch);
    reference_close(&right);
    lockstep_close(&l);
    arena_free(&a);
    close_well(s.session);
}

/* ---- shrinking ---- */

static int64_t size_in(const shrunk *s, const char *tensor, const char *dim)
{
    mtf_tensor *x = mtf_find(s->graph, tensor);
    assert_non_null(x);
    return mtf_shape_dim(mtf_shape_of_tensor(x), dim).size;
}

static void test_shrink(void **state)
{
    (void)state;
    scene s;
    set_up(&s,
           "x: f32[batch=1000, length=101, model=64] = input\n"
           "w: f32[model=64, inner=96] = variable\n"
           "h: [batch, length, inner] = einsum(x, w)\n"
           "m: [batch, length, heads=8, size=12] = reshape(h)\n"
           "n = rename_dimension(m, from=length, to=memory)\n"
           "a: [batch, heads, length, memory] = einsum(m, n)\n"
           "b = slice(a, dim=memory, begin=1, size=100)\n"
           "c = pad(b, dim=memory, before=1)\n"
           "y = reduce_sum(softmax(c, dim=memory))\n",
           "x:4", "batch:x,length:x?,heads:x?", "");
    s.layout.nrules = 1; /* batch:x */
    mtf_tensor *y = mtf_find(s.graph, "y");
    shrunk      small;
    assert_true(shrink_graph(s.graph, 1, &y, &s.layout, &small));
    assert_int_equal(size_in(&small, "x", "batch"), 8);  /* as evenly cut by 4 as 1000 */
    assert_int_equal(size_in(&small, "x", "length"), 3); /* odd as 101 */
    assert_int_equal(size_in(&small, "a", "memory"), 3); /* the same under another name */
    assert_int_equal(size_in(&small, "b", "memory"), 2); /* all but the first */
    assert_int_equal(size_in(&small, "h", "inner"),
                     size_in(&small, "m", "heads") * size_in(&small, "m", "size"));
    assert_true(size_in(&small, "h", "inner") < 96);
    verify_answer a;
    assert_true(
        verify_graph(small.graph, 1, small.fetches, &(verify_opts){.layout = &s.layout}, &a));
    assert_true(a.equal);
    close_well(s.session);
}

static void test_shrink_keeps_uneven_parts(void **state)
{
    (void)state;
    scene s;
    set_up(&s, "x: f32[n=1003, k=6] = input\ny = reduce_sum(x * x, over=(n))\n", "x:4", "n:x,k:x?",
           "");
    s.layout.nrules = 1;
    mtf_tensor *y = mtf_find(s.graph, "y");
    shrunk      small;
    assert_true(shrink_graph(s.graph, 1, &y, &s.layout, &small));
    assert_int_equal(size_in(&small, "x", "n"), 7); /* 1, 2, 2 and 2 */
    close_well(s.session);
}

/* Programs for GPUs, whose products have epilogues: every pattern, cut along each dimension. */
static void test_epilogues(void **state)
{
    static const char text[] =
        "x: bf16[r=8, c=6] = input()\nw: bf16[c=6, d=10] = variable\nb: bf16[d=10] = variable\n"
        "v: bf16[d=10, e=4] = variable\na: bf16[e=4] = variable\nu: bf16[c=6, e=4] = variable\n"
        "in = x * 0.5\nh: [r, d] = einsum(in, w) + b\ny: [r, e] = einsum(gelu(h), v) + a\n"
        "z: [r, e] = relu(einsum(in, u) + a)\n"
        "loss = reduce_sum(square(y)) + reduce_sum(square(z))\n"
        "dw, db, dv, da, du, dx = gradients(loss; w, b, v, a, u, x)\n"
        "nw = assign(w, w - dw)\nnb = assign(b, b - db)\nnv = assign(v, v - dv)\n"
        "na = assign(a, a - da)\nnu = assign(u, u - du)\n";
    static const char *const rules[] = {"", "r:all", "c:all", "d:all", "e:all"};
    (void)state;
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        scene s;
        set_up(&s, text, "all:2", rules[k], "");
        s.session->can = devices_abilities("cuda");
        s.session->can.slim = 0; /* so that these small ones have epilogues */
        verify_answer a = verify_one(&s, mtf_find(s.graph, "dx"));
        assert_true(a.equal);
        program *p = plan_program(s.graph, 1, (mtf_tensor *[]){mtf_find(s.graph, "dx")}, NULL);
        int      epilogues = 0;
        for (int i = 0; i < p->ninstrs; i++) epilogues += epilogue_is_any(&p->instrs[i]);
        assert_true(epilogues >= 3);
        program_free(p);
        close_well(s.session);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_field),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_rows_in_place),
        cmocka_unit_test(test_constants_are_not_rounded),
        cmocka_unit_test(test_wrong_rule),
        cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_wrong_place),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_epilogues),
        cmocka_unit_test(test_shrink_keeps_uneven_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
