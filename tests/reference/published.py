"""Writes tests/reference/published: small T5, mT5, GPT-2, Mixtral and BERT models and what they answer.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy torch transformers safetensors
    /tmp/venv/bin/python tests/reference/published.py [t5 | t5_1_1 | mt5 | gpt2 | mixtral | bert]...
    /tmp/venv/bin/python tests/reference/published.py opens FOLDER...   folders that mtf exported

Models have random weights and are made, saved and run by Hugging Face's transformers library.  Each
folder has config.json and model.safetensors, as saved; gradients.safetensors, the gradient of the loss
by each weight under the same name; and answers.safetensors: tokens in, logits, loss, and what decoding
gives.

Beam search: length_penalty 0 here is alpha 0 there, the sum of log probabilities.  Two rules differ
still.  Here a sequence that ends counts only if it is among the best `beams` continuations of a step,
there among the best 2 * beams; here sequences that did not end within the limit are answers too, there
only if none ended.  "beams" has no token that ends a sequence, so neither rule applies; of "ended_beams"
it is checked below, with a search of its own, that both rules give the same.
"""

import os
import sys

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, BertConfig, BertForPreTraining
from transformers import GPT2Config, GPT2LMHeadModel
from transformers import MixtralConfig, MixtralForCausalLM
from transformers import MT5Config, MT5ForConditionalGeneration, T5Config, T5ForConditionalGeneration

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "published")
VOCAB, NEW, BEAMS = 60, 12, 3
PAD, END = 0, 1


def randomise(model, seed, tied_scale):
    """Weights large enough that attention and gates matter, and tokens differ clearly."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            x = torch.randn(p.shape, generator=g)
            norm = "norm" in name.lower() or "ln_" in name
            if norm and name.endswith("weight"):
                p.copy_(1 + 0.2 * x)
            elif name.endswith("bias") or norm:
                p.copy_(0.2 * x)
            elif any(w in name for w in ("wte", "shared", "embed_tokens", "_embeddings")):
                p.copy_(tied_scale * x)
            else:
                # What layers add outweighs the embedding, else every token repeats the one before.
                last = any(w in name for w in (".o.", ".wo.", "c_proj", "o_proj", "down_proj"))
                p.copy_(x * (8 if last else 1.5) * p.shape[-1] ** -0.5)


def tokens(seed, *shape):
    """Neither padding nor ends of sequences."""
    g = torch.Generator().manual_seed(seed)
    return torch.randint(2, VOCAB - 1, shape, generator=g)


def check_buckets():
    """Distances fall into the buckets that the formula in doubles gives, with its margin of 1e-9."""
    from transformers.models.t5.modeling_t5 import T5Attention

    for both in (False, True):
        for buckets, most in ((32, 128), (8, 20)):
            distance = torch.arange(-300, 301)
            theirs = T5Attention._relative_position_bucket(distance, both, buckets, most).numpy()
            for d, bucket in zip(distance.tolist(), theirs):
                n, first, back = buckets, 0, -d
                if both:
                    n //= 2
                    first, back = (n, -back) if back < 0 else (0, back)
                back = max(back, 0)
                exact = n // 2
                if back >= exact:
                    share = np.log(back / exact) / np.log(most / exact) * (n - exact)
                    back = min(exact + int(share + 1e-9), n - 1)
                assert first + back == bucket, (both, buckets, most, d)


# ---- what decoding gives ----


def next_scores(model, sequence, encoded):
    ids = torch.tensor([sequence])
    with torch.no_grad():
        if encoded is not None:
            logits = model(encoder_outputs=encoded, decoder_input_ids=ids).logits
        else:
            logits = model(ids).logits
    return torch.log_softmax(logits[0, -1], -1).numpy()


def search(model, start, encoded, end):
    """Beam search by mtf's rules with alpha 0: (tokens, score), the best first."""
    alive, ended = [([], 0.0)], []
    for _ in range(NEW):
        found = []
        for ids, score in alive:
            found += [(score + s, ids + [k]) for k, s in enumerate(next_scores(model, start + ids, encoded))]
        found = sorted(found, reverse=True)[: 2 * BEAMS]
        ended += [(ids, s) for s, ids in found if ids[-1] == end]
        ended = sorted(ended, key=lambda x: -x[1])[:BEAMS]
        alive = [(ids, s) for s, ids in found if ids[-1] != end][:BEAMS]
        if len(ended) == BEAMS and ended[-1][1] > alive[0][1]:
            break
    return ended or alive


def decode(model, given, mask, beams, end):
    settings = dict(attention_mask=mask, do_sample=False, max_new_tokens=NEW, num_beams=beams)
    settings.update(num_return_sequences=beams, length_penalty=0.0, early_stopping=False, pad_token_id=PAD)
    model.generation_config.eos_token_id = end
    out = model.generate(given, **settings)
    start = 1 if model.config.is_encoder_decoder else given.shape[1]
    out = out[:, start:].numpy().astype(np.int32)
    return np.pad(out, ((0, 0), (0, NEW - out.shape[1])), constant_values=-1)


def beams_of(model, prompt, encoded, end):
    """None where the two rules differ, a sequence does not end, or scores are too near each other."""
    given = torch.tensor([prompt])
    out = decode(model, given, torch.ones_like(given), BEAMS, end)
    if end is not None:
        for row in out:
            if end not in row:
                return None
            row[list(row).index(end) + 1 :] = -1
    mine = search(model, [PAD] if encoded is not None else prompt, encoded, end)
    if len(mine) < BEAMS or any(a[1] < b[1] + 1e-3 for a, b in zip(mine, mine[1:])):
        return None
    return out if all(list(row[row >= 0]) == ids for row, (ids, _) in zip(out, mine)) else None


def greedy_of(model, prompt, encoded, end):
    """None where two tokens are nearly as probable."""
    given = torch.tensor([prompt])
    row = decode(model, given, torch.ones_like(given), 1, end)[0]
    if end in row:
        row[list(row).index(end) + 1 :] = -1
    start = [PAD] if encoded is not None else prompt
    for i in range(int((row >= 0).sum())):
        best = np.sort(next_scores(model, start + row[:i].tolist(), encoded))
        if best[-1] - best[-2] < 1e-3:
            return None
    return row


def decodings(model, prompts, answers):
    """Rows are prompts, then results; what follows the end of a sequence is -1."""
    many = {"greedy": [], "beams": [], "ended_beams": [], "stop": []}
    for prompt in prompts:
        encoded = model.get_encoder()(torch.tensor([prompt])) if model.config.is_encoder_decoder else None
        beams = beams_of(model, prompt, encoded, None)
        assert beams is not None, "two sequences are nearly as probable"
        # Any token may end a sequence: one that ends all beams early, by either rule.
        for stop in sorted(set(beams[:, 2:8].flatten().tolist())):
            ended, row = beams_of(model, prompt, encoded, stop), greedy_of(model, prompt, encoded, stop)
            if ended is not None and row is not None and len(set(row.tolist())) >= 3:
                break
        else:
            assert False, "no token ends all beams"
        for name, x in (("greedy", row), ("beams", beams), ("ended_beams", ended), ("stop", np.int32(stop))):
            many[name].append(x)
    for name, rows in many.items():
        answers[name] = np.stack(rows)
    longest = max(len(p) for p in prompts)
    answers["prompts"] = np.array([p + [-1] * (longest - len(p)) for p in prompts], np.int32)


# ---- models ----


def as_saved(name, x):
    """Tensors of all experts together are saved apart, and the two projections inwards of each, too."""
    if ".experts." not in name:
        return {name.replace(".mlp.", ".block_sparse_moe.") if name.endswith(".mlp.gate.weight") else name: x}
    before, which = name.replace(".mlp.", ".block_sparse_moe.").rsplit(".", 1)
    made = {}
    for e, one in enumerate(x):
        halves = {"w2": one} if which == "down_proj" else dict(zip(("w1", "w3"), np.split(one, 2)))
        made.update({"%s.%d.%s.weight" % (before, e, w): np.ascontiguousarray(h) for w, h in halves.items()})
    return made


def write(folder, model, answers, loss):
    path = os.path.join(HERE, folder)
    if model.can_generate():
        model.generation_config.eos_token_id = model.config.eos_token_id
    loss.backward()
    gradients = {}
    for n, p in model.named_parameters():
        gradients.update(as_saved(n, p.grad.numpy()))
    model.save_pretrained(path)
    names = set(load_file(os.path.join(path, "model.safetensors")))
    assert names == set(gradients), names ^ set(gradients)
    save_file(gradients, os.path.join(path, "gradients.safetensors"))
    answers["loss"] = np.array(loss.item(), np.float32)
    save_file(answers, os.path.join(path, "answers.safetensors"))
    if model.can_generate():
        os.remove(os.path.join(path, "generation_config.json"))


def t5(folder, seed, kind=(T5Config, T5ForConditionalGeneration), **more):
    config = kind[0](vocab_size=VOCAB, d_model=12, d_kv=6, d_ff=20, num_heads=3, num_layers=2,
                     dropout_rate=0.0, decoder_start_token_id=PAD, pad_token_id=PAD, eos_token_id=END, **more)
    config.tie_word_embeddings = more["tie_word_embeddings"]  # the library sets it back
    model = kind[1](config).eval()
    for stack in (model.encoder, model.decoder):  # the embedding is one table in any case
        stack.set_input_embeddings(model.shared)
    assert (model.lm_head.weight is model.shared.weight) == config.tie_word_embeddings
    randomise(model, seed, 1.0 if not config.tie_word_embeddings else 2.0)
    inputs, targets = tokens(seed + 1, 2, 40), tokens(seed + 2, 2, 9)
    inputs[1, 25:] = PAD
    targets[1, 7:] = PAD
    targets[:, 6] = END
    labels = targets.masked_fill(targets == PAD, -100)
    out = model(input_ids=inputs, attention_mask=(inputs != PAD).long(), labels=labels)
    answers = {"inputs": inputs.int().numpy(), "targets": targets.int().numpy(),
               "logits": out.logits.detach().numpy()}
    decodings(model, [tokens(seed + 3, 9).tolist(), tokens(seed + 4, 17).tolist()], answers)
    write(folder, model, answers, out.loss)


def gpt2(folder, seed):
    config = GPT2Config(vocab_size=VOCAB, n_positions=48, n_embd=12, n_layer=2, n_head=3, resid_pdrop=0.0,
                        embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=VOCAB - 1, eos_token_id=VOCAB - 1)
    model = GPT2LMHeadModel(config).eval()
    randomise(model, seed, 1.0)
    targets = tokens(seed + 1, 2, 15)
    targets[1, 11:] = PAD
    out = model(input_ids=targets, labels=targets.masked_fill(targets == PAD, -100))
    answers = {"targets": targets.int().numpy(), "logits": out.logits.detach().numpy()}
    decodings(model, [tokens(seed + 3, 9).tolist(), tokens(seed + 4, 17).tolist()], answers)
    write(folder, model, answers, out.loss)


def mixtral(folder, seed):
    config = MixtralConfig(vocab_size=VOCAB, max_position_embeddings=48, hidden_size=12, intermediate_size=20,
                           num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=3, head_dim=4,
                           num_local_experts=5, num_experts_per_tok=2, sliding_window=None, attention_dropout=0.0,
                           rope_theta=100.0, rms_norm_eps=1e-5, bos_token_id=END, eos_token_id=VOCAB - 1,
                           tie_word_embeddings=False)
    model = MixtralForCausalLM(config).eval()
    randomise(model, seed, 1.0)
    targets = tokens(seed + 1, 2, 15)
    targets[1, 11:] = PAD
    out = model(input_ids=targets, labels=targets.masked_fill(targets == PAD, -100), output_router_logits=True)
    for logits in out.router_logits:  # no choice that rounding could change
        best = logits.sort(-1, descending=True).values
        assert (best[:, 1] - best[:, 2]).min() > 1e-3, "two experts are nearly as good"
    out = model(input_ids=targets, labels=targets.masked_fill(targets == PAD, -100))
    answers = {"targets": targets.int().numpy(), "logits": out.logits.detach().numpy()}
    decodings(model, [tokens(seed + 3, 9).tolist(), tokens(seed + 4, 17).tolist()], answers)
    write(folder, model, answers, out.loss)


def bert(folder, seed):
    config = BertConfig(vocab_size=VOCAB, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
                        intermediate_size=20, max_position_embeddings=17, type_vocab_size=2,
                        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForPreTraining(config).eval()
    randomise(model, seed, 1.0)
    ids, mask = tokens(seed + 1, 3, 11), torch.ones(3, 11, dtype=torch.long)
    segments, labels = (tokens(seed + 2, 3, 11) % 2), tokens(seed + 3, 3, 11)
    mask[1, 8:], mask[2, 5:] = 0, 0
    labels[tokens(seed + 4, 3, 11) % 4 > 0] = -100  # the others are masked words
    follows = tokens(seed + 5, 3) % 2
    out = model(input_ids=ids, attention_mask=mask, token_type_ids=segments, labels=labels, next_sentence_label=follows)
    inside = model.bert(input_ids=ids, attention_mask=mask, token_type_ids=segments)
    answers = {name: x.int().numpy() for name, x in (
        ("input_ids", ids), ("input_mask", mask), ("segment_ids", segments), ("labels", labels), ("follows", follows))}
    for name, x in (("words", out.prediction_logits), ("next", out.seq_relationship_logits),
                    ("sequence", inside.last_hidden_state), ("pooled", inside.pooler_output)):
        answers[name] = x.detach().numpy()
    write(folder, model, answers, out.loss)


def first_seed(make, *args, **more):
    """The first whose answers are clear."""
    for seed in range(10, 4000, 10):
        try:
            return make(args[0], seed, **more)
        except AssertionError as why:
            last = why
            print(args[0], seed, why)
    raise last


def opens(folders):
    """What mtf exported is read by the library, without a missing or an unexpected weight."""
    for folder in folders:
        for kind in (AutoModelForSeq2SeqLM, AutoModelForCausalLM):
            try:
                model, about = kind.from_pretrained(folder, output_loading_info=True)
            except ValueError:
                continue
            assert not any(about.values()), about
            print("%s: %s, %d parameters" % (folder, type(model).__name__, model.num_parameters()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["opens"]:
        opens(sys.argv[2:])
    else:
        check_buckets()
        wanted = sys.argv[1:] or ["t5", "t5_1_1", "mt5", "gpt2", "mixtral", "bert"]
        if "t5" in wanted:
            first_seed(t5, "t5", feed_forward_proj="relu", tie_word_embeddings=True)
        if "t5_1_1" in wanted:
            first_seed(t5, "t5_1_1", feed_forward_proj="gated-gelu", tie_word_embeddings=False,
                       relative_attention_num_buckets=8, relative_attention_max_distance=20)
        if "mt5" in wanted:  # tied, as version 5 of the library makes every mT5 that it does not read
            first_seed(t5, "mt5", kind=(MT5Config, MT5ForConditionalGeneration), tie_word_embeddings=True)
        if "gpt2" in wanted:
            first_seed(gpt2, "gpt2")
        if "mixtral" in wanted:
            first_seed(mixtral, "mixtral")
        if "bert" in wanted:
            bert("bert", 10)
